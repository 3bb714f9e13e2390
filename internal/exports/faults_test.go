package exports_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/exports"
	"campaign-dispatch/internal/exports/export"
)

var errDead = errors.New("the process is dead")

// process dies at a call: before it is made, or after it without seeing the answer.
type process struct {
	mu    sync.Mutex
	calls int
	at    int
	after bool
	die   context.CancelFunc

	transport http.Transport // its connections are the process's own
}

func (p *process) do(call func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	if p.calls > p.at || p.calls == p.at && !p.after {
		p.die()
		return errDead
	}
	err := call()
	if p.calls == p.at {
		p.die()
		return errDead
	}
	return err
}

func (p *process) RoundTrip(r *http.Request) (*http.Response, error) {
	var res *http.Response
	if err := p.do(func() (err error) {
		res, err = p.send(r) //nolint:bodyclose // it is read, and the SDK closes it too
		return err
	}); err != nil {
		return nil, err
	}
	return res, nil
}

// send reads the whole answer, so that the end of the process does not cut it off.
func (p *process) send(r *http.Request) (*http.Response, error) {
	res, err := p.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// mortal is a queue that a process uses.
type mortal struct {
	*process
	queue *queue
}

func (m mortal) Send(ctx context.Context, group string, body []byte, delay time.Duration) error {
	return m.do(func() error { return m.queue.Send(ctx, group, body, delay) })
}

// handleUntil handles a task in a process that dies at a call. It reports whether the
// process ended before.
func (c *company) handleUntil(task export.Task, at int, after bool) (ended bool) {
	c.t.Helper()
	ctx, die := context.WithCancel(c.t.Context())
	p := &process{at: at, after: after, die: die}
	defer p.transport.CloseIdleConnections()
	defer die()
	cfg := c.env.AWS()
	cfg.HTTPClient = &http.Client{Transport: p}
	cfg.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	store, blobs := c.stores(cfg)
	failed := c.maker(store, blobs, mortal{p, c.queue}).Handle(ctx, []export.Task{task})
	if p.calls < at {
		c.must(failed[0])
		return true
	}
	return false
}

// Whatever call a process dies at, the task that the queue delivers again completes the
// same file.
func TestMaker_DeathAtAnyCall(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	want := c.made(export.Request{})
	for _, after := range []bool{false, true} {
		at := 1
		for ended := false; !ended; at++ {
			e := c.create(export.Request{})
			task := export.Task{ExportID: e.ExportID}
			ended = c.handleUntil(task, at, after)
			c.run()
			done := c.stored(e)
			if done.State != export.Completed {
				t.Fatalf("death at call %d (after it: %t): the export is %s", at, after, done.State)
			}
			_, got := c.download(done)
			if diff := cmp.Diff(want, got); diff != "" || done.Lines != 7 {
				t.Fatalf("death at call %d (after it: %t): %d lines (-want +got):\n%s", at, after, done.Lines, diff)
			}
		}
		if at < 20 {
			t.Errorf("only %d calls", at)
		}
	}
}

// closed is a bucket that takes no parts.
type closed struct{ exports.MakerBlobs }

var errClosed = errors.New("no parts")

func (closed) PutPart(context.Context, string, string, int, []byte) error { return errClosed }

// An export whose last attempt fails is shown as failed, and does not use a slot.
func TestMaker_LastAttempt(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	e := c.create(export.Request{})
	m := c.maker(c.store, c.blobs, c.queue)
	m.Blobs = closed{m.Blobs}
	try := func(attempt int, want export.State) {
		t.Helper()
		if failed := m.Handle(t.Context(), []export.Task{{ExportID: e.ExportID, Receives: attempt}}); !errors.Is(failed[0], errClosed) {
			t.Errorf("attempt %d: %v", attempt, failed[0])
		}
		if got := c.stored(e).State; got != want {
			t.Errorf("attempt %d: the export is %s, want %s", attempt, got, want)
		}
	}
	try(4, export.Running)
	try(5, export.Failed)
	c.queue.tasks = nil
	for range export.MaxOpen {
		c.create(export.Request{})
	}
}

// A function that writes an export while an erasure deletes it leaves nothing behind.
func TestMaker_DeletedMeanwhile(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	for _, at := range []int{3, 6, 9, 12, 15, 18} {
		e := c.create(export.Request{})
		if c.handleUntil(export.Task{ExportID: e.ExportID}, at, true) {
			t.Fatalf("the process ended before call %d", at)
		}
		e = c.stored(e)
		e.State = export.Deleted
		_, err := c.store.SaveExport(t.Context(), e)
		c.must(err)
		c.run()
		if e = c.stored(e); e.State != export.Deleted {
			t.Errorf("death at call %d: the export is %s", at, e.State)
		}
	}
	for o, err := range c.blobs.List(t.Context(), export.Prefix+c.id.Tenant+"/") {
		c.must(err)
		t.Errorf("%s is left", o.Key)
	}
	for range export.MaxOpen { // every slot is free
		c.create(export.Request{})
	}
}

// Two functions that work on one task do not spoil the file.
func TestMaker_RepeatedTask(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	want := c.made(export.Request{})
	for range 5 {
		e := c.create(export.Request{})
		c.queue.tasks = nil
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				failed := c.maker(c.store, c.blobs, c.queue).Handle(t.Context(), []export.Task{{ExportID: e.ExportID}})
				if failed[0] != nil && !errors.Is(failed[0], campaign.ErrNotFound) {
					t.Error(failed[0])
				}
			})
		}
		all.Wait()
		c.queue.tasks = append(c.queue.tasks, export.Task{ExportID: e.ExportID})
		c.run()
		if _, got := c.download(c.stored(e)); got != want {
			t.Errorf("the file (-want +got):\n%s", cmp.Diff(want, got))
		}
	}
}

// An export that does not fit into the time of a function continues where it stopped.
func TestMaker_TimeOver(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	c.accept(3, []string{"y0"}, nil)
	want := c.made(export.Request{})
	e := c.create(export.Request{})
	tasks := 0
	for ; len(c.queue.tasks) > 0; tasks++ {
		task := c.queue.tasks[0]
		c.queue.tasks = nil
		m := c.maker(c.store, c.blobs, c.queue)
		m.PartSize = exports.PartSize
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // less than a function keeps for its last steps
		c.must(m.Handle(ctx, []export.Task{task})[0])
		cancel()
	}
	done := c.stored(e)
	if _, got := c.download(done); got != want || tasks != 3 || done.Lines != 8 {
		t.Errorf("%d tasks, %d lines (-want +got):\n%s", tasks, done.Lines, cmp.Diff(want, got))
	}
	for o, err := range c.blobs.List(t.Context(), export.Prefix+c.id.Tenant+"/") {
		c.must(err)
		if len(o.Key) != len(done.Blob()) {
			t.Errorf("%s is left", o.Key)
		}
	}
}
