package browser_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"campaign-dispatch/localstack/testsize"
)

// inWaves is the number of people of a file whose campaign goes in waves.
const inWaves = 100_001

// wavesJourney is a walk through a campaign in waves, in a window of one width.
type wavesJourney struct {
	journey

	window   int    // of windows
	campaign string // path of the campaign's page
}

// On a phone and on a desktop, by keyboard: an author changes the waves of a campaign, an approver approves them, and the
// author reads the first wave's results, opens the next wave, and stops the rest.
func TestWaves(t *testing.T) {
	t.Parallel()
	for window := range windows {
		if windows[window].name == "desktop" && !testsize.Proof() { // the walk is the same
			continue
		}
		t.Run(windows[window].name, func(t *testing.T) {
			t.Parallel()
			person := func() wavesJourney {
				return wavesJourney{journey: journey{open(t, "pt-BR"), windows[window].width}, window: window}
			}
			admin, author, approver := person(), person(), person()
			email := admin.newTenant()
			_, tenant, _ := strings.Cut(strings.TrimSuffix(email, ".example.com"), "@")
			admin.prepare(email)
			author.enter(author.invite(tenant, "author"))
			author.upload()
			author.plan()
			approver.enter(approver.invite(tenant, "approver"))
			approver.approve()
			author.readFirst()
			author.open()
			author.stop()
			admin.audited()
		})
	}
}

// look checks a page, and puts the window back to its width.
func (l wavesJourney) look(page string) {
	l.t.Helper()
	l.check("waves-" + windows[l.window].name + "-" + page)
	l.resize()
}

func (l wavesJourney) resize() {
	l.t.Helper()
	w := windows[l.window]
	l.run("set the window", chromedp.EmulateViewport(w.width, tall, w.as...))
}

func (l wavesJourney) enter(email string) {
	l.t.Helper()
	l.signIn(email)
	l.resize()
}

// prepare gives the tenant prices, a rule for approvals and a template.
func (l wavesJourney) prepare(email string) {
	l.t.Helper()
	l.enter(email)
	l.visit("/dashboard/settings/billing")
	l.typeIn(`#basic`, "0,05")
	l.typeIn(`#single`, "0,09")
	l.follow(`main form button`, `.notice.good`)
	l.visit("/dashboard/settings/approval")
	l.typeIn(`#from`, "1000")
	l.follow(`main form button`, `.notice.good`)
	l.visit("/dashboard")
	l.template()
}

// upload uploads the file of a campaign, and waits for its review.
func (l *wavesJourney) upload() {
	l.t.Helper()
	path := filepath.Join(l.t.TempDir(), "clientes.csv")
	var file strings.Builder
	file.WriteString("Celular;Código;Nome\n")
	fates := map[string][]string{}
	for i := range inWaves {
		n := fmt.Sprintf("219%d%06d", 85+l.window, i)
		fmt.Fprintf(&file, "%s;c%d;Ana\n", n, i)
		fates[fateOf(i)] = append(fates[fateOf(i)], "+55"+n)
	}
	for _, name := range []string{"unsupported", "opt_out", "unreachable", "unread"} {
		l.fate(fates[name], name)
	}
	l.must(os.WriteFile(path, []byte(file.String()), 0o600))
	l.visit("/dashboard")
	l.follow(`#start-campaign a`, `#file`)
	l.typeIn(`#name`, "Saldão de dezembro")
	l.run("choose the file", chromedp.SetUploadFiles(`#file`, []string{path}))
	l.follow(`form[enctype] .actions button:not(.no-script)`, `#progress, form[action$="/confirm"] button`)
	l.await("the check", `form[action$="/confirm"] button`)
	l.campaign = strings.Replace(l.path(), "/submissions/", "/campaigns/", 1)
}

// fateOf returns what becomes of the message to a person of the file.
func fateOf(i int) string {
	switch {
	case i%40 == 0:
		return "unsupported"
	case i%150 == 1:
		return "opt_out"
	case i%10 == 2:
		return "unreachable"
	case i%3 == 0:
		return "unread"
	}
	return "delivered"
}

// await waits for an element, longer than an action may take.
func (l wavesJourney) await(what, selector string) {
	l.t.Helper()
	const most = 10 * time.Minute
	ctx, stop := context.WithTimeout(l.ctx, most)
	defer stop()
	if _, err := chromedp.Run(ctx, chromedp.Steps(chromedp.WaitVisible(selector), whole)); err != nil {
		l.t.Fatalf("wait for %s, at %s: %v", what, l.address(), err)
	}
}

// says fails the test if an element lacks a text.
func (l wavesJourney) says(selector string, wants ...string) {
	l.t.Helper()
	shown := strings.ReplaceAll(l.text(selector), "\u00a0", " ")
	for _, want := range wants {
		if !regexp.MustCompile(want).MatchString(shown) {
			l.t.Errorf("%s at %s lacks %q:\n%s", selector, l.path(), want, shown)
		}
	}
}

// plan changes the waves on the review: the smallest first wave, stops at a tenth and a quarter, a short pause, and a time
// for the last wave. Then the author asks for approval.
func (l wavesJourney) plan() {
	l.t.Helper()
	l.plain("the check")
	l.says(`#waves`, `As outras [\d.]+ esperam`, `Onda 2`)
	l.look("review")
	l.tabTo(`#waves summary`)
	l.run("open the form", chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`#first`))
	l.look("form")
	l.tabTo(`#first`)
	l.run("choose the smallest first wave", chromedp.KeyEvent(kb.Home))
	l.tabTo(`#pause`)
	l.run("choose the shortest pause", chromedp.KeyEvent(kb.Home))
	for _, box := range []string{`[name="until-1000"]`, `[name="until-2500"]`} {
		l.tabTo(box)
		if !read(l.browser, "read "+box, chromedp.Evaluate[bool](`document.activeElement.checked`)) {
			l.run("check "+box, chromedp.KeyEvent(" "))
		}
	}
	l.run("set a time that has passed", chromedp.SetValue(`[name="notBefore-10000"]`, inSaoPaulo(-time.Hour)))
	l.sendRefused(`#waves form`, http.StatusUnprocessableEntity)
	l.says(`#waves`, "Este horário já passou")
	l.look("form-refused")
	const day = 24 * time.Hour
	l.run("set a time", chromedp.SetValue(`[name="notBefore-10000"]`, inSaoPaulo(day)))
	l.follow(`#waves form button`, `.notice.good`)
	l.says(`#waves`, `1\.[012]\d\d pessoas recebem primeiro`, "15 minutos", "Não antes de", "Onda 4")
	l.look("planned")
	l.follow(`form[action$="/confirm"] button`, `.notice.good`)
	l.says(`.notice.good`, "Pedido enviado")
	l.look("asked")
}

// approve approves the campaign.
func (l wavesJourney) approve() {
	l.t.Helper()
	l.visit("/dashboard")
	l.follow(`main a[href="/dashboard/approvals"]`, `td.lead a`)
	l.look("approvals")
	l.follow(`td.lead a`, `button[value="approve"]`)
	l.says(`#waves`, "A aprovação vale para as 4 ondas")
	l.look("approval")
	l.follow(`button[value="approve"]`, `.notice.good`)
	l.look("approved")
}

// readFirst waits until the first wave is sent, and reads what a person needs to decide.
func (l wavesJourney) readFirst() {
	l.t.Helper()
	l.visit(l.campaign)
	l.await("the wave that waits", `#wave-reason`)
	l.visit("/dashboard")
	l.look("overview")
	l.says(`main`, `onda 2 de 4`)
	l.visit("/dashboard/campaigns")
	l.says(`main`, `Aguarda decisão: onda 2 de 4`)
	l.look("list")
	l.follow(`main td a[href^="`+l.campaign+`"]`, `#waves`)
	l.await("the end of the first wave", `#wave-1 .tag.good`)
	l.await("readings", `#signal-read`)
	l.says(`#waves`, "Onda 1", `tentativas de envio`, `já foram entregues`, "o número pode subir", "Decida a partir de")
	l.await("opt-outs", `#signal-opt_outs`)
	l.look("canary")
}

// open opens the next wave, first without a reason.
func (l wavesJourney) open() {
	l.t.Helper()
	l.visit(l.campaign)
	l.tabTo(`#next-wave form button`)
	l.run("send an empty reason", chromedp.KeyEvent(kb.Enter))
	l.focused(`#wave-reason`)
	l.sendRefused(`#next-wave form`, http.StatusUnprocessableEntity)
	l.says(`#wave-fault`, "Escreva por que você abre a onda")
	l.look("open-refused")
	l.typeIn(`#wave-reason`, "Poucas falhas, ninguém reclamou; pode seguir")
	l.tabTo(`#wave-early`)
	l.run("confirm that the pause runs", chromedp.KeyEvent(" "))
	l.follow(`#next-wave form button`, `.notice.good`)
	l.says(`.notice.good`, `onda 2`)
	l.look("opened")
	l.await("the third wave that waits", `#next-wave form:has(input[name="wave"][value="3"])`)
	l.says(`#wave-2`, "ninguém reclamou; pode seguir")
	l.visit(l.campaign)
	l.look("second")
}

// stop discards the waves that are left.
func (l wavesJourney) stop() {
	l.t.Helper()
	l.follow(`#wave-stop`, `main form button.danger`)
	l.says(`main form`, "Nenhuma outra onda pode ser aberta")
	l.look("stop")
	l.follow(`main form button.danger`, `.notice.good`)
	l.look("stopped")
	l.visit(l.campaign)
	l.says(`#waves`, "Descartada")
	l.look("ended")
}

// audited looks at the log of what happened.
func (l wavesJourney) audited() {
	l.t.Helper()
	l.visit("/dashboard/settings/audit")
	l.says(`main`, "Abriu uma onda")
	l.look("audit")
}
