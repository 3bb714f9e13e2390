package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/operator/drift"
	"campaign-dispatch/internal/operator/restore"
	"campaign-dispatch/internal/settings"
)

const everyLook = 5 * time.Second

// waiting returns a function that reports that a command is still waiting.
func (s *stack) waiting(what string) func() {
	begun := time.Now()
	return func() { fmt.Fprintf(s.progress, "%s: %s so far\n", what, time.Since(begun).Round(time.Second)) }
}

func driftCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *stack) (answer, error) {
		detector := drift.Detector{Client: s.formation, Stack: s.env("STACK_NAME"), Tick: everyLook}
		found, err := detector.Detect(ctx, s.waiting("waiting for CloudFormation"))
		return driftAnswer(found), err
	}
}

func driftAnswer(found drift.Report) answer {
	result := answer{
		Lines: []string{fmt.Sprintf("%d resources were compared with the template", found.Checked)},
		Data: map[string]any{
			"checked": found.Checked, "differences": append([]drift.Difference{}, found.Differences...), "failed": found.Failed,
		},
	}
	drifted := map[string]bool{}
	for _, d := range found.Differences {
		drifted[d.Resource] = true
		line := fmt.Sprintf("%s\t%s\texpected %s\tis %s", d.Resource, d.Property, shown(d.Expected), shown(d.Actual))
		result.Lines = append(result.Lines, line)
	}
	if len(drifted) > 0 {
		result.Next = "update the template and deploy it, or reset the listed properties by hand"
		result.Failure = fmt.Errorf("%d resources differ from the template", len(drifted))
	}
	if found.Failed != "" {
		result.Failure = errors.Join(result.Failure, fmt.Errorf("CloudFormation could not compare all resources: %s", found.Failed))
	}
	return result
}

// shown shortens a value to one word.
func shown(value string) string {
	const most = 120
	value = strings.Join(strings.Fields(value), " ")
	if runes := []rune(value); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return value
}

func restoreCommand(flags *flag.FlagSet) action {
	var at pastTime
	flags.Var(&at, "at", "`INSTANT` to restore the tables to, like 2026-11-20T12:00:00-03:00 (required)")
	return func(ctx context.Context, s *stack) (answer, error) {
		if err := at.check("at"); err != nil {
			return answer{}, err
		}
		return s.restore(ctx, at.Time)
	}
}

// restorable lists the tables by their environment variables, with the parameter for a
// restored table and its name in answers.
var restorable = []struct{ table, parameter, answer string }{
	{"AUTH_TABLE", "RestoredAuthTable", "authTable"},
	{"CAMPAIGNS_TABLE", "RestoredCampaignsTable", "campaignsTable"},
	{"OUTCOMES_TABLE", "RestoredOutcomesTable", "outcomesTable"},
	{"WEBHOOKS_TABLE", "RestoredWebhooksTable", "webhooksTable"},
}

// restore stops the service and restores its tables to a time, as new tables. The
// stack's own tables are not changed.
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
	restored := s.tablesWith(parameters["RestoredCampaignsTable"])
	lists, err := restore.CompareLists(ctx, s.store, dynamo.New(restored), s.blobs.Exists)
	if err != nil {
		return answer{}, s.held(err)
	}
	return s.restored(at, parameters, lists), nil
}

// recordedLate is how long before a restore outcomes may have been recorded whose
// webhooks were still pending.
const recordedLate = time.Hour

func (s *stack) restored(at time.Time, parameters map[string]string, lists restore.ListReport) answer {
	data := map[string]any{
		"at": at.Format(time.RFC3339), "outcomesStream": parameters[outcomesStream],
		"changedLists": append([]string{}, lists.Changed...), "unreadableLists": append([]string{}, lists.Unreadable...),
	}
	lines := []string{"the tables are restored to " + at.Format(time.RFC3339) +
		" with the current opt-outs; the service is stopped; these parameters switch to the restored tables:"}
	for _, r := range restorable {
		data[r.answer] = parameters[r.parameter]
		lines = append(lines, "  "+r.parameter+"="+parameters[r.parameter])
	}
	replay := s.next("replay-webhooks", "since", at.Add(-recordedLate).Format(time.RFC3339), "confirm", "1")
	lines = append(lines, "  "+outcomesStream+"="+parameters[outcomesStream], "  GradualDeployment=false", doAgain)
	for _, l := range lists.Changed {
		lines = append(lines, "list "+l+" changed after that time: its tenant must change it again before you resume sending")
	}
	for _, l := range lists.Unreadable {
		lines = append(lines, "list "+l+" has lost numbers: nothing is sent until its tenant replaces it")
	}
	return answer{
		Lines: lines,
		Data:  data,
		Next: "set them in parameter_overrides of samconfig.toml and `make deploy`, then " + s.next("reopen") +
			" and " + replay + ", which queues the webhooks missing from the restored tables; reopen alone returns to the current tables",
	}
}

const doAgain = "before you resume sending, repeat what was done after that time: " +
	"campaigns cancelled or rescheduled, numbers erased, lists changed, credentials revoked"

// outcomesStream is the parameter for the stream of the restored outcomes table.
const outcomesStream = "RestoredOutcomesStream"

// restoreAll restores the tables, copies the current opt-outs, pauses sending there,
// and returns the parameters that select the restored tables.
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
		s.say(target + " is restored with the settings of its source")
		parameters[r.parameter] = target
	}
	if parameters[outcomesStream], err = s.tables.Stream(ctx, parameters["RestoredOutcomesTable"]); err != nil {
		return nil, err
	}
	restored := s.tablesWith(parameters["RestoredCampaignsTable"])
	if err := s.carryOptOuts(ctx, s.rows, restored); err != nil {
		return nil, err
	}
	return parameters, dynamo.New(restored).Pause(ctx, "all") // sending was not paused at that time
}

func (s *stack) tablesWith(campaigns string) dynamo.Tables {
	return dynamo.Tables{Client: s.rows.Client, Campaigns: campaigns, Now: s.rows.Now}
}

func (s *stack) carryOptOuts(ctx context.Context, from, into dynamo.Tables) error {
	taken, err := restore.CarryOptOuts(ctx, dynamo.New(from), dynamo.New(into))
	if err != nil {
		return err
	}
	s.say(fmt.Sprintf("copied opt-outs from %[2]s to %[1]s: %[3]d sets were newer", into.Campaigns, from.Campaigns, taken))
	return nil
}

// hold pauses sending and stops the functions.
func (s *stack) hold(ctx context.Context) error {
	if err := s.service.Pause(ctx, settings.Subject{All: true}); err != nil {
		return err
	}
	s.say("sending is paused")
	if err := s.gate.Enter(ctx); err != nil {
		return s.held(err)
	}
	s.say("functions are stopped")
	return nil
}

// held adds to an error that the service is stopped, completely or in part.
func (s *stack) held(err error) error {
	return fmt.Errorf("%w; the service is stopped, completely or in part: repeat this command, or resume with `%s` and `%s`",
		err, s.next("reopen"), s.next("resume", "all", "1"))
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
			Lines: []string{"sending is paused and the functions are stopped"},
			Data:  map[string]any{"held": true},
			Next:  s.next("reopen") + " and " + s.next("resume", "all", "1") + " resume the service",
		}, nil
	}
}

// begun is the maximum remaining time of tasks that started before the hold.
const begun = 2 * time.Minute

// readyWayBack copies the opt-outs since the restore to the stack's own tables, if
// restored ones are in use.
func (s *stack) readyWayBack(ctx context.Context) error {
	own := s.tablesWith(restore.Origin(s.rows.Campaigns))
	if own.Campaigns == s.rows.Campaigns {
		return nil
	}
	s.say("waiting for running tasks to end, which takes " + begun.String())
	if err := retry.Sleep(ctx, begun); err != nil {
		return err
	}
	return s.carryOptOuts(ctx, s.rows, own)
}

func (s *stack) say(line string) { fmt.Fprintln(s.progress, line) }

func reopenCommand(*flag.FlagSet) action {
	return func(ctx context.Context, s *stack) (answer, error) {
		return answer{
			Lines: []string{"the functions are running again, with the table " + s.env("CAMPAIGNS_TABLE")},
			Data:  map[string]any{"authTable": s.env("AUTH_TABLE"), "campaignsTable": s.env("CAMPAIGNS_TABLE")},
			Next:  "check a few campaigns, then " + s.next("resume", "all", "1") + " resumes sending; after a restore, " + doAgain,
		}, s.gate.Exit(ctx)
	}
}
