package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/localstack/lab/metering"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/testsize"
)

// newLedgers returns a store with its own Outcomes table, for new batches.
func newLedgers(t *testing.T, attach ...func(*dynamodb.Options)) *dynamotest.Store {
	t.Helper()
	env, s := stackenv.Load(t), newStore(t)
	s.Set(func(tables *dynamo.Tables) { tables.Client = dynamodb.NewFromConfig(env.AWS(), attach...) })
	s.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = env.LedgerTable(t) })
	return s
}

// with returns the store with a client whose calls are observed.
func with(t *testing.T, s *dynamotest.Store, attach func(*dynamodb.Options)) *dynamotest.Store {
	t.Helper()
	seen := *s
	seen.Set(func(tables *dynamo.Tables) { tables.Client = dynamodb.NewFromConfig(stackenv.Load(t).AWS(), attach) })
	return &seen
}

func ledgerBatch(accepted int) campaign.Batch {
	return campaign.Batch{Key: newKey(), Accepted: accepted, AcceptedAt: later.Add(-time.Hour)}
}

func record(t *testing.T, l *dynamotest.Store, b campaign.Batch, changes []campaign.Change) outcome.Appended {
	t.Helper()
	e, err := outcome.AppendLedger(t.Context(), l, b, changes)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// spread returns changes of a batch's messages, each sent, delivered and read at random
// times of a day, ordered by time.
func spread(messages int) []campaign.Change {
	var changes []campaign.Change
	for part, outcome := range []campaign.Outcome{campaign.OutcomeSent, campaign.OutcomeDelivered, campaign.OutcomeRead} {
		for at, i := range rand.Perm(messages) {
			after := time.Duration(part*messages+at) * 24 * time.Hour / time.Duration(3*messages)
			changes = append(changes, campaign.Change{Index: i, Outcome: outcome, At: later.Add(after).Truncate(time.Millisecond)})
		}
	}
	return changes
}

// wantLog fails if a batch's log differs from the changes, in order and with sequences from
// 1 without gaps, for any page size.
func wantLog(t *testing.T, l *dynamotest.Store, key campaign.BatchKey, want []campaign.Change) {
	t.Helper()
	for _, page := range []int{1 << 20, 77} {
		var got []ledger.Entry
		for {
			more, err := l.Entries(t.Context(), key, len(got), page)
			if err != nil {
				t.Fatal(err)
			}
			if len(more) == 0 {
				break
			}
			got = append(got, more...)
		}
		if diff := cmp.Diff(ledger.Numbered(1, want), got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("log in pages of %d (-want +got):\n%s", page, diff)
		}
	}
}

// full appends changes until the next one would move the tail, and returns them.
func full(t *testing.T, l *dynamotest.Store, b campaign.Batch, changes []campaign.Change) (entered []campaign.Change) {
	t.Helper()
	var head ledger.Head
	for i, step := 0, 128; i+step < len(changes); {
		news := changes[i : i+step]
		switch moves := head.Plan(b.Accepted, news).Move; {
		case moves && step == 1:
			return changes[:i]
		case moves:
			step /= 2
		default:
			head = record(t, l, b, news).After
			i += step
		}
	}
	t.Fatal("the tail never moves")
	return nil
}

func TestLedgers(t *testing.T) {
	t.Parallel()
	l := newLedgers(t)
	single := append(slices.Repeat([]int{1}, 8), testsize.Of(40, 1))
	sizes := map[string][]int{"one at a time, and 40": single, "few": {1, 3, 20}, "many": {1, 500, 40, 260, 2000}}
	for name, groups := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := ledgerBatch(300)
			changes := spread(b.Accepted)
			for first, i := 0, 0; first < len(changes); i++ {
				end := min(first+groups[i%len(groups)], len(changes))
				record(t, l, b, changes[first:end])
				first = end
			}
			if again := record(t, l, b, changes); again.After.Sequence != len(changes) {
				t.Errorf("entered again, the ledger ends at %d", again.After.Sequence)
			}
			wantLog(t, l, b.Key, changes)
			head, err := l.LedgerHead(t.Context(), b.Key)
			if err != nil {
				t.Fatal(err)
			}
			if got := head.Summary().Counts[campaign.OutcomeRead]; got != b.Accepted {
				t.Errorf("%d messages were read, want all", got)
			}
		})
	}
}

// calls permits a number of calls of a client, loses the response of one call, or runs a
// hook before a call.
type calls struct {
	last   int // number of permitted calls
	lost   int // the call whose response is lost, 0 for none
	hooked int // the call before which before runs, 0 for none
	before func()
	cancel context.CancelFunc

	mu   sync.Mutex
	made int
}

var errAnswerLost = errors.New("the answer is lost")

func (c *calls) attach(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("calls", c.pass), middleware.After)
	})
}

func (c *calls) pass(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	c.mu.Lock()
	c.made++
	call := c.made
	c.mu.Unlock()
	if call > c.last {
		c.cancel()
		return middleware.InitializeOutput{}, middleware.Metadata{}, context.Canceled
	}
	if call == c.hooked {
		c.before()
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	if call == c.lost {
		return middleware.InitializeOutput{}, metadata, errAnswerLost
	}
	return out, metadata, err
}

// TestLedgers_Crashes stops a writer after each of its calls, including the tail move and
// the head update, and then repeats the write.
func TestLedgers_Crashes(t *testing.T) {
	t.Parallel()
	l := newLedgers(t)
	cases := map[string]func(changes []campaign.Change) []campaign.Change{
		"the tail moves":            func(c []campaign.Change) []campaign.Change { return c[:1] },
		"the tail moves, and pages": func(c []campaign.Change) []campaign.Change { return c[:400] },
	}
	const all = 1000
	for name, news := range cases {
		for call := range 5 {
			for _, lost := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, after call %d, answer lost %v", name, call, lost), func(t *testing.T) {
					t.Parallel()
					b := ledgerBatch(300)
					changes := spread(b.Accepted)
					entered := full(t, l, b, changes)
					wantLog(t, l, b.Key, entered)
					more := news(changes[len(entered):])
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					c := &calls{last: call, cancel: cancel}
					if lost {
						c.last, c.lost = all, call
					}
					_, err := outcome.AppendLedger(ctx, with(t, l, c.attach), b, more)
					if lost && err != nil && call != 1 { // without a retry of the read
						t.Errorf("a lost answer ended the call: %v", err)
					}
					died := entered
					if head, err := l.LedgerHead(t.Context(), b.Key); err != nil {
						t.Fatal(err)
					} else if head.Sequence > len(entered) {
						died = changes[:len(entered)+len(more)]
					}
					wantLog(t, l, b.Key, died) // the whole write, or nothing
					record(t, l, b, more)
					wantLog(t, l, b.Key, changes[:len(entered)+len(more)])
				})
			}
		}
	}
}

// TestLedgers_TailMovedConcurrently stops a writer between its two calls. Another one
// appends what still fits, and a third one moves the longer tail.
func TestLedgers_TailMovedConcurrently(t *testing.T) {
	t.Parallel()
	l := newLedgers(t)
	b := ledgerBatch(300)
	changes := spread(b.Accepted)
	entered := full(t, l, b, changes)
	next := changes[len(entered)]
	early := entered[:len(entered)-3]
	slow := ledgerBatch(300)
	record(t, l, slow, early)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &calls{last: 2, cancel: cancel} // it reads the head and moves the tail
	if _, err := outcome.AppendLedger(ctx, with(t, l, c.attach), slow, changes[len(early):len(early)+250]); err == nil {
		t.Fatal("the writer did not end")
	}
	for _, c := range append(entered[len(early):len(entered):len(entered)], next) {
		record(t, l, slow, []campaign.Change{c})
	}
	record(t, l, slow, changes)
	head, err := l.LedgerHead(t.Context(), slow.Key)
	if err != nil {
		t.Fatal(err)
	}
	wantLog(t, l, slow.Key, changes[:head.Sequence])
}

// TestLedgers_TailMovedBefore lets other writers append and move a longer tail between a
// writer's read of the head and its move.
func TestLedgers_TailMovedBefore(t *testing.T) {
	t.Parallel()
	l := newLedgers(t)
	b := ledgerBatch(300)
	changes := spread(b.Accepted)
	entered := full(t, l, b, changes)
	slow := ledgerBatch(300)
	early := len(entered) - 3
	record(t, l, slow, changes[:early])
	c := &calls{last: 100, hooked: 2, before: func() {
		for i := range changes[early : len(entered)+1] {
			record(t, l, slow, changes[early+i:early+i+1])
		}
	}}
	if _, err := outcome.AppendLedger(t.Context(), with(t, l, c.attach), slow, changes[:early+250]); err != nil {
		t.Fatal(err)
	}
	wantLog(t, l, slow.Key, changes[:early+250])
}

// TestLedgers_ReadWhileTailMoves reads log pages while the tail is moved to a LOG row
// before, between and after the reader's calls, and while only the LOG row is written.
func TestLedgers_ReadWhileTailMoves(t *testing.T) {
	t.Parallel()
	l := newLedgers(t)
	for _, last := range []int{2, 100} {
		for hooked := range 4 {
			t.Run(fmt.Sprintf("the writer makes %d calls before call %d", last, hooked), func(t *testing.T) {
				t.Parallel()
				b := ledgerBatch(300)
				changes := spread(b.Accepted)
				entered := full(t, l, b, changes)
				c := &calls{last: 100, hooked: hooked, before: func() {
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					writer := &calls{last: last, cancel: cancel}
					_, err := outcome.AppendLedger(ctx, with(t, l, writer.attach), b, changes[:len(entered)+1])
					if last == 100 && err != nil {
						t.Error(err)
					}
				}}
				reader := with(t, l, c.attach)
				for _, after := range []int{0, 30} {
					got, err := reader.Entries(t.Context(), b.Key, after, len(entered)-after)
					if err != nil {
						t.Fatal(err)
					}
					want := ledger.Numbered(after+1, entered[after:])
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("page after %d (-want +got):\n%s", after, diff)
					}
				}
			})
		}
	}
}

// TestLedgers_ConcurrentWriters appends to one ledger with ten concurrent writers.
func TestLedgers_ConcurrentWriters(t *testing.T) {
	t.Parallel()
	for _, each := range []int{1, 50} {
		t.Run(fmt.Sprintf("%d events each", each), func(t *testing.T) {
			t.Parallel()
			race(t, 10, each)
		})
	}
}

func race(t *testing.T, writers, each int) {
	t.Helper()
	env := stackenv.Load(t)
	used := &metering.Meter{Rules: metering.OfService(metering.RowSizes(t.Context(), dynamodb.NewFromConfig(env.AWS())))}
	l := newLedgers(t, used.AttachTo)
	b := ledgerBatch(writers * each)
	used.Take()
	tries := make([]int, writers)
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			e, err := outcome.AppendLedger(t.Context(), l, b, changesOf(w*each, (w+1)*each, campaign.OutcomeSent))
			if err != nil {
				t.Error(err)
			}
			tries[w] = e.Tries + 1
		})
	}
	all.Wait()
	sum := metering.Sum(used.Take())
	t.Logf("%d writers of %d events each: %v tries, %.0f write units and %.0f read units", writers, each, tries, sum.Writes, sum.Reads)
	got, err := l.Entries(t.Context(), b.Key, 0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, e := range got {
		seen[e.Index] = true
	}
	if len(got) != b.Accepted || len(seen) != b.Accepted {
		t.Errorf("%d entries of %d messages, want %d", len(got), len(seen), b.Accepted)
	}
	if sum.Writes > float64(writers*writers) {
		t.Errorf("%.0f write units, want %d at most", sum.Writes, writers*writers)
	}
}

func TestLedgers_Expired(t *testing.T) {
	t.Parallel()
	l := newLedgers(t)
	b := ledgerBatch(3)
	record(t, l, b, changesOf(0, 1, campaign.OutcomeSent))
	l.Set(func(tables *dynamo.Tables) { tables.Now = b.ExpiresAt })
	if _, err := outcome.AppendLedger(t.Context(), l, b, changesOf(1, 2, campaign.OutcomeSent)); !errors.Is(err, campaign.ErrExpired) {
		t.Errorf("error %v, want campaign.ErrExpired", err)
	}
}

// rowsRead counts the calls of a client and the rows read by queries.
type rowsRead struct{ calls, rows int }

func (r *rowsRead) attach(o *dynamodb.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("rows read", func(
			ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
		) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			r.calls++
			if found, ok := out.Result.(*dynamodb.QueryOutput); ok {
				r.rows += len(found.Items)
			}
			return out, metadata, err
		}), middleware.Before)
	})
}

// TestLedgers_PageCost counts the reads of pages of a long log: only the head for a page in
// the tail, otherwise only the LOG rows around the page.
func TestLedgers_PageCost(t *testing.T) {
	t.Parallel()
	l := newLedgers(t)
	b := ledgerBatch(campaign.MaxMessages)
	changes := spread(b.Accepted)
	for first := 0; first < len(changes); first += 100 {
		record(t, l, b, changes[first:first+100])
	}
	head, err := l.LedgerHead(t.Context(), b.Key)
	if err != nil || len(head.Tail) == 0 {
		t.Fatalf("a tail of %d entries, error %v", len(head.Tail), err)
	}
	read := func(after, limit int) rowsRead {
		t.Helper()
		var used rowsRead
		got, err := with(t, l, used.attach).Entries(t.Context(), b.Key, after, limit)
		if err != nil || len(got) != limit {
			t.Fatalf("%d entries, error %v", len(got), err)
		}
		return used
	}
	all, page, tail := read(0, len(changes)), read(len(changes)/2, 100), read(head.First()-1, len(head.Tail))
	if tail.calls != 1 {
		t.Errorf("a page of the tail took %d calls", tail.calls)
	}
	if page.calls != 2 || page.rows > 5 || all.rows < 5*page.rows {
		t.Errorf("a page of 100 took %d calls and %d rows, all of the log %d rows", page.calls, page.rows, all.rows)
	}
}

// A batch without a tenant in its HEAD row counts as damaged. It must not count as a batch
// of a tenant without endpoints.
func TestIdentity_Damaged(t *testing.T) {
	t.Parallel()
	s := newLedgers(t)
	b := acceptRead(t, s, 3)
	_, err := s.Tables().Client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(s.Tables().Campaigns), UpdateExpression: aws.String("REMOVE tenant"),
		Key: dynamo.Item{"pk": &types.AttributeValueMemberS{Value: "B#" + b.Key.String()}, "sk": &types.AttributeValueMemberS{Value: "HEAD"}},
	})
	must(t, err)
	if ref, err := s.Identity(t.Context(), b.Key); !errors.Is(err, campaign.ErrDamaged) {
		t.Errorf("the identity is %+v, %v; want that it is damaged", ref, err)
	}
}
