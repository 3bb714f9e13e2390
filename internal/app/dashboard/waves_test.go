package dashboard_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// waveRow returns the text of a line of a campaign's waves.
func (l *life) waveRow(id string) string {
	l.t.Helper()
	found := regexp.MustCompile(`(?s)<tr id="wave-` + id + `">(.*?)</tr>`).FindStringSubmatch(l.author.Get(l.path()).Body)
	if found == nil {
		l.t.Fatalf("the page has no line %s", id)
	}
	return webtest.Answer{Body: found[1]}.Text()
}

// Of a file that goes in waves, all figures everywhere follow from one sum: while a wave waits, while the next one is
// accepted, and after the campaign is cancelled.
func TestPeopleAddUp_Waves(t *testing.T) {
	t.Parallel()
	const lines = 6_000
	l := &life{company: newCompany(t, 500, 0), name: "Liquidação", people: map[string]string{}, out: map[string]bool{}, gone: map[string]bool{}, states: map[string]campaign.Outcome{}}
	l.worker.WavesFrom = 2_000
	l.author, l.approver, l.begun = l.SignIn(l.tenant, web.RoleAuthor), l.SignIn(l.tenant, web.RoleApprover), l.now
	l.approve(l.review(lines))
	run(l.company, &l.tasks, l.worker.Handle)
	l.count()
	first := l.sum.accepted()
	if first < lines/20 || first > lines/5 {
		t.Fatalf("%d of %d people are in the first wave", first, l.sum.people)
	}
	l.send()
	l.look("while wave 2 waits")
	page := l.author.Get(l.path())
	l.figures("campaign", page, "Open wave 2 ("+shown(l.sum.people-first))
	if text := page.Text(); !strings.Contains(text, "Waits for a decision: wave 2 of 2") {
		t.Errorf("the page says %s", text)
	}
	if got, want := l.waveRow("1"), "Wave 1 "+shown(first)+" Sending opened 21 Nov 2037, 12:00 approver@example.com "+shown(l.sum.sent()); !strings.HasPrefix(got, want) {
		t.Errorf("the first wave is %q, want %q", got, want)
	}
	if got, want := l.waveRow("2"), "Wave 2 "+shown(l.sum.people-first)+" Waits for a decision – – – –"; got != want {
		t.Errorf("the second wave is %q, want %q", got, want)
	}
	if a := l.author.Post(l.path()+"/waves", url.Values{"wave": {"2"}, "reason": {"Poucas falhas, segue"}, "early": {"yes"}}); a.Status != http.StatusSeeOther {
		t.Fatalf("opening gets %d: %s", a.Status, a.Text())
	}
	l.accept(0.4)
	l.send()
	l.look("while wave 2 is accepted")
	if got, want := l.waveRow("2"), "Wave 2 "+shown(l.sum.people-first)+" not accepted: "+shown(l.sum.notAccepted()); !strings.HasPrefix(got, want) {
		t.Errorf("the second wave is %q, want %q", got, want)
	}
	if got, want := l.waveRow("total"), "Total "+shown(l.sum.people)+" not accepted: "+shown(l.sum.notAccepted())+" – "+shown(l.sum.sent())+" "+shown(l.sum.delivered()); !strings.HasPrefix(got, want) {
		t.Errorf("the sum is %q, want %q", got, want)
	}
	l.cancel()
	l.look("after the cancellation")
}

// The rest of a file that waits is discarded by the form of the campaign's page. What was sent stays.
func TestWaves_DiscardRest(t *testing.T) {
	t.Parallel()
	l := &life{company: newCompany(t, 500, 0), name: "Liquidação", people: map[string]string{}, out: map[string]bool{}, gone: map[string]bool{}, states: map[string]campaign.Outcome{}}
	l.worker.WavesFrom = 2_000
	l.author, l.approver, l.begun = l.SignIn(l.tenant, web.RoleAuthor), l.SignIn(l.tenant, web.RoleApprover), l.now
	l.approve(l.review(3_000))
	run(l.company, &l.tasks, l.worker.Handle)
	l.count()
	first := l.sum.accepted()
	page := l.author.Get(l.path() + "/waves/stop")
	l.figures("question", page, "People to whom nothing is sent: "+shown(l.sum.notAccepted())+".")
	action := regexp.MustCompile(`method="post" action="([^"]*/cancel)"`).FindStringSubmatch(page.Body)
	if action == nil {
		t.Fatalf("the question has no form:\n%s", page.Body)
	}
	if a := l.author.Post(action[1], url.Values{}); a.Status != http.StatusSeeOther {
		t.Fatalf("discarding gets %d: %s", a.Status, a.Text())
	}
	if got, want := l.waveRow("2"), "Wave 2 "+shown(l.sum.people-first)+" Discarded by "+"author@example.com, "; !strings.HasPrefix(got, want) {
		t.Errorf("the second wave is %q, want %q", got, want)
	}
	if got, want := l.waveRow("total"), "Total "+shown(l.sum.people)+" discarded: "+shown(l.sum.notAccepted())+" –"; !strings.HasPrefix(got, want) {
		t.Errorf("the sum is %q, want %q", got, want)
	}
	l.quiet("campaign", l.author.Get(l.path()), "Waits for a decision", "Open wave")
	if a := l.author.Post(l.path()+"/waves", url.Values{"wave": {"2"}, "reason": {"late"}, "early": {"yes"}}); a.Status != http.StatusConflict || !strings.Contains(a.Text(), "was discarded") {
		t.Errorf("opening gets %d: %s", a.Status, a.Text())
	}
}
