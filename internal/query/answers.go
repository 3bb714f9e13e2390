package query

import (
	"reflect"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
)

const (
	// answerLife is how old the counts of an answer can be.
	answerLife = 2 * time.Second
	// maxAnswers is the size of the answers in memory, in bytes. One takes up to 200 KB.
	maxAnswers = 16 << 20
)

// answers keeps the answers about campaigns for a short time. The zero answers is ready to use.
type answers struct {
	mu    sync.Mutex
	kept  map[asked]answer
	bytes int
}

// asked is what an answer depends on beside the campaign.
type asked struct {
	campaign.ID

	written string // the ID as the client wrote it
	after   int    // the cursor
}

// answer is an encoded answer with the standing of its campaign when it was read.
type answer struct {
	body     []byte
	at       time.Time
	standing campaign.Summary
}

// find returns a recent answer.
func (a *answers) find(k asked, now time.Time) (found answer, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, ok = a.kept[k]
	return found, ok && now.Sub(found.at) < answerLife
}

// keep keeps an answer. If there is no room, all others are dropped.
func (a *answers) keep(k asked, one answer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bytes += len(one.body) - len(a.kept[k].body)
	if a.kept == nil || a.bytes > maxAnswers {
		a.kept, a.bytes = map[asked]answer{}, len(one.body)
	}
	a.kept[k] = one
}

// standingOf returns what a campaign's summary has if nothing but outcomes changed since it was read. known is false for
// a campaign that can change without a change of its summary: one of its batches is not released, and can get another
// time, or it is cancelled. A campaign of one batch is read again: that costs little more than its summary.
func standingOf(c campaign.Campaign) (s campaign.Summary, known bool) {
	s = campaign.Summary{Batches: c.BatchCount, Moves: c.Move.Revision, PausedAt: c.PausedAt, Submission: c.Submission}
	for _, b := range c.Batches {
		if b.State == campaign.BatchPending {
			return s, false
		}
		if b.State == campaign.BatchCompleted {
			s.Completed++
		}
	}
	return s, c.CancelledAt.IsZero() && len(c.Batches) > 1
}

// unchanged reports whether a campaign's summary is the one that an answer was made of.
func (a answer) unchanged(now campaign.Summary) bool {
	is := campaign.Summary{
		Batches: now.Batches, Completed: now.Completed, Moves: now.Moves, PausedAt: now.PausedAt, Submission: now.Submission,
	}
	return now.CancelledAt.IsZero() && reflect.DeepEqual(is, a.standing)
}
