package main

import (
	"crypto/rand"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/webhook/delivery"
)

// Nothing is queued without --confirm. Outcomes written before the time are not
// replayed.
func TestReplayWebhooks(t *testing.T) {
	t.Parallel()
	c := newTool(t)
	queues := sqs.NewFromConfig(c.env.AWS())
	c.env["CAMPAIGNS_TABLE"], c.env["OUTCOMES_TABLE"] = c.env.OwnTable(t, c.env["CAMPAIGNS_TABLE"]), c.env.OwnTable(t, c.env["OUTCOMES_TABLE"])
	c.env["NOTIFY_QUEUE_URL"] = newQueue(t, queues)
	since := time.Now().Add(-2 * time.Hour)
	store := dynamotest.New(dynamo.FromEnv(dynamodb.NewFromConfig(c.env.AWS()), c.env.Get, time.Now))
	if err := store.SaveEndpoint(t.Context(), delivery.Endpoint{ID: "endpoint", Tenant: "acme"}); err != nil {
		t.Fatal(err)
	}
	tapped := recorded(t, store, time.Now(), 3)
	if err := store.SaveEndpoint(t.Context(), delivery.Endpoint{ID: "taps", Tenant: "acme", Kinds: []string{"message.tapped"}}); err != nil {
		t.Fatal(err)
	}
	tap := campaign.Change{Index: 1, Outcome: campaign.OutcomeTapped, Suggestion: 2, At: time.Now()}
	if _, err := store.AppendTaps(t.Context(), tapped, ledger.Taps{}, []campaign.Change{tap}); err != nil {
		t.Fatal(err)
	}
	recorded(t, store, since.Add(-24*time.Hour), 5)

	at := since.Format(time.RFC3339)
	if diff := cmp.Diff(map[string]any{"batches": 1.0, "entries": 0.0, "taps": 0.0, "queued": false}, c.replayed("--since", at)); diff != "" {
		t.Errorf("not confirmed (-want +got):\n%s", diff)
	}
	if n := len(received(t, queues, c.env["NOTIFY_QUEUE_URL"])); n != 0 {
		t.Errorf("%d tasks were queued before it was confirmed", n)
	}
	c.env[calledByMake] = "make"
	if got := c.run("replay-webhooks", "--since", at); !strings.Contains(got.stdout, "next: make replay-webhooks SINCE="+at+" CONFIRM=1") {
		t.Errorf("the next step is not named: %+v", got)
	}
	if diff := cmp.Diff(map[string]any{"batches": 1.0, "entries": 3.0, "taps": 1.0, "queued": true}, c.replayed("--since", at, "--confirm")); diff != "" {
		t.Errorf("confirmed (-want +got):\n%s", diff)
	}
	tasks := received(t, queues, c.env["NOTIFY_QUEUE_URL"])
	endpoints := map[string]int{}
	for _, task := range tasks {
		if task.Tenant == "acme" && task.Entries != "" {
			endpoints[task.EndpointID]++
		}
	}
	if diff := cmp.Diff(map[string]int{"endpoint": 1, "taps": 1}, endpoints); diff != "" {
		t.Errorf("tasks by endpoint (-want +got):\n%s", diff)
	}
}

// replayed returns the command's answer and ignores its progress output.
func (c tool) replayed(flags ...string) (data map[string]any) {
	c.t.Helper()
	got := c.run(append([]string{"replay-webhooks", "--json"}, flags...)...)
	if err := json.Unmarshal([]byte(got.stdout), &data); err != nil || got.code != 0 {
		c.t.Errorf("%q: %+v, %v", flags, got, err)
	}
	return data
}

// recorded writes a batch with a ledger and messages sent at a time.
func recorded(t *testing.T, store *dynamotest.Store, at time.Time, messages int) campaign.Batch {
	t.Helper()
	then := *store
	then.Set(func(tables *dynamo.Tables) { tables.Now = func() time.Time { return at } })
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: "acme", CampaignID: rand.Text()}, BatchID: campaign.BatchID(rand.Text())},
		Payload:  rand.Text(), Accepted: messages, AcceptedAt: at, Due: at, NextCheck: at, State: campaign.BatchSending,
	}
	_, _ = rand.Read(b.Key[:])
	if err := then.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: rand.Text(), Ordinal: 1, Packed: []byte{0}}, rand.Text()); err != nil {
		t.Fatal(err)
	}
	var changes []campaign.Change
	for i := range messages {
		changes = append(changes, campaign.Change{Index: i, Outcome: campaign.OutcomeSent, At: at})
	}
	if _, err := outcome.AppendLedger(t.Context(), &then, b, changes); err != nil {
		t.Fatal(err)
	}
	return b
}

// received returns the tasks of a queue.
func received(t *testing.T, queues *sqs.Client, url string) (tasks []delivery.NotifyTask) {
	t.Helper()
	out, err := queues.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(url), MaxNumberOfMessages: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range out.Messages {
		var message delivery.NotifyMessage
		if err := json.Unmarshal([]byte(*m.Body), &message); err != nil {
			t.Fatal(err)
		}
		tasks = append(tasks, message.Tasks()...)
	}
	return tasks
}
