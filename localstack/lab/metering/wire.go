package metering

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// operationOf returns what a request asks AWS for.
func operationOf(r *http.Request) string {
	if _, action, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		return action
	}
	scope := r.Header.Get("Authorization")
	switch {
	case strings.Contains(scope, "/scheduler/"):
		return map[string]string{
			http.MethodPost: "CreateSchedule", http.MethodPut: "UpdateSchedule", http.MethodDelete: "DeleteSchedule", http.MethodGet: "GetSchedule",
		}[r.Method]
	case strings.Contains(scope, "/s3/"):
		return objectOperation(r)
	}
	return r.Method + " " + r.URL.Path
}

func objectOperation(r *http.Request) string {
	q := r.URL.Query()
	switch {
	case q.Has("list-type"):
		return "ListObjectsV2"
	case q.Has("delete"):
		return "DeleteObjects"
	}
	return map[string]string{
		http.MethodPut: "PutObject", http.MethodGet: "GetObject", http.MethodHead: "HeadObject", http.MethodDelete: "DeleteObject",
	}[r.Method]
}

// parse reads a request and its answer as the SDK has them, as far as the rules ask.
// Of operations that are counted by their name it returns nil; an answer that is nil
// is an error.
func parse(operation string, body, answer []byte) (in, out any, err error) {
	switch operation {
	case "TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem", "GetItem", "BatchGetItem", "Query":
		return parseRows(operation, body, answer)
	case "SendMessage":
		var m message
		err = json.Unmarshal(body, &m)
		return &sqs.SendMessageInput{MessageBody: &m.MessageBody}, nil, err
	case "SendMessageBatch":
		var batch struct{ Entries []message }
		err = json.Unmarshal(body, &batch)
		entries := make([]sqstypes.SendMessageBatchRequestEntry, len(batch.Entries))
		for i := range entries {
			entries[i].MessageBody = &batch.Entries[i].MessageBody
		}
		return &sqs.SendMessageBatchInput{Entries: entries}, nil, err
	case "GetParameter":
		var p ssm.GetParameterInput
		err = json.Unmarshal(body, &p)
		return &p, nil, err
	}
	return nil, nil, nil
}

type message struct{ MessageBody string }

// row is an item in DynamoDB's JSON.
type row Item

// request is a call of DynamoDB: each operation has some of this.
type request struct {
	TableName        *string
	IndexName        *string
	Item, Key        row
	UpdateExpression *string
	ConsistentRead   *bool
	TransactItems    []struct{ Put, Update, Delete, ConditionCheck *request }
	RequestItems     map[string]struct {
		Keys           []row
		ConsistentRead *bool
	}
}

// reply is an answer of DynamoDB.
type reply struct {
	Item      row
	Items     []row
	Responses map[string][]row
}

func parseRows(operation string, body, answer []byte) (in, out any, err error) {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, nil, fmt.Errorf("read a %s: %w", operation, err)
	}
	var a reply
	if answer != nil {
		if err := json.Unmarshal(answer, &a); err != nil {
			return nil, nil, fmt.Errorf("read the answer of a %s: %w", operation, err)
		}
	}
	switch operation {
	case "TransactWriteItems":
		return r.transaction(), nil, nil
	case "PutItem":
		return &dynamodb.PutItemInput{TableName: r.TableName, Item: Item(r.Item)}, nil, nil
	case "UpdateItem":
		return &dynamodb.UpdateItemInput{TableName: r.TableName, Key: Item(r.Key), UpdateExpression: r.UpdateExpression}, nil, nil
	case "DeleteItem":
		return &dynamodb.DeleteItemInput{TableName: r.TableName, Key: Item(r.Key)}, nil, nil
	}
	in, out = r.reading(operation, a)
	if answer == nil {
		out = nil
	}
	return in, out, nil
}

func (r request) reading(operation string, a reply) (in, out any) {
	switch operation {
	case "GetItem":
		return &dynamodb.GetItemInput{TableName: r.TableName, Key: Item(r.Key), ConsistentRead: r.ConsistentRead}, &dynamodb.GetItemOutput{Item: Item(a.Item)}
	case "Query":
		return &dynamodb.QueryInput{TableName: r.TableName, IndexName: r.IndexName, ConsistentRead: r.ConsistentRead}, &dynamodb.QueryOutput{Items: items(a.Items)}
	default:
		return r.batch(a)
	}
}

func (r request) transaction() *dynamodb.TransactWriteItemsInput {
	in := &dynamodb.TransactWriteItemsInput{}
	for _, w := range r.TransactItems {
		var write types.TransactWriteItem
		switch {
		case w.Put != nil:
			write.Put = &types.Put{TableName: w.Put.TableName, Item: Item(w.Put.Item)}
		case w.Update != nil:
			write.Update = &types.Update{TableName: w.Update.TableName, Key: Item(w.Update.Key), UpdateExpression: w.Update.UpdateExpression}
		case w.Delete != nil:
			write.Delete = &types.Delete{TableName: w.Delete.TableName, Key: Item(w.Delete.Key)}
		case w.ConditionCheck != nil:
			write.ConditionCheck = &types.ConditionCheck{TableName: w.ConditionCheck.TableName, Key: Item(w.ConditionCheck.Key)}
		}
		in.TransactItems = append(in.TransactItems, write)
	}
	return in
}

func (r request) batch(a reply) (*dynamodb.BatchGetItemInput, *dynamodb.BatchGetItemOutput) {
	in := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{}}
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]Item{}}
	for table, asked := range r.RequestItems {
		in.RequestItems[table] = types.KeysAndAttributes{Keys: items(asked.Keys), ConsistentRead: asked.ConsistentRead}
	}
	for table, rows := range a.Responses {
		out.Responses[table] = items(rows)
	}
	return in, out
}

func items(rows []row) []Item {
	all := make([]Item, len(rows))
	for i, r := range rows {
		all[i] = Item(r)
	}
	return all
}

// UnmarshalJSON reads a row.
func (r *row) UnmarshalJSON(text []byte) error {
	var values map[string]attribute
	if err := json.Unmarshal(text, &values); err != nil {
		return err
	}
	*r = make(row, len(values))
	for name, v := range values {
		(*r)[name] = v.AttributeValue
	}
	return nil
}

// attribute is a value in DynamoDB's JSON: {"S":"text"}.
type attribute struct{ types.AttributeValue }

var errKind = errors.New("not a value of DynamoDB")

// UnmarshalJSON reads a value.
func (a *attribute) UnmarshalJSON(text []byte) (err error) {
	var v struct {
		S, N, B    *string
		BOOL, NULL *bool
		M          *row
		L          []attribute
		NS, SS     []string
	}
	if err := json.Unmarshal(text, &v); err != nil {
		return err
	}
	switch {
	case v.S != nil:
		a.AttributeValue = &types.AttributeValueMemberS{Value: *v.S}
	case v.N != nil:
		a.AttributeValue = &types.AttributeValueMemberN{Value: *v.N}
	case v.B != nil:
		var bytes []byte
		bytes, err = base64.StdEncoding.DecodeString(*v.B)
		a.AttributeValue = &types.AttributeValueMemberB{Value: bytes}
	case v.BOOL != nil:
		a.AttributeValue = &types.AttributeValueMemberBOOL{Value: *v.BOOL}
	case v.NULL != nil:
		a.AttributeValue = &types.AttributeValueMemberNULL{Value: *v.NULL}
	case v.M != nil:
		a.AttributeValue = &types.AttributeValueMemberM{Value: Item(*v.M)}
	case v.NS != nil:
		a.AttributeValue = &types.AttributeValueMemberNS{Value: v.NS}
	case v.SS != nil:
		a.AttributeValue = &types.AttributeValueMemberSS{Value: v.SS}
	case v.L != nil:
		list := &types.AttributeValueMemberL{}
		for _, each := range v.L {
			list.Value = append(list.Value, each.AttributeValue)
		}
		a.AttributeValue = list
	default:
		err = fmt.Errorf("%w: %.40s", errKind, text)
	}
	return err
}

// messagesOf returns how many messages a call puts on which queue.
func messagesOf(operation string, body []byte) (queue string, n int) {
	var said struct {
		QueueURL string `json:"QueueUrl"` //nolint:tagliatelle // AWS's
		Entries  []json.RawMessage
	}
	switch operation {
	case "SendMessage":
		n = 1
	case "SendMessageBatch":
	default:
		return "", 0
	}
	if json.Unmarshal(body, &said) != nil {
		return "", 0
	}
	return said.QueueURL, n + len(said.Entries)
}
