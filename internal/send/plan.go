package send

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/backoff"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/payload"
)

const (
	// window is how far away a turn may be for its message to be waited for. To
	// wait longer costs more than to come back.
	window = 5 * time.Second
	// lateness is how late a task may be and still use the turn that it holds,
	// from now on: for that long, the turns of others may come at the same time.
	lateness = 10 * time.Second
	// paceTries is how many races for an agent's pace are run: some two seconds.
	paceTries = 10
)

// plan finds what the parts have left to send, and when it may go.
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
	books, err := s.Batches.Books(ctx, r.batch.Key, frames)
	if err != nil {
		return err
	}
	r.takeOpen(books)
	switch now := s.Now(); {
	case r.batch.Cancelled():
		r.settleAll(campaign.OutcomeStopped, codeCancelled, now)
		return nil
	case r.batch.TooLate(now):
		r.settleAll(campaign.OutcomeExpired, codeTooLate, now)
		return nil
	}
	return s.takeTurns(ctx, r)
}

// fits tells whether the task asks for messages that its batch has.
func fits(t campaign.SendTask, b campaign.Batch) bool {
	if t.Frame < 0 || t.Frame >= b.Frames() || len(b.Offsets) != b.Frames()+1 {
		return false
	}
	return !slices.ContainsFunc(t.Only, func(i int) bool { return i < 0 || i >= b.FrameLen(t.Frame) })
}

// takeOpen gives each part the messages that it asks for, that have no outcome,
// and that no part before it asks for.
func (r *run) takeOpen(books campaign.Books) {
	taken := map[int]bool{}
	for _, p := range r.parts {
		if p.err != nil {
			continue
		}
		for _, i := range wanted(p.task, r.batch) {
			index := p.task.Frame*campaign.FrameSize + i
			if !taken[index] && books.Outcome(index) == "" {
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

// takeTurns leases the parts' share of their agent's rate, and puts aside what
// is too far away.
func (s *Sender) takeTurns(ctx context.Context, r *run) error {
	if !r.channel.Pace.Paced(r.channel.Agent.Rate) {
		return nil
	}
	now, n := s.Now(), 0
	for _, p := range r.parts {
		if stale(p.task.Turn, now, r.channel.Pace) {
			p.task.Turn = campaign.Turn{}
			n += len(p.now)
		}
	}
	turn, err := s.lease(ctx, r, n)
	if err != nil {
		return err
	}
	for _, p := range r.parts {
		if p.task.Turn == (campaign.Turn{}) {
			p.task.Turn = turn
			turn.Start = turn.At(len(p.now))
		}
		if p.task.Turn.Start.Before(now) {
			p.task.Turn.Start = now
		}
		p.split(now.Add(window))
		if r.every == 0 || p.task.Turn.Every < r.every {
			r.every = p.task.Turn.Every
		}
	}
	return nil
}

// stale tells whether a turn may not be used any more: it is long over, or its
// agent has slowed down since.
func stale(t campaign.Turn, now time.Time, pace campaign.Pace) bool {
	return t.Start.Before(now.Add(-lateness)) || t.Void(pace)
}

// split gives the part's messages their turns, and puts aside those after end.
func (p *part) split(end time.Time) {
	jobs := p.now
	p.now = nil
	for i, j := range jobs {
		if j.at = p.task.Turn.At(i); j.at.After(end) {
			p.later = append(p.later, j)
		} else {
			p.now = append(p.now, j)
		}
	}
}

// errContended says that a run lost too many races for its agent's pace.
var errContended = errors.New("others changed the pace too often")

// lease takes the turn of the next n messages of the run's agent.
func (s *Sender) lease(ctx context.Context, r *run, n int) (campaign.Turn, error) {
	if n == 0 {
		return campaign.Turn{}, nil
	}
	agent := r.channel.Agent
	var turn campaign.Turn
	pace, err := s.changePace(ctx, agent.ID, func(old campaign.Pace) campaign.Pace {
		if !old.Paced(agent.Rate) {
			turn = campaign.Turn{Start: s.Now()}
			return old
		}
		var left campaign.Pace
		turn, left = old.Lease(s.Now(), n, agent.Rate)
		return left
	})
	if err != nil {
		return campaign.Turn{}, fmt.Errorf("lease a turn of agent %s: %w", agent.ID, err)
	}
	r.pace = pace
	return turn, nil
}

// changePace makes the agent's pace what change makes of it, and returns that.
// Many functions change the same one: who loses the race waits for a moment that
// gets longer, and gives up with errContended.
func (s *Sender) changePace(ctx context.Context, agentID string, change func(campaign.Pace) campaign.Pace) (campaign.Pace, error) {
	for try := range paceTries {
		if err := backoff.Wait(ctx, try); err != nil {
			return campaign.Pace{}, err
		}
		old, err := s.Paces.Pace(ctx, agentID)
		if err != nil {
			return campaign.Pace{}, err
		}
		pace := change(old)
		if pace == old {
			return pace, nil
		}
		swapped, err := s.Paces.SwapPace(ctx, agentID, old, pace)
		if err != nil {
			return campaign.Pace{}, err
		}
		if swapped {
			return pace, nil
		}
	}
	return campaign.Pace{}, errContended
}

// load reads the messages that are to be sent now. A frame that cannot be read
// fails its own task alone; one that is gone for good ends its messages.
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
				slog.ErrorContext(ctx, "a payload is gone, its messages end as failed", "tenant", r.batch.Tenant,
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

// leaveOptedOut ends those messages whose recipients want none.
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

// abandon ends all messages of the part, whenever their turns are.
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
