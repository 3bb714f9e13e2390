package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"campaign-dispatch/localstack/httpjson"
	"campaign-dispatch/localstack/stackenv"
)

// client calls the service's API.
type client struct {
	base  string
	token string
	http  http.Client
}

// dispatchRequest is the request body of the dispatch endpoint.
type dispatchRequest struct {
	CampaignID string    `json:"campaignId"`
	Name       string    `json:"name"`
	TemplateID string    `json:"templateId"`
	Batch      string    `json:"batch"`
	Messages   []Message `json:"messages"`
}

// dispatchResponse is the response body of the dispatch endpoint.
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
	c := &client{base: env["BASE_URL"], http: http.Client{Timeout: time.Minute}}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	err := c.post(ctx, "/api/v1/oauth/token", map[string]string{
		"grant_type": "client_credentials", "client_id": env["CLIENT_ID"], "client_secret": env["CLIENT_SECRET"],
	}, &token)
	if err != nil {
		return nil, fmt.Errorf("get an access token: %w", err)
	}
	c.token = token.AccessToken
	return c, nil
}

func (c *client) dispatch(ctx context.Context, request dispatchRequest) (dispatchResponse, error) {
	var response dispatchResponse
	err := c.post(ctx, "/api/v1/external/campaigns/dispatch", request, &response)
	return response, err
}

// post sends JSON and decodes the JSON response. For a status of 300 or more the error
// has the response's details.
func (c *client) post(ctx context.Context, path string, request, into any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	r, err := httpjson.NewPost(ctx, c.base+path, c.token, body)
	if err != nil {
		return fmt.Errorf("create the request: %w", err)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("call the service: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return errorOf(response.StatusCode, text)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read the response: %w", err)
	}
	return nil
}
