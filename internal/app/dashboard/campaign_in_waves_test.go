package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/internal/rollout/bucket"
)

// campaignInWaves is the life of a campaign in three waves.
type campaignInWaves struct {
	*life
	plan   rollout.Plan
	others map[string]bool // uids of those whom a batch of the API has
	known  bool            // the row of the submission exists
}

// newCampaignInWaves confirms a campaign in three waves, of which the first one is accepted.
func newCampaignInWaves(t *testing.T, lines int) *campaignInWaves {
	t.Helper()
	l := &campaignInWaves{life: &life{
		company: newCompany(t, 500, 0), name: "Liquidação", people: map[string]string{}, out: map[string]bool{}, gone: map[string]bool{},
		states: map[string]campaign.Outcome{},
	}, others: map[string]bool{}, known: true}
	l.worker.WavesFrom = 2_000
	l.author, l.begun = l.SignIn(l.tenant, web.RoleAuthor), l.now
	path := l.upload(l.author, l.name, l.rows(lines))
	l.id = campaign.ID{Tenant: l.tenant, CampaignID: strings.TrimPrefix(path, sending.SubmissionsPath+"/")}
	hash := func() string { return l.author.Get(path).Value("hash") }
	inThree := url.Values{"hash": {hash()}, "plan": {"waves"}, "first": {"1000"}, "until-2500": {"yes"}, "pause": {"4h0m0s"}}
	if a := l.author.Post(path+"/waves", inThree); a.Status != http.StatusSeeOther {
		t.Fatalf("the waves are not changed: %d\n%s", a.Status, a.Text())
	}
	if a := l.author.Post(path+"/confirm", url.Values{"hash": {hash()}}); a.Status != http.StatusSeeOther {
		t.Fatalf("confirmed: %d\n%s", a.Status, a.Text())
	}
	sub, err := l.store.Submission(t.Context(), l.id)
	l.must(err)
	if l.plan = sub.Plan; len(l.plan.Waves) != 3 {
		t.Fatalf("the plan is %+v", l.plan)
	}
	run(l.company, &l.tasks, l.worker.Handle)
	l.count()
	return l
}

// waveOf returns the wave of a person by the number.
func (l *campaignInWaves) waveOf(uid string) int {
	number, err := strconv.ParseUint(strings.TrimPrefix(l.people[uid], "+"), 10, 64)
	l.must(err)
	return l.plan.WaveOf(rollout.CellOf(bucket.Of(bucket.Wave(l.id.CampaignID), e164.Number(number))))
}

// linesOf returns the numbers of the lines of some people of a wave who did not opt out.
func (l *campaignInWaves) linesOf(wave, people int) (lines []int) {
	for n := 0; len(lines) < people; n++ {
		if uid := fmt.Sprint("u", n); l.people[uid] != "" && !l.out[uid] && l.waveOf(uid) == wave {
			lines = append(lines, n)
		}
	}
	return lines
}

// inWave is what is known of a wave without any page.
type inWave struct {
	people, accepted, sent, delivered, read int
}

// wave counts a wave. Of the wave 0, which is no wave, are those whom a batch of the API has.
func (l *campaignInWaves) wave(number int) (w inWave) {
	for uid := range l.people {
		of := l.waveOf(uid)
		if of == number {
			w.people++
		}
		if l.others[uid] {
			of = 0
		}
		if of != number || l.states[uid] == "" {
			continue
		}
		w.accepted++
		switch l.states[uid] { //nolint:exhaustive // the others were not sent
		case campaign.OutcomeRead:
			w.read++
			fallthrough
		case campaign.OutcomeDelivered:
			w.delivered++
			fallthrough
		case campaign.OutcomeSent, campaign.OutcomeExpired, campaign.OutcomeRevoked:
			w.sent++
		}
	}
	return w
}

// numberIn returns the number with which a cell begins, or that follows a text in it. It is -1 if there is none.
func numberIn(text, after string) int {
	found := regexp.MustCompile(`^(?:.*\W)?` + regexp.QuoteMeta(after) + `([\d,]+)`).FindStringSubmatch(text)
	if after == "" {
		found = regexp.MustCompile(`^([\d,]+)`).FindStringSubmatch(text)
	}
	if found == nil {
		return -1
	}
	n, _ := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
	return n
}

// row returns the cells of a line of the campaign's waves, by their labels.
func (l *campaignInWaves) row(page webtest.Answer, id string) func(label string) string {
	l.t.Helper()
	found := regexp.MustCompile(`(?s)<tr id="wave-` + id + `">(.*?)</tr>`).FindStringSubmatch(page.Body)
	if found == nil {
		l.t.Fatalf("the page has no line %s", id)
	}
	return func(label string) string {
		in := regexp.MustCompile(`(?s)data-label="` + label + `">(.*?)</td>`).FindStringSubmatch(found[1])
		if in == nil {
			return ""
		}
		return webtest.Answer{Body: in[1]}.Text()
	}
}

// waves checks the lines of the waves: each adds up, and all add up to the file.
func (l *campaignInWaves) waves(when string) {
	l.t.Helper()
	page := l.author.Get(l.path())
	of, left, missing, people := 0, 0, 0, 0
	for number := range 3 {
		number++
		where, row, want := fmt.Sprint(when, ", wave ", number), l.row(page, strconv.Itoa(number)), l.wave(number)
		text := row("People")
		out, not := max(0, numberIn(text, "left out: ")), max(0, numberIn(text, "not accepted: "), numberIn(text, "discarded: "))
		if want.accepted == 0 {
			not = want.people
		}
		of, left, missing, people = of+numberIn(text, ""), left+out, missing+not, people+want.accepted
		switch {
		case l.known:
			l.same(where+", people", numberIn(text, ""), want.people)
			l.same(where+", people as a sum", want.accepted+out+not, want.people)
		case numberIn(text, "") >= 0: // what is shown without the row is right
			l.same(where+", people", numberIn(text, ""), want.people)
		case want.accepted > 0:
			l.same(where+", accepted", numberIn(text, "accepted: "), want.accepted)
		}
		if want.accepted == 0 {
			l.same(where+", sent", numberIn(row("Sent"), ""), -1)
			continue
		}
		l.same(where+", sent", numberIn(row("Sent"), ""), want.sent)
		l.same(where+", delivered", numberIn(row("Delivered"), ""), want.delivered)
		l.same(where+", read", numberIn(row("Read"), ""), want.read)
	}
	if !l.known {
		l.same(when+", wave 2, people who are not known", numberIn(l.row(page, "2")("People"), ""), -1)
	} else {
		l.same(when+", people of all waves", of, l.sum.people)
		l.same(when+", left out of all waves", left, l.sum.erased+l.sum.others)
		l.same(when+", not accepted of all waves", missing, l.sum.notAccepted())
	}
	total, api := l.row(page, "total"), 0
	if len(l.others) > 0 {
		others := l.wave(0)
		api = others.accepted
		row := l.row(page, "others")
		l.same(when+", others, people", numberIn(row("People"), ""), api)
		l.same(when+", others, sent", numberIn(row("Sent"), ""), others.sent)
	}
	l.same(when+", total, people", numberIn(total("People"), ""), l.sum.people+api)
	l.same(when+", total, left out", max(0, numberIn(total("People"), "left out: ")), l.sum.erased+l.sum.others)
	l.same(when+", total, not accepted", max(0, numberIn(total("People"), "not accepted: "), numberIn(total("People"), "discarded: ")), l.sum.notAccepted())
	l.same(when+", total, sent", numberIn(total("Sent"), ""), l.sum.sent())
	l.same(when+", accepted of all waves", people+api, l.sum.accepted())
}

// rollout checks what the API says about the waves.
func (l *campaignInWaves) rollout(when, state string, last int) {
	l.t.Helper()
	var a struct {
		Rollout struct {
			State string
			Wave  int
			Waves []struct{ Wave, Accepted int }
		}
	}
	l.get(l.id, &a)
	if a.Rollout.State != state || a.Rollout.Wave != last || len(a.Rollout.Waves) != 3 {
		l.t.Errorf("%s, API: %+v, want %s after wave %d", when, a.Rollout, state, last)
		return
	}
	for _, w := range a.Rollout.Waves {
		l.same(fmt.Sprint(when, ", API, wave ", w.Wave), w.Accepted, l.wave(w.Wave).accepted)
	}
}

// see looks at the campaign everywhere.
func (l *campaignInWaves) see(when, state string, last int) {
	l.t.Helper()
	l.look(when)
	l.waves(when)
	l.rollout(when, state, last)
	for _, line := range l.exported {
		uid, want := line[1], ""
		if !l.others[uid] {
			want = strconv.Itoa(l.waveOf(uid))
		}
		if got := line[len(line)-1]; got != want {
			l.t.Fatalf("%s, export: %s is in wave %q, want %q", when, uid, got, want)
		}
	}
}

// day lets time pass until a day of the campaign.
func (l *campaignInWaves) day(n int) {
	l.t.Helper()
	l.pass(l.begun.Add(time.Duration(n)*24*time.Hour), l.begun, lives)
	l.author = l.SignIn(l.tenant, web.RoleAuthor)
}

// end gives the messages that wait or are sent their last states.
func (l *campaignInWaves) end() {
	l.t.Helper()
	l.sendUntil(len(l.accepted))
	for _, b := range l.accepted {
		l.record(b, func(_ int, uid string) (campaign.Outcome, string) {
			if l.states[uid] == pending {
				return campaign.OutcomeFailed, ""
			}
			if l.states[uid] == campaign.OutcomeSent {
				return campaign.OutcomeExpired, ""
			}
			return l.states[uid], ""
		})
	}
	l.count()
}

// Of a campaign in waves of whose second wave some people were left out, and whose third wave was discarded, all figures
// everywhere add up on each day, also after the row of the file is gone.
func TestPeopleAddUp_WavesOfDays(t *testing.T) {
	t.Parallel()
	l := newCampaignInWaves(t, 6_000)
	l.send()
	l.see("day 0", "holding", 1)
	l.day(1)
	lines := l.linesOf(2, 3)
	l.reachElsewhere(lines[:2]...)
	for _, n := range lines[:2] {
		l.others[fmt.Sprint("u", n)] = true
	}
	l.erase(lines[2])
	if a := l.author.Post(l.path()+"/waves", url.Values{"wave": {"2"}, "reason": {"Poucas falhas, segue"}, "early": {"yes"}}); a.Status != http.StatusSeeOther {
		t.Fatalf("opening gets %d: %s", a.Status, a.Text())
	}
	run(l.company, &l.tasks, l.worker.Handle)
	l.sum.erased, l.sum.others = 1, 2
	l.count()
	l.send()
	l.see("day 1", "holding", 2)
	l.day(8)
	l.end()
	if a := l.author.Post(sending.SubmissionsPath+"/"+l.id.CampaignID+"/cancel", url.Values{}); a.Status != http.StatusSeeOther {
		t.Fatalf("discarding gets %d: %s", a.Status, a.Text())
	}
	run(l.company, &l.tasks, l.worker.Handle)
	l.sum.over, l.sum.discarded = true, true
	l.see("day 8", "ended", 2)
	for _, day := range []int{31, 400} {
		l.day(day)
		_, err := l.store.Submission(t.Context(), l.id)
		if l.known = err == nil; l.known != (day == 31) {
			t.Fatalf("day %d: the row of the file exists: %t", day, l.known)
		}
		l.see(fmt.Sprint("day ", day), "ended", 2)
	}
}
