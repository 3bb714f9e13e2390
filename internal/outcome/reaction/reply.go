package reaction

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
)

// MaxReplyText is the maximum number of bytes of a Reply's text. The row of a reply then
// costs one write unit.
const MaxReplyText = 800

// Reply is what a person wrote to the agent of a tenant. The provider does not say which
// message it answers.
type Reply struct {
	ID    string // orders replies by time; contains no personal data
	Phone string // E.164, with the leading +
	Text  string // the first MaxReplyText bytes; "" for a file or a location
	At    time.Time
}

// NewReply returns the reply of an event, which has the key of its content. The same event
// gives the same reply.
func NewReply(at time.Time, blob, phone, text string) Reply {
	if len(text) > MaxReplyText {
		text = text[:MaxReplyText]
		for !utf8.ValidString(text) && len(text) > MaxReplyText-utf8.UTFMax {
			text = text[:len(text)-1]
		}
	}
	return Reply{ID: ReplyFrom(at) + campaign.Digest(blob), Phone: phone, Text: text, At: at}
}

// ReplyFrom returns the start of the IDs of the replies at a time.
func ReplyFrom(at time.Time) string { return fmt.Sprintf("%014d#", max(0, at.UnixMilli())) }

// Event identifies the event of the reply. The provider may send an event without a time
// twice: then both replies have the same Event.
func (r Reply) Event() string {
	_, event, _ := strings.Cut(r.ID, "#")
	return event
}
