package e2e_test

import (
	"crypto/rand"
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/phone/numberset"
)

// Lambda processes the records of a shard in order, and a failing record blocks the next
// ones. The unreadable record reaches the dead-letter queue only after the function has
// queued the webhooks of the record before it with its own role.
func TestFeed_UnreadableRecord(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	client, table := dynamodb.NewFromConfig(c.env.AWS()), c.env["OUTCOMES_TABLE"]
	store := dynamotest.New(dynamo.FromEnv(client, c.env.Get, time.Now))
	b := acceptedFarAhead(t, store, c.env["TENANT"])
	_, err := outcome.AppendLedger(t.Context(), store, b, []campaign.Change{{Index: 0, Outcome: campaign.OutcomeSent, At: time.Now()}})
	must(t, err)

	damaged := map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: newBatchKey().String()}, "sk": &types.AttributeValueMemberS{Value: "HEAD"},
		"newAfter": &types.AttributeValueMemberN{Value: "1"}, "newest": &types.AttributeValueMemberN{Value: "2"},
		"tail": &types.AttributeValueMemberB{Value: []byte{0x80}},
	}
	_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: damaged})
	must(t, err)
	c.eventually(time.Minute, "record position in the dead-letter queue", func() bool {
		return c.takeUnread(damaged["pk"].(*types.AttributeValueMemberS).Value)
	})
}

// acceptedFarAhead stores an accepted batch that is due in 2100, so that sweep ignores it.
func acceptedFarAhead(t *testing.T, store *dynamotest.Store, tenant string) campaign.Batch {
	t.Helper()
	far := time.Date(2100, 3, 1, 12, 0, 0, 0, time.UTC)
	b := campaign.Batch{
		BatchRef:   campaign.BatchRef{ID: campaign.ID{Tenant: tenant, CampaignID: random.UUID()}, BatchID: campaign.BatchID(rand.Text())},
		TemplateID: random.UUID(), TemplateVersion: 1, Payload: rand.Text(), Accepted: 1, Key: newBatchKey(),
		AcceptedAt: time.Now(), Due: far, NextCheck: far, Scheduled: true, State: campaign.BatchPending,
	}
	must(t, store.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: rand.Text(), Ordinal: 1, Packed: numberset.Set{}.Pack()}, rand.Text()))
	return b
}

func newBatchKey() (key campaign.BatchKey) {
	_, _ = rand.Read(key[:])
	return key
}

// takeUnread removes the position of the key's record from the dead-letter queue. It
// reports whether the position was there.
func (c *client) takeUnread(pk string) bool {
	c.t.Helper()
	queues, url := sqs.NewFromConfig(c.env.AWS()), aws.String(c.env["FEED_DEAD_LETTERS_URL"])
	out, err := queues.ReceiveMessage(c.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url, MaxNumberOfMessages: 10, VisibilityTimeout: 1})
	must(c.t, err)
	for _, m := range out.Messages {
		var record dynamo.UnreadRecord
		must(c.t, json.Unmarshal([]byte(*m.Body), &record))
		if record.PK == pk && record.SK == "HEAD" && record.SequenceNumber != "" {
			_, err := queues.DeleteMessage(c.t.Context(), &sqs.DeleteMessageInput{QueueUrl: url, ReceiptHandle: m.ReceiptHandle})
			must(c.t, err)
			return true
		}
	}
	return false
}
