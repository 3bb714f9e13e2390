package campaignupload

import (
	"cmp"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// ApprovalsPath is the path of the requests for approval.
const ApprovalsPath = web.Root + "/approvals"

// mostApprovals is the maximum number of requests on the page: the newest ones.
const mostApprovals = 100

func (s *Pages) approvals(p *web.Page) error {
	all, err := s.Store.Approvals(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	waits := func(a campaign.Approval) int {
		if a.State == campaign.ApprovalWaiting {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(a, b campaign.Approval) int { return cmp.Or(waits(a)-waits(b), b.At.Compare(a.At)) })
	return p.Render("approval.title", "approvals.html", all[:min(len(all), mostApprovals)])
}
