package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"campaign-dispatch/internal/settings"
)

// pauseCommand pauses sending, or ends a pause.
func pauseCommand(pause bool) func(*flag.FlagSet) action {
	return func(flags *flag.FlagSet) action {
		subject := subjectFlags(flags)
		return func(ctx context.Context, s *stack) (answer, error) {
			kind, id := subjectOf(*subject)
			if kind == "" {
				return answer{}, usageError{errors.New("give exactly one of --all, --tenant and --agent")}
			}
			name := strings.TrimSuffix(kind+" "+id, " ")
			result := answer{Data: map[string]any{"paused": pause, "subject": name}}
			if pause {
				result.Lines = []string{"sending is paused for " + name + ": accepted messages wait"}
				result.Next = s.next("resume", kind, cmp.Or(id, "1")) + " ends it"
				return result, s.service.Pause(ctx, *subject)
			}
			result.Lines = []string{"sending is no longer paused for " + name}
			result.Next = s.next("list") + " shows the remaining pauses"
			return result, s.service.Resume(ctx, *subject)
		}
	}
}

func subjectFlags(flags *flag.FlagSet) *settings.Subject {
	s := &settings.Subject{}
	flags.BoolVar(&s.All, "all", false, "all sending")
	flags.StringVar(&s.Tenant, "tenant", "", "sending of the tenant with this `ID`")
	flags.StringVar(&s.Agent, "agent", "", "sending through the agent with this `ID`")
	return s
}

// subjectOf returns the flag of a subject and its ID, both "" if not exactly one is given.
func subjectOf(s settings.Subject) (kind, id string) {
	switch s {
	case settings.Subject{All: true}:
		return "all", ""
	case settings.Subject{Tenant: s.Tenant}:
		kind, id = "tenant", s.Tenant
	case settings.Subject{Agent: s.Agent}:
		kind, id = "agent", s.Agent
	}
	if id == "" {
		return "", ""
	}
	return kind, id
}

func redriveCommand(flags *flag.FlagSet) action {
	only := flags.String("queue", "", "`NAME` of the queue whose dead letters are moved back: "+queueNames()+" (default: all)")
	return func(ctx context.Context, s *stack) (answer, error) {
		queues := queues()
		if *only != "" && !slices.Contains(queues, *only) {
			return answer{}, usageError{fmt.Errorf("unknown queue %q: use %s", *only, queueNames())}
		}
		if *only != "" {
			queues = []string{*only}
		}
		result := answer{Next: s.next("list") + " shows whether sending is paused"}
		counts := map[string]int{}
		for _, queue := range queues {
			moved, err := s.redrive(ctx, queue)
			if err != nil {
				return answer{}, fmt.Errorf("%s queue, after %d dead letters: %w", queue, moved, err)
			}
			counts[queue] = moved
			result.Lines = append(result.Lines, fmt.Sprintf("%s queue: %d dead letters moved back", queue, moved))
		}
		result.Data = map[string]any{"moved": counts}
		return result, nil
	}
}

func queues() []string {
	return []string{"release", "send", "events", "notify", "revoke", "exports", "intake"}
}

func queueNames() string {
	names := queues()
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// everyMoved is the number of messages moved between two lines of progress.
const everyMoved = 100

func (s *stack) redrive(ctx context.Context, queue string) (int, error) {
	prefix := strings.ToUpper(queue)
	dead, live := s.env(prefix+"_DEAD_LETTERS_URL"), s.env(prefix+"_QUEUE_URL")
	if dead == "" || live == "" {
		return 0, fmt.Errorf("unknown queue: set %s_QUEUE_URL and %s_DEAD_LETTERS_URL", prefix, prefix)
	}
	shown := 0
	return s.mover.Move(ctx, dead, live, func(moved int) {
		if moved-shown >= everyMoved {
			shown = moved
			fmt.Fprintf(s.progress, "%s queue: %d so far\n", queue, moved)
		}
	})
}
