package dispatch

import (
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone/numberset"
)

// validate returns all faults of a call but its price, in the order of the rules. The first one
// determines the status of the answer. earlier is the subset of the call's numbers that
// earlier batches contain.
func validate(c *call, s acceptance.State, earlier numberset.Set) faults {
	found := slices.Concat(c.faults, c.timeFaults)
	if c.req.templateID.present() {
		found.checkTemplate(c, s)
	}
	if c.req.id() != "" {
		found.checkCampaign(c, s, earlier)
	}
	return found
}

func (f *faults) checkTemplate(c *call, s acceptance.State) {
	t := s.Template
	switch {
	case t == nil:
		f.add("templateId", codeTemplateNotFound, "the template does not exist")
	case t.Tenant != c.tenant:
		f.add("templateId", codeForeignTemplate, "the template belongs to another tenant")
	case c.asked.TemplateVersion != 0 && t.Version != c.asked.TemplateVersion: // else the batch fixes this version
		f.add("templateId", campaign.CodeTemplateChanged, "the template has another version than the checked one")
	default:
		f.checkVariables(c.req, t.Variables())
		f.checkSendWindow(c.req.sendWindow, s.Hours, t.Traffic)
	}
}

// checkVariables adds the faults of messages without the needed variables, and those of their values. Other variables
// are ignored.
func (f *faults) checkVariables(q *request, needed []string) {
	names := q.names.indexes(needed)
	for i := range q.messages {
		vars := q.varsOf(i)
		for n, name := range needed {
			if code, detail := find(vars, names[n]).fault(); code != "" {
				f.addTo(i, name, code, detail)
			}
		}
	}
}

// fault returns the code of why a message cannot show a value, or "".
func (v *variable) fault() (code, detail string) {
	switch {
	case v == nil, v.kind == jsonscan.Null:
		return codeMissingVariable, "the template needs this variable"
	case v.kind == jsonscan.Array, v.kind == jsonscan.Object:
		return codeInvalidVariable, "must be a string, a number or a boolean"
	}
	return content.ValueFault(v.value, v.replaced)
}

func (f *faults) checkCampaign(c *call, s acceptance.State, earlier numberset.Set) {
	if s.Meta == nil {
		if s.NameOwner != "" {
			f.add("name", codeNameTaken, "another campaign already has this name")
		}
		return
	}
	if absent(c.req.batch.kind) {
		f.add("batch", "batch_required", "the campaign already exists: batch is required to extend it")
	}
	if s.Meta.Cancelled || c.discarded(s.Meta.Submission) {
		f.add("campaignId", CodeCancelled, "the campaign was cancelled")
	}
	if s.Batch != nil && c.req.batch.present() {
		f.add("batch", c.batchUsed(), "the campaign already has a batch with this name")
	}
	for _, i := range messagesWith(c.req, earlier) {
		f.addTo(i, "phone", codeNumberUsed, "an earlier batch of the campaign holds this number")
	}
	if s.Meta.Name != c.req.name.value {
		f.add("name", codeNameMismatch, "the campaign already exists with another name")
	}
}

// discarded reports whether the part of the call may not come any more.
func (c *call) discarded(stored campaign.SubmissionTotals) bool {
	return c.asked.Totals.Known() && !stored.Takes(c.asked.Totals.WithPart(0, 0, 0))
}

// batchUsed returns the code of a fault. A part was not accepted by the call that has used its
// batch.
func (c *call) batchUsed() string {
	if c.asked.Part != "" {
		return "batch_taken"
	}
	return codeBatchUsed
}

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
