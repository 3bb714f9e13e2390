package intake

import (
	"context"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// Check begins to read a file with the columns. A file that is read already is read again. One of which a person has to
// say how it is read waits.
func (s *Service) Check(ctx context.Context, sub submission.Submission, columns submission.Chosen, t campaign.Template) error {
	if !sub.Editable() || sub.Undecided() {
		return nil
	}
	beginCheck(&sub, t.Version)
	if columns.Phone != sub.Columns.Phone { // the corrections are those of other numbers
		sub.Reading.Corrections = nil
	}
	sub.Columns.Chosen = columns
	if err := s.remember(ctx, sub); err != nil {
		return err
	}
	return s.work(ctx, sub)
}

// Read begins to read a file in another way. A checked file is checked again with its columns, unless they may be others.
func (s *Service) Read(ctx context.Context, sub submission.Submission, reading submission.Reading, t campaign.Template) error {
	if !sub.Editable() || len(reading.Corrections) > submission.MaxCorrections {
		return nil
	}
	if reading.Encoding != "" && !sheet.KnownEncoding(reading.Encoding) {
		return &inputerr.Error{Code: "encoding", Detail: "the encoding is not known"}
	}
	again := sub.State == submission.StateReady && sub.TemplateVersion == t.Version && sub.Reading.SameColumns(reading)
	if sub.Reading = reading; again {
		beginCheck(&sub, t.Version)
	} else {
		sub.State, sub.Check = submission.StateOpening, submission.Check{Number: sub.Check.Number}
	}
	return s.work(ctx, sub)
}

const maxKnown = 300 // names that are remembered

func (s *Service) remember(ctx context.Context, sub submission.Submission) error {
	return s.Store.ChangeKnownColumns(ctx, sub.Tenant, func(known map[string]string) (changed bool) {
		sub.Columns.Each(func(value string, column *int) {
			name := sheet.Fold(sub.Columns.Header[*column])
			if name != "" && known[value] != name && (len(known) < maxKnown || known[value] != "") {
				known[value], changed = name, true
			}
		})
		return changed
	})
}

// correct changes the name, the template and the times of a submission that nobody has sent. Another
// template, or another version of it, needs another check. Of a checked file, the first part is
// checked with the other name and times. A submission that cannot be changed any more stays as it is:
// its page shows what it became.
func (s *Service) correct(ctx context.Context, sub, to submission.Submission) error {
	if !sub.Editable() {
		return nil
	}
	t, err := s.Store.Template(ctx, to.TemplateID)
	t, err = campaign.OwnTemplate(sub.Tenant, t, err)
	if err != nil {
		return err
	}
	same := sub.TemplateID == to.TemplateID && (sub.State == submission.StateColumns || sub.TemplateVersion == t.Version)
	sub.Name, sub.TemplateID, sub.Schedule, sub.NotAfter = to.Name, to.TemplateID, to.Schedule, to.NotAfter
	switch {
	case !same:
		sub.State = submission.StateOpening
		return s.work(ctx, sub)
	case sub.State == submission.StateReady:
		if err := s.checkAgain(ctx, &sub); err != nil {
			return err
		}
	}
	_, err = s.Store.SaveSubmission(ctx, sub)
	return err
}

// checkAgain checks the first part with another name and other times.
func (s *Service) checkAgain(ctx context.Context, sub *submission.Submission) error {
	if sub.Check.Parts == 0 {
		return nil
	}
	c, err := readCall(ctx, s.Uploads, *sub, 1)
	if err != nil {
		return err
	}
	v, err := s.Worker.Dispatch.Check(ctx, c)
	if err != nil {
		return err
	}
	sub.Check.Findings.General = nil
	addGeneral(&sub.Check.Findings, v)
	return nil
}
