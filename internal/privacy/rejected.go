package privacy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// Answer is a rejected number in a stored answer. Answers are kept for a day.
type Answer struct {
	Phone  string `json:"phone"`
	Reason string `json:"reason"`
	Code   string `json:"code"`
}

// refusals matches the rejected numbers in an answer as dispatch encodes it. JSON
// escapes quotation marks in strings, so it matches nothing else.
var refusals = pattern.AtFirstUse(`\{"phone":"(?:[^"\\]|\\.)*","reason":"(?:[^"\\]|\\.)*","code":"(?:[^"\\]|\\.)*"\}`)

// erasedReason replaces the reason in a stored answer about the person's number.
const erasedReason = "The data of this recipient was erased."

// answer returns the rejected numbers of a stored answer that are the person's, and the answer without them.
func (p *person) answer(body []byte) (about []Answer, without []byte, err error) {
	without = refusals().ReplaceAllFunc(body, func(text []byte) []byte {
		var r Answer
		if e := json.Unmarshal(text, &r); e != nil {
			err = fmt.Errorf("read a stored answer: %w", campaign.ErrDamaged)
		}
		if err != nil || !p.sought.WrittenAs(r.Phone, r.Reason) {
			return text
		}
		about = append(about, r)
		blank, _ := json.Marshal(Answer{Reason: erasedReason, Code: r.Code})
		return blank
	})
	return about, without, err
}

// answerFor exceeds the lifetime of idempotency keys. An older answer without a key is orphaned.
const answerFor = 25 * time.Hour

// eachAnswer visits the tenant's stored answers that are about the person, with a
// function that erases the person's data from them.
func (p *person) eachAnswer(ctx context.Context, visit func(about []Answer, erase func() error) error) error {
	var found errorCollector
	named := map[string]bool{} // named by a key of any tenant
	for a, err := range p.Store.Erasure.KeptAnswers(ctx, func(rows int) { p.Progress("rows for stored answers", rows, 0) }) {
		if err != nil {
			return err
		}
		named[a.BlobKey] = true
		if a.Tenant == p.tenant.ID {
			found.add(p.keptAnswer(ctx, a, visit))
		}
	}
	for o, err := range p.Blobs.List(ctx, "answers/") {
		if err != nil {
			return err
		}
		if !named[o.Key] && p.Now().Sub(o.At) >= answerFor {
			found.add(p.strayAnswer(ctx, o.Key, visit))
		}
	}
	return found.err()
}

func (p *person) keptAnswer(ctx context.Context, a acceptance.KeptAnswer, visit func([]Answer, func() error) error) error {
	body, erase := a.Body, func() error { return p.eraseShortAnswer(ctx, a) }
	if a.BlobKey != "" {
		var err error
		body, err = p.Blobs.Get(ctx, a.BlobKey)
		if err != nil {
			return campaign.IgnoreNotFound(err)
		}
		erase = func() error { return p.eraseLongAnswer(ctx, a.BlobKey) }
	}
	about, _, err := p.answer(body)
	if err != nil || len(about) == 0 {
		return err
	}
	return visit(about, erase)
}

func (p *person) eraseShortAnswer(ctx context.Context, a acceptance.KeptAnswer) error {
	_, without, err := p.answer(a.Body)
	if err != nil {
		return err
	}
	replaced, err := p.Store.Erasure.ReplaceAnswer(ctx, a, without)
	if err == nil && !replaced {
		err = errors.New("a stored answer was changed concurrently")
	}
	return err
}

func (p *person) eraseLongAnswer(ctx context.Context, key string) error {
	err := p.Blobs.Change(ctx, key, "application/json", func(body []byte) ([]byte, error) {
		about, without, err := p.answer(body)
		if len(about) == 0 {
			return nil, err
		}
		return without, err
	})
	return campaign.IgnoreNotFound(err)
}

// strayAnswer visits an answer whose key is gone. It belongs to the tenant of its campaign.
func (p *person) strayAnswer(ctx context.Context, key string, visit func([]Answer, func() error) error) error {
	body, err := p.Blobs.Get(ctx, key)
	if err != nil {
		return campaign.IgnoreNotFound(err)
	}
	about, _, err := p.answer(body)
	if err != nil || len(about) == 0 {
		return err
	}
	var a struct {
		CampaignID string `json:"campaignId"`
	}
	if json.Unmarshal(body, &a) != nil {
		return fmt.Errorf("read a stored answer: %w", campaign.ErrDamaged)
	}
	_, err = p.Store.Campaigns.Dispatched(ctx, campaign.ID{Tenant: p.tenant.ID, CampaignID: strings.ToLower(a.CampaignID)})
	if err != nil {
		return campaign.IgnoreNotFound(err)
	}
	return visit(about, func() error { return p.Blobs.Delete(ctx, key) })
}

// errorLines returns the lines of a batch's error file that are about the person. A batch without a file has none.
func (p *person) errorLines(ctx context.Context, b campaign.Batch) (about []campaign.ErrorLine, err error) {
	if b.ErrorFile == "" {
		return nil, nil
	}
	file, err := p.Blobs.Get(ctx, campaign.ErrorFileKey(b.ErrorFile))
	if err != nil {
		return nil, campaign.IgnoreNotFound(err)
	}
	about, _, err = p.partErrors(b, file)
	return about, err
}

// partErrors splits a batch's error file into the lines about the person and the others.
func (p *person) partErrors(b campaign.Batch, file []byte) (about, others []campaign.ErrorLine, err error) {
	lines, err := campaign.ReadErrorFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("batch %s: %w", b.BatchID, err)
	}
	for _, l := range lines {
		if p.sought.WrittenAs(l.Phone, l.Reason) {
			about = append(about, l)
		} else {
			others = append(others, l)
		}
	}
	return about, others, nil
}

func (e *erasure) eraseErrorFile(ctx context.Context, b campaign.Batch) error {
	if b.ErrorFile == "" {
		return nil
	}
	lines := 0
	err := e.Blobs.Change(ctx, campaign.ErrorFileKey(b.ErrorFile), "text/csv; charset=utf-8", func(file []byte) ([]byte, error) {
		about, others, err := e.partErrors(b, file)
		if lines = len(about); err != nil || lines == 0 {
			return nil, err
		}
		if err := e.deleteExports(ctx, b.ID); err != nil {
			return nil, err
		}
		left := campaign.ErrorFileHeader.AppendTo(nil)
		for _, l := range others {
			left = l.AppendTo(left)
		}
		return left, nil
	})
	if err != nil || lines == 0 {
		return campaign.IgnoreNotFound(err)
	}
	e.add(func(done *Erased) { done.Rejected += lines })
	return e.deleteExports(ctx, b.ID) // those that read the file before it was replaced
}
