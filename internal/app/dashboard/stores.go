package dashboard

import "campaign-dispatch/internal/aws/dynamo"

// campaignRows has the rows of the pages of campaigns.
type campaignRows struct {
	*dynamo.CampaignStore
	*dynamo.ReplyStore
	*dynamo.TemplateStore
}

// overviewRows has the rows of the overview.
type overviewRows struct {
	*dynamo.AttentionStore
	*dynamo.CampaignStore
	*dynamo.DayStore
	*dynamo.SubmissionStore
	*dynamo.TemplateStore
}

// webhookRows has the rows of the pages of webhooks.
type webhookRows struct {
	*dynamo.CircuitStore
	*dynamo.DayStore
	*dynamo.EndpointStore
	*dynamo.FailureStore
	*dynamo.KeptPostStore
}

// brandRows has the rows of the pages of the brand.
type brandRows struct {
	*dynamo.MediaStore
	*dynamo.SettingStore
}

// libraryRows has the rows of the files that messages show.
type libraryRows struct {
	*dynamo.MediaStore
	*dynamo.TemplateStore
}

// intakeRows has the rows of the service of submissions.
type intakeRows struct {
	*dynamo.DayStore
	*dynamo.SubmissionStore
	*dynamo.MoveStore
	*dynamo.TemplateStore
}

// sendingRows has the rows of the pages that make a campaign.
type sendingRows struct {
	*dynamo.CampaignStore
	*dynamo.SubmissionStore
	*dynamo.TemplateStore
	*dynamo.TenantStore
}

// templateRows has the rows of the pages of templates.
type templateRows struct {
	*dynamo.CampaignStore
	*dynamo.MediaStore
	*dynamo.SettingStore
	*dynamo.TemplateStore
}

// contactRows has the rows of the pages of contacts.
type contactRows struct {
	*dynamo.CampaignStore
	*dynamo.LedgerStore
	*dynamo.ReplyStore
	*dynamo.TemplateStore
}
