// Command oapi-client dispatches a campaign with the client that oapi-codegen
// generates into api/.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"oapi-client/api"
	"os"
	"os/exec"
	"strings"
)

func main() {
	report, err := dispatch(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		log.Fatal(err)
	}
}

func dispatch(ctx context.Context) (map[string]any, error) {
	client, err := signedIn(ctx)
	if err != nil {
		return nil, err
	}
	first, err := client.DispatchCampaignWithResponse(ctx, nil, campaign())
	if err != nil {
		return nil, err
	}
	if first.JSON202 == nil {
		return nil, fmt.Errorf("dispatching got %s", first.Status())
	}
	again, err := client.DispatchCampaignWithResponse(ctx, nil, campaign())
	if err != nil {
		return nil, err
	}
	if again.ApplicationproblemJSON400 == nil {
		return nil, fmt.Errorf("dispatching again got %s", again.Status())
	}
	return map[string]any{
		"library": "oapi-codegen", "version": version(),
		"status": first.StatusCode(), "accepted": first.JSON202.Accepted, "again": again.ApplicationproblemJSON400.Code,
	}, nil
}

// signedIn returns a client with an access token.
func signedIn(ctx context.Context) (*api.ClientWithResponses, error) {
	client, err := api.NewClientWithResponses(os.Getenv("BASE_URL"))
	if err != nil {
		return nil, err
	}
	id, secret := os.Getenv("CLIENT_ID"), os.Getenv("CLIENT_SECRET")
	token, err := client.GetTokenWithResponse(ctx, api.TokenRequest{
		GrantType: api.ClientCredentials, ClientId: &id, ClientSecret: &secret,
	})
	if err != nil {
		return nil, err
	}
	if token.JSON200 == nil {
		return nil, fmt.Errorf("asking for a token got %s", token.Status())
	}
	return api.NewClientWithResponses(os.Getenv("BASE_URL"), api.WithRequestEditorFn(
		func(_ context.Context, r *http.Request) error {
			r.Header.Set("Authorization", "Bearer "+token.JSON200.AccessToken)
			return nil
		}))
}

func campaign() api.DispatchRequest {
	request := api.DispatchRequest{
		CampaignId: os.Getenv("CAMPAIGN_ID"), Name: "oapi-codegen " + os.Getenv("CAMPAIGN_ID"), TemplateId: os.Getenv("TEMPLATE_ID"),
	}
	for i, phone := range strings.Split(os.Getenv("PHONES"), ",") {
		request.Messages = append(request.Messages, api.Message{
			Phone: phone, Uid: fmt.Sprint(i), Vars: &map[string]any{"nome": "Ana", "pedido": i},
		})
	}
	return request
}

// version returns the pinned version of the generator.
func version() string {
	line, err := exec.Command("go", "list", "-m", "github.com/oapi-codegen/oapi-codegen/v2").Output()
	if err != nil {
		log.Fatal(err)
	}
	return strings.Fields(string(line))[1]
}
