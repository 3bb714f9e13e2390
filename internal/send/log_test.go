package send_test

import (
	"bytes"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"campaign-dispatch/internal/send/outgoing"
)

// An operator who reads a warning has something to look at.
//
//nolint:paralleltest // captures the process's log
func TestHandle_QuietWithoutTrouble(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
	defer slog.SetDefault(before)
	synctest.Test(t, func(t *testing.T) {
		g := newSenderFixture(103)
		if errs := g.sender().Handle(t.Context(), []outgoing.SendTask{g.frame(0), g.frame(1)}); errors.Join(errs...) != nil {
			t.Fatal(errs)
		}
		if len(g.sends) != 103 || log.Len() > 0 {
			t.Errorf("%d sent, with the warnings:\n%s", len(g.sends), log.String())
		}
	})
}
