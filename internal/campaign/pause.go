package campaign

import (
	"errors"
	"strings"
	"time"
)

// StatusPaused is the status of a paused campaign in the dashboard. In the API, it is still scheduled or sending.
const StatusPaused Status = "paused"

// MaxPaused is the maximum number of paused campaigns of a tenant. They are read with each route.
const MaxPaused = 1000

// ErrTooManyPaused reports that a tenant has MaxPaused paused campaigns.
var ErrTooManyPaused = errors.New("too many paused campaigns")

// ErrCompleted reports that a campaign is completed, so that there is nothing to pause.
var ErrCompleted = errors.New("the campaign is completed")

// PauseSubject is the subject of a campaign's pause.
func PauseSubject(id ID) string { return "campaign#" + id.Tenant + "#" + id.CampaignID }

// PausedTenant returns the tenant of a PauseSubject. ok is false for other subjects.
func PausedTenant(subject string) (tenant string, ok bool) {
	rest, ok := strings.CutPrefix(subject, "campaign#")
	at := strings.LastIndexByte(rest, '#') // campaign IDs contain no #
	if !ok || at < 0 {
		return "", false
	}
	return rest[:at], true
}

// PausedSince returns since when the campaign is paused, zero if it is not. Its completion ends a pause, a moment before
// that of the row.
func (c Campaign) PausedSince() time.Time {
	if c.Status() == StatusCompleted {
		return time.Time{}
	}
	return c.PausedAt
}

// Left returns the number of people whose message has no outcome yet. Those of the file who are still to be accepted are
// among them.
func (c Campaign) Left() int {
	n := c.Submission.ToCome()
	for _, b := range c.Batches {
		n += b.Pending()
	}
	return n
}

// Paused reports whether a pause keeps messages of the campaign from being sent.
func (c Campaign) Paused() bool {
	return !c.PausedAt.IsZero() && c.Left() > 0
}
