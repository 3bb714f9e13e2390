package ledger_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
)

var (
	start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	kinds = []campaign.Outcome{
		campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead, campaign.OutcomeFailed,
		campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped,
	}
)

func changeOf(messages int) *rapid.Generator[campaign.Change] {
	return rapid.Custom(func(t *rapid.T) campaign.Change {
		c := campaign.Change{
			Index:   rapid.IntRange(0, messages-1).Draw(t, "index"),
			Outcome: rapid.SampledFrom(kinds).Draw(t, "outcome"),
			At:      start.Add(time.Duration(rapid.Int64Range(-1e6, 1e9).Draw(t, "at")) * time.Millisecond),
		}
		if _, reason := c.Why(); reason != "" {
			c.Code = rapid.SampledFrom([]string{"", "unreachable", "a code of next year's"}).Draw(t, "code")
		}
		if c.Outcome == campaign.OutcomeFailed && rapid.Bool().Draw(t, "suppressed") {
			c.Code, c.List = campaign.CodeSuppressed, rapid.IntRange(1, 255).Draw(t, "list")
		}
		return c
	})
}

// batchLedger is a reference implementation: one map entry per message.
type batchLedger struct {
	head     campaign.LedgerSummary
	outcomes map[int]campaign.Outcome
	log      []campaign.Change
}

func newBatchLedger() *batchLedger { return &batchLedger{outcomes: map[int]campaign.Outcome{}} }

func (b *batchLedger) outcome(index int) campaign.Outcome { return b.outcomes[index] }

func (b *batchLedger) enter(changes []campaign.Change) {
	for _, c := range changes {
		if old := b.outcomes[c.Index]; c.Outcome.Supersedes(old) && (old == "" || !c.First) {
			b.head = b.head.After([]campaign.Change{c}, b.outcome)
			b.outcomes[c.Index] = c.Outcome
			b.log = append(b.log, c)
		}
	}
}

// store keeps rows like a table.
type store struct {
	head     ledger.Packed
	sequence int
	log      []ledger.Entry // of LOG rows
	largest  int
}

func (s *store) enter(tb testing.TB, messages int, changes []campaign.Change) {
	tb.Helper()
	h, err := s.head.Head(s.sequence)
	if err != nil {
		tb.Fatal(err)
	}
	news := h.NewChanges(changes)
	if len(news) == 0 {
		return
	}
	w := h.Plan(messages, news)
	if w.Move {
		s.log = append(s.log, ledger.Numbered(h.First(), h.Tail)...)
		w = h.Drop(len(h.Tail)).Plan(messages, news)
	}
	next := w.NewAfter + 1
	for _, page := range w.Pages {
		s.log = append(s.log, ledger.Numbered(next, page)...)
		next += len(page)
	}
	if w.NewAfter != s.sequence || w.Move {
		tb.Fatalf("a write from sequence %d of a tail that is empty, the head is at %d", w.NewAfter, s.sequence)
	}
	s.head, s.sequence = w.Packed, w.Head.Sequence
	s.largest = max(s.largest, s.head.Size())
}

// step is the rank of an outcome.
func step(o campaign.Outcome) int {
	steps := map[campaign.Outcome]int{campaign.OutcomeSent: 1, campaign.OutcomeDelivered: 3, campaign.OutcomeRead: 4}
	if step, ok := steps[o]; ok {
		return step
	}
	return 2
}

// For any repetition and order of changes: each message reaches its highest outcome, First
// changes apply only to messages without an outcome, and the head counts each message once.
func TestHead_Properties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const messages = 300
		var head ledger.Head
		want, steps := map[int]campaign.Outcome{}, 0
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			changes := rapid.SliceOfN(changeOf(messages), 0, 30).Draw(t, "changes")
			for i := range changes {
				c := &changes[i]
				c.First = rapid.Bool().Draw(t, "first")
				if old := want[c.Index]; old == "" || !c.First && step(c.Outcome) > step(old) {
					want[c.Index] = c.Outcome
					steps++
				}
			}
			head = head.After(messages, head.NewChanges(changes))
			if head.Sequence != steps || head.Summary().Known() != len(want) {
				t.Fatalf("the head is %+v after %d changes of %d messages", head, steps, len(want))
			}
			if again := head.NewChanges(changes); len(again) > 0 {
				t.Fatalf("%d changes are news twice", len(again))
			}
		}
		counts := map[campaign.Outcome]int{}
		for i := range messages {
			if got := head.Outcome(i); got != want[i] {
				t.Fatalf("message %d is %s, want %s", i, got, want[i])
			}
		}
		for _, o := range want {
			counts[o]++
		}
		if diff := cmp.Diff(counts, head.Summary().Counts, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		if settled := len(want) - counts[campaign.OutcomeSent]; head.Summary().Final() != settled {
			t.Fatalf("%d are settled, want %d", head.Summary().Final(), settled)
		}
	})
}

// TestHead_MatchesReference compares packed rows with the reference for random changes: states, counts, reasons, timeline, and a log without gaps.
func TestHead_MatchesReference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		messages := rapid.IntRange(1, 300).Draw(t, "messages")
		want, got := newBatchLedger(), &store{}
		for range rapid.IntRange(0, 8).Draw(t, "groups") {
			changes := rapid.SliceOfN(changeOf(messages), 0, 400).Draw(t, "changes")
			want.enter(changes)
			got.enter(asTB{t: t}, messages, changes)
			h, err := got.head.Head(got.sequence)
			if err != nil {
				t.Fatal(err)
			}
			ignoreNone := cmpopts.IgnoreMapEntries(func(_ any, n int) bool { return n == 0 })
			if diff := cmp.Diff(want.head, h.Summary(), cmpopts.EquateEmpty(), ignoreNone); diff != "" {
				t.Fatalf("summary (-want +got):\n%s", diff)
			}
			for i := range messages {
				if h.Outcome(i) != want.outcome(i) {
					t.Fatalf("message %d is %q, want %q", i, h.Outcome(i), want.outcome(i))
				}
			}
			log := slices.Concat(got.log, ledger.Numbered(h.First(), h.Tail))
			if diff := cmp.Diff(ledger.Numbered(1, want.log), log, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("log (-want +got):\n%s", diff)
			}
		}
	})
}

// asTB adapts rapid's T to the parameter of store.enter.
type asTB struct {
	testing.TB

	t *rapid.T
}

func (a asTB) Helper()                      {}
func (a asTB) Fatal(args ...any)            { a.t.Fatal(args...) }
func (a asTB) Fatalf(f string, args ...any) { a.t.Fatalf(f, args...) }

func TestPackNewEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var want []ledger.NewEntries
		for batch := range rapid.IntRange(0, 4).Draw(t, "batches") {
			f := ledger.NewEntries{Key: campaign.BatchKey{byte(batch)}}
			sequence := 0
			for range rapid.IntRange(1, 20).Draw(t, "entries") {
				sequence += rapid.IntRange(1, 500).Draw(t, "step")
				f.Entries = append(f.Entries, ledger.Entry{Sequence: sequence, Change: changeOf(campaign.MaxMessages).Draw(t, "change")})
			}
			want = append(want, f)
		}
		got, err := ledger.UnpackNewEntries(ledger.PackNewEntries(want))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("entries (-want +got):\n%s", diff)
		}
	})
}

// An entry without an outcome is damaged and must not become a webhook.
func TestUnpack_NoOutcome(t *testing.T) {
	t.Parallel()
	packed := ledger.Pack([]campaign.Change{{Index: 7, At: start}})
	if got, err := ledger.Unpack(packed); !errors.Is(err, campaign.ErrDamaged) {
		t.Errorf("read %+v, %v; want that it is damaged", got, err)
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{}, []byte{}, []byte{})
	h := ledger.Head{}.After(3, []campaign.Change{{Index: 1, Outcome: campaign.OutcomeFailed, Code: "x", At: start}})
	f.Add(h.Pack().States, h.Pack().Tally, h.Pack().Tail)
	f.Fuzz(func(t *testing.T, states, tally, tail []byte) {
		h, err := ledger.Packed{States: states, Tally: tally, Tail: tail}.Head(1 << 20)
		if err != nil && !errors.Is(err, campaign.ErrDamaged) {
			t.Errorf("the error %v does not say that the row is damaged", err)
		}
		if err == nil && len(h.States) > campaign.MaxMessages {
			t.Errorf("%d states", len(h.States))
		}
		if _, err := ledger.UnpackNewEntries(tail); err != nil && !errors.Is(err, campaign.ErrDamaged) {
			t.Errorf("the error %v does not say that the entries are damaged", err)
		}
	})
}

// A mix is a distribution of outcomes, in percent.
type mix struct {
	fails, expires, revoked, stopped, reads int
	codes                                   []string // why they fail
	over                                    time.Duration
	most                                    int // size of the largest full row
}

// TestHead_Size fills batches of 2,000 messages event by event. The largest HEAD row with
// its tail must not exceed 1 KB, or the listed size.
func TestHead_Size(t *testing.T) {
	t.Parallel()
	few := []string{"unreachable"}
	many := []string{"unreachable", "unsupported", "agent_not_launched", "rejected", "opted_out", "erased"}
	tests := map[string]mix{
		"5% fail, 60% read, a day":                   {fails: 5, reads: 60, codes: few, over: 24 * time.Hour, most: 1024},
		"25% unreachable, 60% read, a day":           {fails: 25, reads: 60, codes: few, over: 24 * time.Hour, most: 1024},
		"10% fail of 6 codes, 5% expire, four days":  {fails: 10, expires: 5, reads: 45, codes: many, over: 100 * time.Hour, most: 1024},
		"a third each fails, is delivered, is read":  {fails: 33, reads: 34, codes: many, over: 24 * time.Hour, most: 1024},
		"all outcomes equally often, over four days": {fails: 17, expires: 17, revoked: 17, stopped: 17, reads: 17, codes: many, over: 100 * time.Hour, most: 2048},
	}
	for name, m := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, writes, units, rows, large := &store{}, 0, 0, 0, 0
			for _, c := range m.changes() {
				moved := len(s.log)
				s.enter(t, campaign.MaxMessages, []campaign.Change{c})
				writes, units = writes+1, units+(s.head.Size()+1023)/1024
				if len(s.log) > moved {
					units, rows = units+1, rows+1
				}
				if s.head.Size() > 1024 {
					large++
				}
			}
			t.Logf("%d bytes of states, %d of tally, largest row %d; by its size %.3f units an event over %d events, %d of them above a kilobyte, %d LOG rows of %d entries",
				len(s.head.States), len(s.head.Tally), s.largest, float64(units)/float64(writes), writes, large, rows, len(s.log)/max(rows, 1))
			t.Logf("by two bits and exceptions: %d bytes of states", twoBits(s))
			if s.largest > m.most {
				t.Errorf("the largest row has %d bytes, want %d at most", s.largest, m.most)
			}
		})
	}
}

// twoBits is the size of the states with two bits per message, and exceptions as
// differences or as another bit per message, whichever is smaller.
func twoBits(s *store) int {
	h, _ := s.head.Head(s.sequence)
	sparse, last := 0, 0
	for i := range campaign.MaxMessages {
		switch h.Outcome(i) {
		case campaign.OutcomeFailed, campaign.OutcomeExpired, campaign.OutcomeRevoked, campaign.OutcomeStopped:
			sparse++
			if i-last > 127 {
				sparse++
			}
			last = i
		case "", campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead, campaign.OutcomeTapped, campaign.OutcomeClicked:
		}
	}
	return campaign.MaxMessages/4 + min(sparse, campaign.MaxMessages/8)
}

// changes returns a batch's changes ordered by time: sent within 10 minutes, delivered
// within half an hour, read over the given time.
func (m mix) changes() []campaign.Change {
	random := rand.New(rand.NewPCG(1, 2))
	byTime := map[int][]campaign.Change{}
	add := func(i int, after time.Duration, outcome campaign.Outcome, code string) {
		byTime[int(after.Milliseconds())] = append(byTime[int(after.Milliseconds())], campaign.Change{Index: i, Outcome: outcome, Code: code, At: start.Add(after)})
	}
	for i := range campaign.MaxMessages {
		sent := time.Duration(random.Int64N(int64(10 * time.Minute)))
		dice := random.IntN(100)
		switch {
		case dice < m.fails:
			add(i, sent, campaign.OutcomeFailed, m.codes[random.IntN(len(m.codes))])
			continue
		case dice < m.fails+m.stopped:
			add(i, sent, campaign.OutcomeStopped, "cancelled")
			continue
		}
		add(i, sent, campaign.OutcomeSent, "")
		later := sent + time.Duration(random.Int64N(int64(m.over)))
		switch {
		case dice < m.fails+m.stopped+m.expires:
			add(i, later, campaign.OutcomeExpired, "ttl_passed")
			continue
		case dice < m.fails+m.stopped+m.expires+m.revoked:
			add(i, later, campaign.OutcomeRevoked, "")
			continue
		}
		delivered := sent + time.Duration(random.Int64N(int64(30*time.Minute)))
		add(i, delivered, campaign.OutcomeDelivered, "")
		if random.IntN(100) < m.reads*100/max(1, 100-m.fails-m.stopped-m.expires-m.revoked) {
			add(i, delivered+time.Duration(random.Int64N(int64(m.over))), campaign.OutcomeRead, "")
		}
	}
	var changes []campaign.Change
	for _, at := range slices.Sorted(maps.Keys(byTime)) {
		changes = append(changes, byTime[at]...)
	}
	return changes
}

// BenchmarkEvent measures one isolated event: a full row is decoded, updated and encoded.
func BenchmarkEvent(b *testing.B) {
	m := mix{fails: 5, reads: 60, codes: []string{"unreachable"}, over: 24 * time.Hour}
	s, changes := &store{}, m.changes()
	for first := 0; first < len(changes); first += 500 {
		s.enter(b, campaign.MaxMessages, changes[first:min(first+500, len(changes))])
	}
	news := []campaign.Change{{Index: 1999, Outcome: campaign.OutcomeRead, At: start}}
	for b.Loop() {
		h, err := s.head.Head(s.sequence)
		if err != nil {
			b.Fatal(err)
		}
		h.Plan(campaign.MaxMessages, news)
	}
}

// BenchmarkSummary measures a campaign overview per batch.
func BenchmarkSummary(b *testing.B) {
	m := mix{fails: 5, reads: 60, codes: []string{"unreachable"}, over: 24 * time.Hour}
	s, changes := &store{}, m.changes()
	for first := 0; first < len(changes); first += 500 {
		s.enter(b, campaign.MaxMessages, changes[first:min(first+500, len(changes))])
	}
	packed := ledger.Packed{States: s.head.States, Tally: s.head.Tally}
	for b.Loop() {
		h, err := packed.Head(s.sequence)
		if err != nil || h.Summary().Known() != campaign.MaxMessages {
			b.Fatal(err)
		}
	}
}
