package browser_test

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// A user writes a carousel by keyboard alone. The previews of all pages show it.
func TestEditor_CarouselByKeyboard(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.serveImage("https://m") // also while the URL is typed
	b.visit("/dashboard/templates/new")
	word := rand.Text()[:8]
	b.typeIn(`#name`, "Vitrine "+word)
	b.tabTo(`#kind-text`)
	b.run("choose a carousel", chromedp.KeyEvent(kb.ArrowDown+kb.ArrowDown), chromedp.WaitVisible(`#c1-title`))
	b.typeIn(`#c1-title`, "Tênis para {{nome}}")
	b.typeIn(`#c1-media`, "https://media.example/tenis.png")
	b.pressTo(`[value="open c2"]`, `#c2-title`)
	b.typeIn(`#c2-title`, "Mochila")
	b.typeIn(`#c2-description`, "Cabe tudo.")
	b.pressTo(`[value="add c2-s"]`, `#c2-s1-kind`)
	b.run("choose a link", chromedp.KeyEvent("Abr"), chromedp.WaitVisible(`#c2-s1-url`))
	b.typeIn(`#c2-s1-text`, "Ver mochila")
	b.typeIn(`#c2-s1-url`, "http://loja.example/mochila")
	b.pressTo(`[value="add c"]`, `#c3-title`)
	b.pressTo(`[value="up c3"]`, `[value="up c2"]`)
	b.pressTo(`[value="add s"]`, `#s1-kind`)
	b.typeIn(`#s1-text`, "Sair")
	b.run("wait for the preview", chromedp.WaitVisible(`//*[@id="preview"]//li[contains(., "Sair")]`), imageLoaded)
	b.check("editor-carousel")

	b.sendRefused(`#editor`, http.StatusUnprocessableEntity)
	b.focused(`#c2-title[aria-invalid]`)
	b.check("editor-carousel-refused")
	b.pressTo(`[value="remove c2"]`, `[value="open c2"]`)
	b.pressTo(`[value="open c2"]`, `#c2-title`)
	b.pressTo(`[value="open c2-s1"]`, `#c2-s1-kind`)
	b.typeIn(`#c2-s1-url`, kb.End+strings.Repeat(kb.Backspace, len("http://loja.example/mochila"))+"https://loja.example/mochila")
	b.run("save with the Enter key", shows(`a[href$="/edit"]`, chromedp.KeyEvent(kb.Enter)), imageLoaded)
	b.check("editor-carousel-saved")
	b.tabTo(`.night input`)
	b.run("show the dark preview", chromedp.KeyEvent(" "))
	b.check("editor-carousel-dark")

	b.upload("Vitrine "+word, "phone;uid;nome\n21"+number()+";a;Ana\n", "")
	b.run("wait for the first message's image", imageLoaded)
	b.check("sending-review-carousel")
	b.click(`form[action$="/confirm"] button`, `#live`)
	b.run("wait until the provider has accepted it", chromedp.WaitVisible(`#head .tag.good`))
}

// A card beside its image, with an action, and a document.
func TestEditor_CardAndFile(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "en-US")
	b.serveImage("https://m") // also while the URL is typed
	b.visit("/dashboard/templates/new")
	b.run("write a card", chromedp.Click(`#kind-card`), chromedp.SendKeys(`#card-title`, "Sale for {{name}}"), chromedp.SendKeys(`#card-description`, "Today only, in all shops."),
		chromedp.SendKeys(`#card-media`, "https://media.example/a.png"), chromedp.SetValue(`#card-layout`, "right"))
	b.click(`[value="add card-s"]`, `#card-s1-kind`)
	b.run("add an event", chromedp.SetValue(`#card-s1-kind`, "calendarEvent"), chromedp.SendKeys(`#card-s1-text`, "Remind me"), chromedp.WaitVisible(`#preview .calendarEvent`), imageLoaded)
	b.check("editor-horizontal")
	b.run("write a document", chromedp.Click(`#kind-file`), chromedp.SendKeys(`#file`, "https://media.example/rules.pdf"),
		chromedp.WaitVisible(`//*[@id="preview"]//*[contains(., "rules.pdf")]`))
	b.check("editor-file")
}

// An image that does not load is replaced by words.
func TestEditor_BrokenImage(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.visit("/dashboard/templates/new")
	b.run("enter a picture", chromedp.Click(`#kind-file`), chromedp.SendKeys(`#file`, "https://broken.invalid/a.png"),
		chromedp.WaitVisible(`//*[@id="preview"]//*[contains(., "A imagem não carregou")]`))
}

// tabTo presses Tab until an element has the focus.
func (b *browser) tabTo(selector string) {
	b.t.Helper()
	const most = 120
	for range most {
		if b.hasFocus(selector) {
			return
		}
		b.run("press Tab", chromedp.KeyEvent(kb.Tab))
	}
	b.t.Fatalf("%d Tab keys do not reach %s", most, selector)
}

func (b *browser) hasFocus(selector string) bool {
	b.t.Helper()
	return read(b, "read the focus", chromedp.Evaluate[bool](`document.activeElement.matches(`+strconv.Quote(selector)+`)`))
}

// focused waits until an element has the focus.
func (b *browser) focused(selector string) {
	b.t.Helper()
	b.run("wait for the focus on "+selector, chromedp.Poll[chromedp.Void](`document.activeElement.matches(`+strconv.Quote(selector)+`)`))
}

// typeIn types into a field that Tab reaches.
func (b *browser) typeIn(selector, text string) {
	b.t.Helper()
	b.tabTo(selector)
	b.run("type into "+selector, chromedp.KeyEvent(text))
}

// pressTo presses a button with the keyboard. The focus then is on another element.
func (b *browser) pressTo(button, then string) {
	b.t.Helper()
	b.tabTo(button)
	b.run("press "+button, shows(`#editor`, chromedp.KeyEvent(kb.Enter)))
	b.focused(then)
}

// Variables are inserted at the cursor by buttons, with the keyboard alone.
func TestEditor_InsertVariable(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.visit("/dashboard/templates/new")
	b.typeIn(`#body`, "Olá !"+kb.ArrowLeft)
	b.shiftTabTo(`[data-insert="nome"]`)
	b.run("insert a variable", chromedp.KeyEvent(" "))
	b.focused(`#body`)
	b.shiftTabTo(`#insert`)
	b.run("insert a new variable", chromedp.KeyEvent("pedido"+kb.Tab+" "))
	b.focused(`#body`)
	if got := b.value(`#body`); got != "Olá {{nome}}{{pedido}}!" {
		t.Errorf("the text is %q", got)
	}
	b.run("wait for the preview and the new button", chromedp.WaitVisible(`//*[@id="preview"]//*[@class="var" and .="pedido"]`), chromedp.WaitVisible(`[data-insert="pedido"]`))
	b.check("editor-variables")
}

// shiftTabTo presses Shift and Tab until an element has the focus.
func (b *browser) shiftTabTo(selector string) {
	b.t.Helper()
	const most = 60
	for range most {
		if b.hasFocus(selector) {
			return
		}
		b.run("press Shift and Tab", chromedp.KeyEvent(kb.Tab, chromedp.KeyModifiers(chromedp.ModifierShift)))
	}
	b.t.Fatalf("%d Tab keys do not reach %s", most, selector)
}

// value returns the value of a field.
func (b *browser) value(selector string) string {
	b.t.Helper()
	return read(b, "read the value", chromedp.Evaluate[string](`document.querySelector(`+strconv.Quote(selector)+`).value`))
}
