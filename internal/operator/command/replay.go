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
	var since pastTime
	flags.Var(&since, "since", "`INSTANT` of the first outcomes whose webhooks are queued again, like 2026-11-20T12:00:00-03:00 (required)")
	confirmed := flags.Bool("confirm", false, "queue them; without it, the batches are only counted")
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := since.check("since"); err != nil {
			return answer{}, err
		}
		changes, taps, err := s.replayers()
		if err != nil {
			return answer{}, err
		}
		if !*confirmed {
			return s.replayPlan(ctx, changes, taps, since.Time)
		}
		return s.replay(ctx, changes, taps, since.Time)
	}
}

// replayers returns the Replayers of the stack: of changes, and of taps.
func (s *stack) replayers() (changes, taps feed.Replayer, err error) {
	url := s.env("NOTIFY_QUEUE_URL")
	if url == "" || s.env("OUTCOMES_TABLE") == "" {
		return changes, taps, errors.New("the stack has no NOTIFY_QUEUE_URL or no OUTCOMES_TABLE: deploy this version first")
	}
	feeder := &feed.Feeder{Store: s.store, Queue: sqs.New(s.config, url, time.Now), Now: time.Now}
	return feed.Replayer{Logs: s.store, Feeder: feeder}, feed.Replayer{Logs: s.store.TapLog(), Feeder: feeder}, nil
}

func (s *stack) replayPlan(ctx context.Context, changes, taps feed.Replayer, since time.Time) (answer, error) {
	s.say("counting the batches: this reads all outcomes")
	batches, err := changes.Count(ctx, since)
	if err != nil {
		return answer{}, err
	}
	tapped, err := taps.Count(ctx, since)
	line := fmt.Sprintf("%d batches have outcomes since %s, and %d have taps; nothing was queued", batches, since.Format(time.RFC3339), tapped)
	result := answer{
		Lines: []string{line},
		Data:  map[string]any{"batches": batches, "entries": 0, "taps": 0, "queued": false},
	}
	if batches+tapped > 0 {
		result.Lines = append(result.Lines, "endpoints receive webhooks again that they have already accepted, with the same ids")
		result.Next = s.next("replay-webhooks", "since", since.Format(time.RFC3339), "confirm", "1") + " queues them"
	}
	return result, err
}

func (s *stack) replay(ctx context.Context, changes, taps feed.Replayer, since time.Time) (answer, error) {
	done, err := s.replayLogs(ctx, changes, "outcomes", since)
	tapped, tapsErr := s.replayLogs(ctx, taps, "taps", since) // also if batches are damaged
	return answer{
		Lines: []string{fmt.Sprintf("the webhooks of %d outcomes of %d batches and of %d taps since %s are queued",
			done.Entries, done.Batches, tapped.Entries, since.Format(time.RFC3339))},
		Data: map[string]any{"batches": done.Batches, "entries": done.Entries, "taps": tapped.Entries, "queued": true},
		Next: "the alarms FeedAgeAlarm and NotifyAgeAlarm end when the queue is empty; purge the queue FeedDeadLetters if it has older messages",
	}, errors.Join(err, tapsErr)
}

// replayLogs queues the webhooks of logs with entries of a kind.
func (s *stack) replayLogs(ctx context.Context, r feed.Replayer, kind string, since time.Time) (feed.Replayed, error) {
	done, err := r.Replay(ctx, since, func(done feed.Replayed) {
		s.say(fmt.Sprintf("%d batches, %d %s so far", done.Batches, done.Entries, kind))
	})
	if errors.Is(err, campaign.ErrDamaged) {
		return done, fmt.Errorf("queued the webhooks of %d %s of %d batches, but not those of damaged batches: %w",
			done.Entries, kind, done.Batches, err)
	}
	if err != nil {
		return done, fmt.Errorf("after %d batches: %w; run the command again: repeated webhooks have the same ids", done.Batches, err)
	}
	return done, nil
}
