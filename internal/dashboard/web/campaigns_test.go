package web_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"campaign-dispatch/internal/dashboard/web"
)

// What is read of things is in their order, and a failure of one is that of all.
func TestReadEach(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	half := func(_ context.Context, n int) (int, error) {
		if n%2 > 0 {
			return 0, broken
		}
		return n / 2, nil
	}
	if got, err := web.ReadEach(t.Context(), 2, []int{6, 2, 8, 4}, half); err != nil || !slices.Equal(got, []int{3, 1, 4, 2}) {
		t.Errorf("read %v, %v", got, err)
	}
	if _, err := web.ReadEach(t.Context(), 2, []int{6, 3}, half); !errors.Is(err, broken) {
		t.Errorf("a failure reads as %v", err)
	}
	if got, err := web.ReadEach(t.Context(), 2, nil, half); err != nil || len(got) != 0 {
		t.Errorf("of nothing, read %v, %v", got, err)
	}
}
