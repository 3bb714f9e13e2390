package sending

import (
	"errors"
	"net/http"
	"strconv"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// RulePath is the path of the setting from how many recipients a campaign needs approval.
const RulePath = web.Root + "/settings/approval"

// rule is the data of the setting.
type rule struct {
	From  string // number of recipients, "" for never
	Was   string // the stored one
	Fault string // the key of a text
}

// maxRule is the largest number of recipients of the setting.
const maxRule = 100_000_000

func (s *Pages) showRule(p *web.Page) error {
	from, err := s.Store.ApprovalFrom(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	return p.Render("approval.rule_title", "approval_rule.html", rule{From: ruleText(from), Was: ruleState(from)})
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
func (s *Pages) changeRule(p *web.Page) error {
	old, err := s.Store.ApprovalFrom(p.R.Context(), p.Session.Tenant)
	if err != nil {
		return err
	}
	text := p.Field("from")
	from, err := strconv.Atoi(text)
	switch {
	case text == "":
		from = 0
	case err != nil || from < 1 || from > maxRule:
		return p.RenderStatus(http.StatusUnprocessableEntity, "approval.rule_title", "approval_rule.html", rule{text, ruleState(old), "approval.rule_fault"})
	}
	if from == old {
		return p.Done(RulePath, "approval.rule_saved")
	}
	if p.Stale(ruleState(old)) {
		return refuseStaleRule(p, text, old)
	}
	if err := p.AuditOn(RulePath, "approval.rule", strconv.Itoa(old)+" → "+strconv.Itoa(from)); err != nil {
		return err
	}
	switch err := s.Store.SaveApprovalFrom(p.R.Context(), p.Session.Tenant, old, from); {
	case errors.Is(err, campaign.ErrLostRace):
		if old, err = s.Store.ApprovalFrom(p.R.Context(), p.Session.Tenant); err != nil {
			return err
		}
		return refuseStaleRule(p, text, old)
	case err != nil:
		return err
	}
	return p.Done(RulePath, "approval.rule_saved")
}

// refuseStaleRule shows the form, which says that the stored setting has changed.
func refuseStaleRule(p *web.Page, text string, stored int) error {
	return p.RenderStatus(http.StatusConflict, "approval.rule_title", "approval_rule.html", rule{text, ruleState(stored), "approval.rule_stale"})
}
