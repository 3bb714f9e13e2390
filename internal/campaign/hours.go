package campaign

import "time"

// StatusAwaitsHours is the status in the dashboard of a campaign of which no message can go before its sending hours
// begin. In the API, it is still sending.
const StatusAwaitsHours Status = "awaits_hours"

// GoesAt returns when the first message of a batch goes that is not released.
func (p BatchProgress) GoesAt() time.Time {
	if p.Goes.IsZero() {
		return p.Due
	}
	return p.Goes
}

// closed returns the number of messages that wait for the sending hours, and are released.
func (p BatchProgress) closed() (messages int) {
	for _, c := range p.Held {
		messages += c.Messages
	}
	return messages
}

// awaitsHours reports whether no unsent message of the batch can go before its sending hours begin.
func (p BatchProgress) awaitsHours(now time.Time) bool {
	switch {
	case p.Cancelled(), p.Pending() <= 0:
		return false
	case p.State == BatchPending:
		return !p.Scheduled && p.Goes.After(now)
	}
	return p.closed() >= p.Pending() && (p.Goes.IsZero() || p.Goes.After(now))
}

// awaitsHours reports whether messages of the campaign wait for the sending hours, and no message can go now.
func (c Campaign) awaitsHours(now time.Time) (waits bool) {
	if !c.CancelledAt.IsZero() {
		return false
	}
	for _, b := range c.Batches {
		switch {
		case b.awaitsHours(now):
			waits = true
		case b.Pending() > 0 && b.Status() == StatusSending:
			return false
		}
	}
	return waits
}

// shown returns the status of the campaign in the dashboard.
func (c Campaign) shown(now time.Time) Status {
	if c.Paused() {
		return StatusPaused
	}
	status := c.Status()
	if status == StatusSending && c.awaitsHours(now) {
		return StatusAwaitsHours
	}
	return status
}
