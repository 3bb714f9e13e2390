package feed_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/internal/webhook/feed"
)

var (
	first  = campaign.BatchKey{1}
	second = campaign.BatchKey{2}
	ended  = campaign.BatchKey{3}
	// damaged is a batch with unreadable rows.
	damaged = campaign.BatchKey{4}
	at      = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
)

// feederFixture contains a feeder's dependencies and records what it queues.
type feederFixture struct {
	endpoints []delivery.Endpoint
	queued    []delivery.NotifyTask
	messages  int
	queueErr  error
	readErr   error

	mu    sync.Mutex
	asked int // for batches and endpoints
}

func (r *feederFixture) count() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
}

func (r *feederFixture) Identity(_ context.Context, key campaign.BatchKey) (campaign.BatchRef, error) {
	r.count()
	if key == ended {
		return campaign.BatchRef{}, campaign.ErrExpired
	}
	if key == damaged {
		return campaign.BatchRef{}, campaign.ErrDamaged
	}
	return campaign.BatchRef{ID: campaign.ID{Tenant: "tenant"}}, nil
}

func (r *feederFixture) Endpoints(context.Context, string) ([]delivery.Endpoint, error) {
	r.count()
	return r.endpoints, r.readErr
}

func (r *feederFixture) SendGroups(_ context.Context, groups []string, bodies [][]byte) error {
	for i, b := range bodies {
		var m delivery.NotifyMessage
		if err := json.Unmarshal(b, &m); err != nil {
			return err
		}
		r.messages++
		for _, t := range m.Tasks() {
			if groups[i] != t.Tenant {
				return fmt.Errorf("a task of %s is in the group of %s", t.Tenant, groups[i])
			}
			r.queued = append(r.queued, t)
		}
	}
	return r.queueErr
}

func (r *feederFixture) feeder() *feed.Feeder {
	return &feed.Feeder{Store: r, Queue: r, Now: func() time.Time { return at }}
}

func fresh(key campaign.BatchKey, sequence int, outcomes ...campaign.Outcome) ledger.NewEntries {
	var changes []campaign.Change
	for i, o := range outcomes {
		changes = append(changes, campaign.Change{Index: i, Outcome: o, At: at})
	}
	return ledger.NewEntries{Key: key, Entries: ledger.Numbered(sequence, changes)}
}

// sequences returns the queued sequences by endpoint and batch.
func (r *feederFixture) sequences(t *testing.T) map[string][][]int {
	t.Helper()
	got := map[string][][]int{}
	for _, task := range r.queued {
		for _, batch := range unpack(t, task) {
			var numbers []int
			for _, e := range batch.Entries {
				numbers = append(numbers, e.Sequence)
			}
			name := task.EndpointID + " " + batch.Key.String()[:2]
			got[name] = append(got[name], numbers)
		}
	}
	return got
}

func unpack(t *testing.T, task delivery.NotifyTask) []ledger.NewEntries {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(task.Entries)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := ledger.UnpackNewEntries(packed)
	if err != nil {
		t.Fatal(err)
	}
	return batches
}

func TestHandle(t *testing.T) {
	t.Parallel()
	all := delivery.Endpoint{ID: "all"}
	reads := delivery.Endpoint{ID: "reads", Kinds: []string{string(delivery.KindRead)}}
	off := delivery.Endpoint{ID: "off", OffReason: "gone"}
	tests := map[string]struct {
		endpoints []delivery.Endpoint
		fresh     []ledger.NewEntries
		want      map[string][][]int
	}{
		"no endpoint": {nil, []ledger.NewEntries{fresh(first, 1, campaign.OutcomeSent)}, map[string][][]int{}},
		"all off":     {[]delivery.Endpoint{off}, []ledger.NewEntries{fresh(first, 1, campaign.OutcomeSent)}, map[string][][]int{}},
		"by batch, endpoint and kind": {
			[]delivery.Endpoint{all, reads, off},
			[]ledger.NewEntries{
				fresh(first, 7, campaign.OutcomeRead), fresh(second, 1, campaign.OutcomeSent),
				fresh(first, 5, campaign.OutcomeRead, campaign.OutcomeSent), fresh(first, 5, campaign.OutcomeRead, campaign.OutcomeSent),
			},
			map[string][][]int{"all 01": {{5, 6, 7}}, "reads 01": {{5, 7}}, "all 02": {{1}}},
		},
		"a batch that has ended": {
			[]delivery.Endpoint{all},
			[]ledger.NewEntries{fresh(ended, 1, campaign.OutcomeSent), fresh(first, 1, campaign.OutcomeSent)},
			map[string][][]int{"all 01": {{1}}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &feederFixture{endpoints: tt.endpoints}
			if err := r.feeder().Handle(t.Context(), tt.fresh); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, r.sequences(t)); diff != "" {
				t.Errorf("queued (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHandle_LargeGroup(t *testing.T) {
	t.Parallel()
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}}
	outcomes := make([]campaign.Outcome, 501)
	for i := range outcomes {
		outcomes[i] = campaign.OutcomeRead
	}
	if err := r.feeder().Handle(t.Context(), []ledger.NewEntries{fresh(first, 1, outcomes...)}); err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, part := range r.sequences(t)["all 01"] {
		sizes = append(sizes, len(part))
	}
	if diff := cmp.Diff([]int{250, 250, 1}, sizes); diff != "" {
		t.Errorf("entries of the tasks (-want +got):\n%s", diff)
	}
}

func TestHandle_ReadsOnce(t *testing.T) {
	t.Parallel()
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}}
	f := r.feeder()
	for sequence := range 3 {
		news := fresh(first, sequence+1, campaign.OutcomeSent)
		if err := f.Handle(t.Context(), []ledger.NewEntries{news, news}); err != nil {
			t.Fatal(err)
		}
	}
	if r.asked != 2 {
		t.Errorf("batches and endpoints were read %d times, want once each", r.asked)
	}
}

// slow has the read latency of DynamoDB. Its tenants have a few batches each.
type slow struct{ *feederFixture }

const roundTrip = 8 * time.Millisecond

func (s slow) Identity(_ context.Context, key campaign.BatchKey) (campaign.BatchRef, error) {
	time.Sleep(roundTrip)
	return campaign.BatchRef{ID: campaign.ID{Tenant: strconv.Itoa(int(key[0]))}}, nil
}

func (s slow) Endpoints(context.Context, string) ([]delivery.Endpoint, error) {
	time.Sleep(roundTrip)
	return s.endpoints, nil
}

// A partition of the table writes 1,000 records per second, processed by two calls. Each
// record can belong to an unknown batch.
func TestHandle_UnknownBatches(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const records, tenants = 1000, 100
		s := slow{&feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}}}
		f := &feed.Feeder{Store: s, Queue: s, Now: time.Now}
		var news []ledger.NewEntries
		for i := range records {
			news = append(news, fresh(campaign.BatchKey{byte(i % tenants), byte(i / tenants)}, 1, campaign.OutcomeRead))
		}
		begun := time.Now()
		if err := f.Handle(t.Context(), news); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 2*time.Second {
			t.Errorf("%d records took %v, and the stream has 1,000 a second for two calls", records, took)
		}
		if s.messages != tenants {
			t.Errorf("%d messages, want one of each of %d tenants", s.messages, tenants)
		}
	})
}

func TestHandle_QueueFails(t *testing.T) {
	t.Parallel()
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}, queueErr: errors.New("broken")}
	if err := r.feeder().Handle(t.Context(), []ledger.NewEntries{fresh(first, 1, campaign.OutcomeSent)}); !errors.Is(err, r.queueErr) {
		t.Errorf("error %v, want that of the queue: the call has to be repeated", err)
	}
}

func TestHandle_EndpointsUnreadable(t *testing.T) {
	t.Parallel()
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}, readErr: errors.New("throttled")}
	err := r.feeder().Handle(t.Context(), []ledger.NewEntries{fresh(first, 1, campaign.OutcomeSent), fresh(ended, 1, campaign.OutcomeSent)})
	if !errors.Is(err, r.readErr) || r.messages > 0 {
		t.Errorf("error %v and %d messages, want that of the read and none: the call has to be repeated", err, r.messages)
	}
}

// The endpoints of a tenant share messages, up to three each. 300 entries of a batch need
// two messages.
func TestHandle_EndpointsShareMessages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ endpoints, entries, want int }{
		"one": {1, 1, 1}, "three": {3, 1, 1}, "five": {5, 1, 2}, "three, many entries": {3, 300, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &feederFixture{}
			for i := range tt.endpoints {
				r.endpoints = append(r.endpoints, delivery.Endpoint{ID: strconv.Itoa(i)})
			}
			outcomes := slices.Repeat([]campaign.Outcome{campaign.OutcomeRead}, tt.entries)
			if err := r.feeder().Handle(t.Context(), []ledger.NewEntries{fresh(first, 1, outcomes...)}); err != nil {
				t.Fatal(err)
			}
			if r.messages != tt.want {
				t.Errorf("%d messages, want %d", r.messages, tt.want)
			}
			posted := 0
			for _, parts := range r.sequences(t) {
				for _, part := range parts {
					posted += len(part)
				}
			}
			if want := tt.endpoints * tt.entries; posted != want {
				t.Errorf("%d entries for all endpoints, want %d", posted, want)
			}
		})
	}
}

// A damaged batch does not block others: the error names it after the tasks of the others
// are queued.
func TestHandle_DamagedBatch(t *testing.T) {
	t.Parallel()
	r := &feederFixture{endpoints: []delivery.Endpoint{{ID: "all"}}}
	err := r.feeder().Handle(t.Context(), []ledger.NewEntries{fresh(damaged, 1, campaign.OutcomeSent), fresh(first, 1, campaign.OutcomeSent)})
	unfed, ok := errors.AsType[*ledger.UnqueuedError](err)
	if !ok || !slices.Equal(unfed.Keys, []campaign.BatchKey{damaged}) {
		t.Errorf("the error %v does not name the damaged batch", err)
	}
	if diff := cmp.Diff(map[string][][]int{"all 01": {{1}}}, r.sequences(t)); diff != "" {
		t.Errorf("queued (-want +got):\n%s", diff)
	}
}

// sizes records the sizes of queued messages.
type sizes struct{ of []int }

func (s *sizes) SendGroups(_ context.Context, _ []string, bodies [][]byte) error {
	for _, b := range bodies {
		s.of = append(s.of, len(b))
	}
	return nil
}

// Ten messages, the maximum of an SQS call, are smaller than its limit, even if each entry
// belongs to another batch and has the longest numbers.
func TestHandle_LargestCall(t *testing.T) {
	t.Parallel()
	const batches, most = 2500, 256 << 10
	r, queue := &feederFixture{endpoints: []delivery.Endpoint{{ID: "AAAAAAAAAAAAAAAAAAAAAAAAAA"}, {ID: "BBBBBBBBBBBBBBBBBBBBBBBBBB"}, {ID: "CCCCCCCCCCCCCCCCCCCCCCCCCC"}}}, &sizes{}
	var news []ledger.NewEntries
	for i := range batches {
		c := campaign.Change{Index: campaign.MaxMessages - 1, Outcome: campaign.OutcomeFailed, Code: "unreachable", At: at}
		news = append(news, ledger.NewEntries{Key: campaign.BatchKey{9, byte(i >> 8), byte(i)}, Entries: ledger.Numbered(campaign.MaxChanges, []campaign.Change{c})})
	}
	f := r.feeder()
	f.Queue = queue
	if err := f.Handle(t.Context(), news); err != nil {
		t.Fatal(err)
	}
	if len(queue.of) != 10 {
		t.Fatalf("%d messages, want 10", len(queue.of))
	}
	total := 0
	for _, n := range queue.of {
		total += n
	}
	if total >= most {
		t.Errorf("ten messages have %d bytes, want less than %d", total, most)
	}
}
