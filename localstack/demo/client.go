package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/stackenv"
)

type client struct {
	base  string
	token string
	http  http.Client
}

type dispatchRequest struct {
	CampaignID string    `json:"campaignId"`
	Name       string    `json:"name"`
	TemplateID string    `json:"templateId"`
	Batch      string    `json:"batch"`
	Messages   []Message `json:"messages"`
}

type dispatchResponse struct {
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Feedback struct {
		InvalidPhones []struct {
			Phone  string `json:"phone"`
			Reason string `json:"reason"`
		} `json:"invalidPhones"`
		ErrorFileURL string `json:"errorFileUrl"`
	} `json:"feedback"`
}

// connect returns a client with an access token of the demo tenant's credential.
func connect(ctx context.Context, env stackenv.Env) (*client, error) {
	token, err := env.Token(ctx)
	return &client{base: env["BASE_URL"], token: token, http: http.Client{Timeout: time.Minute}}, err
}

func (c *client) dispatch(ctx context.Context, request dispatchRequest) (dispatchResponse, error) {
	var response dispatchResponse
	err := c.post(ctx, "/api/v1/external/campaigns/dispatch", request, &response)
	return response, err
}

// post sends JSON and decodes the JSON response. For a status of 300 or more the error has the response's details.
func (c *client) post(ctx context.Context, path string, request, into any) error {
	var text json.RawMessage
	status, err := httpjson.Call(ctx, &c.http, http.MethodPost, c.base+path, c.token, request, &text)
	switch {
	case status == 0:
		return fmt.Errorf("call the service: %w", err)
	case status >= http.StatusMultipleChoices:
		return errorOf(status, text)
	case err == nil:
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	return nil
}

// apiError is an error response: problem details.
type apiError struct {
	status int
	Detail string `json:"detail"`
	Errors []violation
}

type violation struct {
	Pointer string `json:"pointer"`
	Code    string `json:"code"`
	Detail  string `json:"detail"`
}

func (e apiError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("the service returned status %d: %s", e.status, e.Detail), ": ")
}

func errorOf(status int, body []byte) error {
	if status == http.StatusTooManyRequests {
		return errors.New("too many calls within a minute: wait a minute, then try again")
	}
	e := apiError{}
	_ = json.Unmarshal(body, &e) // another body leaves the status only
	e.status = status
	return e
}

// inFile returns the first violation of an apiError with its place in the campaign file, or err.
func inFile(err error, messages []Message) error {
	e, ok := errors.AsType[apiError](err)
	if !ok || len(e.Errors) == 0 {
		return err
	}
	first := e.Errors[0].in(messages)
	if more := len(e.Errors) - 1; more > 0 {
		first += fmt.Sprintf(" (and %d more)", more)
	}
	return errors.New(first)
}

// in describes the violation with its place in the campaign file.
func (v violation) in(messages []Message) string {
	tokens := strings.Split(strings.TrimPrefix(v.Pointer, "/"), "/")
	if len(tokens) < 2 || tokens[0] != "messages" {
		return strings.TrimPrefix(v.Pointer+": ", ": ") + v.Detail
	}
	i, err := strconv.Atoi(tokens[1])
	if err != nil || i < 0 || i >= len(messages) {
		return v.Pointer + ": " + v.Detail
	}
	name := tokens[len(tokens)-1]
	if v.Code == "missing_variable" {
		return fmt.Sprintf("%s has no variable %s, which the template requires: add a column or variable %[2]s", messages[i].place, name)
	}
	return fmt.Sprintf("%s: %s: %s", messages[i].place, name, v.Detail)
}
