package campaign_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/insight"
)

// fileCampaign is a campaign with a file, in which each person is followed.
type fileCampaign struct {
	random *rand.Rand
	file   campaign.SubmissionTotals // before the next part
	before campaign.SubmissionTotals // before the part that was sent last
	stored campaign.SubmissionTotals // of the campaign
	parts  []filePart
	next   int // the part that is sent next

	cancelled, discarded bool
	batches              []campaign.BatchProgress
	ofParts              int // messages of the batches of parts
}

// filePart is a part of a file. Until it is accepted, erasures lower left and others, and other batches of the campaign reach
// people of left, who are then in others.
type filePart struct {
	people, left, others int
	counted              bool
}

var fileUntil = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

func newFileCampaign(random *rand.Rand) *fileCampaign {
	c := &fileCampaign{random: random, parts: make([]filePart, 1+random.IntN(5))}
	c.file.Until = fileUntil
	for i := range c.parts {
		people, invalid, faulty, repeated := 1+random.IntN(4), random.IntN(3), random.IntN(3), random.IntN(3)
		c.parts[i] = filePart{people: people, left: people}
		c.file.People += people
		c.file.Invalid += invalid
		c.file.Faulty += faulty
		c.file.Repeated += repeated
		c.file.Lines += people + invalid + faulty + repeated
	}
	c.file.PartsToCome, c.file.Parts, c.file.Check = len(c.parts), len(c.parts), 1
	return c
}

// send sends a part as it is, again or for the first time.
func (c *fileCampaign) send(part int, before campaign.SubmissionTotals) {
	p := &c.parts[part]
	after := before.WithPart(p.people, p.left, p.others)
	begun := c.stored.Known() || p.left+p.others > 0
	if c.cancelled || !begun || !c.stored.Takes(after) {
		return
	}
	c.stored, p.counted = after, true
	c.ofParts += p.left
	c.addBatch(p.left)
}

func (c *fileCampaign) addBatch(messages int) {
	b := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchCompleted, Accepted: messages}}
	b.Head.Counts = map[campaign.Outcome]int{campaign.OutcomeRead: messages}
	c.batches = append(c.batches, b)
}

// step does something that can happen to the campaign.
func (c *fileCampaign) step() {
	switch c.random.IntN(8) {
	case 0: // the last part arrives twice
		if c.next > 0 {
			c.send(c.next-1, c.before)
		}
	case 1:
		c.cancelled = c.cancelled || c.stored.Known() && c.random.IntN(4) == 0
	case 2:
		c.discarded = c.discarded || c.random.IntN(4) == 0
	case 3: // a person is erased from a part that is not accepted
		switch p := &c.parts[c.random.IntN(len(c.parts))]; {
		case p.counted:
		case p.left > 0:
			p.left--
		case p.others > 0:
			p.others--
		}
	case 4: // a batch of the API, which may reach people of a part
		if c.cancelled {
			break
		}
		if p := &c.parts[c.random.IntN(len(c.parts))]; !p.counted {
			reached := c.random.IntN(p.left + 1)
			p.left, p.others = p.left-reached, p.others+reached
		}
		c.addBatch(1 + c.random.IntN(3))
	default:
		if c.next < len(c.parts) && !c.discarded {
			p := c.parts[c.next]
			c.send(c.next, c.file)
			c.before, c.file = c.file, c.file.WithPart(p.people, p.left, p.others)
			c.next++
		}
	}
	if c.cancelled || c.discarded {
		c.stored.PartsToCome = 0
	}
}

// counted returns the number of parts up to the last counted one. Empty parts before the first batch
// are counted with it.
func (c *fileCampaign) counted() (parts int) {
	for i, p := range c.parts {
		if p.counted {
			parts = i + 1
		}
	}
	return parts
}

// check compares the totals with what happened to each person.
func (c *fileCampaign) check(t *testing.T) {
	t.Helper()
	s := c.stored
	if !s.Known() {
		return
	}
	erased, others, accepted, rest := 0, 0, 0, 0
	for i, p := range c.parts {
		if i < c.counted() {
			erased, others, accepted = erased+p.people-p.left-p.others, others+p.others, accepted+p.left
		} else {
			rest += p.people
		}
	}
	if s.Erased != erased || s.InOtherBatches != others || s.Accepted != accepted || s.NotAccepted() != rest || s.Accepted != c.ofParts {
		t.Fatalf("%+v with %d not accepted; want %d erased, %d in other batches, %d accepted (messages of parts %d), %d not", s, s.NotAccepted(), erased, others, accepted, c.ofParts, rest)
	}
	if left := len(s.PartsNotAccepted()); s.PartsDone != c.counted() || s.PartsToCome == 0 && left != len(c.parts)-c.counted() || s.PartsToCome > 0 && left > 0 {
		t.Fatalf("%+v with %d parts left, after %d of %d", s, left, c.counted(), len(c.parts))
	}
	if s.Lines != s.Invalid+s.Faulty+s.Repeated+s.People || s.People != s.Erased+s.InOtherBatches+s.NotAccepted()+s.Accepted || s.NotAccepted() != s.ToCome()+s.NeverAccepted() {
		t.Fatalf("%+v does not add up", s)
	}
	shown := campaign.Campaign{Batches: c.batches, Submission: s}
	if c.cancelled {
		shown.CancelledAt = fileUntil
	}
	r := insight.ResultsOf(shown, fileUntil)
	if counted := r.Sent + r.Lost; counted != r.Accepted {
		t.Fatalf("%d messages are accepted, their states are those of %d", r.Accepted, counted)
	}
	if completed := shown.Status() == campaign.StatusCompleted; completed != (s.PartsToCome == 0 && !c.cancelled) {
		t.Fatalf("%+v, cancelled %t: %s", s, c.cancelled, shown.Status())
	}
}

// Whatever happens to a campaign with a file, each of its people is counted once.
func TestSubmissionTotals_AddUp(t *testing.T) {
	t.Parallel()
	const histories, steps = 3000, 30
	for seed := range uint64(histories) {
		c := newFileCampaign(rand.New(rand.NewPCG(seed, 0)))
		for range steps {
			c.step()
			c.check(t)
		}
	}
}

func TestSubmissionTotals_At(t *testing.T) {
	t.Parallel()
	s := campaign.SubmissionTotals{Lines: 5, People: 5, Accepted: 2, PartsToCome: 2, Until: fileUntil}
	for name, test := range map[string]struct {
		at            time.Time
		toCome, never int
	}{
		"before": {fileUntil.Add(-time.Second), 3, 0},
		"after":  {fileUntil, 0, 3},
	} {
		if got := s.At(test.at); got.ToCome() != test.toCome || got.NeverAccepted() != test.never {
			t.Errorf("%s: %d to come, %d never accepted; want %d and %d", name, got.ToCome(), got.NeverAccepted(), test.toCome, test.never)
		}
	}
}
