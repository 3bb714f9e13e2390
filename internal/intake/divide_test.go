package intake_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/internal/rollout/bucket"
	"campaign-dispatch/localstack/testsize"
)

// memory stores one submission and its objects. It dies at a write, before it or after it.
type memory struct {
	oneSubmission
	mu      sync.Mutex
	objects map[string]string
	writes  int
	at      int // of all writes, from 1; 0 for never
	after   bool
	dead    bool
}

var errDied = errors.New("the process died")

// write does a write, or dies.
func (m *memory) write(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.writes++; m.dead || m.writes == m.at && !m.after {
		m.dead = true
		return errDied
	}
	err := do()
	if m.writes == m.at {
		m.dead = true
		return errDied
	}
	return err
}

func (m *memory) Submission(ctx context.Context, id campaign.ID) (submission.Submission, error) {
	if m.dead {
		return submission.Submission{}, errDied
	}
	return m.oneSubmission.Submission(ctx, id)
}

func (m *memory) SaveSubmission(ctx context.Context, sub submission.Submission) (saved submission.Submission, err error) {
	err = m.write(func() error { saved, err = m.oneSubmission.SaveSubmission(ctx, sub); return err })
	return saved, err
}

func (m *memory) PutOnce(_ context.Context, key string, body []byte, _ string) error {
	return m.write(func() error {
		if stored, known := m.objects[key]; known && stored != string(body) {
			return campaign.ErrLostRace
		}
		m.objects[key] = string(body)
		return nil
	})
}

func (m *memory) Get(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	body, known := m.objects[key]
	if !known {
		return nil, campaign.ErrNotFound
	}
	return []byte(body), nil
}

func (m *memory) Delete(_ context.Context, key string) error { delete(m.objects, key); return nil }

func (m *memory) List(_ context.Context, prefix string) iter.Seq2[campaign.Blob, error] {
	return func(yield func(campaign.Blob, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(m.objects)) {
			if strings.HasPrefix(key, prefix) && !yield(campaign.Blob{Key: key}, nil) {
				return
			}
		}
	}
}

// lenient finds a fault in messages whose uid is wrong.
type lenient struct{ dispatch.Dispatcher }

func (lenient) Check(_ context.Context, c dispatch.Call) (v dispatch.Verdict, err error) {
	for n, m := range c.Messages {
		if m.UID == "wrong" {
			v.Faults = append(v.Faults, dispatch.Fault{Message: n, Field: "uid", Code: "wrong"})
		}
		if _, rejection := phone.ParseTyped(m.Phone); rejection != nil {
			v.Rejected = append(v.Rejected, dispatch.Rejection{Message: n, Rejection: *rejection})
		}
	}
	v.Accepted = len(c.Messages) - len(v.Rejected)
	v.Classes.Basic = v.Accepted
	return v, nil
}

// dividing is a file that is divided, with what is known of it.
type dividing struct {
	file   []byte
	from   int // Worker.WavesFrom
	part   int // Worker.PartLines
	id     campaign.ID
	people map[uint64]bool // with a valid line
	lines  int
}

func newDividing(random *rand.Rand) dividing {
	d := dividing{part: 2 + random.IntN(8), id: campaign.ID{Tenant: "t", CampaignID: fmt.Sprintf("%032x", random.Uint64())}, people: map[uint64]bool{}}
	d.lines = 20 + random.IntN(60)
	file := bytes.NewBufferString("phone;uid\n")
	for range d.lines {
		number, uid := 5511988880000+uint64(random.IntN(d.lines)), "u"
		if random.IntN(15) == 0 {
			uid = "wrong"
		}
		if random.IntN(15) == 0 {
			_, _ = fmt.Fprintf(file, "x;%s\n", uid)
			continue
		}
		if _, _ = fmt.Fprintf(file, "+%d;%s\n", number, uid); uid == "u" {
			d.people[number] = true
		}
	}
	d.file, d.from = file.Bytes(), 1+random.IntN(15)
	return d
}

// read reads the file in processes, of which the first one dies at a write.
func (d dividing) read(t *testing.T, at int, after bool) *memory {
	t.Helper()
	m := &memory{objects: map[string]string{}, at: at, after: after}
	m.stored = submission.Submission{
		ID: d.id, State: submission.StateChecking, Columns: submission.Columns{Chosen: submission.Chosen{Phone: 0, UID: 1}}, Check: submission.Check{Number: 1},
	}
	tasks := &queue{}
	w := &intake.Worker{
		Store: m, Blobs: m, Dispatch: lenient{}, Tasks: tasks, Now: func() time.Time { return noon }, PartLines: d.part, WavesFrom: d.from,
		Open: func(context.Context, string, string) (port.File, int64, error) {
			return source{bytes.NewReader(d.file)}, int64(len(d.file)), nil
		},
	}
	for try := 0; m.stored.State == submission.StateChecking; try++ {
		m.dead = false
		if err := w.Handle(t.Context(), []submission.Task{{Tenant: d.id.Tenant, CampaignID: d.id.CampaignID}})[0]; err != nil && !errors.Is(err, errDied) {
			t.Fatal(err)
		}
		if try > 5 {
			t.Fatal("the file is not read after six tasks")
		}
	}
	return m
}

// check compares what was written with the people of the file.
func (d dividing) check(t *testing.T, m *memory) {
	t.Helper()
	sub, seen, sum, parts, lines := m.stored, map[uint64]bool{}, 0, 0, 0
	for cell, of := range sub.Check.Cells {
		sum, parts, lines = sum+of.Accepted, parts+of.Parts, lines+of.Lines
		for n := range of.Parts {
			for _, message := range d.part1(t, m, sub.CellPartKey(cell, n+1)) {
				if number := message.Number; number != 0 && (seen[number] || rollout.CellOf(bucket.Of(bucket.Wave(d.id.CampaignID), e164.Number(number))) != cell) {
					t.Fatalf("a number is in cell %d, seen before: %t", cell, seen[number])
				} else if number != 0 {
					seen[number] = true
				}
			}
		}
	}
	found := sub.Check.Findings
	if len(seen) != len(d.people) || sum != len(d.people) || found.Accepted != sum || parts != sub.Check.Parts || lines != d.lines || sub.Check.Rows != d.lines {
		t.Fatalf("%d people, %d in parts, %d in cells, %d accepted; %d of %d parts; %d of %d lines",
			len(d.people), len(seen), sum, found.Accepted, parts, sub.Check.Parts, lines, d.lines)
	}
	if found.Accepted+found.LeftOut() != d.lines {
		t.Fatalf("%d lines, of which %d are accepted and %d left out", d.lines, found.Accepted, found.LeftOut())
	}
	for part := range sub.Check.Parts {
		if _, known := m.objects[sub.PartKey(part+1)]; !known {
			t.Fatalf("there is no part %d", part+1)
		}
	}
}

func (d dividing) part1(t *testing.T, m *memory, key string) []submission.Message {
	t.Helper()
	messages, _, err := submission.DecodePart([]byte(m.objects[key]))
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// Of a divided file, each number is in one part, that of its cell, and the cells add up. A process that dies at any write
// changes nothing of the parts.
func TestDivided_Deaths(t *testing.T) {
	t.Parallel()
	divided := 0
	for seed := range uint64(testsize.Of(20, 1000)) {
		d := newDividing(rand.New(rand.NewPCG(seed, 56)))
		whole := d.read(t, 0, false)
		if !whole.stored.Check.Divided() {
			continue // too few people
		}
		divided++
		d.check(t, whole)
		for write := range whole.writes {
			for _, after := range []bool{false, true} {
				m := d.read(t, write+1, after)
				if diff := cmp.Diff(whole.objects, m.objects); diff != "" {
					t.Fatalf("seed %d, write %d, after it %t (-want +got):\n%s", seed, write+1, after, diff)
				}
				if diff := cmp.Diff(whole.stored.Check, m.stored.Check); diff != "" {
					t.Fatalf("seed %d, write %d, after it %t (-want +got):\n%s", seed, write+1, after, diff)
				}
			}
		}
	}
	if divided == 0 {
		t.Error("no file was divided")
	}
}
