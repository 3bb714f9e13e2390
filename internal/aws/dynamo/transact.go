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

	"campaign-dispatch/internal/base/retry"
)

// Cancellation reason codes used by callers.
const (
	reasonNone      = "None"
	reasonCondition = "ConditionalCheckFailed"
	reasonConflict  = "TransactionConflict"
)

func failedCondition(r types.CancellationReason) bool { return aws.ToString(r.Code) == reasonCondition }

// isConflict reports whether a write was cancelled without a failed condition of its own.
func isConflict(r types.CancellationReason) bool {
	return !failedCondition(r) && aws.ToString(r.Code) != reasonNone
}

const maxConflicts = 8

// transact commits all items or none. It returns nil, nil after a commit. If the
// transaction was cancelled, it returns the reasons by position: ConditionalCheckFailed,
// None or, after repeated conflicts, TransactionConflict.
//
// Requests without a definite response are repeated with the same token, which DynamoDB
// executes once, until ctx ends. An error is returned only for permanent failures and at
// the end of ctx; in the latter case, the transaction may have been committed. The token
// must be unique and has at most 36 characters.
func (t *table) transact(ctx context.Context, items []types.TransactWriteItem, token string) ([]types.CancellationReason, error) {
	tx := transaction{items: items, token: token}
	for attempt := 0; ; attempt++ {
		err := tx.send(ctx, t.Client)
		reasons, again := tx.classify(err)
		if !again {
			return reasons, tx.failure
		}
		if waitErr := retry.Wait(ctx, attempt+1); waitErr != nil {
			return nil, fmt.Errorf("write a transaction: %w: %w", waitErr, err)
		}
	}
}

type transaction struct {
	items     []types.TransactWriteItem
	token     string
	unknown   bool // a response was lost; the transaction may be committed
	conflicts int
	failure   error
}

// send makes one attempt. The SDK's retries are disabled, because they do not cover all
// cases and do not report lost responses.
func (t *transaction) send(ctx context.Context, client *dynamodb.Client) error {
	in := &dynamodb.TransactWriteItemsInput{TransactItems: t.items, ClientRequestToken: &t.token}
	_, err := client.TransactWriteItems(ctx, in, once)
	return err
}

func once(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

func (t *transaction) classify(err error) (reasons []types.CancellationReason, again bool) {
	var cancelled *types.TransactionCanceledException
	switch {
	case err == nil:
		return nil, false
	case errors.As(err, &cancelled):
		return t.classifyCancelled(cancelled.CancellationReasons, err)
	case permanent(err):
		t.failure = fmt.Errorf("write a transaction: %w", err)
		return nil, false
	}
	t.unknown = t.unknown || !throttled(err)
	return nil, true
}

// classifyCancelled distinguishes failed conditions from transient conflicts. A retry after a
// conflict gets a new token, because DynamoDB would repeat its response to the old one,
// unless the old token may have been committed.
func (t *transaction) classifyCancelled(reasons []types.CancellationReason, err error) ([]types.CancellationReason, bool) {
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

const maxRepeats = 4

// repeat retries a call after a lost response, beyond the SDK's retries. The call must be
// idempotent.
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

// permanent reports whether a retry cannot succeed. Errors without a response are not
// permanent, unless the request was never sent.
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
