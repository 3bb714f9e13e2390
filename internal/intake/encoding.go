package intake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// errUnknownEncoding means that a line is not UTF-8, and that nobody knows what it is.
var errUnknownEncoding = errors.New("the encoding of a file is not known yet")

// readFirst reads the first lines of a file that is open. A small file is searched for lines that are not UTF-8, a large
// one only if there is such a line among the first ones: otherwise the check finds it.
func readFirst(ctx context.Context, file io.ReaderAt, size int64, rows *sheet.File, next *submission.Submission) (*sheet.File, error) {
	var err error
	if next.Reading.Encoding == "" { // otherwise a person can choose another one
		next.Columns.Encodings = nil
	}
	if next.Columns.First, err = rows.First(); err != nil {
		return nil, err
	}
	if next.Reading.Encoding != "" || !rows.ANSI() && size > maxSmall {
		return rows, nil
	}
	if err = decideEncoding(ctx, file, size, next); err != nil || next.Reading.Encoding == "" {
		return rows, err
	}
	if rows, err = sheet.Open(ctx, file, size, next.Reading); err != nil {
		return nil, err
	}
	next.Columns.First, err = rows.First()
	return rows, err
}

// decideEncoding sets the encoding of the lines that are not UTF-8, or those among which a person chooses.
func decideEncoding(ctx context.Context, file io.ReaderAt, size int64, next *submission.Submission) error {
	choices, err := sheet.Encodings(ctx, file, size)
	if err != nil {
		return fmt.Errorf("find the encoding of a file: %w", err)
	}
	if len(choices) == 1 {
		next.Reading.Encoding = choices[0].Name
	} else {
		next.Columns.Encodings = choices
	}
	return nil
}

// findEncoding decides the encoding of a file of which parts are written. All their lines are UTF-8, but for those that the
// previous version has written: their check begins again.
func (r *reader) findEncoding(ctx, starting context.Context) error {
	next := r.Submission
	if err := decideEncoding(ctx, r.source, r.size, &next); err != nil {
		return fileFault(err)
	}
	asks := len(next.Columns.Encodings) > 0
	switch {
	case asks:
		next.State, next.Check = submission.StateColumns, submission.Check{Number: next.Check.Number}
	case next.Reading.Encoding == "": // the file has changed
		return &submission.Fault{Code: faultDamaged}
	case next.Check.ANSI:
		beginCheck(&next, next.TemplateVersion)
	}
	saved, err := r.save(ctx, next)
	if err != nil || asks {
		return err
	}
	return r.read(ctx, starting, saved)
}

// noteAccents remembers the first part whose messages have words with accents, and rather one with lines that are not UTF-8.
func noteAccents(next *submission.Submission, cell int, p part) {
	noted := &next.Check.Accents
	if len(p) == 0 || noted.ANSI {
		return
	}
	accented := func(m submission.Message) bool { return len(wordsOf(*next, nil, m)) > 0 }
	ansi := slices.ContainsFunc(p, func(m submission.Message) bool { return m.ANSI && accented(m) })
	if ansi || noted.Part == 0 && slices.ContainsFunc(p, accented) {
		noted.Cell, noted.Part, noted.ANSI = cell, next.Check.PartsOf(cell)+1, ansi
	}
}

// wordsOf adds the words with accents of a message's variables.
func wordsOf(sub submission.Submission, words []string, m submission.Message) []string {
	for _, v := range sub.Columns.Values {
		words = sheet.Words(words, m.Vars[v.Name])
	}
	return words
}

// Words returns the first words with accents of the variables, those of lines that are not UTF-8 first. A person sees by
// them how the file was read. They are not stored: a part loses the lines of people who are erased.
func (s *Service) Words(ctx context.Context, sub submission.Submission) (words []string, err error) {
	if sub.Check.Accents.Part == 0 {
		return nil, nil
	}
	file, err := s.Uploads.Get(ctx, sub.CellPartKey(sub.Check.Accents.Cell, sub.Check.Accents.Part))
	if err != nil {
		return nil, campaign.IgnoreNotFound(err)
	}
	messages, _, err := submission.DecodePart(file)
	for _, ansi := range []bool{true, false} {
		for _, m := range messages {
			if m.ANSI == ansi {
				words = wordsOf(sub, words, m)
			}
		}
	}
	return words, err
}
