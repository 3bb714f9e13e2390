package campaign

import (
	"errors"
	"slices"
	"strings"
)

// StatusPaused is the status of a paused campaign in the dashboard. In the API, it is still scheduled or sending.
const StatusPaused Status = "paused"

// MaxPaused is the maximum number of paused campaigns of a tenant. They are read with each route.
const MaxPaused = 1000

// ErrTooManyPaused reports that a tenant has MaxPaused paused campaigns.
var ErrTooManyPaused = errors.New("too many paused campaigns")

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

// Paused reports whether a pause keeps messages of the campaign from being sent.
func (c Campaign) Paused() bool {
	if c.PausedAt.IsZero() {
		return false
	}
	return c.Submission.ToCome() > 0 || slices.ContainsFunc(c.Batches, func(b BatchProgress) bool { return b.Pending() > 0 })
}

// shown returns the status of the campaign in the dashboard.
func (c Campaign) shown() Status {
	if c.Paused() {
		return StatusPaused
	}
	return c.Status()
}
