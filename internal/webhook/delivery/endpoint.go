package delivery

import (
	"slices"
	"time"
)

// Endpoint is a webhook endpoint of a tenant.
type Endpoint struct {
	ID     string
	Tenant string
	URL    string
	Kinds  []string // webhook event types, empty for the default
	Secret string   // Standard Webhooks signing secret: whsec_ and base64
	// PreviousSecret also signs until PreviousUntil, during a rotation.
	PreviousSecret string
	PreviousUntil  time.Time
	// OffReason is why the endpoint was disabled: "gone", "failing" or "operator". It is ""
	// while enabled.
	OffReason string
	OffAt     time.Time
}

// Off reports whether the endpoint is disabled. Nothing is posted to it.
func (e Endpoint) Off() bool { return e.OffReason != "" }

// Subscribes reports whether the endpoint receives webhooks of the kind. Taps and campaign
// completion are sent only to endpoints that list them.
func (e Endpoint) Subscribes(kind Kind) bool {
	if e.Off() {
		return false
	}
	return slices.Contains(e.Kinds, string(kind)) || len(e.Kinds) == 0 && kind != KindCompleted && kind != KindTapped
}
