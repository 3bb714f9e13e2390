package send

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

// plan determines the messages to send and when.
func (s *Sender) plan(ctx context.Context, r *run) error {
	var frames []int
	for _, p := range r.parts {
		if !fits(p.task, r.batch) {
			p.err = fmt.Errorf("frame %d of batch %s: %w", p.task.Frame, r.batch.BatchID, errBadTask)
			continue
		}
		frames = append(frames, p.task.Frame)
	}
	if len(frames) == 0 {
		return nil
	}
	batchLedger, err := s.Batches.Ledger(ctx, r.batch, frames)
	if err != nil {
		return err
	}
	r.takeOpen(batchLedger)
	switch now := s.Now(); {
	case r.batch.Cancelled():
		r.settleAll(campaign.OutcomeStopped, codeCancelled, now)
		return nil
	case r.batch.TooLate(now):
		r.settleAll(campaign.OutcomeExpired, codeTooLate, now)
		return nil
	}
	return s.takeReservations(ctx, r)
}

// fits reports whether the task refers to existing messages of its batch.
func fits(t campaign.SendTask, b campaign.Batch) bool {
	if t.Frame < 0 || t.Frame >= b.Frames() || len(b.Offsets) != b.Frames()+1 {
		return false
	}
	return !slices.ContainsFunc(t.Only, func(i int) bool { return i < 0 || i >= b.FrameLen(t.Frame) })
}

// takeOpen assigns to each part its requested messages that have no outcome and belong to
// no earlier part.
func (r *run) takeOpen(batchLedger campaign.Ledger) {
	taken := map[int]bool{}
	for _, p := range r.parts {
		if p.err != nil {
			continue
		}
		for _, i := range wanted(p.task, r.batch) {
			index := p.task.Frame*campaign.FrameSize + i
			if !taken[index] && batchLedger.Outcome(index) == "" {
				taken[index] = true
				p.now = append(p.now, &job{index: index})
			}
		}
	}
}

func wanted(t campaign.SendTask, b campaign.Batch) []int {
	if len(t.Only) > 0 {
		return t.Only
	}
	all := make([]int, b.FrameLen(t.Frame))
	for i := range all {
		all[i] = i
	}
	return all
}

// load reads the messages to send now. An unreadable frame fails only its own task. The
// messages of a deleted payload end as failed.
func (s *Sender) load(ctx context.Context, r *run) {
	var frames sync.WaitGroup
	for _, p := range r.parts {
		if p.err != nil || !slices.ContainsFunc(p.now, func(j *job) bool { return !j.settled() }) {
			continue
		}
		frames.Go(func() {
			err := s.loadFrame(ctx, r.batch, p)
			switch {
			case errors.Is(err, campaign.ErrNotFound):
				slog.ErrorContext(ctx, "payload not found; messages end as failed", "tenant", r.batch.Tenant,
					"campaign_id", r.batch.CampaignID, "batch_id", r.batch.BatchID, "frame", p.task.Frame)
				p.abandon(s.Now())
			case err != nil:
				p.err = err
				p.now, p.later = nil, nil
			}
		})
	}
	frames.Wait()
}

// leaveOptedOut ends the messages of opted-out recipients.
func (s *Sender) leaveOptedOut(ctx context.Context, r *run) error {
	open := slices.DeleteFunc(r.jobs(), (*job).settled)
	if len(open) == 0 {
		return nil
	}
	optedOut, err := s.OptOuts.Of(ctx, r.batch.Tenant)
	if err != nil {
		return err
	}
	now := s.Now()
	for _, j := range open {
		if optedOut(j.message.Phone) {
			j.settle(campaign.OutcomeFailed, codeOptedOut, now)
		}
	}
	return nil
}

// abandon ends all messages of the part, later ones included.
func (p *part) abandon(now time.Time) {
	p.now, p.later = append(p.now, p.later...), nil
	for _, j := range p.now {
		j.settle(campaign.OutcomeFailed, codePayloadMissing, now)
	}
}

func (s *Sender) loadFrame(ctx context.Context, b campaign.Batch, p *part) error {
	var messages []campaign.Message
	err := payload.OfLatest(ctx, s.Batches.Batch, s.Blobs, b, func(b campaign.Batch) (err error) {
		messages, err = payload.ReadFrame(ctx, s.Blobs, b, p.task.Frame)
		return err
	})
	if err != nil {
		return err
	}
	for _, j := range p.now {
		j.message = messages[j.index%campaign.FrameSize]
		if j.message.Erased() && !j.settled() {
			j.settle(campaign.OutcomeFailed, codeErased, s.Now())
		}
	}
	return nil
}
