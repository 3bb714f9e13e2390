// Package stores joins stores of package dynamo for services that read rows of several.
package stores

import "campaign-dispatch/internal/aws/dynamo"

// Control is the store of package control.
type Control struct {
	*dynamo.BatchStore
	*dynamo.SettingStore
	*dynamo.CampaignStore
	*dynamo.FileStore
}

// NewControl returns the store of package control.
func NewControl(s *dynamo.Stores) Control {
	return Control{s.Batches, s.Settings, s.Campaigns, s.Files}
}

// Exports is the store of the service of package exports.
type Exports struct {
	*dynamo.CampaignStore
	*dynamo.FileStore
}

// NewExports returns the store of the service of package exports.
func NewExports(s *dynamo.Stores) Exports {
	return Exports{s.Campaigns, s.Files}
}

// Maker is the store of the maker of package exports.
type Maker struct {
	*dynamo.BatchStore
	*dynamo.CampaignStore
	*dynamo.FileStore
	*dynamo.OutcomeStore
	*dynamo.ContentStore
}

// NewMaker returns the store of the maker of package exports.
func NewMaker(s *dynamo.Stores) Maker {
	return Maker{s.Batches, s.Campaigns, s.Files, s.Outcomes, s.Contents}
}

// Intake is the store of package intake.
type Intake struct {
	*dynamo.OutcomeStore
	*dynamo.CampaignStore
	*dynamo.FileStore
	*dynamo.ContentStore
}

// NewIntake returns the store of package intake.
func NewIntake(s *dynamo.Stores) Intake {
	return Intake{s.Outcomes, s.Campaigns, s.Files, s.Contents}
}

// Query is the store of package query.
type Query struct {
	*dynamo.CampaignStore
	*dynamo.BatchStore
	*dynamo.TenantStore
	*dynamo.OutcomeStore
	*dynamo.RecipientStore
	*dynamo.ContentStore
	*dynamo.SettingStore
}

// NewQuery returns the store of package query.
func NewQuery(s *dynamo.Stores) Query {
	return Query{s.Campaigns, s.Batches, s.Tenants, s.Outcomes, s.Recipients, s.Contents, s.Settings}
}

// Feed is the store of package feed.
type Feed struct {
	*dynamo.BatchStore
	*dynamo.EndpointStore
}

// NewFeed returns the store of package feed.
func NewFeed(s *dynamo.Stores) Feed { return Feed{s.Batches, s.Endpoints} }
