package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"campaign-dispatch/internal/retry"
)

// The codes of cancellation reasons that callers judge.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
)

// maxConflicts is how many collisions with other transactions are tried again
// before the caller is told.
const maxConflicts = 8

// transact commits all items or none, and returns only when it knows which: nil
// and nil when they are committed, the reasons by the items' position when the
// transaction was cancelled and nothing was written. A reason is one of
// ConditionalCheckFailed, None and, when the items collided with other
// transactions again and again, TransactionConflict.
//
// A lost or cut reply, a throttled or an interrupted request is sent again with
// the same token, which DynamoDB executes once, until the answer is definite or
// ctx ends. Only in the latter case, and when an error is final (a refused
// permission, a table that does not exist), is err not nil; after the end of
// ctx the transaction may have been committed. The token names this transaction
// alone and has at most 36 characters.
func (s *Store) transact(ctx context.Context, items []types.TransactWriteItem, token string) ([]types.CancellationReason, error) {
	t := transaction{items: items, token: token}
	for attempt := 0; ; attempt++ {
		err := t.send(ctx, s.Client)
		reasons, again := t.judge(err)
		if !again {
			return reasons, t.failure
		}
		if waitErr := retry.Wait(ctx, attempt+1); waitErr != nil {
			return nil, fmt.Errorf("write a transaction: %w: %w", waitErr, err)
		}
	}
}

type transaction struct {
	items     []types.TransactWriteItem
	token     string
	unknown   bool // a reply was lost: the token may have been committed
	conflicts int
	failure   error
}

// send makes one attempt. The SDK's own attempts are switched off: they would
// neither cover all the cases nor tell that a reply was lost.
func (t *transaction) send(ctx context.Context, client *dynamodb.Client) error {
	in := &dynamodb.TransactWriteItemsInput{TransactItems: t.items, ClientRequestToken: &t.token}
	_, err := client.TransactWriteItems(ctx, in, once)
	return err
}

func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// judge tells what an attempt's answer means, and whether to try again.
func (t *transaction) judge(err error) (reasons []types.CancellationReason, again bool) {
	var cancelled *types.TransactionCanceledException
	switch {
	case err == nil:
		return nil, false
	case errors.As(err, &cancelled):
		return t.judgeCancelled(cancelled.CancellationReasons, err)
	case permanent(err):
		t.failure = fmt.Errorf("write a transaction: %w", err)
		return nil, false
	}
	t.unknown = t.unknown || !throttled(err)
	return nil, true
}

// judgeCancelled tells a transaction that lost from one that was unlucky. The
// unlucky one wrote nothing and gets a new token, lest DynamoDB answer from its
// record of the old one; a token that may have been committed stays.
func (t *transaction) judgeCancelled(reasons []types.CancellationReason, err error) ([]types.CancellationReason, bool) {
	conflict, transient := false, false
	for _, r := range reasons {
		switch aws.ToString(r.Code) {
		case reasonNone:
		case reasonCondition:
			return reasons, false
		case reasonConflict:
			conflict = true
		case "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded":
			transient = true
		default:
			t.failure = fmt.Errorf("write a transaction: %w", err)
			return nil, false
		}
	}
	if conflict {
		t.conflicts++
	}
	if (!conflict && !transient) || t.conflicts > maxConflicts {
		return reasons, false
	}
	if !t.unknown {
		t.token = nextToken(t.token)
	}
	return nil, true
}

// maxRepeats is how often repeat tries again.
const maxRepeats = 4

// repeat makes a call again whose answer was lost or cut, beyond what the SDK
// repeats. The call must do no harm when it is made twice.
func repeat(ctx context.Context, call func() error) error {
	for attempt := 0; ; attempt++ {
		err := call()
		if err == nil || permanent(err) || attempt == maxRepeats {
			return err
		}
		if waitErr := retry.Wait(ctx, attempt+1); waitErr != nil {
			return fmt.Errorf("%w: %w", waitErr, err)
		}
	}
}

func nextToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:16])
}

// permanent reports whether sending the same request again cannot succeed. What
// carries no answer of the service is not permanent, unless the request never
// left.
func permanent(err error) bool {
	var invalid smithy.InvalidParamsError
	var unwritten *smithy.SerializationError
	if errors.As(err, &invalid) || errors.As(err, &unwritten) {
		return true
	}
	var api smithy.APIError
	if !errors.As(err, &api) || throttled(err) || api.ErrorCode() == "TransactionInProgressException" {
		return false
	}
	var response *smithyhttp.ResponseError
	return errors.As(err, &response) && response.HTTPStatusCode() < http.StatusInternalServerError
}

// throttled reports whether the service refused to look at the request.
func throttled(err error) bool {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return false
	}
	switch api.ErrorCode() {
	case "ThrottlingException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "Throttling":
		return true
	}
	return false
}
