package prove

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/localstack/stackenv"
)

// service calls the API of the stack, the simulator and the webhook sink.
type service struct {
	env   stackenv.Env
	token string
	http  *http.Client
}

func newService(ctx context.Context, env stackenv.Env) (service, error) {
	token, err := env.Token(ctx)
	return service{env: env, token: token, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: 2 * time.Minute}}, err
}

// campaignsPath is the path of campaigns.
const campaignsPath = "/api/v1/external/campaigns/"

// reply is the answer to a call, and how often the call was repeated before.
type reply struct {
	status, repeats int
	body            []byte
}

func (s service) call(ctx context.Context, method, address string, body []byte, header map[string]string) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	got, err := s.http.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = got.Body.Close() }()
	text, err := io.ReadAll(got.Body)
	repeats, _ := strconv.Atoi(got.Header.Get(repeatsHeader))
	return reply{got.StatusCode, repeats, text}, err
}

// do sends a body, nil for none, as JSON, and reads the answer's JSON.
func (s service) do(ctx context.Context, method, address string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	got, err := s.call(ctx, method, address, text, nil)
	if err != nil {
		return err
	}
	if got.status >= http.StatusMultipleChoices {
		path, _, _ := strings.Cut(strings.TrimPrefix(address, s.env["BASE_URL"]), "?")
		return fmt.Errorf("%s %s: answered %d after %d repetitions: %.300s", method, path, got.status, got.repeats, got.body)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(got.body, into)
}

// dispatch dispatches a batch to numbers, whose positions are their uids.
func (s service) dispatch(ctx context.Context, campaignID string, batch int, numbers []uint64) error {
	return s.dispatchAt(ctx, campaignID, batch, numbers, time.Time{})
}

// dispatchAt dispatches a batch for a time, zero for at once.
func (s service) dispatchAt(ctx context.Context, campaignID string, batch int, numbers []uint64, at time.Time) error {
	messages := make([]map[string]string, len(numbers))
	for i, n := range numbers {
		messages[i] = map[string]string{"phone": "+" + strconv.FormatUint(n, 10), "uid": strconv.Itoa(i)}
	}
	var answer struct{ Accepted int }
	call := map[string]any{
		"campaignId": campaignID, "name": "prove " + campaignID, "templateId": s.env["TEMPLATE_ID_PLAIN"],
		"batch": strconv.Itoa(batch), "messages": messages,
	}
	if !at.IsZero() {
		call["schedule"] = at.UTC().Format(time.RFC3339)
	}
	err := s.do(ctx, http.MethodPost, s.env["BASE_URL"]+campaignsPath+"dispatch", call, &answer)
	if err == nil && answer.Accepted != len(numbers) {
		err = fmt.Errorf("batch %d: %d of %d messages were accepted", batch, answer.Accepted, len(numbers))
	}
	return err
}

// standing is the state of a campaign in the API.
type standing struct {
	Status   string
	Accepted int
	Counts   map[string]int
	Batches  []struct{ BatchID string }
}

func (s service) campaign(ctx context.Context, id string) (c standing, err error) {
	err = s.do(ctx, http.MethodGet, s.env["BASE_URL"]+campaignsPath+id+"?limit=1", nil, &c)
	return c, err
}

func (s service) behave(ctx context.Context, behaviour map[string]any) error {
	return s.do(ctx, http.MethodPut, s.env["RCS_URL"]+"/_sim/behaviour", behaviour, nil)
}

// disableRateLimit gives the tenant's agent a rate that is never reached.
func (s service) disableRateLimit(ctx context.Context) error {
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

func storeOf(env stackenv.Env) *dynamotest.Store {
	return dynamotest.New(dynamo.FromEnv(dynamodb.NewFromConfig(env.AWS()), env.Get, time.Now))
}
