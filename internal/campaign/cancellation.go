package campaign

// Cancellation is how far a campaign had come when it was cancelled.
type Cancellation struct {
	Sent     int // messages that the provider had accepted, whatever became of them
	Stopped  int // messages that were not sent
	Stopping int // messages without an outcome: they are stopped, or were on their way to the provider
	// NotAccepted is the number of people of the file who are not accepted any more, or are not to be after the cancellation.
	NotAccepted int
}

// Cancellation returns how far the campaign has come: what a cancellation would stop now, or what it has stopped.
func (c Campaign) Cancellation() Cancellation {
	is := Cancellation{NotAccepted: c.Submission.NotAccepted()}
	for _, b := range c.Batches {
		is.Sent += b.Head.DayCounts().Sent
		is.Stopped += b.Head.Counts[OutcomeStopped]
		is.Stopping += b.Pending()
	}
	return is
}

// Unsent returns the number of messages that had not been sent.
func (c Cancellation) Unsent() int { return c.Stopped + c.Stopping }

// NothingToStop reports whether messages had been sent, and nothing was left to stop.
func (c Cancellation) NothingToStop() bool { return c.Sent > 0 && c.Unsent()+c.NotAccepted == 0 }
