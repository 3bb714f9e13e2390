package reach

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
)

// Do is what happens to a message.
type Do int

// A message is sent, waits, or ends without being sent.
const (
	Send Do = iota
	Wait
	End
)

// Decision is what happens to a message now.
type Decision struct {
	Do      Do
	Outcome campaign.Outcome // of End
	Code    string           // of End
	List    int              // the number of the list that ends the message, 0 for none
}

// Decider is what the decision about the messages of a batch depends on.
type Decider struct {
	Batch campaign.Batch
	Hours Hours
	// Withheld returns who gets no message. It can be nil.
	Withheld Withheld
}

// Decide returns what happens to a message that has no outcome. The first rule that applies decides.
func (d Decider) Decide(m campaign.Message, now time.Time) Decision {
	switch why := d.Withheld.why(m.Phone); {
	case m.Erased():
		return end(campaign.OutcomeFailed, campaign.CodeErased)
	case d.Batch.Cancelled():
		return end(campaign.OutcomeStopped, campaign.CodeCancelled)
	case d.Batch.PastLastSend(now):
		return end(campaign.OutcomeExpired, d.lateCode(m))
	case !why.None():
		return Decision{End, campaign.OutcomeFailed, why.Code, why.List}
	}
	if zone := d.Hours.Zone(m.Phone); !d.Hours.Open(zone, now) {
		return d.closed(zone, now)
	}
	return Decision{}
}

// closed returns what happens to a message while its window is closed.
func (d Decider) closed(z window.Zone, now time.Time) Decision {
	if d.Hours.over(d.Batch, z, now) {
		return end(campaign.OutcomeExpired, campaign.CodeWindowClosed)
	}
	return Decision{Do: Wait}
}

// EndsUnread returns how all messages of the batch end, before their payload is read. It returns false if that
// depends on their recipients.
func (d Decider) EndsUnread(now time.Time) (Decision, bool) {
	switch {
	case d.Batch.Cancelled():
		return end(campaign.OutcomeStopped, campaign.CodeCancelled), true
	case d.Batch.PastLastSend(now) && !d.Hours.Limited():
		return end(campaign.OutcomeExpired, campaign.CodeNotAfterPassed), true
	}
	return Decision{}, false
}

// lateCode returns why a message was not sent in time: its window was closed at the end, or something else.
func (d Decider) lateCode(m campaign.Message) string {
	if !d.Hours.Open(d.Hours.Zone(m.Phone), d.Batch.LastSend()) {
		return campaign.CodeWindowClosed
	}
	return campaign.CodeNotAfterPassed
}

func end(outcome campaign.Outcome, code string) Decision {
	return Decision{Do: End, Outcome: outcome, Code: code}
}
