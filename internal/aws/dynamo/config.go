package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// splitLayout is the value of OUTCOMES_LAYOUT with which new batches keep their
// outcomes in the Outcomes table, and new deliveries stand in the Webhooks table. With any
// other value both go to the Campaigns table, as in the version before, which can read
// nothing else.
const splitLayout = "v2"

// FromEnv returns the Store of the tables that the variables AUTH_TABLE,
// CAMPAIGNS_TABLE, OUTCOMES_TABLE and WEBHOOKS_TABLE name. OUTCOMES_LAYOUT says where
// what is new is written; all layouts are read.
func FromEnv(client *dynamodb.Client, env func(string) string, now func() time.Time) *Store {
	return &Store{
		Client: client, Auth: env("AUTH_TABLE"), Campaigns: env("CAMPAIGNS_TABLE"),
		Outcomes: env("OUTCOMES_TABLE"), Webhooks: env("WEBHOOKS_TABLE"),
		Split: env("OUTCOMES_LAYOUT") == splitLayout, Now: now,
	}
}
