package dispatch

import "campaign-dispatch/internal/campaign"

// id returns the campaign ID in lower case, or "" if it is not a UUID.
func (q *request) id() string {
	id, _ := campaign.ParseUUID(q.campaignID.value)
	return id
}

// template returns the template ID in lower case, or "" if it is not a UUID.
func (q *request) template() string {
	id, _ := campaign.ParseUUID(q.templateID.value)
	return id
}
