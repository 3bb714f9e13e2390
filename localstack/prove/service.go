package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/localstack/stackenv"
)

// service calls the API of the stack, and its instruments.
type service struct {
	env   stackenv.Env
	token string
	http  *http.Client
}

func newService(ctx context.Context, env stackenv.Env) (service, error) {
	token, err := env.Token(ctx)
	return service{env: env, token: token, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 2 * time.Minute}}, err
}

// do sends a body, nil for none, as JSON, and reads the answer's JSON.
func (s service) do(ctx context.Context, method, address string, body, into any) error {
	var content io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.token)
	got, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = got.Body.Close() }()
	if got.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(io.LimitReader(got.Body, 300))
		return fmt.Errorf("%s %s: answered %d %s", method, r.URL.Path, got.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(got.Body).Decode(into)
}

// dispatch dispatches a batch to numbers, whose positions are their uids.
func (s service) dispatch(ctx context.Context, campaignID string, batch int, numbers []uint64) error {
	messages := make([]map[string]string, len(numbers))
	for i, n := range numbers {
		messages[i] = map[string]string{"phone": "+" + strconv.FormatUint(n, 10), "uid": strconv.Itoa(i)}
	}
	var answer struct{ Accepted int }
	err := s.do(ctx, http.MethodPost, s.env["BASE_URL"]+"/api/v1/external/campaigns/dispatch", map[string]any{
		"campaignId": campaignID, "name": "prove " + campaignID, "templateId": s.env["TEMPLATE_ID_PLAIN"],
		"batch": strconv.Itoa(batch), "messages": messages,
	}, &answer)
	if err == nil && answer.Accepted != len(numbers) {
		err = fmt.Errorf("batch %d: %d of %d messages were accepted", batch, answer.Accepted, len(numbers))
	}
	return err
}

// standing is what the API says of a campaign.
type standing struct {
	Status   string
	Accepted int
	Counts   map[string]int
}

func (s service) campaign(ctx context.Context, id string) (c standing, err error) {
	err = s.do(ctx, http.MethodGet, s.env["BASE_URL"]+"/api/v1/external/campaigns/"+id+"?limit=1", nil, &c)
	return c, err
}

func (s service) behave(ctx context.Context, behaviour map[string]any) error {
	return s.do(ctx, http.MethodPut, s.env["RCS_URL"]+"/_sim/behaviour", behaviour, nil)
}

// unhurried gives the tenant's agent a rate that is kept but never waited for.
func (s service) unhurried(ctx context.Context) error {
	store := storeOf(s.env)
	tenant, err := store.Tenant(ctx, s.env["TENANT"])
	if err != nil {
		return err
	}
	agent, err := store.Agent(ctx, tenant.AgentID)
	if err != nil {
		return err
	}
	agent.Rate = 100_000
	return store.SaveAgent(ctx, agent)
}

func storeOf(env stackenv.Env) *dynamo.CampaignStore {
	return dynamo.NewCampaignStore(dynamo.FromEnv(dynamodb.NewFromConfig(env.AWS()), env.Get, time.Now))
}
