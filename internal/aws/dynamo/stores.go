package dynamo

// AuthStore reads and writes credentials, refresh tokens, the sessions of people and rate
// limits. See the package documentation for the rows.
type AuthStore struct{ table }

// NewAuthStore returns the AuthStore of the tables.
func NewAuthStore(t Tables) *AuthStore { return &AuthStore{table{t}} }

// Stores are the stores of all subjects but that of AuthStore. See the package documentation for the rows.
type Stores struct {
	Acceptance  *AcceptanceStore
	Attention   *AttentionStore
	AuditLogs   *AuditStore
	Batches     *BatchStore
	Budgets     *BudgetStore
	Campaigns   *CampaignStore
	Circuits    *CircuitStore
	Days        *DayStore
	Deliveries  *DeliveryStore
	Endpoints   *EndpointStore
	Erasure     *ErasureStore
	Exports     *ExportStore
	Failures    *FailureStore
	KeptPosts   *KeptPostStore
	Lanes       *LaneStore
	Ledgers     *LedgerStore
	Lists       *ListStore
	Media       *MediaStore
	Moves       *MoveStore
	OptOuts     *OptOutStore
	Replies     *ReplyStore
	Settings    *SettingStore
	Submissions *SubmissionStore
	Taps        *TapStore
	TapLogs     *TapLogStore
	Templates   *TemplateStore
	Tenants     *TenantStore
}

// New returns the Stores of the tables.
func New(tables Tables) *Stores {
	t := table{tables}
	return &Stores{
		Acceptance:  &AcceptanceStore{t},
		Attention:   &AttentionStore{t},
		AuditLogs:   &AuditStore{t},
		Batches:     &BatchStore{t},
		Budgets:     &BudgetStore{t},
		Campaigns:   &CampaignStore{t},
		Circuits:    &CircuitStore{t},
		Days:        &DayStore{t},
		Deliveries:  &DeliveryStore{t},
		Endpoints:   &EndpointStore{t},
		Erasure:     &ErasureStore{t},
		Exports:     &ExportStore{t},
		Failures:    &FailureStore{t},
		KeptPosts:   &KeptPostStore{t},
		Lanes:       &LaneStore{t},
		Ledgers:     &LedgerStore{t},
		Lists:       &ListStore{t},
		Media:       &MediaStore{t},
		Moves:       &MoveStore{t},
		OptOuts:     &OptOutStore{t},
		Replies:     &ReplyStore{t},
		Settings:    &SettingStore{t},
		Submissions: &SubmissionStore{t},
		Taps:        &TapStore{t},
		TapLogs:     &TapLogStore{t},
		Templates:   &TemplateStore{t},
		Tenants:     &TenantStore{t},
	}
}

// AcceptanceStore reads and writes the rows of accepting a call: what it reads in one snapshot, what it writes in one transaction.
type AcceptanceStore struct{ table }

// AttentionStore reads and writes what a tenant has to look at.
type AttentionStore struct{ table }

// AuditStore reads and writes audit entries, and the use of the forms that made them.
type AuditStore struct{ table }

// BatchStore reads and writes batches: their state, when they are due, their release and their move to another time.
type BatchStore struct{ table }

// BudgetStore reads and writes budgets, what was spent of them, and the reservations of batches.
type BudgetStore struct{ table }

// CampaignStore reads and writes campaigns as they are listed and shown, with their results.
type CampaignStore struct{ table }

// CircuitStore reads and writes the circuits of endpoints that do not answer.
type CircuitStore struct{ table }

// DayStore reads and writes the counts of days and hours.
type DayStore struct{ table }

// DeliveryStore reads and writes webhook deliveries that are due, parked or dead.
type DeliveryStore struct{ table }

// EndpointStore reads and writes webhook endpoints with their keys and kinds.
type EndpointStore struct{ table }

// ErasureStore reads and writes what the erasure of a tenant and of a phone number reads, replaces and deletes.
type ErasureStore struct{ table }

// ExportStore reads and writes exports and their snapshots.
type ExportStore struct{ table }

// FailureStore reads and writes failed webhooks.
type FailureStore struct{ table }

// KeptPostStore reads and writes webhook posts that are kept to look at.
type KeptPostStore struct{ table }

// LaneStore reads and writes the lanes and rate limits of sending.
type LaneStore struct{ table }

// LedgerStore reads and writes the ledgers of outcomes: their heads, pages and entries.
type LedgerStore struct{ table }

// ListStore reads and writes lists of numbers that get no messages.
type ListStore struct{ table }

// MediaStore reads and writes uploaded files.
type MediaStore struct{ table }

// MoveStore reschedules campaigns, and finishes what a crash left of it.
type MoveStore struct{ table }

// OptOutStore reads and writes the parts of the opt-out list.
type OptOutStore struct{ table }

// ReplyStore reads and writes replies of recipients.
type ReplyStore struct{ table }

// SettingStore reads and writes the brand and the test numbers of a tenant.
type SettingStore struct{ table }

// SubmissionStore reads and writes submissions, and the columns that are known.
type SubmissionStore struct{ table }

// TapStore reads and writes taps on suggestions and clicks on links.
type TapStore struct{ table }

// TapLogStore reads the logs of taps as LedgerStore reads those of changes.
type TapLogStore struct{ table }

// TemplateStore reads and writes templates and their versions.
type TemplateStore struct{ table }

// TenantStore reads and writes tenants, their agents and their pauses.
type TenantStore struct{ table }
