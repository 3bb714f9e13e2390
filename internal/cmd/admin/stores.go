package main

import "campaign-dispatch/internal/aws/dynamo"

// personRows has the rows with personal data.
type personRows struct {
	*dynamo.AcceptanceStore
	*dynamo.BatchStore
	*dynamo.CampaignStore
	*dynamo.ErasureStore
	*dynamo.ExportStore
	*dynamo.ImportStore
	*dynamo.KeptPostStore
	*dynamo.LedgerStore
	*dynamo.ReplyStore
	*dynamo.SettingStore
	*dynamo.TapStore
	*dynamo.TemplateStore
	*dynamo.TenantStore
}

func newPersonRows(s *dynamo.Stores) personRows {
	return personRows{s.Acceptance, s.Batches, s.Campaigns, s.Erasure, s.Exports, s.Imports, s.KeptPosts, s.Ledgers, s.Replies, s.Settings, s.Taps, s.Templates, s.Tenants}
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
