package delivery

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"

	"campaign-dispatch/internal/campaign"
)

// Subject returns the subject of a change's webhook: the message, or its suggestion.
func Subject(c campaign.Change, key campaign.BatchKey) string {
	id := key.MessageID(c.Index)
	if c.Outcome == campaign.OutcomeTapped {
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
