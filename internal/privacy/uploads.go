package privacy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// eachUpload visits the files of submissions, those of drafts too, and their parts that contain the
// person's number, with the matching lines.
func (p *person) eachUpload(ctx context.Context, visit func(key string, lines []string) error) error {
	var found errorCollector
	for _, prefix := range []string{submission.WorkPrefix, submission.PartsPrefix} {
		if err := p.eachFile(ctx, prefix+p.tenant.ID+"/", &found, visit); err != nil {
			return err
		}
	}
	return found.err()
}

func (p *person) eachFile(ctx context.Context, prefix string, found *errorCollector, visit func(key string, lines []string) error) error {
	for o, err := range p.Blobs.List(ctx, prefix) {
		if err != nil {
			return err
		}
		content, err := p.Blobs.Get(ctx, o.Key)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		found.add(err)
		lines := p.linesOf(content)
		if strings.HasPrefix(o.Key, submission.WorkPrefix) {
			lines = p.linesOfLarge(ctx, content)
		}
		if len(lines) > 0 {
			found.add(visit(o.Key, lines))
		}
	}
	return nil
}

// isPart reports whether an object is a part of a file, with a message in each line.
func isPart(key string) bool { return strings.HasPrefix(key, submission.PartsPrefix) }

func (p *person) campaignOf(part string) string {
	id, _, _ := strings.Cut(strings.TrimPrefix(part, submission.PartsPrefix+p.tenant.ID+"/"), "/")
	return id
}

// linesOfLarge returns the lines of a CSV file or a workbook that contain the person's number. The
// file of a draft was not checked, and its first line may be a person. If only other sheets of a
// workbook contain it, it returns their texts.
func (p *person) linesOfLarge(ctx context.Context, content []byte) (lines []string) {
	cut := false // whether a line is too long
	file, err := sheet.Open(ctx, bytes.NewReader(content), int64(len(content)), submission.Reading{})
	if err == nil && slices.ContainsFunc(file.Columns, p.sought.WrittenIn) {
		lines = append(lines, strings.Join(file.Columns, ";"))
	}
	for err == nil {
		var row sheet.Row
		if row, err = file.Next(); err == nil && row.Contains(p.sought.WrittenIn) {
			lines = append(lines, strings.Join(row.Cells, ";"))
		}
		cut = cut || row.Fault == sheet.LongLine
	}
	if !errors.Is(err, io.EOF) || cut { // what cannot be read is searched as text
		lines = append(lines, p.linesOf(sheet.UTF8(content))...)
	}
	if len(lines) > 0 {
		return lines
	}
	for text, err := range sheet.Texts(ctx, bytes.NewReader(content), int64(len(content))) {
		if err == nil && p.sought.WrittenIn(text) {
			lines = append(lines, text)
		}
	}
	return lines
}

// withoutPerson returns a part without the lines of the person, or nil if it has none.
func (p *person) withoutPerson(part []byte) ([]byte, error) {
	gone := p.linesOf(part)
	if len(gone) == 0 {
		return nil, nil
	}
	left := []byte{}
	for line := range bytes.Lines(part) {
		if !slices.Contains(gone, strings.TrimSuffix(string(line), "\n")) {
			left = append(left, line...)
		}
	}
	return left, nil
}

func (p *person) linesOf(file []byte) (lines []string) {
	for line := range strings.FieldsFuncSeq(string(file), func(r rune) bool { return r == '\n' || r == '\r' }) {
		for cell := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",;\t\"", r) }) {
			if p.sought.WrittenIn(cell) {
				lines = append(lines, line)
				break
			}
		}
	}
	return lines
}

// eraseFirstLines deletes the person's lines from the first lines of large files, which people
// see when they choose the columns, the corrections to the person's number, and the words by which they choose the encoding
// of a file that is erased.
func (e *erasure) eraseFirstLines(ctx context.Context) error {
	for {
		all, err := e.Store.Erasure.Submissions(ctx, e.tenant.ID)
		if err != nil {
			return err
		}
		err = e.eraseFirst(ctx, all)
		if !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
}

func (e *erasure) eraseFirst(ctx context.Context, all []submission.Submission) error {
	for _, sub := range all {
		left := slices.DeleteFunc(slices.Clone(sub.Columns.First), func(line []string) bool { return slices.ContainsFunc(line, e.sought.WrittenIn) })
		corrections := maps.Clone(sub.Reading.Corrections)
		maps.DeleteFunc(corrections, func(_ int, number string) bool { return e.sought.WrittenIn(number) })
		wordsGo, err := e.fileIsGone(ctx, sub)
		if err != nil {
			return err
		}
		if len(left) == len(sub.Columns.First) && len(corrections) == len(sub.Reading.Corrections) && !wordsGo {
			continue
		}
		sub.Columns.First, sub.Reading.Corrections = left, corrections
		if wordsGo {
			sub.Columns.Encodings = nil
		}
		if _, err := e.Store.Erasure.SaveSubmission(ctx, sub); err != nil {
			return err
		}
	}
	return nil
}

// fileIsGone reports whether a submission has words of a file that is erased.
func (e *erasure) fileIsGone(ctx context.Context, sub submission.Submission) (bool, error) {
	if len(sub.Columns.Encodings) == 0 {
		return false, nil
	}
	for _, err := range e.Blobs.List(ctx, sub.FileKey()) {
		return false, err
	}
	return true, nil
}
