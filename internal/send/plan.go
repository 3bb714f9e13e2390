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
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/send/outgoing"
)

func (s *Sender) plan(ctx context.Context, r *run) error {
	for _, f := range r.frameRuns {
		if !fits(f.task, r.batch) {
			f.err = fmt.Errorf("frame %d of batch %s: %w", f.task.Frame, r.batch.BatchID, errBadTask)
		}
	}
	if !slices.ContainsFunc(r.frameRuns, func(f *frameRun) bool { return f.err == nil }) {
		return nil
	}
	head, err := s.Store.LedgerHead(ctx, r.batch.Key)
	if err != nil {
		return err
	}
	r.assignPending(head)
	now := s.Now()
	if end, ok := r.rules.EndsUnread(now); ok {
		r.setOutcomes(end.Outcome, end.Code, now)
	}
	return nil
}

// fits reports whether the task refers to existing messages of its batch.
func fits(t outgoing.SendTask, b campaign.Batch) bool {
	if t.Frame < 0 || t.Frame >= b.Frames() || len(b.Offsets) != b.Frames()+1 {
		return false
	}
	return !slices.ContainsFunc(t.Only, func(i int) bool { return i < 0 || i >= b.FrameLen(t.Frame) })
}

// assignPending assigns to each frame its requested messages that have no outcome and belong to no earlier frame.
func (r *run) assignPending(head ledger.Head) {
	taken := map[int]bool{}
	for _, f := range r.frameRuns {
		if f.err != nil {
			continue
		}
		for _, i := range requestedIndexes(f.task, r.batch) {
			index := f.task.Frame*campaign.FrameSize + i
			if !taken[index] && head.Outcome(index) == "" {
				taken[index] = true
				f.current = append(f.current, &job{index: index})
			}
		}
	}
}

func requestedIndexes(t outgoing.SendTask, b campaign.Batch) []int {
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
	for _, f := range r.frameRuns {
		if f.err != nil || !slices.ContainsFunc(f.current, func(j *job) bool { return !j.hasOutcome() }) {
			continue
		}
		frames.Go(func() {
			err := s.loadFrame(ctx, r.batch, f)
			switch {
			case errors.Is(err, campaign.ErrNotFound):
				slog.ErrorContext(ctx, "payload not found; messages end as failed", "tenant", r.batch.Tenant,
					"campaign_id", r.batch.CampaignID, "batch_id", r.batch.BatchID, "frame", f.task.Frame)
				f.abandon(s.Now())
			case err != nil:
				f.err = err
				f.current = nil
			}
		})
	}
	frames.Wait()
}

// decide ends or holds the messages that may not be sent now.
func (s *Sender) decide(ctx context.Context, r *run) error {
	open := slices.DeleteFunc(r.jobs(), (*job).hasOutcome)
	if len(open) == 0 {
		return nil
	}
	var err error
	if r.rules.Withheld, err = s.Reach.Withheld(ctx, r.batch.Tenant, r.template.Traffic, r.released()); err != nil {
		return err
	}
	now := s.Now()
	for _, j := range open {
		j.apply(r.rules.Decide(j.message, now), now)
	}
	return nil
}

// abandon ends all messages of the frame.
func (f *frameRun) abandon(now time.Time) {
	for _, j := range f.current {
		j.setOutcome(campaign.OutcomeFailed, campaign.CodePayloadMissing, now)
	}
}

func (s *Sender) loadFrame(ctx context.Context, b campaign.Batch, f *frameRun) error {
	messages, err := payload.LatestFrame(ctx, s.Store.Batch, s.Blobs, b, f.task.Frame)
	if err != nil {
		return err
	}
	for _, j := range f.current {
		j.message = messages[j.index%campaign.FrameSize]
	}
	return nil
}
