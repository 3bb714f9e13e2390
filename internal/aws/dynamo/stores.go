package dynamo

// AuthStore reads and writes credentials, refresh tokens, the sessions of people and rate
// limits. See the package documentation for the rows.
type AuthStore struct{ table }

// NewAuthStore returns the AuthStore of the tables.
func NewAuthStore(t Tables) *AuthStore { return &AuthStore{table{t}} }

// CampaignStore reads and writes all other rows. See the package documentation.
type CampaignStore struct{ table }

// NewCampaignStore returns the CampaignStore of the tables.
func NewCampaignStore(t Tables) *CampaignStore { return &CampaignStore{table{t}} }
