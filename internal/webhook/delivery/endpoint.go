package delivery

import (
	"slices"
	"time"
)

// Functions that queue webhooks keep the endpoints of CachedTenants for EndpointTTL. A new endpoint
// receives webhooks after at most this time.
const (
	EndpointTTL   = 10 * time.Second
	CachedTenants = 1000
)

// SecretPrefix is the start of a signing secret, before its base64.
const SecretPrefix = "whsec_"

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
	// OffReason is why the endpoint was disabled: "gone", "failing" or "operator". It is "" while enabled.
	OffReason string
	OffAt     time.Time
	NoticeAt  time.Time // the last notice to the operators that it was disabled, also of an endpoint that was enabled since
}

// Off reports whether the endpoint is disabled. Nothing is posted to it.
func (e Endpoint) Off() bool { return e.OffReason != "" }

// byName are the kinds that are sent only to endpoints that list them.
var byName = []Kind{KindTapped, KindCompleted, KindPaused, KindResumed}

// Subscribes reports whether the endpoint receives webhooks of the kind.
func (e Endpoint) Subscribes(kind Kind) bool {
	if e.Off() {
		return false
	}
	return slices.Contains(e.Kinds, string(kind)) || len(e.Kinds) == 0 && !slices.Contains(byName, kind)
}

// WatchedEndpoint is a webhook endpoint with its circuit.
type WatchedEndpoint struct {
	Endpoint
	Circuit Circuit
}

// Circuit is the circuit breaker of an endpoint that keeps failing. While it is open, only
// probes are posted to the endpoint. A healthy endpoint has no circuit.
type Circuit struct {
	Tenant     string
	EndpointID string
	Since      time.Time // when it opened, zero if an operator enabled the endpoint
	Probes     int       // failed probes
	// Next is the time of the next probe. For a closing circuit, it is the time of the next check.
	Next time.Time
	// Closing reports whether the endpoint has recovered: posts are allowed, and its parked
	// deliveries are being unparked.
	Closing bool
	Drained bool // the parked deliveries were unparked once; later ones are ignored
	Version int  // of the row, 0 if there is none
}

// Open reports whether only probes may be posted.
func (c Circuit) Open() bool { return c.Version > 0 && !c.Closing }

// Failure is the record of one failed post. Successful posts are only counted.
type Failure struct {
	Tenant     string
	EndpointID string
	WebhookID  string
	Kind       Kind
	MessageID  string
	Status     int    // HTTP status, 0 without a response
	Code       string // stable error code
	Attempt    int    // failed attempts before this one
	At         time.Time
	Took       time.Duration // in milliseconds, 0 if unknown
	Task       NotifyTask    // of the webhook's delivery
	// Entry is the webhook's log entry (see ledger.PackNewEntries), or Blob is the key of its
	// Event. Either one is enough to resend the webhook after the delivery is deleted.
	Entry []byte
	Blob  string
	Kept  bool // there is a KeptPost of the same time
}

// Alone returns a delivery of only the webhook that failed, without times.
func (f Failure) Alone() Delivery {
	d := Delivery{Tenant: f.Tenant, EndpointID: f.EndpointID, Entries: f.Entry}
	if f.Blob != "" {
		d.Kind, d.Blob = f.Kind, f.Blob
	}
	return d.Identified()
}

// Place is the place of a post among those to an endpoint, which are ordered by time. The zero Place is after
// the newest post.
type Place struct {
	At        time.Time // in milliseconds
	WebhookID string
}

// Resent counts the deliveries resent to an endpoint. A delivery contains some webhooks of one batch.
type Resent struct {
	Deliveries int // posted again within two minutes
	Parked     int // parked until the endpoint's circuit closes
}

// PostCount counts webhook posts, repeated posts included.
type PostCount struct{ Accepted, Failed int }

// HourlyPosts counts the webhook posts to an endpoint in one hour, repeated posts included.
type HourlyPosts struct {
	Hour     time.Time // start of the hour
	Accepted int
	Failed   int
}
