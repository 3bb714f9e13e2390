package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/rcs/events"
	"campaign-dispatch/localstack/stackenv"
)

// docs/development.md, "The local stack": the messages of a new tenant are marked as read.
func TestTenant_LocalStackAgent(t *testing.T) {
	t.Parallel()
	c := tool{t, stackenv.Load(t)}
	one, other := "own-"+strings.ToLower(rand.Text()), "own-"+strings.ToLower(rand.Text())
	if made := c.ok("tenant", "--id", one, "--name", "Acme"); made["agent"].(map[string]any)["id"] != one+"-agent" {
		t.Fatalf("made %v", made)
	}
	c.ok("tenant", "--id", other)
	c.ok("tenant", "--id", one, "--name", "Acme S.A.") // again, without effect
	template := c.ok("template", "--tenant", one, "--text", "Olá {{nome}}!")
	credential := c.ok("credential", "--tenant", one, "--name", "shop")

	token := c.post("/api/v1/oauth/token", "", map[string]any{
		"grant_type": "client_credentials", "client_id": credential["clientId"], "client_secret": credential["clientSecret"],
	})["access_token"].(string)
	id := "0198d3a0-0000-4000-8000-" + rand.Text()[:4] + "00000000"
	id = strings.Map(hexOnly, id)
	c.post("/api/v1/external/campaigns/dispatch", token, map[string]any{
		"campaignId": id, "name": id, "templateId": template["id"],
		"messages": []any{map[string]any{"phone": "+5511987654321", "uid": "1", "vars": map[string]any{"nome": "Ana"}}},
	})
	end := time.Now().Add(time.Minute)
	for {
		shown := c.call(http.MethodGet, "/api/v1/external/campaigns/"+id, token, nil)
		counts, _ := shown["counts"].(map[string]any)
		if counts["read"] == 1.0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the message was not read: %v", shown)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// hexOnly maps characters that are not hexadecimal digits to digits, except hyphens.
func hexOnly(r rune) rune {
	if strings.ContainsRune("0123456789abcdef-", r) {
		return r
	}
	return '0' + r%10
}

func (c tool) post(path, token string, body map[string]any) map[string]any {
	c.t.Helper()
	return c.call(http.MethodPost, path, token, body)
}

func (c tool) call(method, path, token string, body map[string]any) map[string]any {
	c.t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		c.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.env["BASE_URL"]+path, bytes.NewReader(sent))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer map[string]any
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode >= 300 {
		c.t.Fatalf("%s %s: %d, %v, %v", method, path, response.StatusCode, answer, err)
	}
	return answer
}

func TestTenant_AgentOfAnotherTenant(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	owner, other := c.tenant(), strings.ToLower(rand.Text())
	got := c.run("tenant", "--id", other, "--agent-id", owner+"_agent")
	if got.code != exitFailed || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "belongs to tenant "+owner) || !strings.Contains(got.stderr, "use another agent") {
		t.Errorf("exit %d, %q, %q", got.code, got.stdout, got.stderr)
	}
}

func TestTenant_Rates(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	c.env["AGENT_RATE"], c.env["SEND_RATE"] = "7", "2000000000" // other tests have agents too
	id := strings.ToLower(rand.Text())
	key := c.file(keyDocument(t))
	made := c.ok("tenant", "--id", id, "--agent-id", id, "--key-file", key)["agent"].(map[string]any)
	if made["rate"] != 7.0 {
		t.Errorf("a new agent has the rate %v, want 7", made["rate"])
	}
	if endless := c.ok("agent", "--id", id, "--unlimited"); endless["rate"] != 0.0 {
		t.Errorf("an unlimited agent has the rate %v, want 0", endless["rate"])
	}
	c.env["SEND_RATE"] = "50"
	c.ok("agent", "--id", id, "--rate", "10") // fewer than before
	got := c.run("agent", "--id", id, "--rate", "60")
	if got.code != exitFailed || strings.Count(got.stderr, "\n") != 1 || !strings.Contains(got.stderr, "and the stack is for 50: ") {
		t.Errorf("more than all may send: exit %d, %q", got.code, got.stderr)
	}
	rates := c.ok("list")["rates"].([]any)[0].(map[string]any)
	if sum, _ := rates["sum"].(float64); sum < 10 || rates["sendRate"] != 50.0 || rates["agentRate"] != 7.0 {
		t.Errorf("the list has the rates %v", rates)
	}
}

// A stack that was deployed before it had rates accepts those that preflight asks for before the next deployment.
func TestTenant_StackWithoutRates(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	name := "admin-test-" + rand.Text()
	deployOutputs(t, c.env, name)
	remote := tool{t, with(c.env, "AUTH_TABLE", "never-used")}
	remote.ok("agent", "--id", id+"_agent", "--rate", "60", "--stack", name)
	got := remote.run("agent", "--id", id+"-new", "--key-file", c.file(keyDocument(t)), "--stack", name)
	if got.code != exitFailed || !strings.Contains(got.stderr, "give a rate, or deploy this version first") {
		t.Errorf("a new agent without a rate: exit %d, %q", got.code, got.stderr)
	}
}

func TestList_AgentOwners(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	owner, other := c.tenant(), c.tenant()
	s, err := open(t.Context(), func(key string) string { return c.env[key] }, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.SaveTenant(t.Context(), campaign.Tenant{ID: owner, AgentID: "agent-" + rand.Text()}, nil); err != nil {
		t.Fatal(err)
	}
	shown := map[any]string{}
	for _, a := range c.ok("list")["agents"].([]any) {
		agent := a.(map[string]any)
		shown[agent["id"]], _ = agent["tenant"].(string)
	}
	if got := shown[owner+"_agent"]; !strings.HasPrefix(got, owner+" (until 2") {
		t.Errorf("the agent without a tenant is shown as %q", got)
	}
	if got := shown[other+"_agent"]; got != other {
		t.Errorf("the agent is shown as %q, want %q", got, other)
	}
}

// pipeline delivers events through a queue of the test's own.
type pipeline struct {
	tool
	client *awssqs.Client
	stack  *stack
	tenant string
	hook   http.Handler
}

func newPipeline(t *testing.T) pipeline {
	t.Helper()
	c := newTool(t)
	p := pipeline{tool: c, tenant: c.tenant(), client: awssqs.NewFromConfig(c.env.AWS())}
	p.env = withQueues(t, c.env)
	var err error
	if p.stack, err = open(t.Context(), func(key string) string { return p.env[key] }, ""); err != nil {
		t.Fatal(err)
	}
	hook := &events.Hook{Agents: p.stack.store, Blobs: p.stack.blobs, Events: sqs.New(c.env.AWS(), p.env["EVENTS_QUEUE_URL"], time.Now), Now: time.Now}
	mux := http.NewServeMux()
	mux.Handle("POST /{agentId}", httpapi.HandlerFunc(hook.ServeEvent))
	p.hook = mux
	return p
}

// event posts a signed event of the tenant's agent, as the provider does.
func (p pipeline) event(data string) {
	p.t.Helper()
	mac := hmac.New(sha512.New, []byte("t"))
	_, _ = mac.Write([]byte(data))
	body := `{"message":{"data":"` + base64.StdEncoding.EncodeToString([]byte(data)) + `"}}`
	r := httptest.NewRequestWithContext(p.t.Context(), http.MethodPost, "/"+p.tenant+"_agent", strings.NewReader(body))
	r.Header.Set("X-Goog-Signature", base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	answer := httptest.NewRecorder()
	if p.hook.ServeHTTP(answer, r); answer.Code != http.StatusOK {
		p.t.Errorf("status %[2]d for %[1]s", data, answer.Code)
	}
}

func TestEraseNumber_AfterEventsThatAreMalformed(t *testing.T) {
	t.Parallel()
	erase := func(p pipeline) {
		p.t.Helper()
		if got := p.run("erase-number", "--tenant", p.tenant, "--phone", somebody); got.code != 0 {
			p.t.Errorf("exit %d, %q", got.code, got.stderr)
		}
	}
	t.Run("on arrival", func(t *testing.T) {
		t.Parallel()
		p := newPipeline(t)
		for _, phone := range []string{"abc", strings.Repeat("5", 40)} {
			p.event(`{"senderPhoneNumber":"` + phone + `","messageId":"m","text":"parar"}`)
			p.event(`{"senderPhoneNumber":"` + phone + `","eventType":"UNSUBSCRIBE","eventId":"e"}`)
		}
		erase(p)
	})
}
