package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/stackenv"
)

// Trial runs programs on a stack.
type Trial struct {
	Env     stackenv.Env
	Service *settings.Service
	Below   string // parent folder of the installed programs
}

// Result is the result of a program.
type Result struct {
	Client string // name and version of the library
	Done   string
	Faults []string // differences from the expected behaviour
}

// Try installs and runs a program with a new credential and checks its report against
// the service. It returns an error of one line if a tool is missing.
func (t Trial) Try(ctx context.Context, c Client) (Result, error) {
	w, err := c.prepare(ctx, t.Below, t.Env["BASE_URL"])
	if err != nil {
		return Result{}, err
	}
	credential, err := t.Service.CreateCredential(ctx, t.Env["TENANT"], "client "+c.Name, "")
	if err != nil {
		return Result{}, err
	}
	given := map[string]string{
		"BASE_URL": t.Env["BASE_URL"], "CLIENT_ID": credential.ClientID, "CLIENT_SECRET": credential.Secret,
		"TEMPLATE_ID": t.Env["TEMPLATE_ID"], "CAMPAIGN_ID": random.UUID(), "PHONES": strings.Join(phones(), ","),
	}
	r, err := w.run(ctx, given)
	result := Result{Client: r.Library + " " + r.Version}
	switch {
	case err != nil:
	case c.dispatches():
		err = t.checkDispatch(ctx, &result, r, strings.Split(given["PHONES"], ","))
	default:
		err = t.checkGrants(ctx, &result, c, r, credential.ClientID)
	}
	return result, errors.Join(err, t.Service.RevokeCredential(ctx, credential.ClientID))
}

// phones returns random phone numbers, which probably have no messages yet.
func phones() (numbers []string) {
	for range 5 {
		numbers = append(numbers, fmt.Sprintf("1198%07d", rand.IntN(10_000_000))) //nolint:gosec // not a secret
	}
	return numbers
}

func (t Trial) checkGrants(ctx context.Context, result *Result, c Client, r report, clientID string) error {
	for _, style := range []struct {
		name, errorType string
		attempt
	}{{"header", c.inHeader, r.Header}, {"form", c.inForm, r.Form}} {
		faults, err := t.checkAttempt(ctx, style.attempt, style.errorType, clientID)
		if err != nil {
			return err
		}
		for _, f := range faults {
			result.Faults = append(result.Faults, style.name+": "+f)
		}
	}
	result.Done = "token and refresh, credential in header and form; wrong secret: " + r.Header.ErrorType
	if r.Form.ErrorType != r.Header.ErrorType {
		result.Done += ", " + r.Form.ErrorType
	}
	result.Done += " with " + r.Header.ErrorCode
	return nil
}

// checkAttempt checks that the access tokens are valid, the refresh token is used, and
// the library reports a wrong secret as expected.
func (t Trial) checkAttempt(ctx context.Context, a attempt, errorType, clientID string) (faults []string, err error) {
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	for name, token := range map[string]string{"first": a.First, "renewed": a.Renewed} {
		status, code, err := t.readWith(ctx, token)
		if err != nil {
			return nil, err
		}
		fault(status != http.StatusNotFound || code != "campaign_not_found", "the %s token: status %d %s", name, status, code)
	}
	fault(a.First == a.Renewed, "the renewed token equals the first")
	status, code, err := t.refreshAgain(ctx, clientID, a.Refresh)
	if err != nil {
		return nil, err
	}
	fault(status != http.StatusUnauthorized || code != "invalid_grant", "the refresh token is still valid: status %d %s", status, code)
	fault(a.ErrorType != errorType || a.ErrorCode != "invalid_client",
		"a wrong secret: error %q with %q, want %q with invalid_client", a.ErrorType, a.ErrorCode, errorType)
	return faults, nil
}

// readWith reads a campaign that does not exist.
func (t Trial) readWith(ctx context.Context, token string) (status int, code string, err error) {
	return answer(ctx, http.MethodGet, t.Env["BASE_URL"]+"/api/v1/external/campaigns/"+random.UUID(), token, nil)
}

func (t Trial) refreshAgain(ctx context.Context, clientID, token string) (status int, code string, err error) {
	return answer(ctx, http.MethodPost, t.Env["BASE_URL"]+"/api/v1/oauth/token", "",
		map[string]string{"grant_type": "refresh_token", "refresh_token": token, "client_id": clientID})
}

func answer(ctx context.Context, method, address, token string, body any) (status int, code string, err error) {
	var problem struct{ Code, Error string }
	if status, err = httpjson.Call(ctx, http.DefaultClient, method, address, token, body, &problem); err != nil {
		return 0, "", fmt.Errorf("read the response of %s: %w", address, err)
	}
	return status, problem.Code + problem.Error, nil
}

func (t Trial) checkDispatch(ctx context.Context, result *Result, r report, sent []string) error {
	if r.Status != http.StatusAccepted || r.Accepted != len(sent) {
		result.Faults = append(result.Faults, fmt.Sprintf("dispatch: status %d, %d of %d accepted", r.Status, r.Accepted, len(sent)))
		return nil
	}
	if r.Again != "batch_required" {
		result.Faults = append(result.Faults, fmt.Sprintf("repeated dispatch: code %q, want batch_required", r.Again))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, phone := range sent {
		if err := t.arrived(ctx, "+55"+phone); err != nil {
			return fmt.Errorf("wait for a message at the provider: %w", err)
		}
	}
	result.Done = fmt.Sprintf("compiles; 202, %d messages at the provider; again: 400 %s", len(sent), r.Again)
	return nil
}

// arrived waits until the provider has accepted a message to the phone number.
func (t Trial) arrived(ctx context.Context, phone string) error {
	for {
		var messages []json.RawMessage
		err := httpjson.Get(ctx, t.Env["RCS_URL"]+"/_sim/messages?phone="+url.QueryEscape(phone), &messages)
		if err != nil || len(messages) > 0 {
			return err
		}
		if err := retry.Sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}
