package intake_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/localstack/testsize"
)

// between is a process before one of whose calls something happens. What is refused is tried again
// before the next call.
type between struct {
	mu    sync.Mutex
	calls []string // their kinds, see kindOf
	at    int
	do    func() (done bool)

	transport http.Transport // its connections are the process's own
}

func (b *between) RoundTrip(r *http.Request) (*http.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, kindOf(r))
	if len(b.calls) >= b.at && b.do != nil && b.do() {
		b.do = nil
	}
	res, err := b.transport.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(res.Body)
	err = errors.Join(err, res.Body.Close())
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, err
}

// inFive is a campaign of nine people in five parts.
type inFive struct {
	company
	sub     submission.Submission
	batches int       // when it was cancelled
	moved   time.Time // when it goes, if it was moved
}

// sendFive lets a function send a campaign in five parts, while something happens before a call. It
// returns the kinds of the calls.
func (f *inFive) sendFive(at int, happens func() (done bool)) []string {
	b := &between{at: at, do: happens}
	defer b.transport.CloseIdleConnections()
	cfg := f.env.AWS()
	cfg.HTTPClient = &http.Client{Transport: b}
	store, blobs := f.stores(cfg)
	f.must(f.worker(store, blobs, f.queue).Handle(f.t.Context(), []submission.Task{{Tenant: f.tenant, CampaignID: f.sub.CampaignID}})[0])
	if b.do != nil && at <= len(b.calls) {
		f.t.Errorf("it was refused until the end")
	}
	f.run()
	return b.calls
}

// move moves the campaign a day. Before the first part is accepted, it is refused: try again.
func (f *inFive) move() bool {
	due := noon.Add(25 * time.Hour)
	c, err := f.store.Campaign(f.t.Context(), f.sub.ID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		f.must(err)
	}
	begun := err == nil
	_, err = f.control(f.store).RescheduleCampaign(f.t.Context(), f.sub.ID, due.Format(time.RFC3339), c.Plan())
	problem, refused := errors.AsType[*httpapi.Problem](err)
	if !begun && refused && problem.Status == http.StatusConflict && problem.Code == "campaign_not_accepted" && problem.Header.Get("Retry-After") != "" {
		return false
	}
	f.must(err)
	f.moved = due
	return true
}

// checkMoved checks that all parts were sent, for one time.
func (f *inFive) checkMoved() {
	f.t.Helper()
	all, err := f.store.Dispatched(f.t.Context(), f.sub.ID)
	f.must(err)
	for _, b := range all.Batches {
		if !b.Due.Equal(f.moved) {
			f.t.Errorf("part %s goes at %v, want %v", b.Name, b.Due, f.moved)
		}
	}
	s := f.totals(f.sub) // which checks the sums
	if sub := f.stored(f.sub); sub.State != submission.StateSent || len(all.Batches) != 5 || s.Accepted != 9 || s.PartsToCome != 0 {
		f.t.Errorf("%s, %q, %d parts, %+v", sub.State, sub.Fault.Code, len(all.Batches), s)
	}
}

func (f *inFive) cancel() bool {
	_, err := f.control(f.store).Cancel(f.t.Context(), f.sub.ID, false)
	f.must(err)
	f.batches = len(f.company.batches(f.sub))
	return true
}

// checkCancelled checks that nothing went after the cancellation, and that the rest is left.
func (f *inFive) checkCancelled() {
	f.t.Helper()
	all, err := f.store.Dispatched(f.t.Context(), f.sub.ID)
	f.must(err)
	for _, b := range all.Batches {
		if b.State != campaign.BatchCancelled {
			f.t.Errorf("part %s is %s", b.Name, b.State)
		}
	}
	accepted, want := min(9, 2*f.batches), submission.StateDiscarded
	if f.batches == 5 {
		want = submission.StateSent
	}
	sub, s := f.stored(f.sub), f.totals(f.sub) // which checks the sums
	if sub.State != want || sub.DeletingFiles || len(all.Batches) != f.batches || all.CancelledAt.IsZero() || s.Accepted != accepted || s.ToCome() != 0 || s.NeverAccepted() != 9-accepted {
		f.t.Errorf("%s, %q, %d parts of %d, %+v", sub.State, sub.Fault.Code, len(all.Batches), f.batches, s)
	}
	left := []int{}
	for part := f.batches + 1; part <= 5; part++ {
		left = append(left, part)
	}
	f.wantNotAccepted(sub, left...)
}

// A campaign of five parts that is moved between any two calls of its acceptance goes all at the new
// time. Of one that is cancelled, nothing more goes, and those who were not accepted are known.
func TestSubmission_BetweenAnyTwoCalls(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	ready := c.ready("Celular;Código;Nome\n"+people(9), nil)
	begin := func(t *testing.T) *inFive {
		t.Helper()
		f := &inFive{company: *c}
		f.t, f.queue = t, &queue{}
		f.sub = f.copyOf(ready, func(sub *submission.Submission) {
			sub.State, sub.Schedule = submission.StateSending, noon.Add(time.Hour).Format(time.RFC3339)
		})
		f.moved = f.sub.Due()
		return f
	}
	first := begin(t)
	calls := first.sendFive(never, nil)
	first.checkMoved()
	if len(calls) < 30 {
		t.Fatalf("only %d calls", len(calls))
	}
	middle := []int{len(calls) * 2 / 5, len(calls) / 2} // between parts that are accepted and parts that are not
	for _, at := range slices.Compact(slices.Sorted(slices.Values(append(testsize.Steps(calls), middle...)))) {
		t.Run(fmt.Sprint("moved at call ", at), func(t *testing.T) {
			t.Parallel()
			f := begin(t)
			f.sendFive(at, f.move)
			f.checkMoved()
		})
		t.Run(fmt.Sprint("cancelled at call ", at), func(t *testing.T) {
			t.Parallel()
			f := begin(t)
			f.sendFive(at, f.cancel)
			f.checkCancelled()
		})
	}
}

// people returns the lines of as many people.
func people(n int) string {
	var lines strings.Builder
	for p := range n {
		fmt.Fprintf(&lines, "1198888%04d;p%d;Ana\n", p, p)
	}
	return lines.String()
}
