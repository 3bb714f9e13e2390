// Package stores joins stores of package dynamo for services that read rows of several.
package stores

import "campaign-dispatch/internal/aws/dynamo"

// Control is the store of package control.
type Control struct {
	*dynamo.BatchStore
	*dynamo.BudgetStore
	*dynamo.CampaignStore
	*dynamo.MoveStore
	*dynamo.SubmissionStore
}

// NewControl returns the store of package control.
func NewControl(s *dynamo.Stores) Control {
	return Control{s.Batches, s.Budgets, s.Campaigns, s.Moves, s.Submissions}
}

// Exports is the store of the service of package exports.
type Exports struct {
	*dynamo.CampaignStore
	*dynamo.ExportStore
}

// NewExports returns the store of the service of package exports.
func NewExports(s *dynamo.Stores) Exports {
	return Exports{s.Campaigns, s.Exports}
}

// Maker is the store of the maker of package exports.
type Maker struct {
	*dynamo.BatchStore
	*dynamo.CampaignStore
	*dynamo.ExportStore
	*dynamo.LedgerStore
	*dynamo.TapStore
	*dynamo.TemplateStore
}

// NewMaker returns the store of the maker of package exports.
func NewMaker(s *dynamo.Stores) Maker {
	return Maker{s.Batches, s.Campaigns, s.Exports, s.Ledgers, s.Taps, s.Templates}
}

// Intake is the store of package intake.
type Intake struct {
	*dynamo.DayStore
	*dynamo.MoveStore
	*dynamo.SubmissionStore
	*dynamo.TemplateStore
}

// NewIntake returns the store of package intake.
func NewIntake(s *dynamo.Stores) Intake {
	return Intake{s.Days, s.Moves, s.Submissions, s.Templates}
}

// Query is the store of package query.
type Query struct {
	*dynamo.AcceptanceStore
	*dynamo.BatchStore
	*dynamo.CampaignStore
	*dynamo.LaneStore
	*dynamo.LedgerStore
	*dynamo.ListStore
	*dynamo.TapStore
	*dynamo.TemplateStore
}

// NewQuery returns the store of package query.
func NewQuery(s *dynamo.Stores) Query {
	return Query{s.Acceptance, s.Batches, s.Campaigns, s.Lanes, s.Ledgers, s.Lists, s.Taps, s.Templates}
}

// Feed is the store of package feed.
type Feed struct {
	*dynamo.BatchStore
	*dynamo.EndpointStore
}

// NewFeed returns the store of package feed.
func NewFeed(s *dynamo.Stores) Feed { return Feed{s.Batches, s.Endpoints} }
