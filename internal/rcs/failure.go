package rcs

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
)

// verdict is what a failure means for its message.
type verdict struct {
	code string
	kind campaign.FailureKind
}

// verdicts say what each status of the provider means. A message fails for good
// where the provider judged it, its recipient or its agent; trouble with the
// network, the provider or our key is transient, and the messages wait.
var verdicts = map[int]verdict{
	// The device lacks a feature, or a text is too long.
	http.StatusBadRequest: {"unsupported", campaign.Permanent},
	// The service account's key is wrong or was withdrawn; asked twice, with a
	// fresh token the second time.
	http.StatusUnauthorized: {"unauthenticated", campaign.Transient},
	// The agent is not launched and the number is no tester's.
	http.StatusForbidden: {"agent_not_launched", campaign.Permanent},
	// The number has no RCS, or a network on which the agent is not launched.
	http.StatusNotFound:              {"unreachable", campaign.Permanent},
	http.StatusRequestTimeout:        {"unavailable", campaign.Transient},
	http.StatusConflict:              {"unavailable", campaign.Transient},
	http.StatusRequestEntityTooLarge: {"unsupported", campaign.Permanent},
	http.StatusTooManyRequests:       {"throttled", campaign.Throttled},
}

// Everything that has no row of its own: 5xx is the provider's trouble, another
// 4xx a refusal of the request, and a 3xx means that somebody else answered.
var (
	serverTrouble = verdict{"unavailable", campaign.Transient}
	refused       = verdict{"rejected", campaign.Permanent}
	unexpected    = verdict{"unexpected_answer", campaign.Transient}
)

// errTokenRefused marks the failure that a new token may cure.
var errTokenRefused = errors.New("token refused")

// judge returns nil for an answer that says the provider has the message, else
// the failure.
func judge(answer *http.Response, now time.Time) error {
	if answer.StatusCode/100 == 2 {
		return nil
	}
	v := verdictOf(answer.StatusCode)
	failure := &campaign.Failure{
		Kind:       v.kind,
		Code:       v.code,
		RetryAfter: retryAfter(answer.Header.Get("Retry-After"), now),
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

// noAnswer is the failure of a call that broke off: the provider may have the
// message, and ignores it when it comes again.
func noAnswer() error { return &campaign.Failure{Kind: campaign.Transient, Code: "no_answer"} }

// unencodable is the failure of a message that no request can be made of.
func unencodable() error { return &campaign.Failure{Kind: campaign.Permanent, Code: "unsupported"} }

// noToken is the failure of a call for which there was no token.
func noToken() error { return &campaign.Failure{Kind: campaign.Transient, Code: "unauthenticated"} }

// maxRetryAfter bounds what is believed of a Retry-After.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads a Retry-After header: seconds or an HTTP date; 0 where there
// is none that makes sense.
func retryAfter(header string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(header, 10, 32); err == nil {
		return min(time.Duration(seconds)*time.Second, maxRetryAfter)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
