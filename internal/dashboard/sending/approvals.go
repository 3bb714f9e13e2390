package sending

import (
	"cmp"
	"slices"
	"time"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

// ApprovalsPath is the path of the requests for approval.
const ApprovalsPath = web.Root + "/approvals"

// request is a request for approval in the list.
type request struct {
	Name, Path string
	State      string // ends the key of its text
	People     int
	By         string
	At         time.Time
}

// mostRequests is the maximum number of requests on the page: the newest ones.
const mostRequests = 100

// approvals lists the requests for approval, those that wait first.
func (s *Pages) approvals(p *web.Page) error {
	all, err := s.requests(p)
	if err != nil {
		return err
	}
	waits := func(r request) int {
		if r.State == waiting {
			return 0
		}
		return 1
	}
	slices.SortFunc(all, func(a, b request) int { return cmp.Or(waits(a)-waits(b), b.At.Compare(a.At)) })
	return p.Render("approval.title", "approvals.html", all[:min(len(all), mostRequests)])
}

func (s *Pages) requests(p *web.Page) (all []request, err error) {
	subs, err := s.Store.Submissions(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return nil, err
	}
	for _, sub := range subs {
		if sub.Approval.Asked() && sub.State != submission.StateDraft { // a draft is not what was decided about
			all = append(all, request{
				Name: web.Short(sub.Name, nameWeight), Path: pathOf(sub), State: stateOf(sub), People: sub.Check.Findings.People(),
				By: sub.Approval.AskedBy, At: sub.Approval.AskedAt,
			})
		}
	}
	return all, nil
}

// waiting is the state of a request that nobody has decided.
const waiting = "waiting"

// stateOf returns the state of a submission's request.
func stateOf(sub submission.Submission) string {
	switch {
	case sub.State == submission.StateApproval:
		return waiting
	case sub.Approval.Decision == "": // nobody decided in time
		return "expired"
	case sub.Approval.Decision != submission.DecisionApproved:
		return string(sub.Approval.Decision)
	case sub.State == submission.StateSent:
		return "sent"
	case sub.Closed():
		return "ended"
	}
	return "approved"
}
