package dynamo

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// callsKey is the row of a tenant's call bucket. Its only attribute beside the TTL is named
// after the bucket's period and contains Next, in microseconds since 1970.
func callsKey(tenant string) Item { return Item{"pk": text("CALLS#" + tenant)} }

const periodPrefix = "period"

func periodName(n int) string { return periodPrefix + strconv.Itoa(n) }

// AddCall counts a call in the tenant's bucket as read. If the bucket is empty or its
// period has ended, it writes nothing, counted is false and current is the stored bucket.
// It makes a single attempt, because callers proceed without the limit on errors.
//
// A call that finds the bucket full starts the next period. Concurrent calls compute the
// same period name: the first one creates the period, the others add to it, with one write
// each.
func (s *AuthStore) AddCall(ctx context.Context, tenant string, read acceptance.CallBucket, l acceptance.CallLimit, now time.Time) (current acceptance.CallBucket, counted bool, err error) {
	update := &dynamodb.UpdateItemInput{
		TableName: &s.Auth, Key: callsKey(tenant),
		UpdateExpression:         aws.String("SET #period = #period + :every, " + TTL + " = :ttl"),
		ConditionExpression:      aws.String("#period <= :latest"),
		ExpressionAttributeNames: map[string]string{"#period": periodName(read.Period)},
		ExpressionAttributeValues: Item{
			":every": number(l.Every().Microseconds()), ":latest": number(l.Latest(now).UnixMicro()),
			":ttl": number(now.Add(campaign.RateLife).Unix()),
		},
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	if read.Full(now) {
		update.UpdateExpression = aws.String("SET #next = if_not_exists(#next, :now) + :every, " + TTL + " = :ttl REMOVE #period")
		update.ConditionExpression = aws.String("attribute_not_exists(pk) OR #period <= :now OR #next <= :latest")
		update.ExpressionAttributeNames["#next"] = periodName(read.Period + 1)
		update.ExpressionAttributeValues[":now"] = number(now.UnixMicro())
	}
	_, err = s.Client.UpdateItem(ctx, update, once)
	if failed, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return readCalls(failed.Item), false, nil
	}
	if err != nil {
		return acceptance.CallBucket{}, false, fmt.Errorf("count a call of tenant %s: %w", tenant, err)
	}
	return acceptance.CallBucket{}, true, nil
}

func readCalls(row Item) acceptance.CallBucket {
	for name := range row {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, periodPrefix)); err == nil {
			return acceptance.CallBucket{Period: n, Next: time.UnixMicro(getNumber(row, name)).UTC()}
		}
	}
	return acceptance.CallBucket{}
}
