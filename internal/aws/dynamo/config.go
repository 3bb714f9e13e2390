package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Tables are the names of the tables, and the client that reads and writes them.
type Tables struct {
	Client    *dynamodb.Client
	Auth      string
	Campaigns string
	Outcomes  string
	Webhooks  string
	// MediaURL is the address of uploaded files, without a trailing slash. If it is empty,
	// templates are saved without a check of the files that they show.
	MediaURL string
	Now      func() time.Time
}

// FromEnv returns the tables AUTH_TABLE, CAMPAIGNS_TABLE, OUTCOMES_TABLE and
// WEBHOOKS_TABLE. MEDIA_URL is the address of uploaded files.
func FromEnv(client *dynamodb.Client, env func(string) string, now func() time.Time) Tables {
	return Tables{
		Client: dynamodb.New(client.Options(), retryConflicts), Auth: env("AUTH_TABLE"), Campaigns: env("CAMPAIGNS_TABLE"),
		Outcomes: env("OUTCOMES_TABLE"), Webhooks: env("WEBHOOKS_TABLE"),
		MediaURL: env("MEDIA_URL"), Now: now,
	}
}

// retryConflicts repeats a write of one row that a transaction changes at the same time. The SDK does not.
func retryConflicts(o *dynamodb.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, (*types.TransactionConflictException)(nil).ErrorCode())
}
