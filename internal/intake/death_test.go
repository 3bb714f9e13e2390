package intake_test

import (
	"bytes"
	gocmp "cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/testsize"
)

// process dies at a call: before it is made, or after it without seeing the answer.
type process struct {
	mu    sync.Mutex
	calls []string // their kinds, see kindOf
	at    int
	after bool
	die   context.CancelFunc

	transport http.Transport // its connections are the process's own
}

// kindOf returns what a call to AWS does: the action of DynamoDB, or the method of S3.
func kindOf(r *http.Request) string {
	_, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return gocmp.Or(action, r.Method)
}

// reading are the kinds of calls that store nothing.
var reading = []string{"GetItem", "BatchGetItem", "TransactGetItems", "Query", "Scan", http.MethodGet, http.MethodHead}

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, kindOf(r))
	if n := len(p.calls); n > p.at || n == p.at && !p.after {
		p.die()
		return nil, errDead
	}
	res, err := p.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	if len(p.calls) == p.at {
		p.die()
		return nil, errDead
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// step is something that a process does with a submission: a request, or the task of a function.
type step func(ctx context.Context, s *intake.Service, w *intake.Worker, sub submission.Submission) error

// never is the number of a call that no process makes.
const never = math.MaxInt

// until does a step in a process that dies at a call. It returns the kinds of the calls.
func (c *company) until(at int, after bool, do step, sub submission.Submission) []string {
	c.t.Helper()
	ctx, die := context.WithCancel(c.t.Context())
	p := &process{at: at, after: after, die: die}
	defer p.transport.CloseIdleConnections()
	defer die()
	cfg := c.env.AWS()
	cfg.HTTPClient = &http.Client{Transport: p}
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	store, blobs := c.stores(cfg)
	err := do(ctx, c.service(store, blobs), c.worker(store, blobs, c.queue), sub)
	if len(p.calls) < at {
		c.must(err)
	}
	if at != never && len(p.calls) < at {
		c.t.Errorf("the process made %d calls and did not die at call %d", len(p.calls), at)
	}
	return p.calls
}

// task is the task of a submission.
func task(ctx context.Context, _ *intake.Service, w *intake.Worker, sub submission.Submission) error {
	return w.Handle(ctx, []submission.Task{{Tenant: sub.Tenant, CampaignID: sub.CampaignID}})[0]
}

// atOnce is a request that does the steps itself.
func atOnce(do func(ctx context.Context, s *intake.Service, sub submission.Submission) error) step {
	return func(ctx context.Context, s *intake.Service, w *intake.Worker, sub submission.Submission) error {
		s.Worker, s.AtOnce = w, time.Minute
		return do(ctx, s, sub)
	}
}

// SendAll queues tasks at once, as sweep does.
func (q *queue) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	for _, body := range bodies {
		if err := q.Send(ctx, group, body, 0); err != nil {
			return err
		}
	}
	return nil
}

// releases are tasks that nobody takes.
type releases struct{}

func (releases) SendAll(context.Context, string, [][]byte) error { return nil }

// shard returns the shard of the index in which a submission stands, false if it does not.
func (c *company) shard(sub submission.Submission) (int, bool) {
	c.t.Helper()
	row, err := c.store.Tables().Client.GetItem(c.t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(c.env["CAMPAIGNS_TABLE"]), ConsistentRead: aws.Bool(true), Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "SUBMISSIONS#" + sub.Tenant}, "sk": &types.AttributeValueMemberS{Value: "SUBMISSION#" + sub.CampaignID},
		},
	})
	c.must(err)
	due, ok := row.Item["due"].(*types.AttributeValueMemberS)
	if !ok {
		return 0, false
	}
	shard, err := strconv.Atoi(due.Value)
	c.must(err)
	return shard, true
}

// sweepOnly lets sweep run each minute, and the tasks that it queues. All others are lost.
func (c *company) sweepOnly(sub submission.Submission) {
	c.t.Helper()
	c.queue.tasks = nil
	sweeper := &sweep.Sweeper{
		Store: c.store, Intake: c.queue, Releases: releases{}, Shards: dynamo.DueShards, SweepAfter: time.Minute, Now: func() time.Time { return c.now },
	}
	end := c.now.Add(4 * time.Minute)
	for ; c.now.Before(end); c.now = c.now.Add(time.Minute) {
		shard, due := c.shard(sub)
		now := c.stored(sub)
		next := now.NextCheck(now.UpdatedAt)
		if !due || next.After(end) {
			return
		}
		for c.now.Before(next) { // sweep finds nothing
			c.now = c.now.Add(time.Minute)
		}
		c.must(sweeper.Sweep(c.t.Context(), sweep.Section{Number: shard, Of: dynamo.DueShards}))
		c.run()
	}
	if now := c.stored(sub); now.Working() || now.DeletingFiles {
		c.t.Errorf("the submission is not finished after four minutes: %s", now.State)
	}
}

const mixed = "Celular;Código;Nome\n11988880001;a;Ana\n11988880002;b;Bia\n11988880001;again;Ana\n" +
	"123;h;Gil\n11988880003;c;Caio\n11988880006;;Fay\n"

var columns = submission.Chosen{Phone: 0, UID: 1, Values: []submission.Column{{Name: "nome", Column: 2}}}

// uploaded returns a submission whose file is sent, but not opened.
func (c *company) uploaded() submission.Submission { return c.uploadedFile(mixed) }

func (c *company) uploadedFile(file string) submission.Submission {
	c.t.Helper()
	sub, _, err := c.Start(c.t.Context(), submission.Submission{
		ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c " + rand.Text(), TemplateID: c.t1.ID,
		File: submission.File{Name: "f.csv", Size: int64(len(file)), Modified: rand.Text()},
	})
	c.must(err)
	c.put(sub, file)
	return sub
}

// mixedReady returns a submission that is ready, mixedIn one in another state.
func (c *company) mixedReady() submission.Submission { return c.copyOf(c.example(), nil) }

func (c *company) mixedIn(state submission.State) submission.Submission {
	return c.copyOf(c.example(), func(sub *submission.Submission) { sub.State = state })
}

// example returns a submission to copy, because a copy needs fewer calls. It goes late, so that sweep
// releases no batch.
func (c *company) example() submission.Submission {
	if c.mixed.CampaignID == "" {
		c.mixed = c.ready(mixed, func(sub *submission.Submission) { sub.Schedule = noon.AddDate(0, 1, 0).Format(time.RFC3339) })
	}
	return c.mixed
}

// opening, checking, sending and discarded return a submission whose task is queued.
func (c *company) opening() submission.Submission { return c.openingFile(mixed) }

func (c *company) openingFile(file string) submission.Submission {
	sub := c.uploadedFile(file)
	c.must(c.Finish(c.t.Context(), sub))
	return c.stored(sub)
}

func (c *company) checking() submission.Submission {
	sub := c.mixedReady()
	c.must(c.Check(c.t.Context(), sub, columns, c.t1))
	return c.stored(sub)
}

func (c *company) sending() submission.Submission {
	sub := c.mixedReady()
	c.must(c.Send(c.t.Context(), sub))
	return c.stored(sub)
}

// asked returns a submission that waits for approval.
func (c *company) asked() submission.Submission {
	return c.copyOf(c.example(), func(sub *submission.Submission) {
		sub.State, sub.Approval = submission.StateApproval, submission.Approval{AskedBy: ana, AskedAt: noon}
	})
}

// refused returns a submission whose approval was refused.
func (c *company) refused() submission.Submission {
	sub := c.asked()
	sub.State, sub.Approval = submission.StateRefused, sub.Approval.Decided(submission.DecisionRefused, bia, noon)
	return c.save(sub)
}

// interrupted returns a submission whose rest was refused after the first part.
func (c *company) interrupted() submission.Submission {
	sub := c.stop(c.oneMore(c.mixedIn(submission.StateSending)))
	c.queue.tasks = nil
	return sub
}

// cancelled returns a submission that is being sent, of a campaign that was cancelled after as many
// parts.
func (c *company) cancelled(parts int) submission.Submission {
	sub := c.mixedIn(submission.StateSending)
	if parts > 0 {
		sub = c.oneMore(sub)
		c.must(c.store.CancelCampaign(c.t.Context(), sub.ID, c.now, false))
		return sub
	}
	_, err := c.control(c.store).Cancel(c.t.Context(), sub.ID, false)
	c.must(err)
	return sub
}

// wantReady, wantSent, wantDiscarded and wantRestDiscarded return what is wrong with a submission.
func (c *company) wantReady(sub submission.Submission) string {
	want := submission.Check{
		Number: sub.Check.Number, Rows: 6, Parts: 2, Outs: 2, Bytes: int64(len(mixed)), Hash: sub.Check.Hash, At: sub.Check.At,
		Findings: submission.Findings{
			Accepted: 3, Repeated: submission.Lines{Count: 1, First: []int{4}}, Rejected: sub.Check.Findings.Rejected, Classes: sub.Check.Findings.Classes,
			Omitted: []submission.LineFault{{Code: "missing_uid", Column: "uid", Lines: submission.Lines{Count: 1, First: []int{7}}}},
			Zones:   map[window.Zone]int{window.SaoPaulo: 3},
			ByZones: map[window.Set]campaign.ClassCounts{inSaoPaulo: sub.Check.Findings.Classes},
			Outs:    []int{1, 2},
		},
	}
	if sub.State != submission.StateReady || sub.Check.Hash == "" {
		return "it is not ready"
	}
	return cmp.Diff(want, sub.Check)
}

func (c *company) wantSent(sub submission.Submission) string {
	if sub.State != submission.StateSent || sub.Sending.Accepted != 3 || sub.Sending.Rejected != 1 || len(c.files(sub)) > 0 {
		return "it is not sent"
	}
	if s := c.totals(sub); s.Accepted != 3 || s.PartsToCome != 0 {
		return fmt.Sprintf("the totals are %+v", s)
	}
	return cmp.Diff(map[string]int{"1": 2, "2": 1}, c.batches(sub))
}

const pastOthers = "sending past another batch"

// sendingPastOthers returns a submission that is being sent, of a campaign in which a client has reached one of the two people
// of the first part, and the only one of the second part.
func (c *company) sendingPastOthers() submission.Submission {
	sub := c.sending()
	c.must(c.reach(sub, "api", "11988880002", "11988880003"))
	return sub
}

func (c *company) wantSentPastOthers(sub submission.Submission) string {
	want := submission.Sending{Parts: 2, Accepted: 1, Rejected: 1, InOtherBatches: 2}
	if diff := cmp.Diff(want, sub.Sending); diff != "" || sub.State != submission.StateSent {
		return "it is " + string(sub.State) + ": " + diff
	}
	if s := c.totals(sub); !cmp.Equal(s, sub.Totals().At(c.now)) {
		return fmt.Sprintf("the totals of the campaign are %+v, those of the submission %+v", s, sub.Totals())
	}
	return cmp.Diff(map[string]int{"api": 2, "1": 1, "2": 0}, c.batches(sub))
}

// reach sends a batch to numbers in the campaign of a submission, as a client does.
func (c *company) reach(sub submission.Submission, batch string, numbers ...string) error {
	call := dispatch.Call{ID: sub.ID, Name: sub.Name, TemplateID: sub.TemplateID, Batch: batch}
	for _, number := range numbers {
		call.Messages = append(call.Messages, dispatch.Message{Phone: number, UID: batch + " " + number, Vars: map[string]string{"nome": "X"}})
	}
	_, err := c.worker(c.store, c.blobs, c.queue).Dispatch.Accept(c.t.Context(), call)
	return err
}

func (c *company) wantDiscarded(sub submission.Submission) string {
	if sub.State != submission.StateDiscarded || len(c.files(sub)) > 0 || len(c.batches(sub)) > 0 {
		return "it is not discarded"
	}
	return ""
}

// byAna is a check that also wants that Ana discarded the submission.
func byAna(want func(c *company, sub submission.Submission) string) func(c *company, sub submission.Submission) string {
	return func(c *company, sub submission.Submission) string {
		if sub.DiscardedBy != ana {
			return "Ana did not discard it"
		}
		return want(c, sub)
	}
}

func (c *company) wantRestDiscarded(sub submission.Submission) string {
	if sub.State != submission.StateDiscarded || sub.DeletingFiles {
		return "it is not discarded"
	}
	if diff := cmp.Diff([]string{"check-1/part-2"}, c.files(sub)); diff != "" {
		return "the files of the rest are not what is left: " + diff
	}
	if s := c.totals(sub); s.Accepted != 2 || s.NeverAccepted() != 1 {
		return fmt.Sprintf("the totals are %+v", s)
	}
	return cmp.Diff(map[string]int{"1": 2}, c.batches(sub))
}

// wantState returns a function that returns what is wrong with the state of a submission of which
// nothing was sent, and with the names of its files.
func wantState(state submission.State, files ...string) func(c *company, sub submission.Submission) string {
	return func(c *company, sub submission.Submission) string {
		if sub.State != state || sub.DeletingFiles || len(c.batches(sub)) > 0 {
			return "it is not " + string(state)
		}
		names := c.files(sub)
		for n := range names {
			names[n] = strings.TrimSuffix(names[n], "-"+sub.File.Object)
		}
		if !slices.Equal(files, names) {
			return fmt.Sprintf("its files are %v", names)
		}
		return ""
	}
}

// whole are the files of a submission that was checked once.
var whole = []string{"file", "check-1/out-1", "check-1/out-2", "check-1/part-1", "check-1/part-2"}

// death is a step in which a process can die, with the least number of its calls.
type death struct {
	begin func(c *company) submission.Submission
	do    step
	want  func(c *company, sub submission.Submission) string
	calls int
}

// request is a step of a person.
func request(do func(ctx context.Context, s *intake.Service, sub submission.Submission) error) step {
	return func(ctx context.Context, s *intake.Service, w *intake.Worker, sub submission.Submission) error {
		s.Worker = w
		return do(ctx, s, sub)
	}
}

// What people do with a submission.
func check(ctx context.Context, s *intake.Service, sub submission.Submission) error {
	return s.Check(ctx, sub, columns, campaign.Template{Version: 1})
}

func send(ctx context.Context, s *intake.Service, sub submission.Submission) error {
	_, err := s.Decide(ctx, stepOf(intake.Send, sub, ana, "campaign.dispatch"))
	return err
}

func approve(ctx context.Context, s *intake.Service, sub submission.Submission) error {
	_, err := s.Decide(ctx, stepOf(intake.Approve, sub, bia, "approval.approve"))
	return err
}

func discard(ctx context.Context, s *intake.Service, sub submission.Submission) error {
	_, err := s.Decide(ctx, stepOf(intake.Discard, sub, ana, "campaign.discard"))
	return err
}

// rename gives a submission another name, and another template if the first one says so.
func rename(template bool) step {
	return request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		to := sub
		to.Name += " 2"
		if template {
			next, err := s.Store.Template(ctx, sub.TemplateID)
			if err != nil {
				return err
			}
			next.Version++
			if _, err := s.Store.(*dynamotest.Store).PutTemplate(ctx, next); err != nil {
				return err
			}
		}
		_, err := s.Take(ctx, to, kept)
		return err
	})
}

// wantRenamed returns what is wrong with a submission that was given another name.
func (c *company) wantRenamed(sub submission.Submission) string {
	if !strings.HasSuffix(sub.Name, " 2") {
		return "it has its former name"
	}
	return c.wantReady(sub)
}

// deaths are the steps in which a process can die. Of the names, those of requests begin with a person.
var deaths = map[string]death{
	"opening":               {(*company).opening, task, (*company).wantReady, 19},
	"opening, not clear":    {func(c *company) submission.Submission { return c.openingFile(unclear) }, task, wantState(submission.StateColumns, "file"), 6},
	"opening what has none": {func(c *company) submission.Submission { return c.openingFile("phone;uid;nome\n") }, task, wantState(submission.StateFailed), 8},
	"checking":              {(*company).checking, task, (*company).wantReady, 14},
	"sending":               {(*company).sending, task, (*company).wantSent, 14},
	pastOthers:              {(*company).sendingPastOthers, task, (*company).wantSentPastOthers, 14},
	"sending what is refused": {func(c *company) submission.Submission {
		return c.copyOf(c.example(), func(sub *submission.Submission) { sub.State, sub.TemplateVersion = submission.StateSending, 7 })
	}, task, wantState(submission.StateInterrupted, whole...), 5},
	"sending what was cancelled": {func(c *company) submission.Submission { return c.cancelled(1) }, task, (*company).wantRestDiscarded, 10},
	"sending what was cancelled before": {
		func(c *company) submission.Submission { return c.cancelled(0) }, task, wantState(submission.StateDiscarded, "check-1/part-1", "check-1/part-2"), 10,
	},
	"cleaning up": {func(c *company) submission.Submission {
		return c.save(c.interrupted().Close(submission.StateDiscarded))
	}, task, (*company).wantRestDiscarded, 6},

	"a person ends the upload": {(*company).uploaded, request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		return s.Finish(ctx, sub)
	}), (*company).wantReady, 4},
	"a person checks": {(*company).mixedReady, request(check), (*company).wantReady, 2},
	"a person reads it otherwise": {(*company).mixedReady, request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		return s.Read(ctx, sub, submission.Reading{Hidden: true}, campaign.Template{Version: 1})
	}), (*company).wantReady, 1},
	"a person renames":            {(*company).mixedReady, rename(false), (*company).wantRenamed, 5},
	"a person takes a template":   {(*company).mixedReady, rename(true), (*company).wantRenamed, 4},
	"a person sends":              {(*company).mixedReady, request(send), (*company).wantSent, 4},
	"a person sends at once":      {(*company).mixedReady, atOnce(send), (*company).wantSent, 15},
	"a person continues":          {(*company).interrupted, request(send), (*company).wantSent, 4},
	"a person approves":           {(*company).asked, request(approve), (*company).wantSent, 4},
	"a person discards":           {(*company).mixedReady, request(discard), byAna((*company).wantDiscarded), 5},
	"a person discards a request": {(*company).asked, request(discard), byAna((*company).wantDiscarded), 5},
	"a person discards an upload": {(*company).uploaded, request(discard), byAna((*company).wantDiscarded), 5},
	"a person discards the rest":  {(*company).interrupted, request(discard), byAna((*company).wantRestDiscarded), 6},
	"a person asks": {(*company).mixedReady, request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		_, err := s.Decide(ctx, stepOf(intake.Ask, sub, ana, "approval.ask"))
		return err
	}), wantState(submission.StateApproval, whole...), 3},
	"a person refuses": {(*company).asked, request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		_, err := s.Decide(ctx, stepOf(intake.Refuse, sub, bia, "approval.refuse"))
		return err
	}), wantState(submission.StateRefused, whole...), 2},
	"a person withdraws": {(*company).asked, request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		_, err := s.Decide(ctx, stepOf(intake.Withdraw, sub, ana, "approval.withdraw"))
		return err
	}), (*company).wantReady, 1},
	"a person reopens": {(*company).refused, request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		_, err := s.Decide(ctx, stepOf(intake.Reopen, sub, ana, "approval.reopen"))
		return err
	}), (*company).wantReady, 1},
	"a person saves a draft again":    {func(c *company) submission.Submission { return c.draft(five) }, saveDraft(chosen(mixed)), (*company).wantDraft, 5},
	"a person keeps a draft's file":   {func(c *company) submission.Submission { return c.draft(mixed) }, saveDraft(kept), (*company).wantDraft, 5},
	"a person makes a review a draft": {(*company).mixedReady, saveDraft(kept), (*company).wantDraft, 8},
	"a person goes on with a draft": {func(c *company) submission.Submission { return c.draft(mixed) }, request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		_, err := s.Take(ctx, sub, kept)
		return err
	}), (*company).wantReady, 3},
}

// saveDraft saves a draft with another name and a file.
func saveDraft(from intake.FormFile) step {
	return request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		sub.Name = "again"
		_, err := s.SaveDraft(ctx, sub, from, entryOf(sub))
		return err
	})
}

// wantDraft returns what is wrong with a draft that was saved again.
func (c *company) wantDraft(sub submission.Submission) string {
	if sub.State != submission.StateDraft || sub.Name != "again" || c.fileOf(sub) != mixed {
		return fmt.Sprintf("it is not a draft with its file: %q with %q", sub.Name, c.fileOf(sub))
	}
	return ""
}

// unclear is a file whose columns a person has to choose.
const unclear = "Contato;Cadastro;Cliente\n11988880001;a;Ana\n"

// eachDeath calls dies for the calls at which a process can die, given the kinds of all.
func eachDeath(calls []string, dies func(at int, after bool)) {
	kinds := slices.Clone(calls)
	for i, kind := range kinds {
		if slices.Contains(reading, kind) {
			kinds[i] = ""
		}
	}
	for _, c := range testsize.Crashes(kinds) {
		dies(c.At, c.After)
	}
}

// deathIn lets a process die at a call of a step, continues by what remains, and checks the submission. It returns the
// kinds of the calls.
func (c *company) deathIn(test death, at int, after bool, remains func(c *company, sub submission.Submission)) []string {
	c.t.Helper()
	sub := test.begin(c)
	calls := c.until(at, after, test.do, sub)
	if now := c.stored(sub); now.Version == sub.Version && !now.Working() && !now.DeletingFiles { // a person sees the same page, and tries again
		c.must(test.do(c.t.Context(), c.Service, c.worker(c.store, c.blobs, c.queue), now))
	}
	remains(c, sub)
	got := c.stored(sub)
	if diff := test.want(c, got); diff != "" {
		c.t.Fatalf("death at call %d (after it: %t): %s, %q: %s", at, after, got.State, got.Fault.Code, diff)
	}
	c.must(c.discard(sub))
	if left := c.files(sub); got.State == submission.StateDraft && len(left) > 0 {
		c.t.Fatalf("death at call %d (after it: %t): files are left: %v", at, after, left)
	}
	return calls
}

// inEachStep lets a process die in each of the steps, and continues by what remains.
func inEachStep(t *testing.T, steps iter.Seq[string], remains func(c *company, sub submission.Submission)) {
	t.Helper()
	for name := range steps {
		test := deaths[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(stackenv.Load(t))
			env["CAMPAIGNS_TABLE"] = env.OwnTable(t, env["CAMPAIGNS_TABLE"]) // sweep finds nothing else
			c := newCompanyIn(t, env)
			calls := c.deathIn(test, never, true, remains)
			if len(calls) < test.calls {
				t.Errorf("only %d calls", len(calls))
			}
			calls = c.deathIn(test, never, true, remains) // the first process also stored what the company keeps for its next file
			eachDeath(calls, func(at int, after bool) { c.deathIn(test, at, after, remains) })
		})
	}
}

// Whatever call a process dies at, the task that the queue delivers again finds the same and
// sends each message once.
func TestWorker_DeathAtAnyCall(t *testing.T) {
	t.Parallel()
	inEachStep(t, slices.Values([]string{"checking", "sending", pastOthers}), func(c *company, sub submission.Submission) {
		body, err := json.Marshal(submission.Task{Tenant: sub.Tenant, CampaignID: sub.CampaignID})
		c.must(err)
		c.must(c.queue.Send(c.t.Context(), sub.Tenant, body, 0))
		c.run()
	})
}

// Whatever call a process dies at, even if its task is lost, sweep has the submission finished
// within four minutes. Nobody has to open a page.
func TestSweep_DeathAtAnyCall(t *testing.T) {
	t.Parallel()
	steps := maps.Clone(deaths)
	delete(steps, pastOthers) // sweep also completes its part without messages, which needs more than this sweep has
	inEachStep(t, maps.Keys(steps), (*company).sweepOnly)
}

// A request that dies while it takes a file, from a form or of an export, leaves nothing, or a submission
// that sweep has finished within four minutes.
func TestTake_DeathAtAnyCall(t *testing.T) {
	t.Parallel()
	object := "exports/" + rand.Text() + ".csv"
	for name, test := range map[string]struct {
		do    step
		least int
	}{
		"of a form, at once": {atOnce(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
			_, err := s.Take(ctx, sub, chosen(mixed))
			return err
		}), 22},
		"of an export": {request(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
			_, err := s.Take(ctx, sub, intake.FormFile{Object: object})
			return err
		}), 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(stackenv.Load(t))
			env["CAMPAIGNS_TABLE"] = env.OwnTable(t, env["CAMPAIGNS_TABLE"])
			c := newCompanyIn(t, env)
			c.must(c.blobs.Put(t.Context(), object, []byte(mixed), "text/csv"))
			calls := c.deathInTake(test.do, never, true)
			if len(calls) < test.least {
				t.Errorf("only %d calls", len(calls))
			}
			eachDeath(calls, func(at int, after bool) { c.deathInTake(test.do, at, after) })
		})
	}
}

// deathInTake lets a process die at a call in which it takes a file. It returns the kinds of the calls.
func (c *company) deathInTake(take step, at int, after bool) []string {
	c.t.Helper()
	calls := c.until(at, after, take, submission.Submission{ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c", TemplateID: c.t1.ID})
	all, err := c.store.Submissions(c.t.Context(), c.tenant)
	c.must(err)
	for _, sub := range all {
		if sub.Closed() {
			continue
		}
		c.sweepOnly(sub)
		if diff := c.wantReady(c.stored(sub)); diff != "" {
			c.t.Fatalf("death at call %d (after it: %t): %s", at, after, diff)
		}
		c.must(c.discard(sub))
	}
	return calls
}
