package snapshot_test

import (
	"errors"
	"testing"
	"time"

	"campaign-dispatch/internal/reach/snapshot"
)

// size is a value that takes as many bytes as it says.
type size int

func (s size) Bytes() int { return int(s) }

var start = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// reader reads values of one cache, each larger by one than the last one.
type reader struct {
	snapshot.Cache[size]

	now   time.Time
	reads int
	fails error
}

func (r *reader) get(t *testing.T, tenant string, since time.Time, maxBytes int) size {
	t.Helper()
	got, err := r.Get(tenant, since, func() time.Time { return r.now }, maxBytes, func(last size) (size, error) {
		r.reads++
		return last + 1, r.fails
	})
	if !errors.Is(err, r.fails) {
		t.Fatal(err)
	}
	return got
}

func TestCache_ReadsAgain(t *testing.T) {
	t.Parallel()
	r := &reader{now: start}
	for _, step := range []struct {
		name  string
		later time.Duration
		since time.Time
		want  size
	}{
		{"first", 0, time.Time{}, 1},
		{"30 seconds are not over", 30*time.Second - 1, time.Time{}, 1},
		{"30 seconds are over", 30 * time.Second, time.Time{}, 2},
		{"a release a second before", 30 * time.Second, start.Add(29 * time.Second), 2},
		{"a release less than a second before", 31 * time.Second, start.Add(29*time.Second + 1), 3},
	} {
		r.now = start.Add(step.later)
		if got := r.get(t, "acme", step.since, 100); got != step.want {
			t.Errorf("%s: value %d, want %d", step.name, got, step.want)
		}
	}
	if r.Expire("acme"); r.get(t, "acme", time.Time{}, 100) != 4 {
		t.Error("an expired value was not read again")
	}
}

// What a failed read returns is the last value of the next one, and nothing else.
func TestCache_FailedRead(t *testing.T) {
	t.Parallel()
	r := &reader{now: start, fails: errors.New("no answer")}
	r.get(t, "acme", time.Time{}, 100)
	r.fails = nil
	if got := r.get(t, "acme", time.Time{}, 100); got != 2 || r.reads != 2 {
		t.Errorf("value %d after %d reads, want 2 after 2", got, r.reads)
	}
}

// A tenant whose value does not fit beside the others leaves them out.
func TestCache_MaxBytes(t *testing.T) {
	t.Parallel()
	r := &reader{now: start}
	for _, tenant := range []string{"a", "b", "c", "c", "a"} {
		r.get(t, tenant, time.Time{}, 2)
	}
	if r.reads != 4 {
		t.Errorf("%d reads, want 4: the third tenant leaves the first out", r.reads)
	}
}
