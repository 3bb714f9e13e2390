package metering

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"

	"campaign-dispatch/localstack/forward"
)

// operationOf returns the operation of a request.
func operationOf(r *http.Request) string {
	service, action := forward.Operation(r)
	q := r.URL.Query()
	switch {
	case service == "HTTP":
		return r.Method + " " + r.URL.Path
	case service == "Scheduler":
		return map[string]string{
			http.MethodPost: "CreateSchedule", http.MethodPut: "UpdateSchedule", http.MethodDelete: "DeleteSchedule", http.MethodGet: "GetSchedule",
		}[r.Method]
	case service != "S3":
		return action
	case q.Has("list-type"):
		return "ListObjectsV2"
	case q.Has("delete"):
		return "DeleteObjects"
	}
	return map[string]string{
		http.MethodPut: "PutObject", http.MethodGet: "GetObject", http.MethodHead: "HeadObject", http.MethodDelete: "DeleteObject",
	}[r.Method]
}

// parse decodes the parts of a request and its answer that the rules use into values of the SDK. It
// returns nil for operations that are counted by their name. A nil answer means that the call failed.
func parse(operation string, body, answer []byte) (in, out any, err error) {
	switch operation {
	case "TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem", "GetItem", "BatchGetItem", "Query":
		return parseRows(operation, body, answer)
	case "SendMessage":
		var m sqs.SendMessageInput
		err = json.Unmarshal(body, &m)
		return &m, nil, err
	case "SendMessageBatch":
		var batch sqs.SendMessageBatchInput
		err = json.Unmarshal(body, &batch)
		return &batch, nil, err
	case "GetParameter":
		var p ssm.GetParameterInput
		err = json.Unmarshal(body, &p)
		return &p, nil, err
	}
	return nil, nil, nil
}

func parseRows(operation string, body, answer []byte) (in, out any, err error) {
	switch operation {
	case "TransactWriteItems":
		in, err = parseTransaction(body)
	case "PutItem":
		var put types.Put
		err = decode(body, &put)
		in = &dynamodb.PutItemInput{TableName: put.TableName, Item: put.Item}
	case "UpdateItem":
		var update types.Update
		err = decode(body, &update)
		in = &dynamodb.UpdateItemInput{TableName: update.TableName, Key: update.Key, UpdateExpression: update.UpdateExpression}
	case "DeleteItem":
		var remove types.Delete
		err = decode(body, &remove)
		in = &dynamodb.DeleteItemInput{TableName: remove.TableName, Key: remove.Key}
	default:
		return parseReading(operation, body, answer)
	}
	return in, nil, err
}

func parseTransaction(body []byte) (in *dynamodb.TransactWriteItemsInput, err error) {
	var said struct{ TransactItems []json.RawMessage }
	err = json.Unmarshal(body, &said)
	in = &dynamodb.TransactWriteItemsInput{TransactItems: make([]types.TransactWriteItem, len(said.TransactItems))}
	for i, text := range said.TransactItems {
		err = errors.Join(err, decode(text, &in.TransactItems[i]))
	}
	return in, err
}

func parseReading(operation string, body, answer []byte) (in, out any, err error) {
	var said struct {
		TableName, IndexName *string
		ConsistentRead       *bool
		RequestItems         map[string]json.RawMessage
	}
	err = json.Unmarshal(body, &said)
	var read smithy.Deserializable
	switch operation {
	case "GetItem":
		var get types.Get
		err = errors.Join(err, decode(body, &get))
		in, read = &dynamodb.GetItemInput{TableName: get.TableName, Key: get.Key, ConsistentRead: said.ConsistentRead}, &dynamodb.GetItemOutput{}
	case "Query":
		in = &dynamodb.QueryInput{TableName: said.TableName, IndexName: said.IndexName, ConsistentRead: said.ConsistentRead}
		read = &dynamodb.QueryOutput{}
	default:
		tables := map[string]types.KeysAndAttributes{}
		for table, text := range said.RequestItems {
			var keys types.KeysAndAttributes
			err = errors.Join(err, decode(text, &keys))
			tables[table] = keys
		}
		in, read = &dynamodb.BatchGetItemInput{RequestItems: tables}, &dynamodb.BatchGetItemOutput{}
	}
	if answer == nil {
		return in, nil, err
	}
	return in, read, errors.Join(err, decode(answer, read))
}

var (
	dynamoJSON = awsjson.New10(schemas.DynamoDB_20120810)
	anyCall    = smithy.NewOperationSchema(schemas.GetItem, schemas.GetItemInput, schemas.GetItemOutput)
)

// decode decodes DynamoDB's JSON into a value of the SDK.
func decode(text []byte, into smithy.Deserializable) error {
	answer := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(text))}
	return dynamoJSON.DeserializeResponse(context.Background(), anyCall, nil, &smithyhttp.Response{Response: answer}, into)
}

// messagesOf returns the queue of a call and the number of messages that it sends there.
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
