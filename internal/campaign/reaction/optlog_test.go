package reaction_test

import (
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign/reaction"
)

// A repeated task gives the same entry. Entries are in order of arrival, and those without an arrival are placed by
// their time.
func TestNewLoggedOptOut(t *testing.T) {
	t.Parallel()
	const phone = "+5511900000001"
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	task := reaction.EventTask{Kind: reaction.EventOptOut, At: at, ArrivedAt: at.Add(time.Hour), Blob: "events/agent/1"}
	first := reaction.NewLoggedOptOut(task, phone)
	again := task
	again.Receives = 3
	if second := reaction.NewLoggedOptOut(again, phone); second != first || first.Phone != phone || first.At != at {
		t.Errorf("entries %+v and %+v", first, second)
	}
	if !strings.HasPrefix(first.ID, reaction.LoggedFrom(task.ArrivedAt)) || strings.Contains(first.ID, phone[1:]) {
		t.Errorf("the ID is %s", first.ID)
	}
	other := task
	other.Blob = "events/agent/2"
	if reaction.NewLoggedOptOut(other, phone).ID == first.ID {
		t.Error("two events have one ID")
	}
	task.ArrivedAt = time.Time{}
	if queued := reaction.NewLoggedOptOut(task, phone); !strings.HasPrefix(queued.ID, reaction.LoggedFrom(at)) || queued.ID >= first.ID {
		t.Errorf("the ID without an arrival is %s", queued.ID)
	}
}
