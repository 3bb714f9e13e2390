package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/config"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/localstack/stackenv"
)

func (c tool) rows() *dynamo.Stores {
	return dynamo.New(dynamo.FromEnv(dynamodb.NewFromConfig(c.env.AWS()), c.env.Get, time.Now))
}

// tool runs the command as a user would.
type tool struct {
	t   *testing.T
	env stackenv.Env
}

func newTool(t *testing.T) tool {
	t.Helper()
	env := stackenv.Load(t)
	env["STACK_NAME"] = "admin-test"
	return tool{t, env}
}

type result struct {
	code           int
	stdout, stderr string
}

func (c tool) run(args ...string) result {
	c.t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(c.t.Context(), args, func(key string) string { return c.env[key] }, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

// ok runs the command with --json and returns its output. It runs the command again if the command
// says so: tests of other packages end functions that the simulator calls.
func (c tool) ok(args ...string) map[string]any {
	c.t.Helper()
	got := c.run(append(args, "--json")...)
	for tries := 1; tries < 5 && strings.Contains(got.stderr, "run the command again"); tries++ {
		got = c.run(append(args, "--json")...)
	}
	var data map[string]any
	if err := json.Unmarshal([]byte(got.stdout), &data); got.code != 0 || err != nil || got.stderr != "" {
		c.t.Fatalf("%v: exit %d, %q, %q, %v", args, got.code, got.stdout, got.stderr, err)
	}
	return data
}

// tenant creates a tenant and returns its id.
func (c tool) tenant() string {
	c.t.Helper()
	id := strings.ToLower(rand.Text())
	c.ok("tenant", "--id", id, "--name", "Acme", "--agent-id", id+"_agent", "--key-file", c.file(keyDocument(c.t)), "--webhook-token", "t", "--rate", "30")
	return id
}

func (c tool) file(content string) string {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "file.json")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// keyDocument returns a document in the format of a service account's key, without a
// key.
func keyDocument(t *testing.T) string {
	t.Helper()
	document, err := json.Marshal(map[string]string{
		"type": "service_account", "client_email": "a@example.com", "token_uri": "https://oauth2.googleapis.com/token",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("none")})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

func TestRun_NewTenantToCredential(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	template := c.ok("template", "--tenant", id, "--text", "Olá {{nome}}, pedido {{pedido}}")
	if diff := cmp.Diff([]any{"nome", "pedido"}, template["variables"]); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
	uuid, _ := template["id"].(string)
	card := c.file(`{"title":"Oi","suggestions":["Sim"]}`)
	if again := c.ok("template", "--tenant", id, "--id", uuid, "--card", card, "--name", "Oi"); again["version"] != 2.0 {
		t.Errorf("version %v, want 2", again["version"])
	}
	credential := c.ok("credential", "--tenant", id, "--name", "crm")
	client, _ := credential["clientId"].(string)
	rotated := c.ok("rotate", "--client-id", client, "--keep", "2h")
	if rotated["clientSecret"] == credential["clientSecret"] || rotated["clientSecret"] == "" {
		t.Error("the secret did not change")
	}
	if rotated = c.ok("rotate", "--client-id", client, "--keep", "0s"); rotated["previousUntil"] != nil || rotated["refreshTokensEnded"] != true {
		t.Errorf("rotated without overlap: %v", rotated)
	}
	c.ok("prices", "--tenant", id, "--basic", "0.05", "--single", "0,10", "--month", "1000")
	prices := c.ok("prices", "--tenant", id, "--day", "100", "--month", "0")
	if diff := cmp.Diff(map[string]any{"tenant": id, "currency": "BRL", "basic": "0.05", "single": "0.10", "day": "100.00"}, prices); diff != "" {
		t.Errorf("prices (-want +got):\n%s", diff)
	}
	endpoint := c.ok("endpoint", "--tenant", id, "--url", "https://example.com/hook", "--kinds", "message.sent, message.failed")
	c.ok("revoke", "--client-id", client)
	endpointID, _ := endpoint["id"].(string)
	on := func(command string) map[string]any { return c.ok(command, "--tenant", id, "--id", endpointID) }
	if next := on("rotate-endpoint"); next["secret"] == endpoint["secret"] || next["secret"] == "" {
		t.Error("the endpoint's secret did not change")
	}
	on("disable-endpoint")
	on("enable-endpoint")
	if resent := on("resend"); resent["deliveries"] != 0.0 {
		t.Errorf("resent %v, want nothing", resent["deliveries"])
	}
	if failures := on("failures"); !cmp.Equal(failures["failures"], []any{}) {
		t.Errorf("failures %v, want none", failures["failures"])
	}

	rule := reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}
	if err := c.rows().SaveTenantHours(t.Context(), id, rule); err != nil {
		t.Fatal(err)
	}

	list := c.ok("list", "--tenant", id)
	credentials, _ := list["credentials"].([]any)
	shown, _ := credentials[0].(map[string]any)
	if status, _ := shown["status"].(string); shown["clientId"] != client || !strings.HasPrefix(status, "revoked ") {
		t.Errorf("credential %v, want %s revoked", shown, client)
	}
	want := map[string]any{
		"tenants":   []any{map[string]any{"id": id, "name": "Acme", "agentId": id + "_agent"}},
		"templates": []any{map[string]any{"id": uuid, "name": "Oi", "version": 2.0}},
		"endpoints": []any{map[string]any{"id": endpoint["id"], "url": "https://example.com/hook", "kinds": "message.failed, message.sent", "status": "on"}},
		"sendingHours": []any{map[string]any{
			"traffic": "promotion", "holidays": "closed",
			"hours": "monday 09:00-21:00, tuesday 09:00-21:00, wednesday 09:00-21:00, thursday 09:00-21:00, friday 09:00-21:00, saturday 10:00-16:00",
		}},
	}
	delete(list, "credentials")
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestCredential_Scopes(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	if one := c.ok("credential", "--tenant", id); one["scope"] != "campaigns:dispatch" {
		t.Errorf("the default scope is %v", one["scope"])
	}
	if both := c.ok("credential", "--tenant", id, "--scopes", "templates campaigns:dispatch"); both["scope"] != "campaigns:dispatch templates" {
		t.Errorf("the scope is %v", both["scope"])
	}
	if got := c.run("credential", "--tenant", id, "--scopes", "everything"); got.code != 1 || !strings.Contains(got.stderr, "unknown scope") {
		t.Errorf("an unknown scope: exit %d, %q", got.code, got.stderr)
	}
}

func TestList_Text(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	c.ok("pause", "--tenant", id)
	got := c.run("list")
	if got.code != 0 || got.stderr != "" {
		t.Fatalf("exit %d, %q", got.code, got.stderr)
	}
	shown := strings.Join(strings.Fields(got.stdout), " ")
	for _, words := range []string{"id name agentId", id + " Acme", id + "_agent 30", "tenant " + id, "next: go run ./internal/operator/command list --tenant"} {
		if !strings.Contains(shown, words) {
			t.Errorf("the list does not show %q:\n%s", words, got.stdout)
		}
	}
	c.ok("resume", "--tenant", id)
	if got := c.run("list"); strings.Contains(got.stdout, "tenant "+id) {
		t.Errorf("the pause is still shown:\n%s", got.stdout)
	}
}

func TestList_PausedCampaign(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	rows := c.rows()
	id := campaign.ID{Tenant: c.tenant(), CampaignID: rand.Text()}
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: id, BatchID: "first"}, Ordinal: 1, Offsets: []int{0}, State: campaign.BatchSending, AcceptedAt: time.Now(),
	}
	if err := rows.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: "Natal", Ordinal: 1, Packed: []byte{0}}, rand.Text()); err != nil {
		t.Fatal(err)
	}
	if _, err := rows.PauseCampaign(t.Context(), id, time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	pauses, _ := c.ok("list")["pauses"].([]any)
	want := map[string]any{"subject": strings.ReplaceAll(campaign.PauseSubject(id), "#", " "), "since": "2026-11-27T12:00:00Z"}
	if !slices.ContainsFunc(pauses, func(p any) bool { return cmp.Equal(any(want), p) }) {
		t.Errorf("the pauses are %v, want one of them %v", pauses, want)
	}
}

func TestRun_NextStep(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	client, _ := c.ok("credential", "--tenant", id)["clientId"].(string)
	for _, args := range [][]string{
		{"tenant", "--id", id, "--name", "Outro"},
		{"agent", "--id", id + "_agent", "--rate", "5"},
		{"template", "--tenant", id, "--text", "Oi"},
		{"credential", "--tenant", id},
		{"rotate", "--client-id", client},
		{"revoke", "--client-id", client},
		{"endpoint", "--tenant", id, "--url", "https://example.com"},
		{"pause", "--agent", id + "_agent"},
		{"resume", "--agent", id + "_agent"},
		{"list"},
		{"list", "--tenant", id},
	} {
		got := c.run(args...)
		if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "\nnext: ") {
			t.Errorf("%v: exit %d, %q, %q", args, got.code, got.stdout, got.stderr)
		}
	}
}

func TestRun_SecretsShownOnce(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	secret, _ := c.ok("credential", "--tenant", id)["clientSecret"].(string)
	signing, _ := c.ok("endpoint", "--tenant", id, "--url", "https://example.com")["secret"].(string)
	shown := c.run("list", "--tenant", id).stdout + c.run("list").stdout + c.run("list", "--tenant", id, "--json").stdout
	for _, s := range []string{secret, signing} {
		if s == "" || strings.Contains(shown, s) {
			t.Errorf("a secret of %d characters is listed", len(s))
		}
	}
}

func TestRun_Errors(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	for _, key := range []string{"RELEASE_DEAD_LETTERS_URL", "DEMO_AGENT_ID", "LOCAL_WEBHOOKS"} {
		delete(c.env, key)
	}
	id := c.tenant()
	absent := filepath.Join(t.TempDir(), "absent")
	for name, test := range map[string]struct {
		args string
		code int
		says string
	}{
		"no command":        {"tenants", 2, "unknown command"},
		"unknown flag":      {"list --all", 2, "-all"},
		"argument":          {"list acme", 2, `"acme"`},
		"flag twice empty":  {"tenant --id", 2, "needs an argument"},
		"rate":              {"tenant --id a --rate many", 2, "whole number"},
		"rate of nothing":   {"tenant --id a --rate 0", 2, "or --unlimited for no limit"},
		"two rates":         {"agent --id a --rate 5 --unlimited", 2, "not both"},
		"no id":             {"tenant", 2, "--id is missing"},
		"agent, no id":      {"agent", 2, "--id is missing"},
		"no tenant":         {"template --text a", 2, "--tenant is missing"},
		"text and card":     {"template --tenant a --text b --card c", 2, "not both"},
		"prices, no tenant": {"prices", 2, "--tenant is missing"},
		"no client":         {"rotate", 2, "--client-id is missing"},
		"revoke nothing":    {"revoke", 2, "--client-id is missing"},
		"no url":            {"endpoint --tenant a", 2, "--url is missing"},
		"pause nobody":      {"pause", 2, "exactly one"},
		"pause two":         {"pause --all --tenant a", 2, "exactly one"},
		"resume nobody":     {"resume --agent=", 2, "exactly one"},
		"queue":             {"redrive --queue outcomes", 2, "release, send, events, notify, revoke, exports or intake"},
		"keep":              {"rotate --client-id rcs_x --keep soon", 2, "like 0s, 30m or 24h"},
		"keep, no unit":     {"rotate --client-id rcs_x --keep 24", 2, "like 0s, 30m or 24h"},
		"keep, bare zero":   {"rotate --client-id rcs_x --keep 0", 2, "like 0s, 30m or 24h"},
		"keep below zero":   {"rotate --client-id rcs_x --keep -1h", 2, "like 0s, 30m or 24h"},
		"endpoint's keep":   {"rotate-endpoint --tenant a --id b --keep abc", 2, "like 0s, 30m or 24h"},
		"no kinds":          {"endpoint --tenant a --url https://example.com --kinds ,", 2, "names no kind"},
		"failures of none":  {"failures --tenant " + id + " --id nope", 1, "no endpoint"},
		"bad id":            {"tenant --id A_B", 1, "lower-case"},
		"no agent":          {"tenant --id new-one", 1, "needs an agent"},
		"unknown agent":     {"tenant --id new-one --agent-id nobody-here", 1, "key file"},
		"no file":           {"tenant --id new-one --agent-id x --key-file " + absent, 1, "no such file"},
		"folder":            {"tenant --id new-one --agent-id x --key-file " + t.TempDir(), 1, "is a directory"},
		"empty file":        {"template --tenant " + id + " --card " + c.file(""), 1, "is empty"},
		"huge file":         {"template --tenant " + id + " --card " + c.file(strings.Repeat(" ", 2<<20)), 1, "more than"},
		"no template":       {"template --tenant " + id, 1, "no text, card"},
		"unknown tenant":    {"credential --tenant nobody-here", 1, "does not exist"},
		"list nobody":       {"list --tenant nobody-here", 1, "list shows all"},
		"unknown client":    {"revoke --client-id rcs_nobody", 1, "active credential"},
		"kind":              {"endpoint --tenant " + id + " --url https://example.com --kinds seen", 1, "unknown event kind"},
		"plain http":        {"endpoint --tenant " + id + " --url http://example.com", 1, "https://"},
		"pause unknown":     {"pause --tenant nobody-here", 1, "does not exist"},
		"stack not on AWS":  {"list --stack nobody-here", 1, "no stack nobody-here"},
		"no dead letters":   {"redrive", 1, "RELEASE_DEAD_LETTERS_URL"},
		"template of other": {"template --text a --tenant " + id + " --id 6f1f8a52-3c0b-4d7e-9b59-ffffffffffff", 1, "no template"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tool{t, c.env}.run(strings.Fields(test.args)...)
			if got.code != test.code || got.stdout != "" {
				t.Errorf("exit %d with %q on stdout, want %d", got.code, got.stdout, test.code)
			}
			if !strings.Contains(got.stderr, test.says) || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("stderr %q, want one line that contains %q", got.stderr, test.says)
			}
		})
	}
}

func TestRun_NoStack(t *testing.T) {
	t.Parallel()
	given := stackenv.Load(t)
	for name, test := range map[string]struct {
		env  stackenv.Env
		args string
		says string
	}{
		"no stack":       {stackenv.Env{}, "list", "make up"},
		"no region":      {stackenv.Env{}, "list --stack s", "AWS_REGION"},
		"no credentials": {stackenv.Env{"AWS_REGION": "us-east-1"}, "list --stack s", "export-credentials"},
		"half a stack":   {with(given, "CAMPAIGNS_TABLE", ""), "list", "no CAMPAIGNS_TABLE"},
		"no table":       {with(given, "CAMPAIGNS_TABLE", "gone"), "list", "the stack is gone"},
		"nobody listens": {with(given, "AWS_ENDPOINT_URL", "http://127.0.0.1:1"), "list", "make up"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := tool{t, test.env}.run(strings.Fields(test.args)...)
			if got.code != 1 || !strings.Contains(got.stderr, test.says) || strings.Count(got.stderr, "\n") != 1 {
				t.Errorf("exit %d, %q; want 1 and a line that contains %q", got.code, got.stderr, test.says)
			}
		})
	}
}

func TestRun_ByMake(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	c.env[calledByMake] = "make ENV=staging"
	for args, says := range map[string]string{
		"list":                              "make ENV=staging list TENANT=ID",
		"list --tenant " + id:               "make ENV=staging credential TENANT=" + id,
		"tenant --id " + id:                 "template TENANT=" + id + " TEXT='Olá {{nome}}!'",
		"pause --tenant " + id:              "resume TENANT=" + id,
		"list --tenant nobody-here":         "make ENV=staging tenant TENANT=nobody-here",
		"pause":                             "exactly one of ALL, TENANT and AGENT (`make help`",
		"agent --id a --rate many":          `value "many" for RATE: use a whole number`,
		"agent --id a --rate 0":             "like 30, or UNLIMITED for no limit",
		"rotate --client-id rcs --keep no":  `value "no" for KEEP: use a time`,
		"restore":                           "AT is missing",
		"restore --at yesterday":            "for AT: use a time with its zone",
		"restore --at 2999-01-01T00:00:00Z": "AT is in the future",
		"replay-webhooks":                   "SINCE is missing",
		"replay-webhooks --since yesterday": "for SINCE: use a time with its zone",
	} {
		got := c.run(strings.Fields(args)...)
		if all := got.stdout + got.stderr; !strings.Contains(all, says) || strings.Contains(all, "go run") || strings.Contains(all, " --") {
			t.Errorf("%s prints %q, want %q and no flags", args, all, says)
		}
	}
}

func TestRun_LocalStackFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stack.env")
	if err := os.WriteFile(path, []byte("# where\nA=b\r\n\nURL='http://x/?a=b'\nno line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readEnv(path)
	if diff := cmp.Diff(map[string]string{"A": "b", "URL": "http://x/?a=b"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestRun_Help(t *testing.T) {
	t.Parallel()
	c := tool{t, nil}
	if got := c.run(); got.code != 2 || !strings.Contains(got.stdout, "redrive") {
		t.Errorf("without arguments: %+v", got)
	}
	if got := c.run("help"); got.code != 0 || !strings.Contains(got.stdout, "redrive") {
		t.Errorf("help: %+v", got)
	}
	if got := c.run("endpoint", "-h"); !strings.Contains(got.stdout, "message.tapped and those of campaigns, which have to be named") {
		t.Errorf("endpoint -h: %+v", got)
	}
	for _, command := range commands() {
		got := c.run(command.name, "-h")
		if got.code != 0 || !strings.Contains(got.stdout, "-json") || got.stderr != "" {
			t.Errorf("%s -h: %+v", command.name, got)
		}
	}
}

func TestRun_Interrupted(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"list"}, func(key string) string { return env[key] }, &stdout, &stderr)
	if code != 1 || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("exit %d, %q", code, stderr.String())
	}
}

func TestRedrive(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	cfg := c.env.AWS()
	cfg.HTTPClient = config.HTTPClientFor(10 * time.Second)
	client := sqs.NewFromConfig(cfg)
	for _, name := range queues() {
		prefix := strings.ToUpper(name)
		c.env[prefix+"_QUEUE_URL"], c.env[prefix+"_DEAD_LETTERS_URL"] = newQueue(t, client), newQueue(t, client)
	}
	for _, dead := range []string{"RELEASE_DEAD_LETTERS_URL", "SEND_DEAD_LETTERS_URL", "SEND_DEAD_LETTERS_URL"} {
		if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: aws.String(c.env[dead]), MessageBody: aws.String("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]any{"moved": map[string]any{"release": 1.0}}, c.ok("redrive", "--queue", "release")); diff != "" {
		t.Errorf("release (-want +got):\n%s", diff)
	}
	moved := map[string]any{"release": 0.0, "send": 2.0, "events": 0.0, "notify": 0.0, "revoke": 0.0, "exports": 0.0, "intake": 0.0}
	if diff := cmp.Diff(map[string]any{"moved": moved}, c.ok("redrive")); diff != "" {
		t.Errorf("all (-want +got):\n%s", diff)
	}
	if got := c.run("redrive", "--queue", "send"); !strings.Contains(got.stdout, "send queue: 0 dead letters moved back") {
		t.Errorf("for a person: %+v", got)
	}
}

func newQueue(t *testing.T, client *sqs.Client) string {
	t.Helper()
	out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("admin-" + rand.Text())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's context is already cancelled
		_, _ = client.DeleteQueue(context.Background(), &sqs.DeleteQueueInput{QueueUrl: out.QueueUrl})
	})
	return *out.QueueUrl
}

func TestRun_StackOnAWS(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	id := c.tenant()
	name := "admin-test-" + rand.Text()
	deployOutputs(t, c.env, name)
	remote := tool{t, with(c.env, "AUTH_TABLE", "never-used")}
	remote.env["LOCAL_WEBHOOKS"] = "1" // local stacks only
	if list := remote.ok("list", "--tenant", id, "--stack", name); list["tenants"] == nil {
		t.Errorf("list %v", list)
	}
	got := remote.run("list", "--tenant", id, "--stack", name)
	if !strings.Contains(got.stdout, "--stack "+name) {
		t.Errorf("the next step is not for the stack: %q", got.stdout)
	}
	got = remote.run("endpoint", "--tenant", id, "--url", "http://127.0.0.1", "--stack", name)
	if got.code != 1 || !strings.Contains(got.stderr, "https://") {
		t.Errorf("a local endpoint: %+v", got)
	}
}

// deployOutputs creates a stack whose outputs name the tables of the test's stack.
func deployOutputs(t *testing.T, env stackenv.Env, name string) {
	t.Helper()
	deploy(t, env, name, map[string]any{
		"Resources": map[string]any{"Topic": map[string]string{"Type": "AWS::SNS::Topic"}},
		"Outputs": map[string]any{
			"AuthTableName":      map[string]string{"Value": env["AUTH_TABLE"]},
			"CampaignsTableName": map[string]string{"Value": env["CAMPAIGNS_TABLE"]},
		},
	})
}

// deploy creates a stack and deletes it after the test.
func deploy(t *testing.T, env stackenv.Env, name string, document map[string]any) {
	t.Helper()
	template, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	client := cloudformation.NewFromConfig(env.AWS())
	if _, err = client.CreateStack(t.Context(), &cloudformation.CreateStackInput{StackName: &name, TemplateBody: aws.String(string(template))}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the test's context is already cancelled
		_, _ = client.DeleteStack(context.Background(), &cloudformation.DeleteStackInput{StackName: &name})
	})
	for range 1000 {
		out, err := client.DescribeStacks(t.Context(), &cloudformation.DescribeStacksInput{StackName: &name})
		if err != nil {
			t.Fatal(err)
		}
		if out.Stacks[0].StackStatus == types.StackStatusCreateComplete {
			return
		}
	}
	t.Fatal("the stack was not created")
}

func with(env stackenv.Env, key, value string) stackenv.Env {
	changed := maps.Clone(env)
	changed[key] = value
	return changed
}

func TestDrift_Changed(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	queue := deployQueue(t, c.env)
	c.env["STACK_NAME"] = queue
	if got := c.run("drift"); got.code != 0 || !strings.HasPrefix(got.stdout, "1 resources were compared") {
		t.Errorf("as deployed: %+v", got)
	}
	found, err := sqs.NewFromConfig(c.env.AWS()).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: &queue})
	if err != nil {
		t.Fatal(err)
	}
	_, err = sqs.NewFromConfig(c.env.AWS()).SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: found.QueueUrl, Attributes: map[string]string{"VisibilityTimeout": "30"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := c.run("drift")
	if got.code != 1 || !strings.Contains(got.stdout, "Queue  /VisibilityTimeout  expected 360  is 30") ||
		got.stderr != "admin drift: 1 resources differ from the template\n" {
		t.Errorf("after a change by hand: %+v", got)
	}
}

// deployQueue creates a stack with a queue of the same name.
func deployQueue(t *testing.T, env stackenv.Env) string {
	t.Helper()
	name := "drift-" + rand.Text()
	deploy(t, env, name, map[string]any{"Resources": map[string]any{"Queue": map[string]any{
		"Type": "AWS::SQS::Queue", "Properties": map[string]any{"QueueName": name, "VisibilityTimeout": 360},
	}}})
	return name
}
