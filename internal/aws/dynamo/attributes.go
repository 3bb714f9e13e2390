package dynamo

import (
	"maps"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
)

// TTL is the expiry attribute of all tables, in seconds since 1970. DynamoDB deletes
// expired rows with a delay of days. Reads of the Campaigns table omit expired rows, see
// table.unexpiredRows.
const TTL = "expiresAt"

type attribute = types.AttributeValue

// Item is a row or its key.
type Item = map[string]types.AttributeValue

// with adds attributes to a row, a key or the values of an expression.
func with(row, more Item) Item {
	maps.Copy(row, more)
	return row
}

// some removes the attributes that are empty, 0 or false.
func some(attributes Item) Item {
	maps.DeleteFunc(attributes, func(_ string, value attribute) bool { return isZero(value) })
	return attributes
}

func isZero(value attribute) bool {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return v.Value == ""
	case *types.AttributeValueMemberN:
		return v.Value == "0"
	case *types.AttributeValueMemberBOOL:
		return !v.Value
	case *types.AttributeValueMemberB:
		return len(v.Value) == 0
	}
	return false
}

func text[T ~string](s T) attribute { return &types.AttributeValueMemberS{Value: string(s)} }

func number[T ~int | ~int64](n T) attribute {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(n), 10)}
}

// bytesOf converts nil to an empty value, because DynamoDB rejects nil.
func bytesOf(b []byte) attribute {
	if b == nil {
		b = []byte{}
	}
	return &types.AttributeValueMemberB{Value: b}
}

// texts returns a set. It must not be empty.
func texts(of ...string) attribute { return &types.AttributeValueMemberSS{Value: of} }

func boolean(b bool) attribute { return &types.AttributeValueMemberBOOL{Value: b} }

// millis converts a time to milliseconds since 1970. The zero time is 0.
func millis(t time.Time) attribute {
	if t.IsZero() {
		return number(0)
	}
	return number(t.UnixMilli())
}

func getText(item Item, name string) string {
	if v, ok := item[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

func getTexts(item Item, name string) []string {
	if v, ok := item[name].(*types.AttributeValueMemberSS); ok {
		return v.Value
	}
	return nil
}

func getNumber(item Item, name string) int64 {
	if v, ok := item[name].(*types.AttributeValueMemberN); ok {
		n, _ := strconv.ParseInt(v.Value, 10, 64)
		return n
	}
	return 0
}

func getInt(item Item, name string) int { return int(getNumber(item, name)) }

// amounts are attributes with amounts, by name.
func amounts(of map[string]campaign.Money) attribute {
	all := Item{}
	for name, amount := range of {
		all[name] = number(amount)
	}
	return &types.AttributeValueMemberM{Value: all}
}

func getAmounts(item Item, name string) (of map[string]campaign.Money) {
	v, ok := item[name].(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}
	of = make(map[string]campaign.Money, len(v.Value))
	for name := range v.Value {
		of[name] = getMoney(v.Value, name)
	}
	return of
}

func getMoney(item Item, name string) campaign.Money { return campaign.Money(getNumber(item, name)) }

func getBinary(item Item, name string) []byte {
	if v, ok := item[name].(*types.AttributeValueMemberB); ok {
		return v.Value
	}
	return nil
}

func getBool(item Item, name string) bool {
	v, ok := item[name].(*types.AttributeValueMemberBOOL)
	return ok && v.Value
}

func getMillis(item Item, name string) time.Time {
	ms := getNumber(item, name)
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// setEnd sets the TTL of a row. The zero time means no expiry.
func setEnd(row Item, at time.Time) {
	if !at.IsZero() {
		row[TTL] = number(at.Unix())
	}
}

func getEnd(row Item) time.Time {
	if row[TTL] == nil {
		return time.Time{}
	}
	return time.Unix(getNumber(row, TTL), 0).UTC()
}
