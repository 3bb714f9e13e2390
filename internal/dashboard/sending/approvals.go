package sending

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
)

// ApprovalsPath is the path of the requests for approval.
const ApprovalsPath = web.Root + "/approvals"

type request struct {
	submission.Submission
	Path     string
	Decision string // what became of it; ends the key of its text
}

const mostRequests = 100 // on the page: the newest ones

// approvals lists the requests for approval, those that wait first.
func (s *Pages) approvals(p *web.Page, subs []submission.Submission) error {
	var all []request
	for _, sub := range subs {
		if sub.Approval.Asked() && sub.State != submission.StateDraft { // a draft is not what was decided about
			sub.Name = web.Short(sub.Name, nameWeight)
			all = append(all, request{sub, pathOf(sub), stateOf(sub, s.Now())})
		}
	}
	slices.SortFunc(all, func(a, b request) int {
		return cmp.Or(falseFirst(a.Decision != undecided, b.Decision != undecided), b.Approval.AskedAt.Compare(a.Approval.AskedAt))
	})
	return p.Render("ui.approvals", "approvals.html", all[:min(len(all), mostRequests)])
}

// falseFirst compares for an order in which those that are true follow the others.
func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// undecided is the state of a request that nobody has decided.
const undecided = "waiting"

func stateOf(sub submission.Submission, now time.Time) string {
	switch {
	case sub.State == submission.StateApproval:
		return undecided
	case sub.Approval.Decision == "": // nobody decided in time
		return "expired"
	case sub.Approval.Decision != submission.DecisionApproved:
		return string(sub.Approval.Decision)
	case sub.State == submission.StateSent, early(sub, now):
		return "sent"
	case sub.State == submission.StateHolding:
		return string(sub.State)
	case sub.Closed() && sub.Sending.Parts > 0:
		return "rest_discarded"
	case sub.Closed():
		return "ended"
	}
	return "approved"
}

// RulePath is the path of the setting from how many recipients a campaign needs approval.
const RulePath = web.Root + "/settings/approval"

type rule struct {
	From  string // number of recipients, "" for never
	Was   string // the stored one
	Fault string // the key of a text
}

const maxRule = 100_000_000 // people

func (s *Pages) rule(p *web.Page) (from int, err error) {
	return s.Store.ApprovalFrom(p.R.Context(), p.Session.Tenant)
}

func showRule(p *web.Page, from int) error {
	return renderRule(p, http.StatusOK, ruleText(from), from, "")
}

// renderRule shows the form with what is entered. fault is the key of a text, or "".
func renderRule(p *web.Page, status int, text string, stored int, fault string) error {
	return p.RenderStatus(status, "approval.rule_title", "approval_rule.html", rule{text, ruleState(stored), fault})
}

func ruleText(from int) string {
	if from == 0 {
		return ""
	}
	return strconv.Itoa(from)
}

func ruleState(from int) string { return "from " + strconv.Itoa(from) }

// changeRule saves the setting. What is not a number is refused, so that a mistyped one does
// not switch approval off.
func (s *Pages) changeRule(p *web.Page, old int) error {
	text := p.Field("from")
	from, err := strconv.Atoi(text)
	switch {
	case text == "":
		from = 0
	case err != nil || from < 1 || from > maxRule:
		return renderRule(p, http.StatusUnprocessableEntity, text, old, "approval.rule_fault")
	}
	ctx, tenant := p.R.Context(), p.Session.Tenant
	return web.Setting[int]{
		Read:  func() (int, error) { return s.rule(p) },
		Has:   func(stored int) bool { return from == stored },
		Stale: func(stored int) bool { return p.Stale(ruleState(stored)) },
		Save: func(stored int) error {
			return s.Store.SaveApprovalFrom(ctx, tenant, stored, from, p.AuditEntry(RulePath, "approval.rule", "", ruleDetail(stored, from)))
		},
		Saved:     func() error { return p.Done(RulePath, "approval.rule_saved") },
		Overtaken: func(stored int) error { return renderRule(p, http.StatusConflict, text, stored, "approval.rule_stale") },
	}.Change(old)
}

func ruleDetail(was, from int) string {
	people := func(n int) web.AuditArg {
		if n == 0 {
			return web.AuditText("audit.approval.never")
		}
		return web.AuditNumber(n)
	}
	return web.Said("audit.approval.people", people(was), people(from))
}
