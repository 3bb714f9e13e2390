package lists_test

import (
	"context"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/lists/lookup"
)

const tenant = "acme"

var (
	errFull   = errors.New("no row can be written")
	errSilent = errors.New("no object can be read")
)

var (
	start    = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	settings = lists.Settings{Reason: "they asked the state for it"}
)

// world has a book, a lookup and a cleaner over rows and objects in memory.
type world struct {
	mu        sync.Mutex
	now       time.Time
	rows      map[string]lists.List
	objects   map[string][]byte
	times     map[string]time.Time // of the objects
	full      bool                 // no row can be written
	silent    bool                 // no object can be read
	reads     int
	listReads int // of the rows
	additions int
	book      *book.Book
	lookup    *lookup.Cache
	cleaner   *book.Cleaner
}

func newWorld() *world {
	w := &world{now: start, rows: map[string]lists.List{}, objects: map[string][]byte{}, times: map[string]time.Time{}}
	clock := func() time.Time { return w.now }
	w.book = &book.Book{Store: w, Blobs: w, Now: clock}
	w.lookup = &lookup.Cache{Store: w, Blobs: w, Now: clock}
	w.cleaner = &book.Cleaner{Rows: w, Objects: w, Now: clock}
	return w
}

func (w *world) Lists(context.Context, string) ([]lists.List, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.listReads++
	return slices.SortedFunc(maps.Values(w.rows), func(a, b lists.List) int { return a.Number - b.Number }), nil
}

func (w *world) ListAdditions(context.Context, string) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.additions, nil
}

func (w *world) AddList(ctx context.Context, l lists.List, additions int, e account.AuditEntry) (bool, error) {
	w.mu.Lock()
	current := w.additions == additions
	if current {
		w.additions++
	}
	w.mu.Unlock()
	if !current {
		return false, nil
	}
	return w.SaveList(ctx, l, e)
}

func (w *world) SaveList(_ context.Context, l lists.List, _ account.AuditEntry) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full {
		return false, errFull
	}
	if w.rows[l.Name].Version != l.Version {
		return false, nil
	}
	l.Version++
	w.rows[l.Name] = l
	return true, nil
}

func (w *world) Get(_ context.Context, key string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	if w.silent {
		return nil, errSilent
	}
	body, ok := w.objects[key]
	if !ok {
		return nil, campaign.ErrNotFound
	}
	return body, nil
}

func (w *world) Put(_ context.Context, key string, body []byte, _ string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[key], w.times[key] = body, w.now
	return nil
}

func (w *world) Renew(_ context.Context, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.objects[key]; !ok {
		return campaign.ErrNotFound
	}
	w.times[key] = w.now
	return nil
}

func (w *world) List(_ context.Context, prefix string) iter.Seq2[campaign.Blob, error] {
	return func(yield func(campaign.Blob, error) bool) {
		for _, key := range slices.Sorted(maps.Keys(w.objects)) {
			if strings.HasPrefix(key, prefix) && !yield(campaign.Blob{Key: key, At: w.times[key]}, nil) {
				return
			}
		}
	}
}

func (w *world) Delete(_ context.Context, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.objects, key)
	return nil
}

func (w *world) change(tb testing.TB, name string, c lists.Change) lists.List {
	tb.Helper()
	l, err := w.book.Change(tb.Context(), tenant, name, c, account.AuditEntry{})
	if err != nil {
		tb.Fatal(err)
	}
	return l
}

// of returns the lookup of messages of a promotion, as of now.
func (w *world) of(tb testing.TB) func(phone string) int {
	tb.Helper()
	of, err := w.lookup.KeptBy(tb.Context(), tenant, campaign.Promotion, w.now)
	if err != nil {
		tb.Fatal(err)
	}
	return func(phone string) int { return of(e164.FromText(phone)) }
}

func set(numbers ...uint64) numberset.Set { return numberset.New(numbers) }
