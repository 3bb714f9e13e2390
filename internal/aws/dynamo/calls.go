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
)

// callsKey is the row of a tenant's bucket of calls. Its one attribute beside the
// time to live is named for the bucket's period and holds Next, in microseconds
// since 1970.
func callsKey(tenant string) Item { return Item{"pk": text("CALLS#" + tenant)} }

const periodPrefix = "period"

func periodName(n int) string { return periodPrefix + strconv.Itoa(n) }

// AddCall counts a call in the tenant's bucket as it was read. Where the bucket has
// no call left, or another period has begun since, nothing is written, counted is
// false, and current is the bucket as it is now. It makes one attempt: whoever
// cannot wait for the limit does without.
//
// A bucket that was full begins its next period. All calls which read the full
// bucket agree on the name of that period, so that the first of them begins it, the
// others add to it, and each needs one write.
func (s *Store) AddCall(ctx context.Context, tenant string, read campaign.CallBucket, l campaign.CallLimit, now time.Time) (current campaign.CallBucket, counted bool, err error) {
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
		return campaign.CallBucket{}, false, fmt.Errorf("count a call of tenant %s: %w", tenant, err)
	}
	return campaign.CallBucket{}, true, nil
}

func readCalls(row Item) campaign.CallBucket {
	for name := range row {
		if n, err := strconv.Atoi(strings.TrimPrefix(name, periodPrefix)); err == nil {
			return campaign.CallBucket{Period: n, Next: time.UnixMicro(getNumber(row, name)).UTC()}
		}
	}
	return campaign.CallBucket{}
}
