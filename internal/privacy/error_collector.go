package privacy

import (
	"fmt"
	"sync"
)

// errorCollector collects the errors of independent steps. It is safe for concurrent
// use.
type errorCollector struct {
	mu    sync.Mutex
	first error
	count int
}

func (t *errorCollector) add(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.count++; t.count == 1 {
		t.first = err
	}
}

// err returns the first error and the number of errors.
func (t *errorCollector) err() error {
	if t.count > 1 {
		return fmt.Errorf("%w (the first of %d errors)", t.first, t.count)
	}
	return t.first
}
