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
	case OutcomeStopped:
		code = "cancelled"
	case OutcomeRevoked:
		code = "revoked"
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
var reasons = map[string]string{
	"agent_not_launched": "The sender is not launched on the network of this number.",
	"cancelled":          "The campaign was cancelled before the message was sent.",
	"no_answer":          "The provider did not tell in time what became of the message.",
	"not_after_passed":   "The time after which the message was not to be sent any more had passed.",
	"opted_out":          "The recipient does not want messages of this sender.",
	"rejected":           "The provider refused the message.",
	"revoked":            "The campaign was cancelled and the message taken back before it was delivered.",
	"ttl_passed":         "The message could not be delivered in time.",
	"unreachable":        "The number cannot receive RCS messages of this sender.",
	"unsupported":        "The recipient's device cannot show the message, or the message is too long.",
}

func reasonOf(code string) string {
	if reason, ok := reasons[code]; ok {
		return reason
	}
	return "The message was not delivered."
}
