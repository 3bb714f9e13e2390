package browser_test

import (
	"crypto/rand"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// An admin chooses the logo by keyboard alone. All pages show it, and previews the sender.
func TestBrand(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.uploadMedia("Logo "+rand.Text()[:8]+".png", noise(t, 64, 64))
	b.visit("/dashboard/settings/brand")
	b.typeIn(`#sender`, "Loja Demo Moda")
	b.tabTo(`[name=logo]`)
	b.run("choose the newest image", chromedp.KeyEvent(kb.ArrowDown))
	b.check("brand-chosen")
	b.run("save with the Enter key", shows(`.notice.good`, chromedp.KeyEvent(kb.Enter)))
	const loaded = `document.querySelector(".bar img.logo")?.naturalWidth > 0 && document.querySelector(".sender img.logo")?.naturalWidth > 0`
	b.run("wait for the logo", chromedp.Poll[chromedp.Void](loaded))
	b.check("brand-saved")
	b.visit("/dashboard/templates/" + b.env["TEMPLATE_ID"])
	b.run("wait for the logo in the preview", chromedp.Poll[chromedp.Void](loaded), chromedp.WaitVisible(`//*[@class="sender"][contains(., "Loja Demo Moda")]`))
	b.check("brand-template")
	b.run("show a logo that does not load",
		chromedp.Evaluate[chromedp.Void](`document.querySelector("main").insertAdjacentHTML("beforeend", '<img class="logo" data-initials="XY" src="/dashboard/assets/none/none.png" alt="">'); undefined`),
		chromedp.WaitVisible(`//main/span[@class="logo" and .="XY"]`))
	b.takeFaults()
}

// A template is duplicated and archived.
func TestTemplate_Archive(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.visit("/dashboard/templates/" + b.env["TEMPLATE_ID"])
	b.click(`#duplicate`, `#editor`)
	b.check("template-duplicated")
	b.click(`.actions a[href^="/dashboard/templates/"]`, `#archive`)
	b.click(`#archive`, `#restore`)
	b.check("template-archived")
	b.visit("/dashboard/templates?archived=1")
	b.check("templates-archived")
}
