package campaign

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
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
		return CodeRevoked, reasonOf(CodeRevoked)
	case OutcomeStopped:
		code = CodeCancelled
	case OutcomeExpired:
		code = CodeTTLPassed
	case OutcomeFailed:
		code = CodeFailed
	}
	if c.Code != "" {
		code = c.Code
	}
	return code, reasonOf(code)
}

func reasonOf(code string) string {
	row, _ := DescribeCode(code)
	return row.Reason.English
}
