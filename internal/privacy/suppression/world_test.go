package suppression_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/privacy/suppression"
	"campaign-dispatch/internal/privacy/suppression/book"
	"campaign-dispatch/internal/settings/account"
)

const tenant = "acme"

var (
	start    = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	settings = suppression.Settings{Reason: "they asked the state for it"}
)

// world has a book and a lookup over rows and objects in memory.
type world struct {
	mu      sync.Mutex
	now     time.Time
	rows    map[string]suppression.List
	objects map[string][]byte
	reads   int
	copies  bool // Get returns copies, as S3 does
	book    *book.Book
	lookup  *suppression.Lookup
}

func newWorld() *world {
	w := &world{now: start, rows: map[string]suppression.List{}, objects: map[string][]byte{}}
	clock := func() time.Time { return w.now }
	w.book = &book.Book{Store: w, Blobs: w, Now: clock}
	w.lookup = &suppression.Lookup{Store: w, Blobs: w, Now: clock}
	return w
}

func (w *world) Lists(context.Context, string) ([]suppression.List, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.SortedFunc(maps.Values(w.rows), func(a, b suppression.List) int { return a.Number - b.Number }), nil
}

func (w *world) SaveList(_ context.Context, l suppression.List, others int, _ account.AuditEntry) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.rows[l.Name].Version != l.Version || l.Version == 0 && len(w.rows) != others {
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
	body, ok := w.objects[key]
	if !ok {
		return nil, campaign.ErrNotFound
	}
	if w.copies {
		body = slices.Clone(body)
	}
	return body, nil
}

func (w *world) Put(_ context.Context, key string, body []byte, _ string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.objects[key] = body
	return nil
}

func (w *world) Delete(_ context.Context, key string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.objects, key)
	return nil
}

func (w *world) change(t testing.TB, name string, c book.Change) suppression.List {
	t.Helper()
	l, err := w.book.Change(t.Context(), tenant, name, c, account.AuditEntry{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// of returns the lookup of messages of a promotion, as of now.
func (w *world) of(t testing.TB) func(phone string) int {
	t.Helper()
	of, err := w.lookup.Of(t.Context(), tenant, campaign.Promotion, w.now)
	if err != nil {
		t.Fatal(err)
	}
	return of
}

func set(numbers ...uint64) numberset.Set { return numberset.New(numbers) }
