package dispatch_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/phone/phonetest"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/lists/lookup"
)

// A call takes the forms of numbers that the table says, sends each to its E.164, and fails for none. What is on a
// list as the same text gets nothing.
func TestServeDispatch_Forms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all []fields
	var want []string
	var listed []e164.Number
	for i, f := range phonetest.Forms() {
		all = append(all, fields{"phone": f.Text, "uid": fmt.Sprint("u", i)})
		if n, rejection := phone.Parse([]byte(f.Text)); rejection == nil {
			listed = append(listed, n)
		}
		if phonetest.Accepted(f.Call) {
			want = append(want, f.Call)
		}
	}
	got := b.post(b.body(fields{"messages": all}))
	got.accepted(t)
	codes := map[string]string{}
	for _, p := range got.Feedback.InvalidPhones {
		codes[p.Phone] = p.Code
	}
	for _, f := range phonetest.Forms() {
		if code := codes[f.Text]; phonetest.Accepted(f.Call) && code != "" || !phonetest.Accepted(f.Call) && code != f.Call {
			t.Errorf("%q is rejected with %q, want %s", f.Text, code, f.Call)
		}
	}
	messages, err := payload.ReadAll(t.Context(), b.Blobs.(payload.Blobs), b.handoffs.batches[0])
	b.must(err)
	var sent []string
	for _, m := range messages {
		sent = append(sent, m.Phone.String())
	}
	slices.Sort(want)
	slices.Sort(sent)
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Errorf("sent (-want +got):\n%s", diff)
	}
	b.list(listed)
	said := read[struct{ Suppressed []struct{ Messages int } }](t, b.dryRun(b.body(fields{"messages": all})))
	if len(said.Suppressed) != 1 || said.Suppressed[0].Messages != len(want) {
		t.Errorf("of %d messages to numbers on a list, %+v get none", len(want), said.Suppressed)
	}
}

// list saves a list of numbers.
func (b *bench) list(numbers []e164.Number) {
	b.t.Helper()
	blobs := b.Blobs.(book.Blobs)
	listBook := &book.Book{Store: b.store, Blobs: blobs, Now: b.Now}
	change := lists.Change{Settings: &lists.Settings{Reason: "r"}, Add: numberset.New(numbers)}
	_, err := listBook.Change(b.t.Context(), b.tenant, "all", change, account.AuditEntry{Tenant: b.tenant, At: b.now})
	b.must(err)
	cache := &lookup.Cache{Store: b.store, Blobs: blobs, Now: b.Now}
	b.Reach.Lists, b.ListNames = cache, cache.Names
}
