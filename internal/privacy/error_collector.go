package privacy

import (
	"fmt"
	"sync"
)

// errorCollector are the errors of steps of which each is made whatever became of the
// others, from any number of goroutines.
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

// err returns the first error, with how many there were.
func (t *errorCollector) err() error {
	if t.count > 1 {
		return fmt.Errorf("%w (the first of %d errors)", t.first, t.count)
	}
	return t.first
}
