package simulation_test

import (
	"log/slog"
	"os"
	"testing"
)

// The simulations would log 80,000 lines.
func TestMain(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	os.Exit(m.Run())
}
