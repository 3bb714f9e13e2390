package browser_test

import (
	"crypto/rand"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"campaign-dispatch/localstack/stackenv"
)

// A search by phone shows the messages of all campaigns, and the number is added to the
// opt-outs and removed from them. No URL contains the number.
func TestPeople(t *testing.T) {
	t.Parallel()
	shop := &browser{t: t, env: stackenv.Load(t)}
	_, token := shop.token(shop.env["CLIENT_ID"], shop.env["CLIENT_SECRET"])
	local := "21" + number()
	phone, names := "+55"+local, []string{"Primeira " + rand.Text()[:8], "Segunda " + rand.Text()[:8]}
	for _, name := range names {
		if status, got := shop.dispatch(token.AccessToken, shop.call(name, fields{"phone": local, "uid": "a"})); status != http.StatusAccepted {
			t.Fatalf("dispatch: %d %+v, want 202", status, got)
		}
	}
	b := openAsAdmin(t, "pt-BR")
	b.visit("/dashboard/people")
	b.check("people")
	b.findPerson(local)
	for _, name := range names {
		if page := b.text("main"); !strings.Contains(page, name) || !strings.Contains(page, phone) {
			t.Errorf("the history of the number lacks %q:\n%s", name, page)
		}
	}
	b.check("people-history")
	b.click(`main form[action$="/opt-outs/add"] button`, `.notice.good`)
	b.findPerson(local)
	b.click(`main form[action$="/opt-outs/removal"] button`, `input[name="asked"]`)
	b.check("people-remove")
	b.sendRefused(`main form`, http.StatusUnprocessableEntity)
	b.check("people-remove-refused")
	b.run("confirm", chromedp.Click(`input[name="asked"]`))
	b.click(`main .danger`, `.notice.good`)
	b.findPerson(local)
	if page := b.text("main"); !strings.Contains(page, "Este número recebe mensagens.") {
		t.Errorf("the number is still opted out:\n%s", page)
	}
	b.importOptOuts("telefone;nome\n" + local + ";Ana\nrubbish;Bia\n")
	if notice := b.text(`.notice.good`); !strings.Contains(notice, "1 número") {
		t.Errorf("the import says %q", notice)
	}
	b.check("people-imported")
	if strings.Contains(b.address(), local) {
		t.Error("a URL contains the number")
	}
}

// findPerson searches a number.
func (b *browser) findPerson(phone string) {
	b.t.Helper()
	b.visit("/dashboard/people")
	b.run("enter the number", chromedp.SendKeys(`#phone`, phone))
	b.click(`main form[action$="/find"] button:not(.quiet)`, `#messages`)
}

// importOptOuts imports a file of opt-outs.
func (b *browser) importOptOuts(content string) {
	b.t.Helper()
	b.visit("/dashboard/people")
	b.chooseFile(content)
	b.click(`main form[enctype] button`, `#import`)
	b.check("people-import-review")
	b.click(`#import button`, `.notice.good`)
}

// chooseFile chooses a file in the form of a page.
func (b *browser) chooseFile(content string) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "lista.csv")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.run("choose the file", chromedp.SetUploadFiles(`#file`, []string{path}))
}
