package dispatch

import (
	"net/http"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
)

// validate returns all violations of a call, in the order of the rules. The first one
// determines the status of the answer. earlier is the subset of the call's
// numbers that earlier batches contain.
func validate(c *call, s campaign.AcceptState, earlier numberset.Set) violations {
	found := slices.Clone(c.violations)
	if c.req.templateID.present() {
		found = append(found, validateTemplate(c, s.Template)...)
	}
	if c.req.id() != "" {
		found = append(found, validateCampaign(c, s, earlier)...)
	}
	return found
}

func validateTemplate(c *call, t *campaign.Template) violations {
	switch {
	case t == nil:
		return violations{{http.StatusNotFound, "/templateId", "template_not_found", "the template does not exist"}}
	case t.Tenant != c.tenant:
		return violations{{http.StatusForbidden, "/templateId", "template_of_another_tenant", "the template belongs to another tenant"}}
	case c.version != 0 && t.Version != c.version: // else the batch fixes this version
		return violations{{http.StatusConflict, "/templateId", campaign.CodeTemplateChanged, "the template has another version than the checked one"}}
	}
	return validateVariables(c.req, t.Variables())
}

// validateVariables checks that each message has the needed variables. Other variables are
// ignored.
func validateVariables(q *request, needed []string) (found violations) {
	for i := range q.messages {
		vars := q.vars[q.messages[i].vars[0]:q.messages[i].vars[1]]
		for _, name := range needed {
			switch v := find(vars, name); {
			case v == nil, v.kind == jsonscan.Null:
				found.add(messagePointer(i, "vars", name), "missing_variable", "the template needs this variable")
			case v.kind == jsonscan.Array, v.kind == jsonscan.Object:
				found.add(messagePointer(i, "vars", name), "invalid_variable", "must be a string, a number or a boolean")
			}
		}
	}
	return found
}

func find(vars []variable, name string) *variable {
	for i := range vars {
		if string(vars[i].name) == name {
			return &vars[i]
		}
	}
	return nil
}

func validateCampaign(c *call, s campaign.AcceptState, earlier numberset.Set) violations {
	if s.Meta == nil {
		return validateCreation(s)
	}
	conflict := func(pointer, code, detail string) violation {
		return violation{http.StatusConflict, pointer, code, detail}
	}
	var found violations
	if absent(c.req.batch.kind) {
		found.add("/batch", "batch_required", "the campaign already exists: batch is required to extend it")
	}
	if s.Meta.Cancelled {
		found = append(found, conflict("/campaignId", "campaign_cancelled", "the campaign was cancelled"))
	}
	if s.Batch != nil && c.req.batch.present() {
		found = append(found, conflict("/batch", "batch_already_used", "the campaign already has a batch with this name"))
	}
	for _, i := range messagesWith(c.req, earlier) {
		found = append(found, conflict(messagePointer(i, "phone"), "number_already_dispatched",
			"an earlier batch of the campaign holds this number"))
	}
	if s.Meta.Name != c.req.name.value {
		found = append(found, conflict("/name", "campaign_name_mismatch", "the campaign already exists with another name"))
	}
	return found
}

func validateCreation(s campaign.AcceptState) violations {
	if !s.NameTaken {
		return nil
	}
	return violations{{http.StatusConflict, "/name", "campaign_name_taken", "another campaign already has this name"}}
}

// messagesWith returns the indexes of the accepted messages to any of the numbers.
func messagesWith(q *request, numbers numberset.Set) (indexes []int) {
	if len(numbers) == 0 {
		return nil
	}
	for i := range q.messages {
		m := &q.messages[i]
		if _, found := slices.BinarySearch(numbers, uint64(m.number)); found && m.rejection == nil {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

func (q *request) numbers() numberset.Set {
	numbers := make([]e164.Number, 0, len(q.messages))
	for i := range q.messages {
		if m := &q.messages[i]; m.rejection == nil {
			numbers = append(numbers, m.number)
		}
	}
	return numberset.New(numbers)
}
