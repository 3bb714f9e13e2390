package rcs

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/send/outgoing"
)

// verdict is the result of a status for its message.
type verdict struct {
	code string
	kind outgoing.FailureKind
}

// verdicts maps the provider's statuses. A failure is permanent if the provider refused
// the message, its recipient or its agent. Network errors, provider errors and errors
// with the agent's key are transient.
var verdicts = map[int]verdict{
	// The device lacks a feature, or the text is too long.
	http.StatusBadRequest: {campaign.CodeUnsupported, outgoing.Permanent},
	// The service account's key is invalid or revoked, even with a new token.
	http.StatusUnauthorized: {"unauthenticated", outgoing.Transient},
	// The agent is not launched and the number is not a tester's.
	http.StatusForbidden: {campaign.CodeAgentNotLaunched, outgoing.Permanent},
	// The number has no RCS, or its network has not launched the agent.
	http.StatusNotFound:              {campaign.CodeUnreachable, outgoing.Permanent},
	http.StatusRequestTimeout:        {"unavailable", outgoing.Transient},
	http.StatusConflict:              {"unavailable", outgoing.Transient},
	http.StatusRequestEntityTooLarge: {campaign.CodeUnsupported, outgoing.Permanent},
	http.StatusTooManyRequests:       {"throttled", outgoing.Throttled},
}

// Statuses without an entry: 5xx is a provider error, another 4xx a refused request,
// and a 3xx an answer from another server.
var (
	serverTrouble = verdict{"unavailable", outgoing.Transient}
	refused       = verdict{campaign.CodeRejected, outgoing.Permanent}
	unexpected    = verdict{"unexpected_answer", outgoing.Transient}
)

// errTokenRefused marks a failure that a new token may resolve.
var errTokenRefused = errors.New("token refused")

// classify returns nil if the answer states that the provider has the message, else the
// failure.
func classify(answer *http.Response, now time.Time) error {
	if answer.StatusCode/100 == 2 {
		return nil
	}
	v := verdictOf(answer.StatusCode)
	failure := &outgoing.Failure{
		Kind:       v.kind,
		Code:       v.code,
		RetryAfter: retry.After(answer.Header.Get("Retry-After"), now),
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("%w: status %d: %w", failure, answer.StatusCode, errTokenRefused)
	}
	return fmt.Errorf("%w: status %d", failure, answer.StatusCode)
}

func verdictOf(status int) verdict {
	if v, ok := verdicts[status]; ok {
		return v
	}
	switch status / 100 {
	case 4:
		return refused
	case 5:
		return serverTrouble
	}
	return unexpected
}

// noAnswer is the failure of an interrupted call. The provider may have the message,
// and ignores a repetition.
func noAnswer() error {
	return &outgoing.Failure{Kind: outgoing.Transient, Code: campaign.CodeNoAnswer}
}

// unencodable is the failure of a message that cannot be encoded as a request.
func unencodable() error {
	return &outgoing.Failure{Kind: outgoing.Permanent, Code: campaign.CodeUnsupported}
}

// noToken is the failure of a call without a token.
func noToken() error { return &outgoing.Failure{Kind: outgoing.Transient, Code: "unauthenticated"} }
