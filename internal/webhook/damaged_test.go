package webhook_test

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook/delivery"
)

// A damaged parked delivery does not block the ones behind it. Its task is queued and ends
// in the dead-letter queue.
func TestDrain_DamagedDelivery(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 3)
	process := w.notifier()
	w.receiver.set(failing(503))
	w.record(sent(3)...)
	for _, err := range process.Handle(t.Context(), w.arrived()) {
		w.must(err)
	}
	damaged := w.parkDamaged()
	c, err := w.store.Circuit(t.Context(), w.tenant, w.endpoint.ID)
	w.must(err)
	c.Closing, c.Next = true, w.Now()
	_, err = w.store.SaveCircuit(t.Context(), c)
	w.must(err)
	w.takeTasks()

	errs := process.Handle(t.Context(), []delivery.NotifyTask{{Tenant: w.tenant, EndpointID: w.endpoint.ID}})
	w.must(errs[0])
	others, again := 0, 0
	for _, task := range w.takeTasks() {
		if task == damaged {
			again++
		} else {
			others++
		}
	}
	if others != 1 || again == 0 {
		t.Errorf("%d healthy deliveries and %d damaged ones were queued, want one and at least one", others, again)
	}
	if errs := process.Handle(t.Context(), []delivery.NotifyTask{damaged}); errs[0] == nil {
		t.Error("the task of the damaged delivery is done")
	}
}

// parkDamaged writes a parked delivery with a damaged row, before all others, and returns
// its task.
func (w *harness) parkDamaged() delivery.NotifyTask {
	w.t.Helper()
	d := delivery.Delivery{
		Tenant: w.tenant, EndpointID: w.endpoint.ID, Pending: []int{0}, Parked: true,
		Next: start.Add(-time.Hour), ExpiresAt: start.Add(time.Hour), Entries: []byte("any"),
	}.Identified()
	pk, sk := "W#"+d.ID, "DELIVERY#"+w.tenant+"#"+w.endpoint.ID
	w.must(w.store.AddDeliveries(w.t.Context(), []delivery.Delivery{d}))
	_, err := w.store.Tables().Client.UpdateItem(w.t.Context(), &dynamodb.UpdateItemInput{
		TableName:        aws.String(w.store.Tables().Webhooks),
		Key:              dynamo.Item{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}},
		UpdateExpression: aws.String("SET #pending = :damaged"), ConditionExpression: aws.String("attribute_exists(pk)"),
		ExpressionAttributeNames:  map[string]string{"#pending": "pending"},
		ExpressionAttributeValues: dynamo.Item{":damaged": &types.AttributeValueMemberB{Value: []byte{0x80}}},
	})
	w.must(err)
	return d.Task()
}

// Entries of another tenant's batch are never posted. The tenant's own entries are.
func TestHandle_BatchOfOtherTenant(t *testing.T) {
	t.Parallel()
	w, other := newHarness(t, 2), newHarness(t, 1)
	entries := ledger.PackNewEntries([]ledger.NewEntries{w.fresh(sent(2)...), other.fresh(sent(1)...)})
	task := delivery.NotifyTask{Tenant: w.tenant, EndpointID: w.endpoint.ID, Entries: base64.StdEncoding.EncodeToString(entries)}
	for _, err := range w.notifier().Handle(t.Context(), []delivery.NotifyTask{task}) {
		w.must(err)
	}
	taken, _ := w.receiver.taken()
	if diff := cmp.Diff(2, len(taken)); diff != "" {
		t.Errorf("webhooks that arrived (-want +got):\n%s", diff)
	}
	w.dead(1)
}

// A damaged task does not cause a retry of the other tasks of its message.
func TestHandleMessages_DamagedTask(t *testing.T) {
	t.Parallel()
	w := newHarness(t, 1)
	w.record(sent(1)...)
	damaged := delivery.NotifyTask{Tenant: w.tenant, EndpointID: "another", Entries: "%"}
	message := delivery.NotifyMessage{NotifyTask: w.takeTasks()[0], Also: []delivery.NotifyTask{damaged}}
	process := w.notifier()
	for _, err := range process.HandleMessages(t.Context(), []delivery.NotifyMessage{message}) {
		w.must(err)
	}
	left := w.takeTasks()
	if diff := cmp.Diff([]delivery.NotifyTask{damaged}, left); diff != "" {
		t.Fatalf("tasks that are retried (-want +got):\n%s", diff)
	}
	if errs := process.HandleMessages(t.Context(), []delivery.NotifyMessage{{NotifyTask: left[0]}}); errs[0] == nil {
		t.Error("the task that cannot be read is done")
	}
	if _, posts := w.receiver.taken(); posts != 1 {
		t.Errorf("%d posts, want 1", posts)
	}
}
