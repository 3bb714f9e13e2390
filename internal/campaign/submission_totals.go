package campaign

import "time"

// SubmissionTotals count the lines of a campaign's file, and the people in them. They are zero
// for a campaign without a file. Batches of the API are not counted.
//
//	Lines  = Invalid + Faulty + Repeated + People
//	People = Erased + NotAccepted + Accepted
type SubmissionTotals struct {
	Lines    int // that are not empty
	Invalid  int // lines with an invalid number
	Faulty   int // lines that are left out, because a value is missing or too long
	Repeated int // lines with the number of an earlier line
	People   int // lines that are none of these

	Erased   int // people of the parts so far who were erased before their part was accepted
	Accepted int // messages of the accepted parts
	// PartsToCome is the number of parts that are still to be accepted. It is 0 after a
	// cancellation, and after the rest of the file was discarded.
	PartsToCome int
	// Check is the number of the check that wrote the parts, Parts their number, and PartsDone the
	// number of the first ones that are accepted, or were left empty by erasures.
	Check, Parts, PartsDone int
	// Until is when the submission ends. No part is accepted after it.
	Until time.Time
}

// Known reports whether the campaign has a file.
func (t SubmissionTotals) Known() bool { return t.Lines > 0 }

// NotAccepted returns the number of people who have no message. Their parts are still to be
// accepted, or never will be.
func (t SubmissionTotals) NotAccepted() int { return t.People - t.Erased - t.Accepted }

// ToCome returns the number of people whose parts are still to be accepted.
func (t SubmissionTotals) ToCome() int {
	if t.PartsToCome == 0 {
		return 0
	}
	return t.NotAccepted()
}

// NeverAccepted returns the number of people whose parts are not accepted any more.
func (t SubmissionTotals) NeverAccepted() int { return t.NotAccepted() - t.ToCome() }

// PartsLeft returns the numbers of the parts that are not accepted any more, none while parts are to
// come. They are kept as long as a payload. People who are erased from them stay counted in
// NeverAccepted, as erased messages stay counted in Accepted.
func (t SubmissionTotals) PartsLeft() []int {
	if t.PartsToCome > 0 {
		return nil
	}
	left := make([]int, 0, t.Parts-t.PartsDone)
	for part := t.PartsDone + 1; part <= t.Parts; part++ {
		left = append(left, part)
	}
	return left
}

// WithPart returns the totals after the next part, which had people when it was checked. accepted
// is the number of its messages, 0 for a part that erasures have left empty.
func (t SubmissionTotals) WithPart(people, accepted int) SubmissionTotals {
	t.Erased += people - accepted
	t.Accepted += accepted
	t.PartsToCome--
	t.PartsDone++
	return t
}

// EndedParts is a campaign none of whose parts is to come any more.
type EndedParts struct {
	SubmissionTotals

	CreatedAt time.Time // when its first batch was accepted, or when it was cancelled without one
}

// Takes reports whether stored totals may become next, those after a part. They may not if the
// part was counted already, or if no part may come any more.
func (t SubmissionTotals) Takes(next SubmissionTotals) bool {
	return !t.Known() || t.PartsToCome > next.PartsToCome
}

// At returns the totals at a time: after Until no part is to come.
func (t SubmissionTotals) At(now time.Time) SubmissionTotals {
	if !now.Before(t.Until) {
		t.PartsToCome = 0
	}
	return t
}
