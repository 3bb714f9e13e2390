package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/feed"
)

func replayCommand(flags *flag.FlagSet) action {
	var since time.Time
	flags.Func("since", "`INSTANT` of the first outcomes whose webhooks are queued again, like 2026-11-20T12:00:00-03:00 (required)", func(text string) (err error) {
		if since, err = time.Parse(time.RFC3339, text); err != nil {
			return errors.New("use a time with its zone, like 2026-11-20T12:00:00-03:00")
		}
		return nil
	})
	confirmed := flags.Bool("confirm", false, "queue them; without it, the batches are only counted")
	return func(ctx context.Context, s *stack) (answer, error) {
		switch {
		case since.IsZero():
			return answer{}, usageError{errors.New("--since is missing")}
		case since.After(time.Now()):
			return answer{}, usageError{errors.New("--since is in the future")}
		}
		replayer, err := s.replayer()
		if err != nil {
			return answer{}, err
		}
		if !*confirmed {
			return s.replayPlan(ctx, replayer, since)
		}
		return s.replay(ctx, replayer, since)
	}
}

// replayer returns the Replayer of the stack.
func (s *stack) replayer() (feed.Replayer, error) {
	url := s.env("NOTIFY_QUEUE_URL")
	if url == "" || s.env("OUTCOMES_TABLE") == "" {
		return feed.Replayer{}, errors.New("the stack has no NOTIFY_QUEUE_URL or no OUTCOMES_TABLE: deploy this version first")
	}
	tasks := sqs.New(s.config, url)
	return feed.Replayer{Logs: s.store, Feeder: &feed.Feeder{Batches: s.store, Endpoints: s.store, Queue: tasks, Now: time.Now}}, nil
}

// replayPlan shows what a replay would do.
func (s *stack) replayPlan(ctx context.Context, r feed.Replayer, since time.Time) (answer, error) {
	s.say("counting the batches: this reads all outcomes")
	batches, err := r.Count(ctx, since)
	if err != nil {
		return answer{}, err
	}
	result := answer{
		Lines: []string{fmt.Sprintf("%d batches have outcomes since %s; nothing was queued", batches, since.Format(time.RFC3339))},
		Data:  map[string]any{"batches": batches, "entries": 0, "queued": false},
	}
	if batches > 0 {
		result.Lines = append(result.Lines, "endpoints receive webhooks again that they have already accepted, with the same ids")
		result.Next = s.next("replay-webhooks", "since", since.Format(time.RFC3339), "confirm", "1") + " queues them"
	}
	return result, nil
}

func (s *stack) replay(ctx context.Context, r feed.Replayer, since time.Time) (answer, error) {
	done, err := r.Replay(ctx, since, func(done feed.Replayed) {
		s.say(fmt.Sprintf("%d batches, %d outcomes so far", done.Batches, done.Entries))
	})
	if errors.Is(err, campaign.ErrDamaged) {
		return answer{}, fmt.Errorf("queued the webhooks of %d outcomes of %d batches, but not those of damaged batches: %w", done.Entries, done.Batches, err)
	}
	if err != nil {
		return answer{}, fmt.Errorf("after %d batches: %w; run the command again: repeated webhooks have the same ids", done.Batches, err)
	}
	return answer{
		Lines: []string{fmt.Sprintf("the webhooks of %d outcomes of %d batches since %s are queued", done.Entries, done.Batches, since.Format(time.RFC3339))},
		Data:  map[string]any{"batches": done.Batches, "entries": done.Entries, "queued": true},
		Next:  "the alarms FeedAgeAlarm and NotifyAgeAlarm end when the queue is empty; purge the queue FeedDeadLetters if it has older messages",
	}, nil
}
