package e2e_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
)

const samples = "../../events/"

// Each file in events/ is an event of the function with its name. Later events depend on
// earlier ones: token, dispatch, reads, a delivery event of the provider, the repeated
// tasks of the campaign, the feed of an outcome, and sweep.
func TestSampleEvents_Invoke(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	id := random.UUID()
	fill := map[string]string{
		"TENANT": c.env["TENANT"], "TEMPLATE_ID": c.env["TEMPLATE_ID"],
		"CLIENT_ID": c.env["CLIENT_ID"], "CLIENT_SECRET": c.env["CLIENT_SECRET"],
		"CAMPAIGN_ID": id, "BATCH_ID": campaign.BatchID(""), "EXPORT_ID": random.UUID(),
	}
	invoke := func(function string) []byte {
		t.Helper()
		return c.invoke(function, sample(t, function, fill))
	}

	var token struct {
		AccessToken string `json:"access_token"`
	}
	httpAnswer(t, invoke("token"), http.StatusOK, &token)
	fill["ACCESS_TOKEN"] = token.AccessToken

	var dispatched struct {
		CampaignID         string
		Status             string
		Accepted, Rejected int
	}
	httpAnswer(t, invoke("dispatch"), http.StatusAccepted, &dispatched)
	if want := (struct {
		CampaignID         string
		Status             string
		Accepted, Rejected int
	}{id, "sending", 2, 1}); dispatched != want {
		t.Errorf("dispatch returned %+v, want %+v", dispatched, want)
	}

	var description struct{ OpenAPI string }
	httpAnswer(t, invoke("campaigns"), http.StatusOK, &description)
	if !strings.HasPrefix(description.OpenAPI, "3.1") {
		t.Errorf("campaigns returned an OpenAPI document of version %q, want 3.1", description.OpenAPI)
	}
	if got := string(invoke("dashboard")); !strings.HasPrefix(compact(t, []byte(got)), `{"statusCode":200,`) || !strings.Contains(got, "first_call.py") {
		t.Errorf("dashboard returned %.200s, want a page with the Python sample", got)
	}

	want := map[string]int{
		"+5511900000011": 1,
		"+5511900000012": 1,
	}
	sent := func() bool { return cmp.Equal(c.sentContaining(id), want) }
	c.eventually(3*time.Minute, "sent to both numbers", sent)
	c.fillOutcome(id, fill)
	if got := compact(t, invoke("events")); !strings.HasPrefix(got, `{"statusCode":200,`) {
		t.Errorf("events returned %s, want status 200", got)
	}
	for _, function := range []string{"release", "send", "outcomes", "notify", "revoke", "exports", "intake"} {
		if got := compact(t, invoke(function)); got != `{"batchItemFailures":[]}` {
			t.Errorf("%s returned %s, want an empty list of failures", function, got)
		}
	}
	for _, function := range []string{"feed", "sweep"} {
		if got := compact(t, invoke(function)); got != "null" {
			t.Errorf("%s returned %s, want null", function, got)
		}
	}
	if diff := cmp.Diff(want, c.sentContaining(id)); diff != "" {
		t.Errorf("messages after the repeated tasks (-want +got):\n%s", diff)
	}
}

// fillOutcome sets the placeholders of the samples for the campaign's message at the
// provider.
func (c *client) fillOutcome(word string, fill map[string]string) {
	c.t.Helper()
	store := dynamotest.New(dynamo.FromEnv(dynamodb.NewFromConfig(c.env.AWS()), c.env.Get, time.Now))
	agent, err := store.Agent(c.t.Context(), c.env["DEMO_AGENT_ID"])
	if err != nil {
		c.t.Fatal(err)
	}
	endpoints, err := store.Endpoints(c.t.Context(), c.env["TENANT"])
	if err != nil || len(endpoints) == 0 {
		c.t.Fatalf("the tenant has %d endpoints, error %v", len(endpoints), err)
	}
	for _, m := range c.allAtProvider() {
		if !strings.Contains(m.Text, word) {
			continue
		}
		key, _, _ := campaign.ParseMessageID(m.MessageID)
		data := `{"senderPhoneNumber":"` + m.Phone + `","eventType":"DELIVERED","eventId":"e","messageId":"` + m.MessageID + `"}`
		mac := hmac.New(sha512.New, []byte(agent.WebhookToken))
		_, _ = mac.Write([]byte(data))
		maps.Copy(fill, map[string]string{
			"AGENT_ID": agent.ID, "ENDPOINT_ID": endpoints[0].ID, "MESSAGE_ID": m.MessageID, "BATCH_KEY": key.String(),
			"EVENT_DATA":      base64.StdEncoding.EncodeToString([]byte(data)),
			"EVENT_SIGNATURE": base64.StdEncoding.EncodeToString(mac.Sum(nil)),
		})
		return
	}
	c.t.Fatal("the provider has no message of the campaign")
}

func TestSampleEvents_EveryFunction(t *testing.T) {
	t.Parallel()
	names := func(pattern string, name func(path string) string) []string {
		t.Helper()
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found := map[string]bool{}
		for _, path := range paths {
			if n := name(path); !strings.HasPrefix(n, "demo-") {
				found[n] = true
			}
		}
		return slices.Sorted(maps.Keys(found))
	}
	functions := names("../../functions/*/main.go", func(path string) string { return filepath.Base(filepath.Dir(path)) })
	events := names(samples+"*.json", func(path string) string { return strings.TrimSuffix(filepath.Base(path), ".json") })
	if diff := cmp.Diff(functions, events); diff != "" {
		t.Errorf("functions and events differ (-functions +events):\n%s", diff)
	}
	if len(events) == 0 {
		t.Error("found no sample events")
	}
}

// sample returns a file of events/ with its placeholders ${NAME} replaced. It fails the
// test if a value is missing.
func sample(t *testing.T, name string, fill map[string]string) []byte {
	t.Helper()
	text, err := os.ReadFile(samples + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	filled := os.Expand(string(text), func(placeholder string) string {
		if placeholder == "default" { // $default is the name of the API's stage
			return "$default"
		}
		value, ok := fill[placeholder]
		if !ok {
			t.Fatalf("%s.json: no value for the placeholder ${%s}", name, placeholder)
		}
		return value
	})
	return []byte(filled)
}

// invoke calls a deployed function with an event and returns its result.
func (c *client) invoke(function string, event []byte) []byte {
	c.t.Helper()
	answer, err := c.tryInvoke(function, event)
	must(c.t, err)
	return answer
}

// tryInvoke returns the answer of a function to an event. Goroutines of a test may call it
// at the same time.
func (c *client) tryInvoke(function string, event []byte) ([]byte, error) {
	key := strings.ToUpper(function) + "_FUNCTION"
	if c.env[key] == "" {
		return nil, fmt.Errorf("stack.env has no %s", key)
	}
	out, err := lambda.NewFromConfig(c.env.AWS()).Invoke(c.t.Context(), &lambda.InvokeInput{
		FunctionName: aws.String(c.env[key]), Payload: event,
	})
	if err != nil {
		return nil, fmt.Errorf("invoke %s: %w", function, err)
	}
	if out.FunctionError != nil {
		return nil, fmt.Errorf("%s failed: %s", function, out.Payload)
	}
	return out.Payload, nil
}

func compact(t *testing.T, document []byte) string {
	t.Helper()
	var b bytes.Buffer
	if err := json.Compact(&b, document); err != nil {
		t.Fatalf("%s is not JSON: %v", document, err)
	}
	return b.String()
}

// httpAnswer decodes the JSON body of an HTTP function's response.
func httpAnswer(t *testing.T, payload []byte, status int, body any) {
	t.Helper()
	var answer struct {
		StatusCode int
		Body       string
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		t.Fatalf("the response is not JSON: %v", err)
	}
	if answer.StatusCode != status {
		t.Fatalf("status %d: %s, want %d", answer.StatusCode, answer.Body, status)
	}
	if err := json.Unmarshal([]byte(answer.Body), body); err != nil {
		t.Fatalf("the body is not JSON: %v", err)
	}
}

// sentContaining counts the messages at the provider with a word in their text, by phone
// number.
func (c *client) sentContaining(word string) map[string]int {
	c.t.Helper()
	count := map[string]int{}
	for _, m := range c.allAtProvider() {
		if strings.Contains(m.Text, word) {
			count[m.Phone]++
		}
	}
	return count
}
