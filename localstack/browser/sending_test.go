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
)

// A marketer writes a template and sends a file of customers with it.
func TestFromATemplateToItsCampaign(t *testing.T) {
	t.Parallel()
	b := open(t, "pt-BR")
	b.signIn(b.env["DASHBOARD_EMAIL"])
	word := rand.Text()[:8]
	b.write("Cupom "+word, "Oi {{nome}}, seu cupom é {{cupom}}.")
	file := "phone;uid;nome;cupom\n21" + number() + ";a;Ana;DEZ\n21" + number() + ";b;João;VINTE\n123;c;Rui;DEZ\n"

	b.upload("Campanha "+word, file, "")
	b.check("sending-review")
	if shown := b.text(`main`); !strings.Contains(shown, "123") {
		t.Error("the findings do not show the number that is none")
	}
	b.click(`form[action$="/confirm"] button`, `#live`)
	b.run("see it completed", chromedp.WaitVisible(`#live:not([hx-get]) .under .tag.good`))
	b.check("sending-completed")
}

// A campaign that waits for its time gets another one, and is cancelled.
func TestACampaignThatWaits(t *testing.T) {
	t.Parallel()
	b := open(t, "en-US")
	b.signIn(b.env["DASHBOARD_EMAIL"])
	word := rand.Text()[:8]
	b.write("Later "+word, "Hi {{nome}}")
	b.upload("Campaign "+word, "phone,uid,nome\n21"+number()+",a,Ana\n", inSaoPaulo(48*time.Hour))
	b.click(`form[action$="/confirm"] button`, `#live`)
	b.check("campaign-scheduled")

	b.click(`a[href*="/reschedule?batch="]`, `#schedule`)
	b.check("campaign-reschedule")
	b.run("choose a time that is over", chromedp.SetValue(`#schedule`, inSaoPaulo(-time.Hour)))
	b.sendRefused(`form[action$="/reschedule"]`, http.StatusBadRequest)
	b.check("campaign-reschedule-refused")
	b.run("choose another time", chromedp.SetValue(`#schedule`, inSaoPaulo(72*time.Hour)))
	b.click(`form[action$="/reschedule"] button`, `#live`)
	b.click(`#cancel`, `button.danger`)
	b.check("campaign-cancel")
	b.click(`button.danger`, `#live`)
	b.run("see it cancelled", chromedp.WaitVisible(`#live .notice.warn`))
	b.check("campaign-cancelled")
}

// inSaoPaulo is a time from now on, as a form's field has it.
func inSaoPaulo(ahead time.Duration) string {
	return time.Now().Add(ahead).In(time.FixedZone("São Paulo", -3*3600)).Format("2006-01-02T15:04")
}

// write makes a template, whose preview follows what is typed.
func (b *browser) write(name, text string) {
	b.t.Helper()
	b.visit("/dashboard/templates")
	b.click(`a[href="/dashboard/templates/new"]`, `#name`)
	b.run("write", chromedp.SendKeys(`#name`, name), chromedp.SendKeys(`#text`, text))
	b.run("see it in the preview", chromedp.WaitVisible(`//*[@id="preview"]//*[@class="var"][.="nome"]`))
	b.check("template-new")
	b.click(`.actions button:not(.no-script)`, `a[href$="/edit"]`)
	b.check("template-saved")
}

// upload fills in the form of a new campaign from the page of a template, and has
// it checked.
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
