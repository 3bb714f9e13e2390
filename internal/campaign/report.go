package campaign

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"campaign-dispatch/internal/campaign/content"
)

// Subject returns the subject of the change's webhook: the message, or its suggestion.
func (c Change) Subject(key BatchKey) string {
	id := key.MessageID(c.Index)
	if c.Outcome == OutcomeTapped {
		id += "#" + strconv.Itoa(c.Suggestion)
	}
	return id
}

// WebhookID returns the ID of a webhook. It depends only on the subject and the kind, not
// on the endpoint or the attempt.
func WebhookID(subject string, kind Kind) string {
	sum := sha256.Sum256([]byte(subject + " " + string(kind)))
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// Why returns the code and the reason, a sentence, of a message that ended undelivered.
// Both are empty for other outcomes. A change without a code gets the default code of its
// outcome.
func (c Change) Why() (code, reason string) {
	switch c.Outcome {
	case OutcomeSent, OutcomeDelivered, OutcomeRead, OutcomeTapped, OutcomeClicked:
		return "", ""
	case OutcomeRevoked:
		return "revoked", reasonOf("revoked")
	case OutcomeStopped:
		code = "cancelled"
	case OutcomeExpired:
		code = "ttl_passed"
	case OutcomeFailed:
		code = "failed"
	}
	if c.Code != "" {
		code = c.Code
	}
	return code, reasonOf(code)
}

// reasons are the sentences of the codes.
var reasons = map[string]string{ //nolint:gosec // sentences, no credentials
	"opted_out":             "The recipient has opted out of messages.",
	"unreachable":           "The number cannot be reached by RCS.",
	"unsupported":           "The recipient's device or the provider does not support the message.",
	"agent_not_launched":    "The agent is not launched for this number.",
	"rejected":              "The provider refused the message.",
	CodeCancelled:           "The campaign was cancelled before the message was sent.",
	"revoked":               "The message was revoked before it was delivered.",
	"not_after_passed":      "The notAfter time passed before the message was sent.",
	CodeNoAnswer:            "The provider sent no delivery status.",
	"ttl_passed":            "The message could not be delivered in time.",
	"payload_missing":       "The contents of the message were deleted before it was sent.",
	"not_sent_in_time":      "The provider did not accept the message within 72 hours.",
	content.CodeTextTooLong: "The text of the message is too long for the provider.",
	content.CodeInvalidURL:  "A URL of the message is not a complete https URL.",
	"erased":                "The recipient's data was erased before the message was sent.",
}

func reasonOf(code string) string {
	if reason, ok := reasons[code]; ok {
		return reason
	}
	return "The message could not be delivered."
}
