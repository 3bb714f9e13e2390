package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/drift"
	"campaign-dispatch/internal/dynamo"
	"campaign-dispatch/internal/restore"
)

// everyLook is how long a command waits between two looks at something slow.
const everyLook = 5 * time.Second

// waiting tells that a command still waits for something.
func (s *stack) waiting(what string) func() {
	begun := time.Now()
	return func() { fmt.Fprintf(s.progress, "%s: %s so far\n", what, time.Since(begun).Round(time.Second)) }
}

func driftCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *stack) (answer, error) {
		detector := drift.Detector{Client: s.formation, Stack: s.env("STACK_NAME"), Tick: everyLook}
		found, err := detector.Detect(ctx, s.waiting("CloudFormation compares"))
		if err != nil {
			return answer{}, err
		}
		result := answer{
			Lines: []string{fmt.Sprintf("%d resources were compared with the template", found.Checked)},
			Data:  map[string]any{"checked": found.Checked, "differences": append([]drift.Difference{}, found.Differences...)},
		}
		if len(found.Differences) == 0 {
			return result, nil
		}
		drifted := map[string]bool{}
		for _, d := range found.Differences {
			drifted[d.Resource] = true
			result.Lines = append(result.Lines, fmt.Sprintf("%s\t%s\texpected %s\tis %s", d.Resource, d.Property, shown(d.Expected), shown(d.Actual)))
		}
		result.Next = "change the template to what is right and deploy it, or set what is listed back by hand"
		result.Failure = fmt.Errorf("%d resources are not as the template says", len(drifted))
		return result, nil
	}
}

// shown is a value as one short word of a line.
func shown(value string) string {
	const most = 120
	value = strings.Join(strings.Fields(value), " ")
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}

func restoreCommand(flags *flag.FlagSet) action {
	var at time.Time
	flags.Func("at", "`INSTANT` to which the tables go back, like 2026-11-20T12:00:00-03:00 (required)", func(text string) (err error) {
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			return errors.New("it is an instant with its zone, like 2026-11-20T12:00:00-03:00")
		}
		return nil
	})
	return func(ctx context.Context, s *stack) (answer, error) {
		if at.IsZero() {
			return answer{}, usageError{errors.New("--at is missing")}
		}
		if at.After(time.Now()) {
			return answer{}, usageError{errors.New("--at is in the future")}
		}
		return s.restore(ctx, at)
	}
}

// restore holds the service and makes tables as they were at an instant. The stack's
// own stay as they are.
func (s *stack) restore(ctx context.Context, at time.Time) (answer, error) {
	sources := []string{s.env("AUTH_TABLE"), s.env("CAMPAIGNS_TABLE")}
	s.say("sending is paused")
	if err := s.desk.Pause(ctx, admin.Subject{All: true}); err != nil {
		return answer{}, err
	}
	s.say("functions are held")
	if err := s.gate.Close(ctx); err != nil {
		return answer{}, err
	}
	for _, source := range sources {
		if err := s.tables.Begin(ctx, source, at); err != nil {
			return answer{}, err
		}
	}
	var targets []string
	for _, source := range sources {
		target := restore.Name(source, at)
		if err := s.tables.Await(ctx, target, s.waiting(target+" is being restored")); err != nil {
			return answer{}, err
		}
		if err := s.tables.Equip(ctx, source, target); err != nil {
			return answer{}, err
		}
		s.say(target + " is restored, with the settings of its source")
		targets = append(targets, target)
	}
	// At that instant nobody had paused.
	restored := dynamo.Store{Client: s.store.Client, Auth: targets[0], Campaigns: targets[1], Now: s.store.Now}
	if err := restored.Pause(ctx, "all"); err != nil {
		return answer{}, err
	}
	return answer{
		Lines: []string{
			"the tables are as they were at " + at.Format(time.RFC3339) + ", the service is held; these parameters switch it over:",
			"  RestoredAuthTable=" + targets[0],
			"  RestoredCampaignsTable=" + targets[1],
			"  GradualDeployment=false",
		},
		Data: map[string]any{"at": at.Format(time.RFC3339), "authTable": targets[0], "campaignsTable": targets[1]},
		Next: "put them into parameter_overrides of samconfig.toml and `make deploy`, then " + s.next("reopen") + "; it alone goes back to the tables as they are",
	}, nil
}

func (s *stack) say(line string) { fmt.Fprintln(s.progress, line) }

func reopenCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := s.gate.Open(ctx); err != nil {
			return answer{}, err
		}
		return answer{
			Lines: []string{"functions go on, with the table " + s.env("CAMPAIGNS_TABLE")},
			Data:  map[string]any{"authTable": s.env("AUTH_TABLE"), "campaignsTable": s.env("CAMPAIGNS_TABLE")},
			Next:  "look at a campaign or two, then " + s.next("resume", "all", "1") + " sends again",
		}, nil
	}
}
