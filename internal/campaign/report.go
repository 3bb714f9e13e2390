package campaign

import (
	"crypto/sha256"
	"encoding/base64"
)

// WebhookID is the id of a webhook: the same for the same kind of news of the
// same subject, however often it is posted and to whichever endpoint.
func WebhookID(subject string, kind Kind) string {
	sum := sha256.Sum256([]byte(subject + " " + string(kind)))
	return "msg_" + base64.RawURLEncoding.EncodeToString(sum[:18])
}

// Why returns why a message failed or expired: a stable word, and a sentence for
// a person. Both are empty for the other outcomes. Whoever records an outcome may
// leave out the code that the outcome itself says.
func (c Change) Why() (code, reason string) {
	switch c.Outcome {
	case OutcomeSent, OutcomeDelivered, OutcomeRead:
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
var reasons = map[string]string{ //nolint:gosec // words of a marketer, no credentials
	"opted_out":          "The recipient has opted out of messages.",
	"unreachable":        "The number cannot be reached by RCS.",
	"unsupported":        "The recipient's device or the provider does not support the message.",
	"agent_not_launched": "The sender may not send to this number yet.",
	"rejected":           "The provider refused the message.",
	"cancelled":          "The campaign was cancelled before the message was sent.",
	"revoked":            "The message was taken back before it was delivered.",
	"not_after_passed":   "The time until which the message might be sent has passed.",
	"no_answer":          "The provider never told what became of the message.",
	"ttl_passed":         "The message could not be delivered in time.",
	"payload_missing":    "The contents of the message were deleted before it was sent.",
	"not_sent_in_time":   "The provider could not take the message in 72 hours of attempts.",
	CodeTextTooLong:      "The text of the message is too long for the provider.",
	"erased":             "The recipient's data was erased before the message was sent.",
}

func reasonOf(code string) string {
	if reason, ok := reasons[code]; ok {
		return reason
	}
	return "The message could not be delivered."
}
