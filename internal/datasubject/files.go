package datasubject

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
)

// The columns of an error file.
const (
	columnLine = iota
	columnPhone
	columnUID
	columnCode
	columnReason
	columns
)

const errorFiles = "errors/"

// errorFile returns the lines of a batch's error file that are about the person, and
// the file without them. A batch without a file has none of them.
func (p *person) errorFile(ctx context.Context, b campaign.Batch) (about [][]string, without []byte, err error) {
	if b.ErrorFile == "" {
		return nil, nil, nil
	}
	file, err := p.Blobs.Get(ctx, errorFiles+b.ErrorFile)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	r := csv.NewReader(bytes.NewReader(file))
	r.FieldsPerRecord = columns
	lines, err := r.ReadAll()
	if err != nil { // which quotes nothing of the file
		return nil, nil, fmt.Errorf("read the error file of batch %s: %w", b.BatchID, err)
	}
	var rest [][]string
	for i, line := range lines {
		if i > 0 && p.rejected(line[columnPhone], line[columnReason]) {
			about = append(about, line)
		} else {
			rest = append(rest, line)
		}
	}
	var body bytes.Buffer
	w := csv.NewWriter(&body)
	w.UseCRLF = true
	err = w.WriteAll(rest)
	return about, body.Bytes(), err
}

func (p *person) eraseErrorFile(ctx context.Context, b campaign.Batch) (lines int, err error) {
	about, without, err := p.errorFile(ctx, b)
	if err != nil || len(about) == 0 {
		return 0, err
	}
	return len(about), p.Blobs.Put(ctx, errorFiles+b.ErrorFile, without, "text/csv; charset=utf-8")
}

// refusal is a rejected number in a kept answer.
type refusal struct {
	Phone  string `json:"phone"`
	Reason string `json:"reason"`
	Code   string `json:"code"`
}

// refusals finds the rejected numbers in the answer to a dispatch call as dispatch
// writes it. In a text of JSON no quotation mark stands alone, so it finds nothing
// else.
var refusals = regexp.MustCompile(`\{"phone":"(?:[^"\\]|\\.)*","reason":"(?:[^"\\]|\\.)*","code":"(?:[^"\\]|\\.)*"\}`)

// erasedReason stands where a kept answer told of the person's number.
const erasedReason = "The data of this recipient was erased."

// answer returns the rejected numbers of a kept answer that are the person's, and the
// answer without them.
func (p *person) answer(body []byte) (about []refusal, without []byte, err error) {
	without = refusals.ReplaceAllFunc(body, func(text []byte) []byte {
		var r refusal
		if e := json.Unmarshal(text, &r); e != nil {
			err = fmt.Errorf("read a kept answer: %w", campaign.ErrDamaged)
		}
		if err != nil || !p.rejected(r.Phone, r.Reason) {
			return text
		}
		about = append(about, r)
		blank, _ := json.Marshal(refusal{Reason: erasedReason, Code: r.Code})
		return blank
	})
	return about, without, err
}

// answerFor is after how long an answer that no key has is nobody's: longer than any
// key has one.
const answerFor = 25 * time.Hour

// eachAnswer visits the kept answers of the tenant that are about the person, with
// what is to be done to erase that.
func (p *person) eachAnswer(ctx context.Context, visit func(about []refusal, erase func() error) error) error {
	named := map[string]bool{} // by any tenant's key
	for a, err := range p.Store.KeptAnswers(ctx, func(rows int) { p.Progress("rows for kept answers", rows, 0) }) {
		if err != nil {
			return err
		}
		named[a.BlobKey] = true
		if a.Tenant != p.tenant.ID {
			continue
		}
		if err := p.keptAnswer(ctx, a, visit); err != nil {
			return err
		}
	}
	for o, err := range p.Blobs.List(ctx, "answers/") {
		if err != nil {
			return err
		}
		if named[o.Key] || p.Now().Sub(o.At) < answerFor {
			continue
		}
		if err := p.strayAnswer(ctx, o.Key, visit); err != nil {
			return err
		}
	}
	return nil
}

func (p *person) keptAnswer(ctx context.Context, a campaign.KeptAnswer, visit func([]refusal, func() error) error) error {
	body, write := a.Body, func(without []byte) error { return p.Store.ReplaceAnswer(ctx, a, without) }
	if a.BlobKey != "" {
		var err error
		body, err = p.Blobs.Get(ctx, a.BlobKey)
		if errors.Is(err, campaign.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		write = func(without []byte) error { return p.Blobs.Put(ctx, a.BlobKey, without, "application/json") }
	}
	about, without, err := p.answer(body)
	if err != nil || len(about) == 0 {
		return err
	}
	return visit(about, func() error { return write(without) })
}

// strayAnswer is an answer whose key is gone. It is the tenant's if its campaign is.
func (p *person) strayAnswer(ctx context.Context, key string, visit func([]refusal, func() error) error) error {
	body, err := p.Blobs.Get(ctx, key)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	about, _, err := p.answer(body)
	if err != nil || len(about) == 0 {
		return err
	}
	var a struct {
		CampaignID string `json:"campaignId"`
	}
	if json.Unmarshal(body, &a) != nil {
		return fmt.Errorf("read a kept answer: %w", campaign.ErrDamaged)
	}
	_, err = p.Store.Dispatched(ctx, campaign.ID{Tenant: p.tenant.ID, CampaignID: strings.ToLower(a.CampaignID)})
	if errors.Is(err, campaign.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return visit(about, func() error { return p.Blobs.Delete(ctx, key) })
}

// eachUpload visits the campaign files that wait in the dashboard and hold the
// person's number, with the lines that do.
func (p *person) eachUpload(ctx context.Context, visit func(key string, lines []string) error) error {
	for o, err := range p.Blobs.List(ctx, "uploads/"+p.tenant.ID+"/") {
		if err != nil {
			return err
		}
		content, err := p.Blobs.Get(ctx, o.Key)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if lines := p.linesOf(content); len(lines) > 0 {
			if err := visit(o.Key, lines); err != nil {
				return err
			}
		}
	}
	return nil
}

// linesOf returns the lines of a file, after its first one, of which a cell writes the
// person's number.
func (p *person) linesOf(upload []byte) (lines []string) {
	_, file, _ := strings.Cut(string(upload), "\n")
	for line := range strings.FieldsFuncSeq(file, func(r rune) bool { return r == '\n' || r == '\r' }) {
		for cell := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",;\t\"", r) }) {
			if p.wrote(cell) {
				lines = append(lines, line)
				break
			}
		}
	}
	return lines
}
