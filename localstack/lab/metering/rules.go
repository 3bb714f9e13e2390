package metering

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
)

// Item is a row, or the key of one.
type Item = map[string]types.AttributeValue

// Rules are what the rules of AWS need to know besides a call.
type Rules struct {
	// IndexKeys are the attributes that put a row into an index. Each index entry costs a unit.
	IndexKeys []string
	// Indexed are the prefixes of the sort keys of rows that are in an index when they are deleted.
	Indexed []string
	// RowSize returns the current size of a row, because an update is billed by the whole row.
	RowSize func(table *string, key Item) int
	// Spend is called with the place of units of rows. It may be nil.
	Spend func(at Place, u Units)

	transaction bool
}

// OfService returns the rules of the service's tables.
func OfService(rowSize func(table *string, key Item) int) Rules {
	return Rules{IndexKeys: []string{"nextCheck", "listAs"}, Indexed: []string{"DELIVERY#"}, RowSize: rowSize}
}

// free are the operations that cost nothing, and GetPublicKey, which a process calls once.
var free = []string{
	"DeleteObject", "DeleteObjects", "DeleteSchedule", "UpdateSchedule", "GetSchedule", "GetPublicKey", "DescribeTable",
}

// Count returns the units of a call. in and out are pointers to the SDK's input and output; out may be
// nil. known is false for an operation without a rule.
func (r Rules) Count(operation string, in, out any) (u Units, known bool) {
	switch in := in.(type) {
	case *dynamodb.TransactWriteItemsInput:
		for _, write := range in.TransactItems {
			u.Add(r.twice().transactUnits(write))
		}
	case *dynamodb.PutItemInput:
		u = r.putUnits(in.TableName, in.Item)
	case *dynamodb.UpdateItemInput:
		u = r.updateUnits(in.TableName, in.Key, in.UpdateExpression)
	case *dynamodb.DeleteItemInput:
		u = r.deleteUnits(in.TableName, in.Key)
	case *dynamodb.BatchGetItemInput:
		u.Reads = r.batchReadUnits(in, out)
	case *dynamodb.GetItemInput:
		if got, ok := out.(*dynamodb.GetItemOutput); ok && got != nil {
			u.Reads = r.read(in.TableName, nil, in.Key, readUnits(size(got.Item), aws.ToBool(in.ConsistentRead)))
		}
	case *dynamodb.QueryInput:
		u.Reads = r.queryUnits(in, out)
	case *sqs.SendMessageInput:
		u = sending(len(aws.ToString(in.MessageBody)), in.MessageGroupId)
	case *sqs.SendMessageBatchInput:
		bytes, group := 0, (*string)(nil)
		for _, e := range in.Entries {
			bytes, group = bytes+len(aws.ToString(e.MessageBody)), cmp.Or(group, e.MessageGroupId)
		}
		u = sending(bytes, group)
	case *ssm.GetParameterInput:
		if aws.ToBool(in.WithDecryption) {
			u.KMSRequests = 1
		}
	default:
		return countByName(operation)
	}
	return u, true
}

// sending returns the units of sending messages, with or without a message group.
func sending(bytes int, group *string) Units {
	requests := chunks(bytes, sqsChunk)
	if group == nil {
		return Units{SQSRequests: requests}
	}
	return Units{SQSRequests: requests, FairRequests: requests}
}

func countByName(operation string) (u Units, known bool) {
	switch operation {
	case "PutObject", "ListObjectsV2":
		u.Puts = 1
	case "GetObject", "HeadObject":
		u.Gets = 1
	case "CreateSchedule":
		u.Schedules = 1
	case "Sign":
		u.KMSSignatures = 1
	case "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch", "ChangeMessageVisibility", "GetQueueAttributes":
		u.SQSRequests = 1
	default:
		return u, slices.Contains(free, operation)
	}
	return u, true
}

func (r Rules) transactUnits(write types.TransactWriteItem) Units {
	switch {
	case write.Put != nil:
		return r.putUnits(write.Put.TableName, write.Put.Item)
	case write.Update != nil:
		return r.updateUnits(write.Update.TableName, write.Update.Key, write.Update.UpdateExpression)
	case write.Delete != nil:
		return r.wrote(write.Delete.TableName, "", write.Delete.Key, 1)
	case write.ConditionCheck != nil:
		return r.wrote(write.ConditionCheck.TableName, "", write.ConditionCheck.Key, 1)
	default:
		return r.wrote(nil, "", nil, 1)
	}
}

// putUnits returns the units of a new row and of its entry in each sparse index.
func (r Rules) putUnits(table *string, row Item) Units {
	units := r.wrote(table, "", row, kilobytes(size(row)))
	for _, key := range r.IndexKeys {
		if _, indexed := row[key]; indexed {
			units.Add(r.wrote(table, key, row, 1))
		}
	}
	return units
}

// deleteUnits returns the units of deleting a row and its entry in the index, if it has one.
func (r Rules) deleteUnits(table *string, key Item) Units {
	units := r.wrote(table, "", key, 1)
	sk, _ := key["sk"].(*types.AttributeValueMemberS)
	for _, kind := range r.Indexed {
		if sk != nil && strings.HasPrefix(sk.Value, kind) {
			units.Add(r.wrote(table, r.IndexKeys[0], key, 1))
			return units
		}
	}
	return units
}

// updateUnits returns the units of an update.
func (r Rules) updateUnits(table *string, key Item, expression *string) Units {
	units := r.wrote(table, "", key, kilobytes(r.RowSize(table, key)))
	for _, index := range r.IndexKeys {
		if entry := entryUnits(aws.ToString(expression), index); entry > 0 {
			units.Add(r.wrote(table, index, key, entry))
		}
	}
	return units
}

// entryUnits returns the units of a row's entry in an index. An update that sets the index's key deletes the entry and writes
// another: a row that enters the index is counted the same, although it costs one less. An update that removes the key deletes
// the entry: a row without one is counted the same, although it costs nothing.
func entryUnits(expression, key string) float64 {
	// Most rows of an update with if_not_exists have the key already.
	before, _, found := strings.Cut(strings.ReplaceAll(expression, key+" = if_not_exists("+key, ""), key)
	switch {
	case !found:
		return 0
	case strings.LastIndex(before, "REMOVE ") > strings.LastIndex(before, "SET "):
		return 1
	}
	return 2
}

func kilobytes(bytes int) float64 { return chunks(bytes, 1<<10) }

func readUnits(bytes int, consistent bool) float64 {
	units := chunks(bytes, 4<<10)
	if !consistent {
		units /= 2
	}
	return units
}

func (r Rules) batchReadUnits(in *dynamodb.BatchGetItemInput, out any) (units float64) {
	got, _ := out.(*dynamodb.BatchGetItemOutput)
	if got == nil {
		return 0
	}
	for table, keys := range in.RequestItems {
		consistent := aws.ToBool(keys.ConsistentRead)
		missing := math.Max(0, float64(len(keys.Keys)-len(got.Responses[table])))
		units += r.read(&table, nil, nil, missing*readUnits(0, consistent))
		for _, item := range got.Responses[table] {
			units += r.read(&table, nil, item, readUnits(size(item), consistent))
		}
	}
	return units
}

func (r Rules) queryUnits(in *dynamodb.QueryInput, out any) float64 {
	got, _ := out.(*dynamodb.QueryOutput)
	if got == nil {
		return 0
	}
	bytes, first := 0, Item(nil)
	for _, item := range got.Items {
		bytes += size(item)
		first = got.Items[0]
	}
	return r.read(in.TableName, in.IndexName, first, readUnits(bytes, aws.ToBool(in.ConsistentRead)))
}

// size returns an item's size in bytes as DynamoDB counts it: names and values in UTF-8, and numbers at
// about a byte for two digits.
func size(row Item) (bytes int) {
	for name, value := range row {
		bytes += len(name) + valueSize(value)
	}
	return bytes
}

func valueSize(value types.AttributeValue) int {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 2
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberNS:
		bytes := 3
		for _, n := range v.Value {
			bytes += len(n)/2 + 2
		}
		return bytes
	case *types.AttributeValueMemberM:
		return 3 + size(v.Value) + len(v.Value)
	case *types.AttributeValueMemberL:
		bytes := 3 + len(v.Value)
		for _, each := range v.Value {
			bytes += valueSize(each)
		}
		return bytes
	default:
		return 1
	}
}

// Place is a kind of rows in a table or an index, for which units are counted.
type Place struct {
	Table string `json:"table"`
	// Index is the key attribute of an index whose entries are written, or the name of
	// an index that is read. It is empty for the table itself.
	Index string `json:"index,omitempty"`
	// Kind is the prefix of the sort key, or of the hash key. It is empty for absent rows and for
	// answers without keys.
	Kind string `json:"kind"`
}

// wrote returns the units of writing a row, or its entry in an index.
func (r Rules) wrote(table *string, index string, row Item, units float64) Units {
	u := Units{Writes: units}
	if index != "" {
		u = Units{IndexWrites: units}
	}
	r.spend(Place{Table: aws.ToString(table), Index: index, Kind: kindOf(row)}, u)
	return u.Times(r.times())
}

func (r Rules) read(table, index *string, row Item, units float64) float64 {
	r.spend(Place{Table: aws.ToString(table), Index: aws.ToString(index), Kind: kindOf(row)}, Units{Reads: units})
	return units
}

func (r Rules) spend(at Place, u Units) {
	if r.Spend != nil && u != (Units{}) {
		r.Spend(at, u.Times(r.times()))
	}
}

// twice returns the rules of a transaction's writes, which cost double.
func (r Rules) twice() Rules {
	r.transaction = true
	return r
}

func (r Rules) times() float64 {
	if r.transaction {
		return 2
	}
	return 1
}

// kindOf returns the kind of a row: "HEAD", or "LOG" for LOG#00000001. If the sort key begins with a
// digit, it is a time or a number, and the hash key has the kind.
func kindOf(row Item) string {
	for _, name := range []string{"sk", "pk"} {
		key, _ := row[name].(*types.AttributeValueMemberS)
		if key == nil || key.Value == "" || key.Value[0] < 'A' || key.Value[0] > 'Z' {
			continue
		}
		kind, _, _ := strings.Cut(key.Value, "#")
		return kind
	}
	return ""
}
