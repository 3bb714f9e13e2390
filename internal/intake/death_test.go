package intake_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/recipients"
	"campaign-dispatch/internal/sweep"
	"campaign-dispatch/localstack/stackenv"
)

// process dies at a call: before it is made, or after it without seeing the answer.
type process struct {
	mu    sync.Mutex
	calls int
	at    int
	after bool
	die   context.CancelFunc

	transport http.Transport // its connections are the process's own
}

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.calls > p.at || p.calls == p.at && !p.after {
		p.die()
		return nil, errDead
	}
	res, err := p.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	if p.calls == p.at {
		p.die()
		return nil, errDead
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// step is something that a process does with a submission: a request, or the task of a function.
type step func(ctx context.Context, s *intake.Service, w *intake.Worker, sub submission.Submission) error

// until does a step in a process that dies at a call. It reports whether the process ended before.
func (c *company) until(at int, after bool, do step, sub submission.Submission) (ended bool) {
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
	if p.calls < at {
		c.must(err)
		return true
	}
	return false
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
		Store: c.store, Intake: c.queue, Releases: releases{}, Shards: dynamo.DueShards, After: time.Minute, Now: func() time.Time { return c.now },
	}
	end := c.now.Add(4 * time.Minute)
	for ; c.now.Before(end); c.now = c.now.Add(time.Minute) {
		shard, due := c.shard(sub)
		if now := c.stored(sub); !due || now.NextCheck(now.UpdatedAt).After(end) {
			return
		}
		c.must(sweeper.Sweep(c.t.Context(), sweep.Part{Part: shard, Of: dynamo.DueShards}))
		c.run()
	}
	if now := c.stored(sub); now.Working() || now.FilesLeft {
		c.t.Errorf("the submission is not finished after four minutes: %s", now.State)
	}
}

const mixed = "Celular;Código;Nome\n11988880001;a;Ana\n11988880002;b;Bia\n11988880001;again;Ana\n" +
	"123;h;Gil\n11988880003;c;Caio\n11988880006;;Fay\n"

var columns = recipients.Columns{Phone: 0, UID: 1, Values: []recipients.Value{{Name: "nome", Column: 2}}}

// uploaded returns a submission whose file is sent, but not opened.
func (c *company) uploaded() submission.Submission {
	c.t.Helper()
	sub, _, err := c.Start(c.t.Context(), submission.Submission{
		ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c " + rand.Text(), TemplateID: c.t1.ID,
		File: submission.File{Name: "f.csv", Size: int64(len(mixed)), Modified: rand.Text()},
	})
	c.must(err)
	c.put(sub, mixed)
	return sub
}

// opening, checking, sending and discarded return a submission whose task is queued.
func (c *company) opening() submission.Submission {
	sub := c.uploaded()
	c.must(c.Finish(c.t.Context(), sub))
	return c.stored(sub)
}

func (c *company) checking() submission.Submission {
	sub := c.upload(mixed, nil)
	c.must(c.Check(c.t.Context(), sub, columns, c.t1))
	return c.stored(sub)
}

func (c *company) sending() submission.Submission {
	sub := c.ready(mixed, nil)
	c.must(c.Send(c.t.Context(), sub))
	return c.stored(sub)
}

// asked returns a submission that waits for approval.
func (c *company) asked() submission.Submission {
	c.t.Helper()
	sub := c.ready(mixed, nil)
	sub, err := c.Ask(c.t.Context(), stepOf(sub, ana, "approval.ask"))
	c.must(err)
	return sub
}

// interrupted returns a submission whose rest was refused after the first part.
func (c *company) interrupted() submission.Submission {
	sub := c.sendFirst(c.ready(mixed, nil))
	c.queue.tasks, sub.State = nil, submission.StateInterrupted
	sub, err := c.store.SaveSubmission(c.t.Context(), sub)
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

func (c *company) wantDiscarded(sub submission.Submission) string {
	if sub.State != submission.StateDiscarded || len(c.files(sub)) > 0 || len(c.batches(sub)) > 0 {
		return "it is not discarded"
	}
	return ""
}

func (c *company) wantRestDiscarded(sub submission.Submission) string {
	if sub.State != submission.StateDiscarded || sub.FilesLeft {
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

// deaths are the steps in which a process can die, with the least number of their calls.
var deaths = map[string]struct {
	begin func(c *company) submission.Submission
	do    step
	want  func(c *company, sub submission.Submission) string
	calls int
}{
	"opening":  {(*company).opening, task, (*company).wantReady, 19},
	"checking": {(*company).checking, task, (*company).wantReady, 14},
	"sending":  {(*company).sending, task, (*company).wantSent, 14},
	"the request that ends the upload": {(*company).uploaded, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		return s.Finish(ctx, sub)
	}, (*company).wantReady, 4},
	"the request that checks": {func(c *company) submission.Submission { return c.upload(mixed, nil) }, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		return s.Check(ctx, sub, columns, campaign.Template{Version: 1})
	}, (*company).wantReady, 2},
	"the request that sends": {func(c *company) submission.Submission { return c.ready(mixed, nil) }, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		_, err := s.Send(ctx, stepOf(sub, ana, "campaign.dispatch"))
		return err
	}, (*company).wantSent, 4},
	"the request that sends at once": {func(c *company) submission.Submission { return c.ready(mixed, nil) }, atOnce(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		_, err := s.Send(ctx, stepOf(sub, ana, "campaign.dispatch"))
		return err
	}), (*company).wantSent, 15},
	"the request that approves": {(*company).asked, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		_, err := s.Approve(ctx, stepOf(sub, bia, "approval.approve"))
		return err
	}, (*company).wantSent, 4},
	"the request that discards": {func(c *company) submission.Submission { return c.ready(mixed, nil) }, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		_, err := s.Discard(ctx, stepOf(sub, ana, "campaign.import_discard"))
		return err
	}, (*company).wantDiscarded, 5},
	"the request that discards the rest": {(*company).interrupted, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		_, err := s.Discard(ctx, stepOf(sub, ana, "campaign.import_discard"))
		return err
	}, (*company).wantRestDiscarded, 6},
	"the request that saves a draft again": {func(c *company) submission.Submission { return c.draft(five) }, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		sub.Name = "again"
		_, err := s.SaveDraft(ctx, sub, chosen(mixed), entryOf(sub))
		return err
	}, (*company).wantDraft, 5},
	"the request that keeps the file of a draft": {func(c *company) submission.Submission { return c.draft(mixed) }, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		sub.Name = "again"
		_, err := s.SaveDraft(ctx, sub, kept, entryOf(sub))
		return err
	}, (*company).wantDraft, 5},
	"the request that makes a review a draft": {func(c *company) submission.Submission { return c.ready(mixed, nil) }, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		sub.Name = "again"
		_, err := s.SaveDraft(ctx, sub, kept, entryOf(sub))
		return err
	}, (*company).wantDraft, 8},
	"the request that goes on with a draft": {func(c *company) submission.Submission { return c.draft(mixed) }, func(ctx context.Context, s *intake.Service, _ *intake.Worker, sub submission.Submission) error {
		_, err := s.Take(ctx, sub, kept)
		return err
	}, (*company).wantReady, 4},
}

// wantDraft returns what is wrong with a draft that was saved again.
func (c *company) wantDraft(sub submission.Submission) string {
	if sub.State != submission.StateDraft || sub.Name != "again" || c.fileOf(sub) != mixed {
		return fmt.Sprintf("it is not a draft with its file: %q with %q", sub.Name, c.fileOf(sub))
	}
	return ""
}

// eachDeath lets a process die at each call of the steps, before and after it, and continues by
// what remains.
func eachDeath(t *testing.T, steps iter.Seq[string], remains func(c *company, sub submission.Submission)) {
	t.Helper()
	for name := range steps {
		test := deaths[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(stackenv.Load(t))
			env["CAMPAIGNS_TABLE"] = env.OwnTable(t, env["CAMPAIGNS_TABLE"]) // sweep finds nothing else
			c := newCompanyIn(t, env)
			for _, after := range []bool{false, true} {
				at := 1
				for ended := false; !ended; at++ {
					sub := test.begin(c)
					ended = c.until(at, after, test.do, sub)
					if now := c.stored(sub); now.Version == sub.Version && !now.Working() && !now.FilesLeft { // a person sees the same page, and tries again
						c.must(test.do(t.Context(), c.Service, c.worker(c.store, c.blobs, c.queue), now))
					}
					remains(c, sub)
					got := c.stored(sub)
					if diff := test.want(c, got); diff != "" {
						t.Fatalf("death at call %d (after it: %t): %s, %q: %s", at, after, got.State, got.Fault.Code, diff)
					}
					c.must(c.discard(sub))
					if left := c.files(sub); got.State == submission.StateDraft && len(left) > 0 {
						t.Fatalf("death at call %d (after it: %t): files are left: %v", at, after, left)
					}
				}
				if at < test.calls {
					t.Errorf("only %d calls", at)
				}
			}
		})
	}
}

// Whatever call a process dies at, the task that the queue delivers again finds the same and
// sends each message once.
func TestWorker_DeathAtAnyCall(t *testing.T) {
	t.Parallel()
	eachDeath(t, slices.Values([]string{"checking", "sending"}), func(c *company, sub submission.Submission) {
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
	eachDeath(t, maps.Keys(deaths), (*company).sweepOnly)
}

// A request that dies while it takes a file leaves nothing, or a submission that sweep has finished
// within four minutes.
func TestTake_DeathAtAnyCall(t *testing.T) {
	t.Parallel()
	env := maps.Clone(stackenv.Load(t))
	env["CAMPAIGNS_TABLE"] = env.OwnTable(t, env["CAMPAIGNS_TABLE"])
	c := newCompanyIn(t, env)
	take := atOnce(func(ctx context.Context, s *intake.Service, sub submission.Submission) error {
		_, err := s.Take(ctx, sub, intake.FormFile{Chosen: []byte(mixed)})
		return err
	})
	asked := submission.Submission{ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c", TemplateID: c.t1.ID}
	const least = 22
	for _, after := range []bool{false, true} {
		at := 1
		for ended := false; !ended; at++ {
			ended = c.until(at, after, take, asked)
			all, err := c.store.Submissions(t.Context(), c.tenant)
			c.must(err)
			for _, sub := range all {
				if sub.Closed() {
					continue
				}
				c.sweepOnly(sub)
				if diff := c.wantReady(c.stored(sub)); diff != "" {
					t.Fatalf("death at call %d (after it: %t): %s", at, after, diff)
				}
				c.must(c.discard(sub))
			}
		}
		if at < least {
			t.Errorf("only %d calls", at)
		}
	}
}
