package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/settings"
)

// simulator is the local stack's provider, which creates agents.
type simulator struct{ url, eventsURL string }

func simulatorOf(env func(string) string) settings.Simulator {
	if env("LOCAL_WEBHOOKS") != "1" || env("RCS_URL") == "" || env("EVENTS_URL") == "" {
		return nil
	}
	return simulator{env("RCS_URL"), env("EVENTS_URL")}
}

func (s simulator) KeyDocument(ctx context.Context, agentID string) ([]byte, error) {
	return s.call(ctx, http.MethodGet, "/_sim/key-document?agentId="+url.QueryEscape(agentID), nil)
}

func (s simulator) RegisterWebhook(ctx context.Context, a campaign.Agent) error {
	body, err := json.Marshal(map[string]string{"agentId": a.ID, "url": s.eventsURL + "/" + a.ID, "clientToken": a.WebhookToken})
	if err != nil {
		return err
	}
	_, err = s.call(ctx, http.MethodPut, "/_sim/webhook", body)
	return err
}

func (s simulator) call(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("call the simulator: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, largestFile))
	if err != nil {
		return nil, fmt.Errorf("call the simulator: %w", err)
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return nil, fmt.Errorf("the simulator answered %d: %.200s", response.StatusCode, answer)
	}
	return answer, nil
}
