package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
)

// maxInlineAnswer is the largest idempotent answer, in bytes, stored in its row. Larger
// answers go to S3.
const maxInlineAnswer = 2 << 10

// staged is what a call prepared before its transaction. Each call generates
// its own keys, so two concurrent calls never share an object.
type staged struct {
	done            bool
	templateVersion int
	sorted          []int // request.sorted of the payload
	elsewhere       []int // call.elsewhere of the payload
	batchKey        campaign.BatchKey
	payloadKey      string
	errorsName      string
	offsets         []int
	accepted        int // messages in the payload
	answer          []byte
	answerKey       string
	put             []string // keys of all objects written
}

// accept writes the objects and counts a client's call concurrently, then commits one
// transaction and schedules the release. A scheduling failure does not fail the call:
// sweep finds the batch by its row.
func (s *Service) accept(ctx context.Context, c *call, state acceptance.State) error {
	if err := s.stage(ctx, c, *state.Template); err != nil {
		return err
	}
	if c.client != nil {
		if err := c.client.waitForCount(); err != nil {
			return err
		}
	}
	a := s.acceptance(c, state)
	err := s.Store.Accept(ctx, a, random.Hex(16))
	if errors.Is(err, campaign.ErrLostRace) {
		return err
	}
	if err != nil {
		return errors.Join(errUnsettled, err)
	}
	c.accepted = true
	metrics.Add(ctx, metrics.MessagesAccepted, a.Batch.Accepted)
	s.SeenNumbers.Add(a.Batch.ID, a.CreatedAt, acceptance.PackedSet{Ordinal: a.Ordinal, Packed: a.Packed})
	if a.Batch.Accepted > 0 {
		if err := s.Releases.Schedule(ctx, a.Batch); err != nil {
			metrics.Add(ctx, metrics.HandoffsFailed, 1)
			slog.WarnContext(ctx, "scheduling the release failed; sweep will release the batch",
				"batch_id", a.Batch.BatchID, "error", err)
		}
	}
	return nil
}

func (s *Service) acceptance(c *call, state acceptance.State) acceptance.Command {
	a := acceptance.Command{
		Batch:     s.batch(c),
		Campaign:  c.req.name.value,
		Ordinal:   1,
		Packed:    c.stored().Pack(),
		CreatedAt: c.now,
		AskedBy:   c.asked.AskedBy,
	}
	if len(state.Template.AllSuggestions()) > 0 {
		a.Batch.TapKey = random.Bytes(reaction.TapKeySize)
		a.Batch.CountsClicks = state.Template.CountsClicks()
	}
	a.Limits = c.bill.reserve(&a.Batch)
	if c.asked.Totals.Known() {
		a.Submission = c.asked.Totals.WithPart(c.asked.People, a.Batch.Accepted, a.Batch.InOtherBatches)
	}
	if state.Meta != nil {
		a.Ordinal, a.CreatedAt, a.Moves = state.Meta.Batches+1, state.Meta.CreatedAt, state.Meta.Move.Revision
		a.Batch.Test = state.Meta.Test
	}
	if c.client != nil && c.client.key != "" {
		a.ClientID, a.IdempotencyKey = c.client.id, c.client.key
		a.Answer = acceptance.Answer{BodyHash: c.client.bodyHash[:], Body: c.staged.answer, BlobKey: c.staged.answerKey}
		a.AnswerUntil = c.now.Add(campaign.AnswerLife)
	}
	return a
}

func (s *Service) batch(c *call) campaign.Batch {
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{
			ID:      campaign.ID{Tenant: c.tenant, CampaignID: c.req.id()},
			BatchID: campaign.BatchID(c.req.batch.value),
		},
		Name:            c.req.batch.value,
		Key:             c.staged.batchKey,
		TemplateID:      c.req.template(),
		TemplateVersion: c.staged.templateVersion,
		Payload:         c.staged.payloadKey,
		Offsets:         c.staged.offsets,
		Accepted:        c.staged.accepted,
		Rejected:        c.req.rejected(),
		InOtherBatches:  len(c.elsewhere),
		AcceptedAt:      c.now,
		Due:             c.times.due,
		NotAfter:        c.times.notAfter,
		Scheduled:       c.times.scheduled,
		State:           campaign.BatchPending,
		NextCheck:       c.times.due.Add(s.SweepDelay),
		SendWindow:      c.req.sendWindow.week,
		Zones:           c.zones,
		Test:            c.asked.Test,
		Part:            c.asked.Part,
	}
	if b.Rejected > 0 {
		b.ErrorFile = c.staged.errorsName
	}
	if b.Accepted == 0 { // nothing to send: sweep completes it
		b.State, b.NextCheck = campaign.BatchSent, b.AcceptedAt
	}
	return b
}

// stage writes the payload, the error file and a client's long answer to S3 concurrently. A
// retry after a lost race reuses the objects unless the template, the messages or their order have changed.
func (s *Service) stage(ctx context.Context, c *call, t campaign.Template) error {
	if c.isStaged(t) {
		return nil
	}
	s.discard(ctx, c)
	c.newKeys(t.Version)
	puts, ctx := errgroup.WithContext(ctx)
	put := func(key string, body []byte, contentType string) {
		c.staged.put = append(c.staged.put, key)
		puts.Go(func() error { return s.Blobs.Put(ctx, key, body, contentType) })
	}
	rejected := c.req.rejected()
	if c.staged.accepted = c.req.countAccepted(); c.staged.accepted > 0 {
		body, offsets := encode(c.req, t.Variables())
		c.staged.offsets = offsets
		put(c.staged.payloadKey, body, "application/octet-stream")
	}
	if rejected > 0 {
		put(campaign.ErrorFileKey(c.staged.errorsName), errorFile(c.req), "text/csv; charset=utf-8")
	}
	if c.client != nil {
		if err := c.stageAnswer(put); err != nil {
			return err
		}
	}
	c.staged.done = true
	return puts.Wait()
}

// isStaged reports whether the objects of the call as it is now are written.
func (c *call) isStaged(t campaign.Template) bool {
	s := &c.staged
	return s.done && s.templateVersion == t.Version && slices.Equal(s.sorted, c.req.sorted) && slices.Equal(s.elsewhere, c.elsewhere)
}

// stageAnswer encodes the answer to a client. A long one that can be repeated becomes an object.
func (c *call) stageAnswer(put func(key string, body []byte, contentType string)) (err error) {
	answer := newAnswer(c.req)
	if answer.Rejected >= errorFileFrom {
		answer.Feedback.ErrorFileURL = c.client.base + "/api/v1/error-files/" + c.staged.errorsName
	}
	if c.staged.answer, err = httpapi.EncodeJSON(answer); err != nil {
		return err
	}
	if c.client.key != "" && len(c.staged.answer) > maxInlineAnswer {
		c.staged.answerKey = "answers/" + random.Token(16)
		put(c.staged.answerKey, c.staged.answer, "application/json")
	}
	return nil
}

func (c *call) newKeys(templateVersion int) {
	c.staged = staged{
		templateVersion: templateVersion,
		sorted:          c.req.sorted,
		elsewhere:       c.elsewhere,
		batchKey:        campaign.BatchKey(random.Bytes(10)),
		errorsName:      random.Token(campaign.ErrorFileBytes) + campaign.ErrorFileSuffix,
		payloadKey:      "payloads/" + c.tenant + "/" + c.req.id() + "/" + random.Token(16),
	}
}

// encode writes the accepted messages with the values of the template's
// variables.
func encode(q *request, variables []string) (body []byte, offsets []int) {
	w := payload.NewWriter(len(q.messages))
	names, values := q.names.indexes(variables), make([][]byte, len(variables))
	for i := range q.accepted {
		for n, name := range names {
			values[n] = find(q.varsOf(i), name).value
		}
		w.Add(uint64(q.messages[i].number), q.messages[i].uid, values)
	}
	return w.Finish()
}

// discardTimeout limits the clean-up after a refused call, whose own deadline may have
// passed.
const discardTimeout = 2 * time.Second

// discard deletes the staged objects. The bucket's lifecycle rule deletes the objects
// that remain after an error.
func (s *Service) discard(ctx context.Context, c *call) {
	if len(c.staged.put) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardTimeout)
	defer cancel()
	for _, key := range c.staged.put {
		if err := s.Blobs.Delete(ctx, key); err != nil {
			slog.WarnContext(ctx, "deleting a staged object of a refused call failed", "error", err)
		}
	}
	c.staged = staged{}
}
