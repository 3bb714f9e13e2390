package prove

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/localstack/lab/arrival"
	"campaign-dispatch/localstack/lab/metering"
)

// The events of outcomes name as many batches, and as many messages of each, as the shape
// states.
func TestBatches_EventTouchesTheShapesBatches(t *testing.T) {
	t.Parallel()
	size := arrival.Size{PerCall: 500, Batches: 500, Rounds: 1}
	keys := make([]campaign.BatchKey, size.Batches+1)
	for i := range keys {
		keys[i] = campaign.BatchKey{byte(i >> 8), byte(i), 7}
	}
	for _, test := range []struct {
		shape arrival.Shape
		want  []int // batches that each call touches
	}{
		{arrival.Clustered(size), []int{1, 1, 1, 1}},
		{arrival.Interleaved(size), []int{500, 500}},
		{arrival.DayMix(size), []int{1, 1, 1, 500}},
	} {
		var got []int
		for _, call := range append(test.shape.First, test.shape.Then...) {
			payload, err := (&batches{agent: "agent"}).event(call, keys)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, len(batchesOf(t, payload)))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: batches of each call (-want +got): %s", test.shape.Name, diff)
		}
	}
}

// batchesOf returns how many messages of each batch an event of SQS names.
func batchesOf(t *testing.T, payload []byte) map[campaign.BatchKey]int {
	t.Helper()
	var event struct{ Records []struct{ Body string } }
	if err := json.Unmarshal(payload, &event); err != nil {
		t.Fatal(err)
	}
	touched := map[campaign.BatchKey]int{}
	for _, r := range event.Records {
		var task reaction.EventTask
		if err := json.Unmarshal([]byte(r.Body), &task); err != nil {
			t.Fatal(err)
		}
		key, _, ours := campaign.ParseMessageID(task.MessageID)
		if !ours || task.AgentID != "agent" {
			t.Fatalf("task %+v is of no batch of the agent", task)
		}
		touched[key]++
	}
	return touched
}

func TestIdentity_As(t *testing.T) {
	t.Parallel()
	text := func(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }
	from, to := identity{campaign.BatchKey{1, 2, 3}, "batch-one"}, identity{campaign.BatchKey{4, 5, 6}, "batch-two"}
	row := metering.Item{
		"pk": text("B#" + from.key.String()), "sk": text("HEAD"), "batchId": text("batch-one"), "payload": text("payloads/1"),
		"raw": &types.AttributeValueMemberB{Value: append([]byte{9}, from.key[:]...)}, "accepted": &types.AttributeValueMemberN{Value: "2000"},
	}
	want := metering.Item{
		"pk": text("B#" + to.key.String()), "sk": text("HEAD"), "batchId": text("batch-two"), "payload": text("payloads/1"),
		"raw": &types.AttributeValueMemberB{Value: append([]byte{9}, to.key[:]...)}, "accepted": &types.AttributeValueMemberN{Value: "2000"},
	}
	ignored := cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberB{}, types.AttributeValueMemberN{})
	if diff := cmp.Diff(want, from.as(to, row), ignored); diff != "" {
		t.Errorf("the copy (-want +got): %s", diff)
	}
	if !from.isIn(row["pk"]) || !from.isIn(text("BATCH#batch-one")) || from.isIn(text("HEAD")) {
		t.Error("the batch's rows are not told from others")
	}
}

// docs/proofs.md publishes the cost of each shape, and names the missing prices of the other
// region. README.md repeats the cost of one shape.
func TestProofsPage_CostOfEachShape(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/proofs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "| dollars per million messages |")
	header, rows, _ := strings.Cut(section, "\n")
	names := cells(header)
	_, all, _ := strings.Cut(rows, "| **all, in "+metering.Virginia+"** |")
	all, _, _ = strings.Cut(all, "\n")
	published := map[string]float64{}
	for i, cell := range cells(all) {
		published[names[i]], err = strconv.ParseFloat(strings.Trim(cell, "*"), 64)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range arrival.Shapes(arrival.Size{PerCall: 1}, arrival.Size{PerCall: 1}) {
		// The limit has no processor time, and the published sum has that of an idle machine.
		if most := usualMost[s.Name].dollars; published[s.Name] < most-0.02 || published[s.Name] > most {
			t.Errorf("%s: docs/proofs.md publishes %v dollars, the limit is %v", s.Name, published[s.Name], most)
		}
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("; %.2f if every function call had as many events as it can take (metered lower bound)", published["a day's mix"]); !strings.Contains(string(readme), want) {
		t.Errorf("README.md lacks %q", want)
	}
	prices, err := metering.PriceList(metering.SaoPaulo)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range prices.NotFound {
		if !strings.Contains(string(text), map[string]string{
			"dynamoDBWriteUnits": "DynamoDB's write and read units", "dynamoDBReadUnits": "DynamoDB's write and read units", "kmsSignatures": "KMS signatures",
		}[name]) {
			t.Errorf("docs/proofs.md does not say that the price of %s was not found", name)
		}
	}
}

func cells(row string) (texts []string) {
	for cell := range strings.SplitSeq(strings.Trim(strings.TrimSpace(row), "|"), "|") {
		texts = append(texts, strings.TrimSpace(cell))
	}
	return texts
}
