package dynamo

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// splitLayout is the value of OUTCOMES_LAYOUT that stores new outcomes in the Outcomes
// table and new deliveries in the Webhooks table. Other values store both in the Campaigns
// table, the only layout that the previous version can read.
const splitLayout = "v2"

// FromEnv returns the Store of the tables AUTH_TABLE, CAMPAIGNS_TABLE, OUTCOMES_TABLE and
// WEBHOOKS_TABLE. OUTCOMES_LAYOUT selects the layout of new rows; all layouts are read.
func FromEnv(client *dynamodb.Client, env func(string) string, now func() time.Time) *Store {
	return &Store{
		Client: client, Auth: env("AUTH_TABLE"), Campaigns: env("CAMPAIGNS_TABLE"),
		Outcomes: env("OUTCOMES_TABLE"), Webhooks: env("WEBHOOKS_TABLE"),
		Split: env("OUTCOMES_LAYOUT") == splitLayout, Now: now,
	}
}
