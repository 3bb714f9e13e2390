package main

import (
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/privacy"
)

// personCampaigns has the campaigns of a tenant.
type personCampaigns struct {
	*dynamo.AcceptanceStore
	*dynamo.BatchStore
	*dynamo.CampaignStore
	*dynamo.SettingStore
	*dynamo.TemplateStore
	*dynamo.TenantStore
}

// personOutcomes has what became of messages.
type personOutcomes struct {
	*dynamo.KeptPostStore
	*dynamo.LedgerStore
	*dynamo.ReplyStore
	*dynamo.TapStore
}

// newPersonRows returns the rows with personal data.
func newPersonRows(s *dynamo.Stores) privacy.Store {
	return privacy.Store{
		Campaigns:   personCampaigns{s.Acceptance, s.Batches, s.Campaigns, s.Settings, s.Templates, s.Tenants},
		Outcomes:    personOutcomes{s.KeptPosts, s.Ledgers, s.Replies, s.Taps},
		Submissions: s.Submissions, Exports: s.Exports, Erasure: s.Erasure,
	}
}

// optOutBook has the opt-outs of all tenants.
type optOutBook struct {
	*dynamo.OptOutStore
	*dynamo.TenantStore
}

func newOptOutBook(t dynamo.Tables) optOutBook {
	s := dynamo.New(t)
	return optOutBook{s.OptOuts, s.Tenants}
}
