package browser_test

import (
	"crypto/rand"
	"net/http"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// On a phone, whatever Tab reaches is visible and shows that it has the focus.
func TestKeyboard_FocusIsVisible(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.run("set the window", chromedp.EmulateViewport(windows[1].width, tall, windows[1].as...))
	for _, path := range []string{
		"/campaigns", "/campaigns/new", "/templates", "/templates/new", "/templates/" + b.env["TEMPLATE_ID"], "/media", "/lists",
		"/settings/credentials", "/settings/credentials/new", "/settings/webhooks", "/settings/webhooks/new",
		"/settings/billing", "/settings/hours", "/settings/brand", "/settings/audit", "/docs",
	} {
		b.visit("/dashboard" + path)
		b.tabThrough(path)
	}
	b.visit("/dashboard/campaigns")
	b.tabTo(`.open-menu`)
	b.run("open the menu", chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`#menu`))
	b.tabTo(`#menu a[href="/dashboard/templates"]`)
	b.run("close the menu", chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible(`#menu`))
}

// Single keys lead to a search, to a new campaign and to their help: not from a field, and not once they are off.
func TestKeyboard_Shortcuts(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	_, token := b.token(b.env["CLIENT_ID"], b.env["CLIENT_SECRET"])
	if status, got := b.dispatch(token.AccessToken, b.call("Teclas "+rand.Text()[:8], fields{"phone": "21" + number(), "uid": "a"})); status != http.StatusAccepted {
		t.Fatalf("dispatch: %d %+v, want 202", status, got)
	}
	b.visit("/dashboard/media")
	b.run("press n", shows(`#file`, chromedp.KeyEvent("n")))
	b.typeIn(`#name`, "n/?")
	if got := read(b, "read the name", chromedp.Value(`#name`)); got != "n/?" {
		t.Errorf("the name is %q", got)
	}
	b.visit("/dashboard/settings/audit")
	b.run("press /", chromedp.KeyEvent("/"))
	b.focused(`#who`)
	b.visit("/dashboard/media")
	b.run("press /", chromedp.KeyEvent("/"), chromedp.WaitVisible(`form[action="/dashboard/campaigns"] #q`))
	b.focused(`#q`)
	b.visit("/dashboard/media")
	b.run("press ?", chromedp.KeyEvent("?"), chromedp.WaitVisible(`#keys[open]`))
	b.check("keys")
	b.run("close the help", chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible(`#keys`))
	b.tabTo(`[data-keys]`)
	b.run("open the help", chromedp.KeyEvent(kb.Enter), chromedp.WaitVisible(`#keys[open]`))
	b.tabTo(`#keys-on`)
	b.run("switch the keys off", chromedp.KeyEvent(" "), chromedp.KeyEvent(kb.Escape), chromedp.WaitNotVisible(`#keys`))
	b.focused(`[data-keys]`)
	b.run("press ?", chromedp.KeyEvent("?"))
	if read(b, "look for the help", chromedp.Evaluate[bool](`document.getElementById("keys").open`)) {
		t.Error("the help opens by a key that is off")
	}
}

// tabThrough presses Tab until the focus leaves the page.
func (b *browser) tabThrough(path string) {
	b.t.Helper()
	const most = 200
	for stops := range most {
		b.run("press Tab", chromedp.KeyEvent(kb.Tab))
		flaw := read(b, "look at the focus", chromedp.Evaluate[string](focusFlaw))
		if flaw == "left" && stops > 0 {
			return
		}
		if flaw != "" {
			b.t.Errorf("%s, stop %d: %s", path, stops+1, flaw)
		}
	}
	b.t.Errorf("%s: more than %d stops", path, most)
}

// focusFlaw describes what is wrong with the element that has the focus, "" for nothing. It
// is "left" without such an element.
const focusFlaw = `(() => {
	const e = document.activeElement;
	if (!e || e === document.body) return "left";
	const what = e.outerHTML.slice(0, 120) + ": ";
	const box = e.getClientRects()[0], style = getComputedStyle(e);
	if (!box || box.width < 2 || box.height < 2) return what + "invisible";
	if (box.right < 1 || box.left > innerWidth - 1 || box.bottom < 1 || box.top > innerHeight - 1) return what + "outside the window";
	if (style.outlineStyle === "none" && style.boxShadow === "none") return what + "no outline";
	const x = Math.min(Math.max(box.left + box.width / 2, 1), innerWidth - 1), y = Math.min(Math.max(box.top + box.height / 2, 1), innerHeight - 1);
	const top = document.elementFromPoint(x, y);
	if (top && !e.contains(top) && !top.contains(e)) return what + "covered by " + top.outerHTML.slice(0, 80);
	return "";
})()`
