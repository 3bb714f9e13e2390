package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/localstack/testsize"
)

func tapOn(index, suggestion int, after time.Duration) campaign.Change {
	return campaign.Change{Index: index, Outcome: campaign.OutcomeTapped, Suggestion: suggestion, At: later.Add(after)}
}

// appendTaps appends the new taps. It tries again after a lost race.
func appendTaps(ctx context.Context, s *dynamotest.Store, b campaign.Batch, taps ...campaign.Change) error {
	for {
		read, err := s.Taps(ctx, b.Key)
		if err != nil {
			return err
		}
		news := read.NewTaps(taps)
		if len(news) == 0 {
			return nil
		}
		if _, err := s.AppendTaps(ctx, b, read, news); !errors.Is(err, campaign.ErrLostRace) {
			return err
		}
	}
}

// Taps of concurrent writers are all recorded once, and the log of taps lists them in pages
// without gaps after the tail was moved.
func TestTaps_Concurrent(t *testing.T) {
	t.Parallel()
	s := newLedgers(t)
	b := acceptRead(t, s, campaign.MaxMessages)
	const writers = 4
	perWriter := testsize.Of(65, 90)
	order := rand.Perm(writers * perWriter)
	var all sync.WaitGroup
	for _, mine := range slices.Collect(slices.Chunk(order, perWriter)) {
		all.Go(func() {
			for _, i := range mine {
				c := tapOn(i/2, 1+i%2, time.Duration(i)*time.Minute)
				for range 2 {
					if err := appendTaps(t.Context(), s, b, c); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Wait()
	var log []campaign.Change
	for {
		page, err := s.TapEntries(t.Context(), b.Key, len(log), 77)
		must(t, err)
		if len(page) == 0 {
			break
		}
		log = append(log, page...)
	}
	slices.SortFunc(log, func(a, b campaign.Change) int { return a.At.Compare(b.At) })
	var want []campaign.Change
	for i := range order {
		want = append(want, tapOn(i/2, 1+i%2, time.Duration(i)*time.Minute))
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("log of taps (-want +got):\n%s", diff)
	}
	if rows := rowsOf(t, s, s.Tables().Outcomes, b.Key.String()); len(rows) != 1 {
		t.Errorf("the rows are %v, want TAPS and its pages", slices.Sorted(maps.Keys(rows)))
	}
}

// The batches whose taps were written since an instant are found, with their taps.
func TestTapLogs(t *testing.T) {
	t.Parallel()
	s := newLedgers(t)
	now := later
	s.Set(func(tables *dynamo.Tables) { tables.Now = func() time.Time { return now } })
	early, late := ledgerBatch(10), ledgerBatch(10)
	must(t, appendTaps(t.Context(), s, early, tapOn(1, 1, 0)))
	record(t, s, early, changesOf(0, 1, campaign.OutcomeSent))
	now = later.Add(time.Hour)
	must(t, appendTaps(t.Context(), s, late, tapOn(1, 1, 0), tapOn(2, 1, 0)))
	logs := dynamo.New(s.Tables()).TapLog()
	var found []string
	for key, err := range logs.LedgersSince(t.Context(), now) {
		must(t, err)
		found = append(found, key.String())
	}
	if diff := cmp.Diff([]string{late.Key.String()}, found); diff != "" {
		t.Errorf("batches (-want +got):\n%s", diff)
	}
	entries, err := logs.Entries(t.Context(), late.Key, 1, 10)
	must(t, err)
	if diff := cmp.Diff(ledger.Numbered(2, []campaign.Change{tapOn(2, 1, 0)}), entries); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
}

// Taps are stored apart from the HEAD row: a write of outcomes keeps them.
func TestTaps_OwnRow(t *testing.T) {
	t.Parallel()
	s := newLedgers(t)
	b := acceptRead(t, s, 200)
	changes := spread(200)
	record(t, s, b, changes[:100])
	without := rowsOf(t, s, s.Tables().Outcomes, b.Key.String())["HEAD"]
	must(t, appendTaps(t.Context(), s, b, tapOn(3, 1, 0), tapOn(3, 2, time.Minute), tapOn(4, 1, time.Hour)))
	with := rowsOf(t, s, s.Tables().Outcomes, b.Key.String())["HEAD"]
	if diff := cmp.Diff(without, with, cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{})); diff != "" {
		t.Fatalf("a tap changes the HEAD row (-before +after):\n%s", diff)
	}
	record(t, s, b, changes[100:300])
	wantLog(t, s, b.Key, changes[:300])
	taps, err := s.TapEntries(t.Context(), b.Key, 0, campaign.MaxTaps)
	must(t, err)
	if diff := cmp.Diff([]campaign.Change{tapOn(3, 1, 0), tapOn(3, 2, time.Minute), tapOn(4, 1, time.Hour)}, taps); diff != "" {
		t.Errorf("taps (-want +got):\n%s", diff)
	}
}

// Progress counts the tapped messages of batches with a key for taps, and the key is read
// as it was accepted.
func TestTaps_Progress(t *testing.T) {
	t.Parallel()
	s := newLedgers(t)
	b := newBatch(randomID(), campaign.BatchSending, later, later.Add(1000*time.Hour))
	b.Accepted, b.TapKey = 10, []byte("sixteen bytes...")
	accept(t, s, b)
	b, err := s.Batch(t.Context(), b.BatchRef)
	must(t, err)
	must(t, appendTaps(t.Context(), s, b, tapOn(3, 1, 0), tapOn(3, 2, 0), tapOn(4, 1, 0)))
	for name, read := range map[string]func(context.Context, campaign.ID) (campaign.Campaign, error){"campaign": s.Campaign, "overview": s.Overview} {
		c, err := read(t.Context(), b.ID)
		must(t, err)
		if head := c.Batches[0].Head; head.Tapped != 2 || head.Taps != 3 || !bytes.Equal(c.Batches[0].TapKey, b.TapKey) {
			t.Errorf("%s: %d taps of %d messages, want 3 of 2", name, head.Taps, head.Tapped)
		}
	}
	p, _, err := s.BatchProgress(t.Context(), b.ID, b.BatchID)
	must(t, err)
	if p.Head.Tapped != 2 || p.Head.Sequence != 0 {
		t.Errorf("the batch has %d tapped messages and %d changes, want 2 and none", p.Head.Tapped, p.Head.Sequence)
	}
}
