package campaigns_test

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/rollout"
)

// inWaves is a campaign of 10,000 people in waves of 1,000, 3,000 and 6,000 with 1, 2 and 3 parts. Wave 1 was opened two
// hours before noon, and 10 of its people were erased before.
type inWaves struct {
	*service
	sub   submission.Submission
	first campaign.Batch
}

func newInWaves(t *testing.T, change ...func(sub *submission.Submission)) *inWaves {
	t.Helper()
	w := &inWaves{service: newService(t)}
	cells := make([]submission.Cell, rollout.Cells())
	cells[0] = submission.Cell{Parts: 1, Lines: 1000, Accepted: 1000}
	cells[5] = submission.Cell{
		Parts: 2, Lines: 3000, Accepted: 3000, Withheld: 4, Classes: campaign.ClassCounts{Basic: 3000}, Sent: campaign.ClassCounts{Basic: 2996},
	}
	cells[len(cells)-1] = submission.Cell{Parts: 3, Lines: 6003, Accepted: 6000}
	w.sub = submission.Submission{
		ID: campaign.ID{Tenant: w.tenant, CampaignID: uuid()}, Name: "Natal", State: submission.StateHolding, By: "ana@example.com",
		CreatedAt: noon.Add(-3 * time.Hour),
		Check:     submission.Check{Number: 1, Rows: 10_003, Parts: 6, Cells: cells, Findings: submission.Findings{Accepted: 10_000}},
		Plan:      rollout.Plan{Waves: []rollout.Wave{{Until: 50}, {Until: 1000}, {Until: 10_000}}, Soak: 4 * time.Hour},
		Sending: submission.Sending{
			Parts: 1, Accepted: 990, Erased: 10, Waves: []submission.Opened{{At: noon.Add(-2 * time.Hour), By: "ana@example.com"}},
		},
	}
	for _, c := range change {
		c(&w.sub)
	}
	w.save()
	w.first = w.part(1, 1, 990)
	sent := noon.Add(-2 * time.Hour)
	w.record(w.first, campaign.OutcomeSent, "", 0, 899, sent)
	w.record(w.first, campaign.OutcomeFailed, campaign.CodeUnreachable, 900, 949, sent)
	w.record(w.first, campaign.OutcomeFailed, campaign.CodeUnsupported, 950, 979, sent)
	w.record(w.first, campaign.OutcomeFailed, campaign.CodeOptedOut, 980, 989, sent)
	w.record(w.first, campaign.OutcomeDelivered, "", 0, 599, sent.Add(time.Minute))
	w.record(w.first, campaign.OutcomeRead, "", 0, 299, sent.Add(2*time.Minute))
	return w
}

func (w *inWaves) save() {
	w.tb.Helper()
	sub, err := w.store.SaveSubmission(w.tb.Context(), w.sub)
	w.must(err)
	w.sub = sub
}

// part accepts a part of n messages.
func (w *inWaves) part(number, ordinal, n int) campaign.Batch {
	w.tb.Helper()
	w.totals = w.sub.Totals()
	defer func() { w.totals = campaign.SubmissionTotals{} }()
	return w.accept(w.sub.CampaignID, w.sub.Name, ordinal, n, func(b *campaign.Batch) {
		b.Name, b.Part = strconv.Itoa(number), w.sub.PartID(number)
		b.BatchID = campaign.BatchID(b.Name)
		b.AcceptedAt, b.Due = noon.Add(w.later-2*time.Hour), noon.Add(w.later-2*time.Hour)
	})
}

func (w *inWaves) path() string { return campaigns.Path + "/" + w.sub.CampaignID }

func (w *inWaves) reader(language string, role web.Role) webtest.Person {
	who := w.SignIn(w.tenant, role)
	who.Language = language
	return who
}

func (w *inWaves) open(who webtest.Person, wave, reason string) webtest.Answer {
	return who.Post(w.path()+"/waves", url.Values{"wave": {wave}, "reason": {reason}, "early": {"yes"}})
}

// row returns the text of a row of a table.
func row(a webtest.Answer, id string) string {
	found := regexp.MustCompile(`(?s)<tr id="` + id + `">(.*?)</tr>`).FindStringSubmatch(a.Body)
	if found == nil {
		return ""
	}
	return webtest.Answer{Body: found[1]}.Text()
}

func (w *inWaves) rows(t *testing.T, a webtest.Answer, want map[string]string) {
	t.Helper()
	for id, text := range want {
		if got := row(a, id); got != text {
			t.Errorf("%s is %q, want %q", id, got, text)
		}
	}
}

// The rows add up to the page. What a person needs for the decision is said in words.
func TestWaves_Page(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	a := w.reader("pt-BR", web.RoleAuthor).Get(w.path())
	w.rows(t, a, map[string]string{
		"wave-1":      "Onda 1 1.000 ficaram de fora: 10 Enviada aberta em 21/11/2037 10:00 ana@example.com 900 600 66,7% 300 50% 80 Não enviadas: 10",
		"wave-2":      "Onda 2 3.000 Aguarda decisão – – – –",
		"wave-3":      "Onda 3 6.000 Não aberta – – – –",
		"wave-others": "",
		"wave-total":  "Total 10.000 ficaram de fora: 10 esperam: 9.000 – 900 600 66,7% 300 50% 80 Não enviadas: 10",
	})
	says(t, "the page", a.Text(), "Natal Aguarda decisão: onda 2 de 3", "Pessoas: 10.000",
		"30 de 930 tentativas de envio falharam (3,2%). Na campanha inteira, deve ficar entre 2,2% e 4,6%.",
		"600 de 900 enviadas já foram entregues (66,7%). Ainda é cedo: o número pode subir.",
		"300 de 600 entregues já foram lidas (50%). Ainda é cedo: o número pode subir.",
		"Ainda é cedo: os resultados da onda 1 continuam chegando. Decida a partir de 21/11/2037 14:00. Sem decisão, o resto é descartado em 05/12/2037 10:00.",
		"A onda 2 tem 3.000 pessoas.", "Dessas pessoas, 4 tinham pedido para não receber ou estavam em uma lista de bloqueio", "Depois dela, 6.000 pessoas continuam esperando.",
		"Abrir a onda 2 (3.000 pessoas)", "Parar de vez: Descartar o resto · Cancelar campanha Descartar o resto não muda as ondas que já foram abertas.")
	says(t, "the page", a.Body, "<title>Natal – Aguarda decisão: onda 2 de 3", `hx-trigger="every 60s"`, `hx-get="`+w.path()+`/waves" hx-trigger="load"`)
	for _, no := range []string{"every 5s", `http-equiv="refresh"`, "Preço, se"} {
		if strings.Contains(a.Body, no) {
			t.Errorf("the page has %q", no)
		}
	}
	says(t, "the page", w.reader("en", web.RoleAuthor).Get(w.path()).Text(), "Natal Waits for a decision: wave 2 of 3",
		"30 of 930 attempts to send failed (3.2%). For the whole campaign, expect 2.2% to 4.6%.", "Decide after 21 Nov 2037, 14:00.", "Open wave 2 (3,000 people)")
	w.later = 2 * time.Hour
	text := w.reader("pt-BR", web.RoleAuthor).Get(w.path()).Text()
	says(t, "the page after the time", text, "A pausa terminou em 21/11/2037 14:00: já é possível decidir. Sem decisão", "Abrir a onda 2",
		"(66,7%). Na campanha inteira, deve ficar entre 63,5% e 69,7%.", "(50%). Na campanha inteira, deve ficar entre 46% e 54%.")
	if strings.Contains(text, "Ainda é cedo") {
		t.Error("the page warns when the results had their time")
	}
}

// Few people say little, and the page says how little.
func TestWaves_Few(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	w.sub.CampaignID, w.sub.Version, w.sub.Name = uuid(), 0, "Carnaval"
	w.sub.Check.Cells[0].Accepted, w.sub.Check.Findings.Accepted = 60, 9060
	w.sub.Sending.Accepted, w.sub.Sending.Erased = 60, 0
	w.save()
	b := w.part(1, 1, 60)
	w.record(b, campaign.OutcomeSent, "", 0, 11, noon.Add(-time.Hour))
	w.record(b, campaign.OutcomeDelivered, "", 0, 0, noon.Add(-time.Hour))
	w.later = 2 * time.Hour // the results have had their time
	text := w.reader("pt-BR", web.RoleViewer).Get(w.path()).Text()
	says(t, "the page", text,
		"0 de 12 tentativas de envio falharam (0%). Ainda há poucas tentativas (12) para medir uma taxa de falhas menor que 24,3%.",
		"1 de 12 enviadas já foi entregue (8,3%). Ainda há poucos resultados para concluir: na campanha inteira, pode ficar entre 1,4% e 35,4%.",
		"0 de 1 entregues já foram lidas (0%). Ainda há poucos resultados para concluir: na campanha inteira, pode ficar entre 0% e 79,4%.")
}

// The price of the wave is that of the messages that are sent.
func TestWaves_Price(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	w.must(w.store.SetBilling(t.Context(), w.tenant, campaign.Billing{Prices: campaign.Prices{Basic: 50_000, Single: 70_000}}))
	says(t, "the page", w.reader("pt-BR", web.RoleAuthor).Get(w.path()).Text(), "forem entregues: R$ 149,80, reservado")
}

// A batch of the API has a line of its own, whatever its name is, and the table adds up.
func TestWaves_BatchOfAPI(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	other := w.accept(w.sub.CampaignID, w.sub.Name, 2, 50, func(b *campaign.Batch) { b.Name, b.BatchID = "2", campaign.BatchID("2") })
	w.record(other, campaign.OutcomeSent, "", 0, 39, noon)
	a := w.reader("en", web.RoleViewer).Get(w.path())
	w.rows(t, a, map[string]string{
		"wave-1":      "Wave 1 1,000 left out: 10 Sent opened 21 Nov 2037, 10:00 ana@example.com 900 600 66.7% 300 50% 80 Not sent: 10",
		"wave-2":      "Wave 2 3,000 Waits for a decision – – – –",
		"wave-others": "In no wave, from another system 50 Sending 40 0 0% 0 0",
		"wave-total":  "Total 10,050 left out: 10 not accepted: 9,000 – 940 600 63.8% 300 50% 80 Not sent: 10",
	})
	says(t, "the page", a.Text(), "Recipients 1,040 10.4% of the people Sent 940", "An author or an admin can open the wave.")
	for _, no := range []string{`name="reason"`, "Discard the rest"} {
		if strings.Contains(a.Body, no) {
			t.Errorf("a viewer sees %q", no)
		}
	}
}

// A person opens the wave with a reason. A second click opens nothing more and says the same.
func TestWaves_Open(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	const reason = "Poucas falhas; 31 de 4.630, tudo bem {0}"
	who := w.reader("pt-BR", web.RoleAuthor)
	for range 2 {
		done := w.open(who, "2", reason)
		if done.Status != http.StatusSeeOther || done.Location != w.path() {
			t.Fatalf("opening gets %d to %q: %s", done.Status, done.Location, done.Text())
		}
		says(t, "the notice", who.Follow(done).Text(), "A onda 2 está aberta (3.000 pessoas).")
	}
	sub, err := w.store.Submission(t.Context(), w.sub.ID)
	w.must(err)
	want := submission.Opened{At: noon, By: "author@example.com", Reason: reason, Early: true}
	if sub.State != submission.StateSending || len(sub.Sending.Waves) != 2 || !cmp.Equal(sub.Sending.Waves[1], want) {
		t.Errorf("the submission is %s with waves %+v", sub.State, sub.Sending.Waves)
	}
	entries, _, err := w.store.AuditLog(t.Context(), w.tenant, "", 10)
	w.must(err)
	if len(entries) != 1 || entries[0].Action != "rollout.open" || entries[0].Subject != "Natal" || entries[0].Link != w.path() || len(entries[0].Details) != 1 {
		t.Errorf("the audit log has %+v", entries)
	}
	a := w.reader("pt-BR", web.RoleAuthor).Get(w.path())
	w.rows(t, a, map[string]string{
		"wave-2": "Onda 2 3.000 Em envio aberta em 21/11/2037 12:00 author@example.com “" + reason + "” antes do fim da pausa – – – –", "wave-3": "Onda 3 6.000 Não aberta – – – –",
	})
	says(t, "the page", a.Body, "<title>Natal – Em envio", `hx-trigger="every 5s"`)
	if strings.Contains(a.Text(), "Aguarda decisão") || strings.Contains(a.Body, `name="reason"`) {
		t.Errorf("the page asks for a wave that is open:\n%s", a.Text())
	}
}

// While the next wave is sent, its people are accepted, left out, or not accepted yet.
func TestWaves_Partial(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	w.open(w.reader("en", web.RoleAuthor), "2", "fine")
	sub, err := w.store.Submission(t.Context(), w.sub.ID)
	w.must(err)
	sub.Sending.Parts, sub.Sending.Accepted, sub.Sending.Erased = 2, 2485, 15
	w.sub = sub
	w.save()
	w.part(2, 2, 1495)
	a := w.reader("en", web.RoleAuthor).Get(w.path())
	w.rows(t, a, map[string]string{
		"wave-1":     "Wave 1 1,000 left out: 10 Sent opened 21 Nov 2037, 10:00 ana@example.com 900 600 66.7% 300 50% 80 Not sent: 10",
		"wave-2":     "Wave 2 3,000 left out: 5 not accepted: 1,500 Sending opened 21 Nov 2037, 12:00 author@example.com “fine” before the end of the pause 0 0 0 0",
		"wave-total": "Total 10,000 left out: 15 not accepted: 7,500 – 900 600 66.7% 300 50% 80 Not sent: 10",
	})
	says(t, "the list", w.reader("en", web.RoleAuthor).Get(w.path()+"/row").Text(), "Natal", "Sending 9,985")
	w.sub.State, w.sub.Fault = submission.StateInterrupted, submission.Fault{Code: "budget_exceeded"}
	w.save()
	a = w.reader("en", web.RoleAuthor).Get(w.path())
	says(t, "the page", a.Text(), "Wave 2 3,000 left out: 5 not accepted: 1,500", "Stopped", "The sending of wave 2 stopped before its end. See why, and continue")
	if done := w.open(w.reader("en", web.RoleAuthor), "3", "fine"); done.Status != http.StatusConflict || !strings.Contains(done.Text(), "Continue it before") {
		t.Errorf("opening the wave after a stopped one gets %d: %s", done.Status, done.Text())
	}
}

// Why a wave is not opened is said in words, and nothing changes.
func TestWaves_Refusals(t *testing.T) {
	t.Parallel()
	later := func(sub *submission.Submission) { sub.Plan.Waves[1].NotBefore = noon.Add(time.Hour) }
	discarded := func(sub *submission.Submission) { *sub = sub.Close(submission.StateDiscarded) }
	sending := func(sub *submission.Submission) { sub.State = submission.StateSending }
	for name, test := range map[string]struct {
		change func(sub *submission.Submission)
		before func(w *inWaves)
		wave   string
		reason string
		status int
		want   string
	}{
		"too early":   {change: later, status: 409, want: "The next wave cannot be opened before 21 Nov 2037, 13:00. Back to the campaign"},
		"paused":      {before: func(w *inWaves) { w.admin().Post(w.path()+"/pause", url.Values{}) }, status: 409, want: "The campaign is paused. Resume the sending to open the next wave. Resume sending"},
		"cancelled":   {before: func(w *inWaves) { w.admin().Post(w.path()+"/cancel", url.Values{}) }, status: 409, want: "The campaign was cancelled."},
		"over":        {before: func(w *inWaves) { w.later = 13*24*time.Hour + 22*time.Hour }, status: 409, want: "The time to open the wave ended on 5 Dec 2037, 10:00."},
		"discarded":   {change: discarded, status: 409, want: "The rest of the campaign was discarded."},
		"not yet":     {change: sending, status: 409, want: "The wave before is still being accepted."},
		"no reason":   {reason: " \n", status: 422, want: "Write why you open the wave."},
		"wave 1":      {wave: "1", status: 400, want: ""},
		"wave 3":      {wave: "3", status: 409, want: "changed while this page was open"},
		"unknown":     {wave: "4", status: 400, want: ""},
		"not a wave":  {wave: "x", status: 400, want: ""},
		"no wave set": {wave: " ", status: 400, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newInWaves(t, func(sub *submission.Submission) {
				if test.change != nil {
					test.change(sub)
				}
			})
			if test.before != nil {
				test.before(w)
			}
			form := url.Values{"wave": {"2"}, "reason": {"fine"}, "early": {"yes"}}
			if test.wave != "" {
				form.Set("wave", test.wave)
			}
			if test.reason != "" {
				form.Set("reason", test.reason)
			}
			a := w.reader("en", web.RoleAuthor).Post(w.path()+"/waves", form)
			if a.Status != test.status || !strings.Contains(a.Text(), test.want) {
				t.Errorf("opening gets %d: %s", a.Status, a.Text())
			}
			sub, err := w.store.Submission(t.Context(), w.sub.ID)
			w.must(err)
			if sub.Sending.Wave() != 1 {
				t.Errorf("waves are open: %+v", sub.Sending.Waves)
			}
		})
	}
}

// The page of a refused form has its links, and the field has the message.
func TestWaves_ReasonMissing(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	a := w.open(w.reader("pt-BR", web.RoleAuthor), "2", "")
	says(t, "the page", a.Body, `aria-invalid="true"`, `aria-describedby="wave-reason-hint wave-fault"`, `id="wave-fault"`, `hx-get="`+w.path()+"?")
	if strings.Contains(a.Body, w.path()+"/waves?") {
		t.Error("links lead to another page")
	}
}

// While the pause runs, a wave opens only if the person confirms it. The form keeps the reason.
func TestWaves_PauseRuns(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	who := w.reader("pt-BR", web.RoleAuthor)
	says(t, "the page", who.Get(w.path()).Body, `<input type="checkbox" id="wave-early" name="early" value="yes" required`)
	form := url.Values{"wave": {"2"}, "reason": {"Vamos adiante"}}
	a := who.Post(w.path()+"/waves", form)
	says(t, "the refusal", a.Body, `aria-describedby="wave-early-fault"`, `>Vamos adiante</textarea>`)
	if sub, err := w.store.Submission(t.Context(), w.sub.ID); err != nil || a.Status != http.StatusUnprocessableEntity || sub.Sending.Wave() != 1 {
		t.Errorf("the form without the confirmation gets %d, wave %d is open, error %v", a.Status, sub.Sending.Wave(), err)
	}
	form.Set("early", "yes")
	if a := who.Post(w.path()+"/waves", form); a.Status != http.StatusSeeOther {
		t.Errorf("the confirmed form gets %d: %s", a.Status, a.Text())
	}
	if got := row(who.Get(w.path()), "wave-2"); !strings.Contains(got, "antes do fim da pausa") {
		t.Errorf("the wave is %q", got)
	}
	if entries := strings.Join(webtest.AuditedIn(t, w.store, w.tenant), "; "); !strings.Contains(entries, "wave_audited_early") {
		t.Errorf("the audit log says %s", entries)
	}
}

// Only authors and admins open waves and discard the rest.
func TestWaves_Roles(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	for _, role := range []web.Role{web.RoleViewer, web.RoleApprover} {
		who := w.reader("en", role)
		if a := w.open(who, "2", "fine"); a.Status != http.StatusForbidden {
			t.Errorf("opening gets a %s %d", role, a.Status)
		}
		if a := who.Get(w.path() + "/waves/stop"); a.Status != http.StatusForbidden {
			t.Errorf("the question gets a %s %d", role, a.Status)
		}
		if a := who.Get(w.path() + "/waves"); a.Status != http.StatusOK {
			t.Errorf("the reactions get a %s %d", role, a.Status)
		}
	}
	other := w.SignIn("t-other", web.RoleAdmin)
	for _, a := range []webtest.Answer{w.open(other, "2", "fine"), other.Get(w.path() + "/waves"), other.Get(w.path() + "/waves/stop")} {
		if a.Status != http.StatusNotFound {
			t.Errorf("another tenant gets %d", a.Status)
		}
	}
	sub, err := w.store.Submission(t.Context(), w.sub.ID)
	w.must(err)
	if sub.State != submission.StateHolding {
		t.Errorf("the submission is %s", sub.State)
	}
}

// The rest can be discarded: a question comes first.
func TestWaves_Stop(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	a := w.reader("en", web.RoleAuthor).Get(w.path() + "/waves/stop")
	says(t, "the question", a.Text(), "If you discard the rest of “Natal”:", "No other wave can be opened. People to whom nothing is sent: 9,000.")
	says(t, "the question", a.Body, `action="/dashboard/submissions/`+w.sub.CampaignID+`/cancel"`)
	says(t, "the row", w.reader("en", web.RoleAuthor).Get(w.path()+"/row").Text(), "Waits for a decision: wave 2 of 3")
	w.sub = w.sub.Close(submission.StateDiscarded)
	w.save()
	_, err := w.store.EndParts(t.Context(), w.sub.ID)
	w.must(err)
	a = w.reader("en", web.RoleAuthor).Get(w.path())
	w.rows(t, a, map[string]string{
		"wave-1": "Wave 1 1,000 left out: 10 Sent opened 21 Nov 2037, 10:00 ana@example.com 900 600 66.7% 300 50% 80 Not sent: 10", "wave-2": "Wave 2 3,000 Discarded – – – –",
		"wave-3": "Wave 3 6,000 Discarded – – – –", "wave-total": "Total 10,000 left out: 10 discarded: 9,000 – 900 600 66.7% 300 50% 80 Not sent: 9,010",
	})
	if strings.Contains(a.Body, `name="reason"`) || strings.Contains(a.Text(), "Waits for a decision") {
		t.Errorf("a wave can be opened: %s", a.Text())
	}
	if a := w.reader("en", web.RoleAuthor).Get(w.path() + "/waves/stop"); a.Status != http.StatusConflict {
		t.Errorf("the question gets %d", a.Status)
	}
	for _, path := range []string{campaigns.Path, w.path() + "/row"} {
		if text := w.reader("en", web.RoleAuthor).Get(path).Text(); strings.Contains(text, "Waits for a decision: ") {
			t.Errorf("%s says %s", path, text)
		}
	}
}

// Long after, the submission is deleted: the page shows what the campaign has, and adds up.
func TestWaves_SubmissionDeleted(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	w.sub.CampaignID, w.sub.Name = uuid(), "Carnaval" // it has no row
	w.first = w.part(1, 1, 990)
	w.record(w.first, campaign.OutcomeRead, "", 0, 899, noon.Add(-2*time.Hour))
	w.record(w.first, campaign.OutcomeFailed, campaign.CodeUnreachable, 900, 989, noon.Add(-2*time.Hour))
	w.later = 400 * 24 * time.Hour
	a := w.reader("en", web.RoleAuthor).Get(w.path())
	w.rows(t, a, map[string]string{
		"wave-1": "Wave 1 1,000 left out: 10 Sent opened 21 Nov 2037, 10:00 900 900 100% 900 100% 90", "wave-2": "Wave 2 – Discarded – – – –",
		"wave-3": "Wave 3 – Discarded – – – –", "wave-total": "Total 10,000 left out: 10 discarded: 9,000 – 900 900 100% 900 100% 90 Not sent: 9,000",
	})
	says(t, "the reactions", w.reader("en", web.RoleAuthor).Get(w.path()+"/waves").Text(), "Wave 1: its opt-outs cannot be counted any more.", "Wave 1 900 – –")
}

// The list shows that a wave waits, and has a filter for it. Paused, scheduled and cancelled campaigns show that instead.
func TestWaves_List(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	plain := w.running("Páscoa")
	reader := w.reader("pt-BR", web.RoleViewer)
	const state = "Aguarda decisão: onda 2 de 3"
	says(t, "the list", reader.Get(campaigns.Path).Text(), "Natal 21/11/2037 10:00 "+state+" 9.990", "Páscoa 21/11/2037 10:00 Em envio 1.000")
	rows := reader.Get(w.path() + "/row")
	says(t, "the row", rows.Text(), state+" 9.990 66,7% 50% – 80 Não enviadas: 10")
	lists := func(status string, want ...string) {
		t.Helper()
		if got := namesOf(reader.Get(campaigns.Path + "?status=" + status).Body); !slices.Equal(got, want) {
			t.Errorf("%s are %v, want %v", status, got, want)
		}
	}
	lists("holding", "Natal")
	lists("sending", "Páscoa")
	lists("paused")
	w.admin().Post(w.path()+"/pause", url.Values{})
	says(t, "the list", reader.Get(campaigns.Path).Text(), "Natal 21/11/2037 10:00 Pausada 9.990")
	lists("holding")
	lists("paused", "Natal")
	a := reader.Get(w.path())
	says(t, "the page", a.Text(), "Natal Pausada", "Onda 2 3.000 Pausada – – – –", "A campanha está pausada. Retome o envio para abrir a próxima onda.", "Elas esperam também que alguém abra a próxima onda.")
	w.admin().Post(w.path()+"/resume", url.Values{})
	says(t, "the page", reader.Get(w.path()).Text(), "Natal "+state)
	w.admin().Post(w.path()+"/cancel", url.Values{})
	w.later = 2 * time.Minute
	if text := reader.Get(campaigns.Path).Text(); strings.Contains(text, state) {
		t.Errorf("a cancelled campaign waits: %s", text)
	}
	a = reader.Get(w.path())
	w.rows(t, a, map[string]string{"wave-2": "Onda 2 3.000 Descartada – – – –"})
	if text := a.Text(); strings.Contains(text, "Aguarda decisão") || strings.Contains(text, "Abrir a onda") {
		t.Errorf("a cancelled campaign waits: %s", text)
	}
	if a := reader.Get(pathOf(plain)); strings.Contains(a.Body, "wave") {
		t.Error("a campaign without waves has some")
	}
	if a := reader.Get(pathOf(plain) + "/waves"); a.Status != http.StatusNotFound {
		t.Errorf("its reactions get %d", a.Status)
	}
}

// The page updates its waves. What is being typed stays, until another wave waits.
func TestWaves_Update(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	who := w.reader("en", web.RoleAuthor)
	self := regexp.MustCompile(`id="live" hx-get="([^"]*)"`).FindStringSubmatch(who.Get(w.path()).Body)
	if self == nil {
		t.Fatal("the page does not update itself")
	}
	path := strings.ReplaceAll(self[1], "&amp;", "&")
	part := w.reader("en", web.RoleAuthor)
	part.Header.Set("HX-Request", "true")
	a := part.Get(path)
	says(t, "the update", a.Body, `id="waves" hx-swap-oob="true"`)
	if strings.Contains(a.Body, `id="next-wave"`) {
		t.Error("the update replaces the form")
	}
	stopped := w.sub
	stopped.State, stopped.Fault = submission.StateInterrupted, submission.Fault{Code: "file_gone"}
	stopped, err := w.store.SaveSubmission(t.Context(), stopped)
	w.must(err)
	if a := part.Get(path); !strings.Contains(a.Body, `<div id="next-wave" hx-swap-oob="true">`) || strings.Contains(a.Body, `name="reason"`) {
		t.Error("the update keeps the form of a wave that cannot be opened")
	}
	stopped.State, stopped.Fault = submission.StateHolding, submission.Fault{}
	_, err = w.store.SaveSubmission(t.Context(), stopped)
	w.must(err)
	w.open(who, "2", "fine")
	a = part.Get(path)
	says(t, "the update", a.Body, `<div id="next-wave" hx-swap-oob="true">`)
	if strings.Contains(a.Body, `name="reason"`) {
		t.Error("the update keeps the form of an open wave")
	}
}

// The first wave of a scheduled campaign is scheduled, and the people of the others do not go with it.
func TestWaves_Scheduled(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	w.sub.CampaignID, w.sub.Version, w.sub.Schedule = uuid(), 0, noon.Add(time.Hour).Format(time.RFC3339)
	w.save()
	w.totals = w.sub.Totals()
	w.accept(w.sub.CampaignID, "Carnaval", 1, 990, func(b *campaign.Batch) {
		b.Name, b.Part, b.BatchID = "1", w.sub.PartID(1), campaign.BatchID("1")
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Hour)
	})
	a := w.reader("pt-BR", web.RoleAuthor).Get(w.path())
	says(t, "the page", a.Text(), "Carnaval Agendada", "Sai em 21/11/2037 13:00. Pessoas: 990.", "Onda 1 1.000 ficaram de fora: 10 Agendada aberta em 21/11/2037 10:00 ana@example.com 0 0 0 0",
		"Nenhuma tentativa de envio terminou ainda.", "Decida a partir de 21/11/2037 17:00.", "A próxima onda só pode ser aberta a partir de 21/11/2037 13:00.")
	if strings.Contains(a.Body, `name="reason"`) {
		t.Error("a wave can be opened before the campaign goes")
	}
}

// Opt-outs and replies are those of the people of each wave since it was sent, and add up to those of the campaign.
func TestWaves_Reactions(t *testing.T) {
	t.Parallel()
	w := newInWaves(t)
	w.accept(w.sub.CampaignID, w.sub.Name, 2, 50, func(b *campaign.Batch) { b.Due = noon.Add(-time.Hour) })
	phone := func(ordinal, i int) string { return fmt.Sprint("+", 5511_9_8000_0000+10_000*ordinal+i) }
	var out []campaign.OptChange
	for _, who := range []struct {
		phone  string
		after  time.Duration // the first message
		origin campaign.Origin
	}{
		{phone(1, 0), time.Minute, campaign.OriginMessage},
		{phone(1, 1), 2 * time.Minute, campaign.OriginMessage},
		{phone(1, 2), time.Minute, campaign.OriginHand},
		{phone(2, 0), time.Minute, campaign.OriginMessage},
		{phone(2, 1), 90 * time.Minute, campaign.OriginMessage},
		{phone(7, 0), time.Minute, campaign.OriginMessage},
	} {
		out = append(out, campaign.OptChange{Phone: who.phone, Out: true, At: noon.Add(who.after - 2*time.Hour), Origin: who.origin})
	}
	book := optout.Book{Store: w.store, Now: func() time.Time { return noon }}
	for _, c := range out {
		w.must(book.Record(t.Context(), w.tenant, []campaign.OptChange{c}))
	}
	for n, who := range []string{phone(1, 5), phone(1, 5), phone(1, 6), phone(7, 1)} {
		w.must(w.store.SaveReply(t.Context(), w.tenant, reaction.NewReply(noon.Add(time.Duration(n)*time.Minute-time.Hour), strconv.Itoa(n), who, "oi")))
	}
	says(t, "the page", w.reader("pt-BR", web.RoleViewer).Get(w.path()+"/waves").Text(), "Pedidos para não receber mais e respostas, por onda")
	get := func(path string) string {
		part := w.reader("pt-BR", web.RoleViewer)
		part.Header.Set("HX-Request", "true")
		return part.Get(w.path() + path).Text()
	}
	text := get("/waves")
	says(t, "the count", text, "Onda 1: 2 de 600 que receberam pediram para não receber mais (0,3%). Ainda é cedo: o número pode subir.",
		"Onda 1 600 2 0,3% 2", "Fora das ondas, por outro sistema 0 1 0", "Antes de a onda sair – 1 0", "Total 600 4 2")
	says(t, "the campaign", get("/optouts"), "4 destinatários desta campanha pediram para não receber mais.")
	w.later = 7 * 24 * time.Hour // the times of opt-outs are kept for 8 days
	says(t, "the count", get("/waves"), "Onda 1: 2 de 600 que receberam pediram para não receber mais (0,3%). Na campanha inteira, deve ficar entre 0% e 1,3%.")
	w.later = 9 * 24 * time.Hour
	says(t, "the count", get("/waves"), "Onda 1: os pedidos para não receber mais já não podem ser contados.", "Onda 1 600 – 2")
}
