package campaigns_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dashboard/web"
)

// wrote stores a reply to the tenant.
func (d *service) wrote(phone, text string, at time.Time) {
	d.tb.Helper()
	reply := reaction.NewReply(at, fmt.Sprint("events/agent/", phone, text), phone, text)
	for range 2 { // everything may arrive twice
		d.must(d.store.SaveReply(d.tb.Context(), d.tenant, reply))
	}
}

// The campaign's page counts what its recipients wrote since it was sent, and lists it.
func TestCampaign_Replies(t *testing.T) {
	t.Parallel()
	d, other := newService(t), newService(t)
	b := d.running("Natal")
	reader := d.admin()
	reader.Header.Set("HX-Request", "true")
	if text := reader.Get(pathOf(b) + "/replies").Text(); !strings.Contains(text, "No recipient has written") {
		t.Errorf("without replies, the count says: %s", text)
	}
	const first, second, stranger = "+5511980010003", "+5511980010004", "+5521900000000"
	d.wrote(first, "Que horas <abre>?", noon.Add(-time.Hour))
	d.wrote(first, "", noon.Add(-time.Minute))
	d.wrote(second, "Oi", noon.Add(-90*time.Minute))
	d.wrote(second, "antes do envio", noon.Add(-3*time.Hour))
	d.wrote(stranger, "outra campanha", noon.Add(-time.Hour))
	other.wrote(first, "outra loja", noon.Add(-time.Hour))
	if text := reader.Get(pathOf(b) + "/replies").Text(); !strings.Contains(text, "2 people replied. There are 3 replies. Read the replies") {
		t.Errorf("the count says: %s", text)
	}
	text := d.admin().Get(pathOf(b) + "/replies").Text()
	place := 0
	for _, want := range []string{"Image, file or location", "Que horas <abre>? 21 Nov 2037, 11:00", "Oi 21 Nov 2037, 10:30"} {
		found := strings.Index(text[place:], want)
		if found < 0 {
			t.Fatalf("the page does not list %q, newest first:\n%s", want, text)
		}
		place += found
	}
	for _, wrong := range []string{"antes do envio", "outra campanha", "outra loja", stranger} {
		if strings.Contains(text, wrong) {
			t.Errorf("the page lists %q", wrong)
		}
	}
	if a := d.admin().Get(pathOf(b)); !strings.Contains(a.Body, pathOf(b)+"/replies") {
		t.Error("the campaign's page does not count replies")
	}
	if a := d.SignIn("t-other", web.RoleAdmin).Get(pathOf(b) + "/replies"); a.Status != 404 {
		t.Errorf("another tenant gets %d", a.Status)
	}
}

// A reply that may be an opt-out is counted and marked, and an admin can decide on it.
func TestCampaign_DoubtfulReplies(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	const phone = "+5511980010003"
	doubt := reaction.NewReply(noon.Add(-time.Hour), "events/agent/doubt", phone, "quero cancelar")
	doubt.Doubtful = true
	d.must(d.store.SaveReply(t.Context(), d.tenant, doubt))
	d.wrote(phone, "Que horas abre?", noon.Add(-time.Minute))
	page := d.admin().Get(pathOf(b) + "/replies")
	if text := page.Text(); !strings.Contains(text, "There are 2 replies. 1 reply may be an opt-out.") || !strings.Contains(text, "quero cancelar May be an opt-out Stop sending to this number Not an opt-out") {
		t.Errorf("the page is:\n%s", text)
	}
	if page.Value("reply") != doubt.ID || strings.Count(page.Body, `action="/dashboard/people/replies"`) != 1 {
		t.Errorf("the form is of %q", page.Value("reply"))
	}
	d.must(d.store.SettleReplies(t.Context(), d.tenant, map[string]time.Time{phone: doubt.At}))
	if text := d.admin().Get(pathOf(b) + "/replies").Text(); strings.Contains(text, "opt-out") || !strings.Contains(text, "quero cancelar") {
		t.Errorf("after the decision, the page is:\n%s", text)
	}
}

// Replies are listed 50 on a page, and not after they were deleted.
func TestCampaign_RepliesPages(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	for i := range 51 {
		d.wrote(fmt.Sprint("+", 5511_9_8001_0000+i), fmt.Sprintf("texto %02d", i), noon.Add(-time.Duration(i)*time.Second))
	}
	page := d.admin().Get(pathOf(b) + "/replies")
	if n := strings.Count(page.Text(), "texto "); n != 50 || strings.Contains(page.Text(), "texto 50") {
		t.Errorf("the first page has %d replies", n)
	}
	_, next, _ := strings.Cut(page.Body, `rel="next"`)
	before, _, _ := strings.Cut(page.Body, `" rel="next"`)
	href := strings.ReplaceAll(before[strings.LastIndex(before, `"`)+1:], "&amp;", "&")
	if last := d.admin().Get(href); next == "" || strings.Count(last.Text(), "texto ") != 1 || !strings.Contains(last.Text(), "texto 50") {
		t.Errorf("the page %s is:\n%s", href, last.Text())
	}
	d.later = campaign.EventLife
	if text := d.admin().Get(pathOf(b) + "/replies").Text(); !strings.Contains(text, "shown for 30 days") || strings.Contains(text, "texto") {
		t.Errorf("after 30 days, the page is:\n%s", text)
	}
}
