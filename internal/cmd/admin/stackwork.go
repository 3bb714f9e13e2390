package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/ops/drift"
	"campaign-dispatch/internal/ops/restore"
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
		return driftAnswer(found), nil
	}
}

func driftAnswer(found drift.Report) answer {
	result := answer{
		Lines: []string{fmt.Sprintf("%d resources were compared with the template", found.Checked)},
		Data:  map[string]any{"checked": found.Checked, "differences": append([]drift.Difference{}, found.Differences...), "failed": found.Failed},
	}
	drifted := map[string]bool{}
	for _, d := range found.Differences {
		drifted[d.Resource] = true
		result.Lines = append(result.Lines, fmt.Sprintf("%s\t%s\texpected %s\tis %s", d.Resource, d.Property, shown(d.Expected), shown(d.Actual)))
	}
	if len(drifted) > 0 {
		result.Next = "change the template to what is right and deploy it, or set what is listed back by hand"
		result.Failure = fmt.Errorf("%d resources are not as the template says", len(drifted))
	}
	if found.Failed != "" {
		result.Failure = errors.Join(result.Failure, fmt.Errorf("CloudFormation could not compare all resources: %s", found.Failed))
	}
	return result
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

// restorable are the tables, by their variables: the parameter that lets a restored one
// stand in, and its name in answers.
var restorable = []struct{ table, parameter, answer string }{
	{"AUTH_TABLE", "RestoredAuthTable", "authTable"},
	{"CAMPAIGNS_TABLE", "RestoredCampaignsTable", "campaignsTable"},
	{"OUTCOMES_TABLE", "RestoredOutcomesTable", "outcomesTable"},
	{"WEBHOOKS_TABLE", "RestoredWebhooksTable", "webhooksTable"},
}

// restore holds the service and makes tables as they were at an instant. The stack's
// own stay as they are.
func (s *stack) restore(ctx context.Context, at time.Time) (answer, error) {
	for _, r := range restorable {
		if source := s.env(r.table); source == "" {
			return answer{}, fmt.Errorf("the stack has no %s: deploy this version first", r.table)
		} else if err := s.tables.Check(ctx, source, at); err != nil {
			return answer{}, err
		}
	}
	if err := s.hold(ctx); err != nil {
		return answer{}, err
	}
	parameters, err := s.restoreAll(ctx, at)
	if err != nil {
		return answer{}, s.held(err)
	}
	return s.restored(at, parameters), nil
}

// recordedLate is how long before a restore outcomes may have been recorded whose
// webhooks were still to be posted.
const recordedLate = time.Hour

func (s *stack) restored(at time.Time, parameters map[string]string) answer {
	data := map[string]any{"at": at.Format(time.RFC3339), "outcomesStream": parameters[outcomesStream]}
	lines := []string{"the tables are as they were at " + at.Format(time.RFC3339) + ", but for opt-outs, which are as they are; the service is held; these parameters switch it over:"}
	for _, r := range restorable {
		data[r.answer] = parameters[r.parameter]
		lines = append(lines, "  "+r.parameter+"="+parameters[r.parameter])
	}
	replay := s.next("replay-webhooks", "since", at.Add(-recordedLate).Format(time.RFC3339), "confirm", "1")
	return answer{
		Lines: append(lines, "  "+outcomesStream+"="+parameters[outcomesStream], "  GradualDeployment=false", doAgain),
		Data:  data,
		Next: "let them replace those in parameter_overrides of samconfig.toml and `make deploy`, then " + s.next("reopen") +
			" and " + replay + ", which queues again the webhooks that the restored tables do not have; reopen alone goes back to the tables as they are",
	}
}

const doAgain = "before sending goes on, do again what was done after that instant: campaigns cancelled or rescheduled, numbers erased, credentials revoked"

// outcomesStream is the parameter of the stream that webhooks come from.
const outcomesStream = "RestoredOutcomesStream"

// restoreAll makes the tables, with nobody's opt-out undone and sending paused, and
// returns the parameters that let them stand in.
func (s *stack) restoreAll(ctx context.Context, at time.Time) (parameters map[string]string, err error) {
	for _, r := range restorable {
		if err := s.tables.Begin(ctx, s.env(r.table), at); err != nil {
			return nil, err
		}
	}
	parameters = map[string]string{}
	for _, r := range restorable {
		target := restore.Name(s.env(r.table), at)
		if err := s.tables.Await(ctx, target, s.waiting(target+" is being restored")); err != nil {
			return nil, err
		}
		if err := s.tables.Equip(ctx, s.env(r.table), target); err != nil {
			return nil, err
		}
		s.say(target + " is restored, with the settings of its source")
		parameters[r.parameter] = target
	}
	if parameters[outcomesStream], err = s.tables.Stream(ctx, parameters["RestoredOutcomesTable"]); err != nil {
		return nil, err
	}
	restored := s.storeOn(parameters["RestoredAuthTable"], parameters["RestoredCampaignsTable"])
	if err := s.carryOptOuts(ctx, s.store, restored); err != nil {
		return nil, err
	}
	return parameters, restored.Pause(ctx, "all") // at that instant nobody had
}

// storeOn is the store on other tables.
func (s *stack) storeOn(auth, campaigns string) *dynamo.Store {
	return &dynamo.Store{Client: s.store.Client, Auth: auth, Campaigns: campaigns, Now: s.store.Now}
}

func (s *stack) carryOptOuts(ctx context.Context, from, into *dynamo.Store) error {
	taken, err := restore.CarryOptOuts(ctx, from, into)
	if err != nil {
		return err
	}
	s.say(fmt.Sprintf("%s has the opt-outs of %s: %d sets were newer", into.Campaigns, from.Campaigns, taken))
	return nil
}

// hold pauses sending and holds the functions.
func (s *stack) hold(ctx context.Context) error {
	s.say("sending is paused")
	if err := s.service.Pause(ctx, admin.Subject{All: true}); err != nil {
		return err
	}
	s.say("functions are held")
	if err := s.gate.Enter(ctx); err != nil {
		return s.held(err)
	}
	return nil
}

// held is an error after which the service is held, wholly or in part.
func (s *stack) held(err error) error {
	return fmt.Errorf("%w; the service is held, wholly or in part: repeat this, or let it go on with `%s` and `%s`", err, s.next("reopen"), s.next("resume", "all", "1"))
}

func holdCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := s.hold(ctx); err != nil {
			return answer{}, err
		}
		if err := s.readyWayBack(ctx); err != nil {
			return answer{}, s.held(err)
		}
		return answer{
			Lines: []string{"sending is paused, and functions are held"},
			Data:  map[string]any{"held": true},
			Next:  s.next("reopen") + " and " + s.next("resume", "all", "1") + " let the service go on",
		}, nil
	}
}

// begun is how long tasks go on that were taken before the hold, at most.
const begun = 2 * time.Minute

// readyWayBack gives the stack's own tables, where restored ones stand in, the
// opt-outs since.
func (s *stack) readyWayBack(ctx context.Context) error {
	own := s.storeOn(restore.Origin(s.store.Auth), restore.Origin(s.store.Campaigns))
	if own.Campaigns == s.store.Campaigns {
		return nil
	}
	s.say("tasks that were taken before end, which takes " + begun.String())
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(begun):
	}
	return s.carryOptOuts(ctx, s.store, own)
}

func (s *stack) say(line string) { fmt.Fprintln(s.progress, line) }

func reopenCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := s.gate.Exit(ctx); err != nil {
			return answer{}, err
		}
		return answer{
			Lines: []string{"functions go on, with the table " + s.env("CAMPAIGNS_TABLE")},
			Data:  map[string]any{"authTable": s.env("AUTH_TABLE"), "campaignsTable": s.env("CAMPAIGNS_TABLE")},
			Next:  "look at a campaign or two, then " + s.next("resume", "all", "1") + " sends again; after a restore, " + doAgain,
		}, nil
	}
}
