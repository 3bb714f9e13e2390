package browser_test

import (
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A user creates a template and sends a campaign file with it.
func TestCampaignUpload(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	word := rand.Text()[:8]
	b.write("Cupom "+word, "Oi {{nome}}, seu cupom é {{cupom}}.")
	file := "phone;uid;nome;cupom\n21" + number() + ";a;Ana;DEZ\n21" + number() + ";b;João;VINTE\n123;c;Rui;DEZ\n"

	b.upload("Campanha "+word, file, "")
	b.check("sending-review")
	if shown := b.text(`main`); !strings.Contains(shown, "1 linha fica de fora") || !strings.Contains(shown, "Linha 4: 123") {
		t.Errorf("the review does not show the invalid number:\n%s", shown)
	}
	b.click(`form[action$="/confirm"] button`, `#live`)
	b.run("wait for the completed state", chromedp.WaitVisible(`#head .tag.good`))
	b.check("sending-completed")
}

// A scheduled campaign is rescheduled, then cancelled.
func TestScheduledCampaign(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "en-US")
	word := rand.Text()[:8]
	b.write("Later "+word, "Hi {{nome}}")
	b.upload("Campaign "+word, "phone,uid,nome\n21"+number()+",a,Ana\n", inSaoPaulo(48*time.Hour))
	b.click(`form[action$="/confirm"] button`, `#live`)
	b.check("campaign-scheduled")

	b.run("open the form by keyboard", chromedp.Focus(`#move`), chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`#schedule`))
	b.check("campaign-reschedule")
	b.run("choose a past time", chromedp.SetValue(`#schedule`, inSaoPaulo(-time.Hour)))
	b.sendRefused(`form[action$="/reschedule"]`, http.StatusBadRequest)
	b.check("campaign-reschedule-refused")
	b.run("choose another time", chromedp.SetValue(`#schedule`, inSaoPaulo(72*time.Hour)))
	b.run("confirm by keyboard", chromedp.Focus(`form[action$="/reschedule"] button`), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(`.notice[role="status"]`))
	b.check("campaign-rescheduled")
	b.run("open the technical details", chromedp.Focus(`#details summary`), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(`a[href*="/reschedule?batch="]`))
	b.check("campaign-details")
	b.run("wait for a refresh of the page", chromedp.Poll[chromedp.Void](`document.getElementById("live").title = "old"`),
		chromedp.WaitVisible(`body:has(#live:not([title])) #details[open] a[href*="/reschedule?batch="]`))
	b.click(`#cancel`, `button.danger`)
	b.check("campaign-cancel")
	b.click(`button.danger`, `#live`)
	b.run("wait for the cancelled state", chromedp.WaitVisible(`#live .notice.warn`))
	b.check("campaign-cancelled")
}

// inSaoPaulo returns the time in São Paulo after d, in the format of a form field.
func inSaoPaulo(d time.Duration) string {
	return time.Now().Add(d).In(time.FixedZone("São Paulo", -3*3600)).Format("2006-01-02T15:04")
}

// write creates a template and checks that the preview follows the input.
func (b *browser) write(name, text string) {
	b.t.Helper()
	b.visit("/dashboard/templates")
	b.click(`a[href="/dashboard/templates/new"]`, `#name`)
	b.run("fill in the form", chromedp.SendKeys(`#name`, name), chromedp.SendKeys(`#body`, text))
	b.run("wait for the preview", chromedp.WaitVisible(`//*[@id="preview"]//*[@class="var"][.="nome"]`))
	b.check("template-new")
	b.click(`.actions button:not(.no-script)`, `a[href$="/edit"]`)
	b.check("template-saved")
}

// upload creates a campaign from a template's page, up to the review of its file.
func (b *browser) upload(name, file, schedule string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "clientes.csv")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.click(`a[href^="/dashboard/campaigns/new?template="]`, `#file`)
	b.check("sending-new")
	b.run("fill in the form", chromedp.SendKeys(`#name`, name), chromedp.SetUploadFiles(`#file`, []string{path}),
		chromedp.SetValue(`#schedule`, schedule))
	b.click(`form[enctype] .actions button:not(.no-script)`, `form[action$="/confirm"] button`)
}

// A double click sends a form once.
func TestDoubleClick(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.visit("/dashboard/settings/webhooks/new")
	sent := read(b, "send the form twice", chromedp.Evaluate[int](`(() => {
		let sent = 0;
		addEventListener("submit", e => { if (!e.defaultPrevented) { sent++; e.preventDefault(); } });
		const form = document.querySelector("main form");
		form.noValidate = true;
		form.requestSubmit();
		form.requestSubmit();
		return sent })()`))
	if sent != 1 {
		t.Errorf("the form was sent %d times, want once", sent)
	}
}
