package metering

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"
)

// sized is a row of so many bytes.
func sized(bytes int) Item {
	return Item{"pk": &types.AttributeValueMemberS{Value: strings.Repeat("x", bytes-len("pk"))}}
}

// The sizes are those of the examples in AWS's documentation.
func TestCallsCostWhatAWSSays(t *testing.T) {
	t.Parallel()
	text := &types.AttributeValueMemberS{Value: "x"}
	half, kilobyte := 1536, 1024
	put := types.TransactWriteItem{Put: &types.Put{Item: sized(half)}}
	update := &dynamodb.UpdateItemInput{Key: Item{"pk": text}, UpdateExpression: aws.String("SET a = :b")}
	for name, test := range map[string]struct {
		in, out any
		want    Units
	}{
		"a put of 1.5 KB":                  {&dynamodb.PutItemInput{Item: sized(half)}, nil, Units{Writes: 2}},
		"a put of 512 B":                   {&dynamodb.PutItemInput{Item: sized(512)}, nil, Units{Writes: 1}},
		"a put of 1 KB and a byte":         {&dynamodb.PutItemInput{Item: sized(kilobyte + 1)}, nil, Units{Writes: 2}},
		"in a transaction":                 {&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put}}, nil, Units{Writes: 4}},
		"an update, by the whole row":      {update, nil, Units{Writes: 3}},
		"of an index's key":                {&dynamodb.UpdateItemInput{UpdateExpression: aws.String("SET nextCheck = :b")}, nil, Units{Writes: 3, IndexWrites: 2}},
		"away from an index":               {&dynamodb.UpdateItemInput{UpdateExpression: aws.String("SET a = :b REMOVE listAs")}, nil, Units{Writes: 3, IndexWrites: 1}},
		"a new row of a batch":             {&dynamodb.PutItemInput{Item: Item{"pk": text, "due": text, "nextCheck": text}}, nil, Units{Writes: 1, IndexWrites: 1}},
		"a campaign's first row":           {&dynamodb.PutItemInput{Item: Item{"pk": text, "listOf": text, "listAs": text}}, nil, Units{Writes: 1, IndexWrites: 1}},
		"a delete of a notice":             {&dynamodb.DeleteItemInput{Key: Item{"sk": &types.AttributeValueMemberS{Value: "DELIVERY#1"}}}, nil, Units{Writes: 1, IndexWrites: 1}},
		"a consistent read of 6 KB":        {&dynamodb.GetItemInput{ConsistentRead: aws.Bool(true)}, &dynamodb.GetItemOutput{Item: sized(6 * kilobyte)}, Units{Reads: 2}},
		"an eventually consistent one":     {&dynamodb.GetItemInput{}, &dynamodb.GetItemOutput{Item: sized(6 * kilobyte)}, Units{Reads: 1}},
		"a read of a row that is not":      {&dynamodb.GetItemInput{ConsistentRead: aws.Bool(true)}, &dynamodb.GetItemOutput{}, Units{Reads: 1}},
		"a query, by the sum of the rows":  {&dynamodb.QueryInput{ConsistentRead: aws.Bool(true)}, &dynamodb.QueryOutput{Items: []Item{sized(half), sized(half), sized(half)}}, Units{Reads: 2}},
		"a batch read, each row by itself": {batchGet(2), &dynamodb.BatchGetItemOutput{Responses: map[string][]Item{"t": {sized(half)}}}, Units{Reads: 1}},
		"a message of a group":             {&sqs.SendMessageInput{MessageBody: aws.String("x"), MessageGroupId: aws.String("g")}, nil, Units{SQSRequests: 1, FairRequests: 1}},
		"a message of 65 KB":               {&sqs.SendMessageInput{MessageBody: aws.String(strings.Repeat("x", 65*kilobyte))}, nil, Units{SQSRequests: 2}},
		"ten messages of 6 KB":             {messages(10, 6*kilobyte), nil, Units{SQSRequests: 1}},
		"ten messages of 7 KB":             {messages(10, 7*kilobyte), nil, Units{SQSRequests: 2}},
	} {
		rules, spent := OfService(func(*string, Item) int { return 3 * kilobyte }), Units{}
		rules.Spend = func(_ Place, u Units) { spent.Add(u) }
		got, known := rules.Count("", test.in, test.out)
		if spent.Writes != got.Writes || spent.IndexWrites != got.IndexWrites || spent.Reads != got.Reads {
			t.Errorf("%s: %v of %v units have a place", name, spent, got)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || !known {
			t.Errorf("%s (-want +got): %s", name, diff)
		}
	}
}

func TestCount_Places(t *testing.T) {
	t.Parallel()
	text := func(s string) *types.AttributeValueMemberS { return &types.AttributeValueMemberS{Value: s} }
	table := aws.String("campaigns")
	delivery := Item{"pk": text("B#1"), "sk": text("DELIVERY#t#e"), "due": text("0"), "nextCheck": text("1")}
	got := map[Place]Units{}
	rules := OfService(func(*string, Item) int { return 1 })
	rules.Spend = func(at Place, u Units) { u.Add(got[at]); got[at] = u }
	for _, in := range []any{
		&dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{{Put: &types.Put{TableName: table, Item: delivery}}}},
		&dynamodb.DeleteItemInput{TableName: table, Key: Item{"pk": delivery["pk"], "sk": delivery["sk"]}},
		&dynamodb.UpdateItemInput{TableName: table, Key: Item{"pk": text("STATS#t#e"), "sk": text("2026-11-22T10")}},
	} {
		rules.Count("", in, nil)
	}
	want := map[Place]Units{
		{Table: "campaigns", Kind: "DELIVERY"}: {Writes: 3}, {Table: "campaigns", Index: "nextCheck", Kind: "DELIVERY"}: {IndexWrites: 3},
		{Table: "campaigns", Kind: "STATS"}: {Writes: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("places (-want +got): %s", diff)
	}
}

func batchGet(keys int) *dynamodb.BatchGetItemInput {
	return &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{"t": {Keys: make([]Item, keys)}}}
}

func messages(n, bytes int) *sqs.SendMessageBatchInput {
	in := &sqs.SendMessageBatchInput{}
	for range n {
		in.Entries = append(in.Entries, sqstypes.SendMessageBatchRequestEntry{MessageBody: aws.String(strings.Repeat("x", bytes))})
	}
	return in
}

func TestCount_UnknownOperation(t *testing.T) {
	t.Parallel()
	if _, known := (Rules{}).Count("InvokeModel", nil, nil); known {
		t.Error("InvokeModel has a rule")
	}
}

func TestDollars_MillionCalls(t *testing.T) {
	t.Parallel()
	p, err := PriceList(Virginia)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		units Units
		want  float64
	}{
		"write units": {Units{Writes: 1}, 0.625}, "write units of an index": {Units{IndexWrites: 1}, 0.625}, "read units": {Units{Reads: 1}, 0.125}, "SQS requests": {Units{SQSRequests: 1}, 0.4},
		"requests with a group": {Units{SQSRequests: 1, FairRequests: 1}, 0.5}, "calls of the API": {Units{APICalls: 1}, 1}, "objects": {Units{Puts: 1}, 5},
	} {
		if got := test.units.Times(1e6).Dollars(p.Units); got < test.want*0.999 || got > test.want*1.001 {
			t.Errorf("a million %s: %v dollars, want %v", name, got, test.want)
		}
	}
}
