package intake_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/localstack/testsize"
)

// waveRace is what several people, clients and functions do at once with a campaign whose next wave waits, or that is being
// approved.
type waveRace struct{ *race }

// atWaves are all that can happen at once to a campaign in waves. What comes too early or too late is refused.
var atWaves = map[string]func(r *rival){
	"open":                func(r *rival) { r.openWave(2, ana) },
	"open, second tab":    func(r *rival) { r.openWave(2, ana) },
	"another one opens":   func(r *rival) { r.openWave(2, bia) },
	"open the wave after": func(r *rival) { r.openWave(3, bia) },
	"approve": func(r *rival) {
		_, _ = r.service.Decide(r.t.Context(), r.by(intake.Approve, bia, "approve"))
	},
	"change the plan": func(r *rival) {
		if now, err := r.service.Store.Submission(r.t.Context(), r.shown.ID); err == nil {
			now.Plan.Soak = time.Hour
			_ = r.service.SetPlan(r.t.Context(), now, now.Plan)
		}
	},
	"discard": func(r *rival) {
		_, _ = r.service.Decide(r.t.Context(), r.by(intake.Discard, ana, "discard"))
	},
	"function": func(r *rival) { r.function() }, "function, second time": func(r *rival) { r.function() },
	"cancel": func(r *rival) { r.cancel() }, "reschedule": func(r *rival) { r.reschedule() },
	"pause": func(r *rival) { _, _ = r.control.Pause(r.t.Context(), r.shown.ID) },
	"erase": (*rival).eraseLast, "API batch": (*rival).addBatch,
}

func (r *rival) openWave(wave int, who string) {
	step := r.by(intake.OpenWave, who, "open "+strconv.Itoa(wave))
	step.Wave, step.Early = wave, true
	_, _ = r.service.Decide(r.t.Context(), step)
}

// eraseLast erases the last person of the last part, unless it is accepted.
func (r *rival) eraseLast() {
	key := r.shown.PartKey(r.shown.Check.Parts)
	file, err := r.blobs.Get(r.t.Context(), key)
	if err != nil {
		return
	}
	messages, people, err := submission.DecodePart(file)
	r.must(err)
	left := messages[:max(0, len(messages)-1)]
	r.must(r.blobs.Put(r.t.Context(), key, submission.EncodePart(left, people), "application/x-ndjson"))
}

// addBatch adds a batch of the API with the first person of the last part.
func (r *rival) addBatch() {
	messages, _, err := r.part(r.shown.PartKey(r.shown.Check.Parts))
	if err == nil && len(messages) > 0 { // a part of one person can be erased meanwhile
		_ = r.reach(r.shown, "api", messages[0].Phone)
	}
}

func (r *rival) part(key string) ([]submission.Message, int, error) {
	file, err := r.blobs.Get(r.t.Context(), key)
	if err != nil {
		return nil, 0, err
	}
	return submission.DecodePart(file)
}

// newWaveRace returns a race of a copy of a checked submission: of those with an even seed, the second wave waits; the
// others wait for approval.
func (c *company) newWaveRace(seed int, ready submission.Submission) *waveRace {
	r := &waveRace{&race{company: *c}}
	r.queue = &queue{}
	r.Service = r.service(r.store, r.blobs)
	r.began = r.copyOf(ready, func(sub *submission.Submission) {
		if seed%2 == 1 {
			sub.State, sub.Approval = submission.StateApproval, submission.Approval{AskedBy: ana, AskedAt: noon}
		}
	})
	if seed%2 == 0 {
		r.began = r.send(r.began)
	}
	return r
}

func (r *waveRace) compete(seed int) {
	t, names := newTurns(uint64(seed)), slices.Sorted(maps.Keys(atWaves))
	r.choose(t, names, seed/2%len(names))
	r.competeAs(t, atWaves)
}

// check wants that each wave that is open has an entry of the audit log and went, that no other went, and that each person
// has one message or none.
func (r *waveRace) check(log []string) {
	sub := r.stored(r.began)
	opened := r.began.Sending.Wave()
	for _, action := range log {
		if strings.HasPrefix(action, "open ") || action == "approve" {
			opened++
		}
	}
	if sub.Sending.Wave() != opened || sub.Working() || sub.Fault.Code != "" && !r.cancelled {
		r.t.Errorf("%s, %q, %d waves are open after %v", sub.State, sub.Fault.Code, sub.Sending.Wave(), log)
	}
	if sub.Sending.Wave() == 0 { // never approved
		if len(r.batchesOfParts(sub)) > 0 {
			r.t.Error("parts went without an approval")
		}
		return
	}
	r.checkPeople(sub)
}

// batchesOfParts returns the campaign's batches that are parts, none without a campaign.
func (r *waveRace) batchesOfParts(sub submission.Submission) (parts []campaign.BatchProgress) {
	all, err := r.store.Dispatched(r.t.Context(), sub.ID)
	if err == nil {
		for _, b := range all.Batches {
			if b.Part != "" {
				parts = append(parts, b)
			}
		}
	}
	return parts
}

func (r *waveRace) checkPeople(sub submission.Submission) {
	people := map[string]int{}
	for wave, uids := range r.peopleOf(sub) {
		if wave > sub.Sending.Wave() {
			r.t.Errorf("wave %d went, %d are open", wave, sub.Sending.Wave())
		}
		for _, uid := range uids {
			people[uid]++
		}
	}
	for uid, n := range people {
		if n > 1 {
			r.t.Errorf("%s has %d messages", uid, n)
		}
	}
	s := r.totals(sub) // which checks the sums
	ended := r.cancelled || sub.State == submission.StateDiscarded
	if last := sub.Check.Parts; !ended && s.PartsDone != sub.PartsOpen() && s.PartsDone != last {
		r.t.Errorf("%d of %d parts went, and nobody ended it: %s", s.PartsDone, sub.PartsOpen(), sub.State)
	}
	if want := sub.NextWave(); !ended && want > 0 && (sub.State != submission.StateHolding || s.Holding() != want) {
		r.t.Errorf("%s, wave %d waits, want %d", sub.State, s.Holding(), want)
	}
	if erased := s.Erased + s.InOtherBatches; erased > 1 || erased > 0 && s.PartsDone < sub.Check.Parts {
		r.t.Errorf("%d people of the last part are left out, after %d of %d parts", erased, s.PartsDone, sub.Check.Parts)
	}
}

// Of what people, clients and functions do at once with a campaign in waves, each has one effect or none: the waves, the audit
// log and what was sent agree.
func TestWaves_Races(t *testing.T) {
	t.Parallel()
	c, n := newCompany(t), testsize.Of(42, 300) // in 42, each takes part first, of both kinds
	ready := c.inWaves(24, func(sub *submission.Submission) { sub.Schedule = "" })
	all := make([]*waveRace, n)
	var group sync.WaitGroup
	limit := make(chan struct{}, 4)
	for seed := range n {
		limit <- struct{}{}
		group.Go(func() {
			defer func() { <-limit }()
			all[seed] = c.newWaveRace(seed, ready)
			all[seed].compete(seed)
		})
	}
	group.Wait()
	log, opened := c.auditLog(), 0
	for seed, r := range all {
		if c.stored(r.began).Sending.Wave() > r.began.Sending.Wave() {
			opened++
		}
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			t.Parallel()
			r.t = t
			if r.check(log[r.began.CampaignID]); t.Failed() {
				t.Logf("%s: %s", r.began.State, strings.Join(r.names, ", "))
			}
		})
	}
	if opened == 0 || opened == n {
		t.Errorf("the races end always the same: waves were opened in %d of %d", opened, n)
	}
}
