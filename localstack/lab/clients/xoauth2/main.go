// Command xoauth2 gets a token by client credentials, renews it, and tries a wrong
// secret.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"runtime/debug"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

type outcome struct {
	First     string `json:"first"`
	Refresh   string `json:"refresh"`
	Renewed   string `json:"renewed"`
	ErrorType string `json:"errorType"`
	ErrorCode string `json:"errorCode"`
}

func main() {
	info, _ := debug.ReadBuildInfo()
	report := map[string]any{"library": info.Deps[0].Path, "version": info.Deps[0].Version}
	for name, style := range map[string]oauth2.AuthStyle{"header": oauth2.AuthStyleInHeader, "form": oauth2.AuthStyleInParams} {
		o, err := attempt(context.Background(), style)
		if err != nil {
			log.Fatal(err)
		}
		report[name] = o
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		log.Fatal(err)
	}
}

func attempt(ctx context.Context, style oauth2.AuthStyle) (outcome, error) {
	c := client(style, os.Getenv("CLIENT_SECRET"))
	first, err := c.Token(ctx)
	if err != nil {
		return outcome{}, err
	}
	later := oauth2.Config{
		ClientID: c.ClientID, ClientSecret: c.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: c.TokenURL, AuthStyle: style},
	}
	renewed, err := later.TokenSource(ctx, &oauth2.Token{RefreshToken: first.RefreshToken}).Token()
	if err != nil {
		return outcome{}, err
	}
	o := outcome{First: first.AccessToken, Refresh: first.RefreshToken, Renewed: renewed.AccessToken}
	_, err = client(style, "wrong").Token(ctx)
	if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		o.ErrorType, o.ErrorCode = fmt.Sprintf("%T", e), e.ErrorCode
	}
	return o, nil
}

func client(style oauth2.AuthStyle, secret string) *clientcredentials.Config {
	return &clientcredentials.Config{
		ClientID: os.Getenv("CLIENT_ID"), ClientSecret: secret, TokenURL: os.Getenv("BASE_URL") + "/api/v1/oauth/token",
		Scopes: []string{"campaigns:dispatch"}, AuthStyle: style,
	}
}
