package lists_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
)

// step is a change of the model: the later step of a number decides until it ends.
type step struct {
	numbers map[uint64]bool
	remove  bool
	until   time.Time
}

func (s step) at(now time.Time) bool { return s.until.IsZero() || now.Before(s.until) }

// on is the model of a list.
func on(steps []step, number uint64, now time.Time) bool {
	for _, s := range slices.Backward(steps) {
		if s.at(now) && s.numbers[number] {
			return !s.remove
		}
	}
	return false
}

func drawn(t *rapid.T, label string) numberset.Set {
	return numberset.New(rapid.SliceOfN(rapid.SampledFrom(someNumbers), 0, 12).Draw(t, label))
}

func model(numbers numberset.Set) map[uint64]bool {
	m := map[uint64]bool{}
	for _, n := range numbers {
		m[n] = true
	}
	return m
}

// someNumbers are all numbers of the model, in two area codes.
var someNumbers = func() (all []uint64) {
	for n := range uint64(16) {
		all = append(all, 5511900000000+n, 5521900000000+n)
	}
	return all
}()

// drawnSettings limit a list to an area code, to a purpose of messages, and to a day, or not.
func drawnSettings(t *rapid.T) *lists.Settings {
	s := settings
	s.AreaCodes = rapid.SampledFrom([][]int{nil, {11}, {11, 21}, {31}}).Draw(t, "areas")
	s.Traffic = rapid.SampledFrom([][]campaign.Traffic{nil, {campaign.Promotion}, {campaign.Transaction}}).Draw(t, "traffic")
	if rapid.Bool().Draw(t, "ends") {
		s.Until = start.Add(36 * time.Hour)
	}
	return &s
}

// applies is the model of settings.
func applies(s *lists.Settings, number uint64, traffic campaign.Traffic, now time.Time) bool {
	area := int(number / 1_000_000_000 % 100)
	return (len(s.AreaCodes) == 0 || slices.Contains(s.AreaCodes, area)) &&
		(len(s.Traffic) == 0 || slices.Contains(s.Traffic, traffic)) && (s.Until.IsZero() || now.Before(s.Until))
}

// For any changes, with and without ends, area codes and purposes of messages, a list holds back the same numbers as
// a map at any time, in at most 16 segments.
func TestLists_EqualAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		var steps []step
		var c lists.Change
		for i := range rapid.IntRange(1, 40).Draw(t, "changes") {
			c = lists.Change{Settings: drawnSettings(t), Add: drawn(t, "add"), Remove: drawn(t, "remove")}
			if days := rapid.IntRange(0, 2).Draw(t, "days"); days > 0 {
				c.Until = start.Add(time.Duration(days) * 24 * time.Hour)
			}
			if c.Replace = rapid.IntRange(0, 9).Draw(t, "replace") == 0; c.Replace {
				steps = nil
			}
			l, err := w.book.Change(t.Context(), tenant, "a", c, account.AuditEntry{})
			if err != nil || len(l.Segments) > lists.MaxSegments || l.Version != i+1 {
				t.Fatalf("change %d: version %d, %d segments, %v", i, l.Version, len(l.Segments), err)
			}
			steps = append(steps, step{model(c.Add), false, c.Until}, step{model(c.Remove), true, c.Until})
		}
		for day := range 3 {
			w.now = start.Add(time.Duration(day) * 24 * time.Hour)
			for _, traffic := range []campaign.Traffic{campaign.Promotion, campaign.Transaction} {
				of, err := w.lookup.KeptBy(t.Context(), tenant, traffic, w.now)
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range someNumbers {
					got, want := of(e164.Number(n)) != 0, on(steps, n, w.now) && applies(c.Settings, n, traffic, w.now)
					if got != want {
						t.Fatalf("day %d: number %d is held back: %v, want %v", day, n, got, want)
					}
				}
			}
		}
	})
}

// A removal for ever that comes after an addition with an end prevails, also when segments are merged.
func TestMerge_RemovalAfterAdditionWithAnEnd(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.change(t, "a", lists.Change{Settings: &settings, Add: set(1, 2)})
	w.change(t, "a", lists.Change{Add: set(1), Until: start.Add(time.Hour)})
	w.change(t, "a", lists.Change{Remove: set(1)})
	for n := range uint64(lists.MaxSegments) {
		w.change(t, "a", lists.Change{Add: set(10 + n), Remove: set(100 + n)})
	}
	if of := w.of(t); of("+1") != 0 || of("+2") == 0 {
		t.Error("the removed number is on the list, or the other is not")
	}
}

// A missing or damaged segment is an error, so nothing is sent, and is counted for the alarm. A store that does not
// answer is only an error.
func TestOf_UnreadableSegment(t *testing.T) {
	t.Parallel()
	for what, spoil := range map[string]func(w *world, key string){
		"missing":   func(w *world, key string) { delete(w.objects, key) },
		"damaged":   func(w *world, key string) { w.objects[key] = []byte("x") },
		"truncated": func(w *world, key string) { w.objects[key] = set(1).Pack() },
		"no answer": func(w *world, _ string) { w.silent = true },
	} {
		w := newWorld()
		l := w.change(t, "a", lists.Change{Settings: &settings, Add: set(5511987654321, 5511987654322)})
		spoil(w, l.Segments[0].ID)
		var counts bytes.Buffer
		_, err := metrics.NewHandler(func(ctx context.Context, _ []byte) ([]byte, error) {
			_, err := w.lookup.KeptBy(ctx, tenant, campaign.Promotion, w.now)
			return nil, err
		}, &counts, time.Now).Invoke(t.Context(), nil)
		if err == nil {
			t.Errorf("%s: no error", what)
		}
		if counted := strings.Contains(counts.String(), `"ListsUnreadable":1`); counted != !w.silent {
			t.Errorf("%s: the counts are %s", what, counts.String())
		}
		clear(w.objects)
		if _, err := w.lookup.KeptBy(t.Context(), tenant, campaign.Promotion, w.now.Add(-time.Hour)); err == nil {
			t.Errorf("%s: no error at the next call", what)
		}
	}
}

// Tenants with an unreadable segment count in the size of the cache, like the others.
func TestOf_EvictsAfterErrors(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.change(t, "a", lists.Change{Settings: &settings, Add: set(1)})
	delete(w.objects, w.change(t, "b", lists.Change{Settings: &settings, Add: set(2)}).Segments[0].ID)
	for i := range 202 {
		if _, err := w.lookup.KeptBy(t.Context(), fmt.Sprint("tenant", i), campaign.Promotion, w.now); err == nil {
			t.Fatal("no error")
		}
	}
	reads := w.reads
	if _, err := w.lookup.KeptBy(t.Context(), "tenant0", campaign.Promotion, w.now); err == nil || w.reads-reads != 2 {
		t.Errorf("%d objects were read (%v), want 2: the segments of 202 tenants are cached", w.reads-reads, err)
	}
}

// Concurrent changes of several lists can exceed the limit of a tenant. Lists that a process has no memory for are
// not read, so that the messages of the other tenants go.
func TestOf_TooManyNumbers(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for i := range 2 {
		w.change(t, fmt.Sprint("a", i), lists.Change{Settings: &settings, Add: set(1)})
	}
	for _, l := range w.rows {
		l.Segments[0].Numbers = lists.MaxNumbers + 1
	}
	if _, err := w.lookup.KeptBy(t.Context(), tenant, campaign.Promotion, w.now); !errors.Is(err, lists.ErrTooLarge) || w.reads > 0 {
		t.Errorf("%v after %d reads", err, w.reads)
	}
}

// A list applies to its area codes and purposes of messages, until it ends.
func TestOf_Settings(t *testing.T) {
	t.Parallel()
	w := newWorld()
	limited := lists.Settings{
		Reason: "r", AreaCodes: []int{11}, Traffic: []campaign.Traffic{campaign.Promotion}, Until: start.Add(time.Hour),
	}
	w.change(t, "a", lists.Change{Settings: &limited, Add: set(5511987654321, 5521987654321, 14155552671)})
	held := func(phone string, traffic campaign.Traffic) bool {
		of, err := w.lookup.KeptBy(t.Context(), tenant, traffic, w.now)
		if err != nil {
			t.Fatal(err)
		}
		return of(e164.FromText(phone)) != 0
	}
	if !held("+5511987654321", "") || held("+5521987654321", "") || held("+14155552671", "") {
		t.Error("the list does not apply to its area codes alone")
	}
	if held("+5511987654321", campaign.Authentication) {
		t.Error("the list applies to another purpose")
	}
	if w.now = start.Add(time.Hour); held("+5511987654321", "") {
		t.Error("the list applies after its end")
	}
}

// A change is seen by a batch that is released after it, and the unchanged segments are not read again.
func TestOf_ReadsAgainSinceARelease(t *testing.T) {
	t.Parallel()
	w := newWorld()
	w.change(t, "a", lists.Change{Settings: &settings, Add: set(1)})
	w.of(t)
	reads := w.reads
	w.change(t, "a", lists.Change{Add: set(2)})
	if of, err := w.lookup.KeptBy(t.Context(), tenant, "", start.Add(-2*time.Second)); err != nil || of(2) != 0 {
		t.Fatalf("an earlier release read the lists again: %v", err)
	}
	if of := w.of(t); of("+2") == 0 {
		t.Error("a later release did not read the lists again")
	}
	if w.reads != reads+1 {
		t.Errorf("%d objects were read, want 1", w.reads-reads)
	}
}

// A number stands for the same list for ever, and a deleted name can be used again.
func TestNumbersOfLists(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for i := range lists.MaxLists {
		w.change(t, fmt.Sprint("a", i), lists.Change{Settings: &settings, Add: set(uint64(i))})
	}
	_, err := w.book.Change(t.Context(), tenant, "more", lists.Change{Settings: &settings}, account.AuditEntry{})
	if !errors.Is(err, lists.ErrTooMany) {
		t.Errorf("one list more: %v", err)
	}
	if err := w.book.Delete(t.Context(), tenant, "a0", account.AuditEntry{}); err != nil {
		t.Fatal(err)
	}
	if got := w.change(t, "more", lists.Change{Settings: &settings}); got.Number != lists.MaxLists+1 {
		t.Errorf("the next list has the number %d", got.Number)
	}
	if err := w.book.Delete(t.Context(), tenant, "a1", account.AuditEntry{}); err != nil {
		t.Fatal(err)
	}
	if got := w.change(t, "a0", lists.Change{Settings: &settings}); got.Number != 1 || len(got.Segments) != 0 {
		t.Errorf("the list that was deleted is %+v", got)
	}
	if _, err := w.book.Change(t.Context(), tenant, "a1", lists.Change{Add: set(1)}, account.AuditEntry{}); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a change of a deleted list: %v", err)
	}
}

// A call has room for 300,000 area codes. All senders would read and search them.
func TestSettings_Repeated(t *testing.T) {
	t.Parallel()
	codes, purposes := settings, settings
	codes.AreaCodes = slices.Repeat([]int{11}, 1000)
	purposes.Traffic = slices.Repeat([]campaign.Traffic{campaign.Promotion}, 1000)
	if err := codes.Check(); !errors.Is(err, lists.ErrAreaCode) {
		t.Errorf("area codes: %v", err)
	}
	if err := purposes.Check(); !errors.Is(err, lists.ErrTraffic) {
		t.Errorf("purposes: %v", err)
	}
}

// The year 10000 has no form in JSON: no call could show the tenant's lists. The day after 9999-12-31 is in it.
func TestSettings_Until(t *testing.T) {
	t.Parallel()
	for until, want := range map[time.Time]error{
		{}: nil, start: nil, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC): nil,
		time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -3600)): lists.ErrUntil, time.UnixMilli(0): lists.ErrUntil,
	} {
		s := settings
		s.Until = until
		if err := s.Check(); !errors.Is(err, want) {
			t.Errorf("%v: %v, want %v", until, err, want)
		}
	}
}

// slow answers as S3 does.
type slow struct{ *world }

func (s slow) Get(ctx context.Context, key string) ([]byte, error) {
	time.Sleep(20 * time.Millisecond) // of the clock of synctest
	return s.world.Get(ctx, key)
}

// A tenant has up to 64 lists of 16 segments. A new process reads all before it sends its first message.
func TestLookup_ManySegments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		for list := range lists.MaxLists {
			name := fmt.Sprintf("list-%d", list)
			w.change(t, name, lists.Change{Settings: &settings})
			for segment := range uint64(lists.MaxSegments) {
				w.change(t, name, lists.Change{Add: numberset.Set{5511900000000 + segment}, Until: start.Add(time.Hour)})
			}
		}
		w.lookup.Blobs = slow{w}
		begun := time.Now()
		if list := w.of(t)("+5511900000003"); list != 1 {
			t.Errorf("on list %d, want 1", list)
		}
		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("the lists took %v", took)
		}
	})
}
