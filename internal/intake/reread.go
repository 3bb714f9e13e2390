package intake

import (
	"context"
	"slices"

	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

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

// mostLocated is the maximum number of files in which a kind of lines begins, for FirstLines.
const mostLocated = 8

// locate remembers the file of lines that is written next if it has a kind of line that none before has.
func locate(c *submission.Check, before submission.Findings) {
	if c.Findings.Kinds() > before.Kinds() && len(c.Findings.Outs) < mostLocated {
		c.Findings.Outs = append(c.Findings.Outs, c.Outs+1)
	}
}

// FirstLines returns the first lines of each kind that get no message or are noted, up to most of each. Of a large file it
// reads only what has the beginning of the kinds. Erasures delete lines.
func (s *Service) FirstLines(ctx context.Context, sub submission.Submission, most int) (first []submission.LeftOut, err error) {
	type kind struct {
		submission.Kind

		code, column string
		list         int
	}
	seen := map[kind]int{}
	for l, err := range eachLeftOut(ctx, remaining{s.Uploads}, sub, located(sub.Check)) {
		if err != nil {
			return nil, err
		}
		k := kind{l.Kind, l.Code, l.Column, l.List}
		if seen[k]++; seen[k] <= most {
			first = append(first, l)
		}
	}
	return first, nil
}

// remaining reads a file that was deleted as one without lines.
type remaining struct{ Blobs }

func (r remaining) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := r.Blobs.Get(ctx, key)
	return body, campaign.IgnoreNotFound(err)
}

// located returns the numbers of the files of left out lines in which a kind begins, each with the next one.
func located(c submission.Check) (outs []int) {
	for _, n := range append([]int{1}, c.Findings.Outs...) {
		outs = append(outs, n, n+1)
	}
	slices.Sort(outs)
	return slices.DeleteFunc(slices.Compact(outs), func(n int) bool { return n > c.Outs })
}
