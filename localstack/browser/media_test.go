package browser_test

import (
	"bytes"
	"crypto/rand"
	"image"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const media = "/dashboard/media"

// A file is uploaded in two chunks, shown by a template, and deleted when it is not shown.
func TestMedia(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	shown, unused := "Oferta "+rand.Text()[:8]+".png", "Rascunho "+rand.Text()[:8]+".png"

	link := b.uploadMedia(shown, noise(t, 1300, 1300))
	b.check("media")
	if width := read(b, "measure the thumbnail", chromedp.Evaluate[int](
		`new Promise(r => { const i = document.querySelector(".thumbnail"); i.complete ? r(i.naturalWidth) : i.onload = () => r(i.naturalWidth); })`,
		chromedp.EvalAwaitPromise)); width < 100 || width > 770 {
		t.Errorf("the thumbnail is %d pixels wide, want 770 at most", width)
	}
	if status := b.saveCard("Modelo "+rand.Text()[:8], link); status != http.StatusOK {
		t.Fatalf("saving a template with the file: %d, want 200", status)
	}
	b.visit(media)
	b.click(`//li[contains(., "`+shown+`")]//a[contains(@href, "/delete")]`, `.notice.warn`)
	b.check("media-in-use")

	link = b.uploadMedia(unused, noise(t, 20, 20))
	b.click(`//li[contains(., "`+unused+`")]//a[contains(@href, "/delete")]`, `button.danger`)
	b.check("media-delete")
	b.click(`button.danger`, `.notice.good`)
	if shown := b.text(`main`); strings.Contains(shown, unused) {
		t.Error("the list shows the deleted file")
	}
	if status := b.saveCard("Modelo "+rand.Text()[:8], link); status != http.StatusConflict {
		t.Errorf("saving a template with the deleted file: %d, want 409", status)
	}
}

// A file is uploaded in the editor, without leaving it, and the saved card shows it.
func TestMedia_UploadInEditor(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	name, path := "Editor "+rand.Text()[:8], filepath.Join(t.TempDir(), "foto.png")
	if err := os.WriteFile(path, noise(t, 1300, 1300), 0o600); err != nil {
		t.Fatal(err)
	}
	b.visit("/dashboard/templates/new")
	b.run("enter a card",
		chromedp.Click(`#kind-card`), chromedp.SendKeys(`#name`, name), chromedp.SendKeys(`#card-title`, "Oferta"),
		chromedp.Evaluate[chromedp.Void](`HTMLInputElement.prototype.click = function () {}`), // no dialog of the system
		chromedp.Click(`[data-upload-to="card-media"]`),
		chromedp.SetUploadFiles(`[data-uploader] input`, []string{path}),
		chromedp.Poll[chromedp.Void](`document.getElementById("card-media").value.endsWith(".png")`),
		chromedp.WaitVisible(`.phone img[src*="/media/"]`),
	)
	b.check("template-upload")
	if title := read(b, "read the title", chromedp.Value(`#card-title`)); title != "Oferta" {
		t.Errorf("the title is %q after the upload", title)
	}
	b.run("save with the Enter key", shows(`a[href$="/edit"]`, chromedp.SendKeys(`#card-title`, kb.Enter)))
	b.click(`a[href$="/edit"]`, `#card-media`)
	if shown := read(b, "read the link", chromedp.Value(`#card-media`)); !strings.Contains(shown, "/media/") {
		t.Errorf("the saved card shows %q", shown)
	}
}

// A chunk that fails is sent again. A file whose upload was stopped continues with the chunk that
// is missing.
func TestMedia_StoppedUpload(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "en-US")
	name := "Foto " + rand.Text()[:8] + ".png"
	b.visit(media)
	b.chooseMedia(name, noise(t, 1300, 1300))
	b.run("lose the connection at the first attempt, and hang at the second chunk", chromedp.Evaluate[chromedp.Void](`(() => {
		window.chunks = 0;
		const send = XMLHttpRequest.prototype.send;
		XMLHttpRequest.prototype.send = function (body) {
			if (!(body instanceof Blob)) return send.call(this, body);
			if (++chunks === 1) return this.onerror();
			if (chunks !== 3) return send.call(this, body);
			this.abort = () => this.onabort();
		};
	})()`))
	b.run("start the upload", chromedp.Click(`form:has([data-upload]) > button`), chromedp.WaitVisible(`//*[@role="status" and contains(., "70%")]`))
	b.check("media-uploading")
	b.run("wait until the second chunk hangs", chromedp.Poll[chromedp.Void](`chunks === 3`))
	b.click(`[data-stop]`, `[data-upload] .notice.bad`)
	if shown := b.text(`[data-upload] [role=status]`); !strings.Contains(shown, "continues where it stopped") {
		t.Errorf("a stopped upload shows %q", shown)
	}
	if focus := read(b, "read the focus", chromedp.Evaluate[string](`document.activeElement.textContent`)); focus != "Upload" {
		t.Errorf("the focus is on %q", focus)
	}
	b.check("media-stopped")
	b.run("upload the same file again", chromedp.Evaluate[chromedp.Void](`addEventListener("pagehide", () => sessionStorage.setItem("chunks", chunks))`))
	b.click(`form:has([data-upload]) > button`, `.notice.good`)
	if sent := read(b, "count the chunks", chromedp.Evaluate[string](`sessionStorage.getItem("chunks")`)); sent != "4" {
		t.Errorf("%s chunks were sent, want 4: one failed, one arrived, one was stopped and sent again", sent)
	}
	if shown := b.text(`main`); !strings.Contains(shown, name) {
		t.Errorf("the list lacks the file: %q", shown)
	}
}

// A page that is named like an image is refused, and a URL of this machine's network.
func TestMedia_Refused(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "en-US")
	b.visit(media)
	b.chooseMedia("page.png", []byte("<!doctype html><script>alert(1)</script>"))
	b.click(`form:has([data-upload]) > button`, `[data-upload] .notice.bad`)
	if shown := b.text(`[data-upload] [role=status]`); !strings.Contains(shown, "not that of a JPEG") {
		t.Errorf("the page shows %q", shown)
	}
	b.takeFaults() // the browser's message about the status 422
	b.check("media-refused")
	b.run("enter a private address", chromedp.SendKeys(`#address`, "https://10.0.0.1/a.png"))
	b.sendRefused(`form[action="/dashboard/media/urls"]`, http.StatusUnprocessableEntity)
	b.check("media-url-refused")
}

// uploadMedia uploads a file on its page and returns its link.
func (b *browser) uploadMedia(name string, body []byte) (link string) {
	b.t.Helper()
	b.visit(media)
	b.chooseMedia(name, body)
	b.click(`form:has([data-upload]) > button`, `.notice.good`)
	return b.text(`//li[contains(., "` + name + `")]//code`)
}

func (b *browser) chooseMedia(name string, body []byte) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), name)
	if err := os.WriteFile(path, body, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.run("choose the file", chromedp.SetUploadFiles(`form:has([data-upload]) input`, []string{path}))
}

// saveCard saves a template whose card shows a URL, and returns the status.
func (b *browser) saveCard(name, link string) int {
	b.t.Helper()
	b.visit("/dashboard/templates/new")
	return read(b, "save the template", chromedp.Evaluate[int](`(async () => {
		const fields = new URLSearchParams(new FormData(document.querySelector("main form")));
		for (const [name, value] of Object.entries({name: "`+name+`", kind: "card", "card-title": "Oferta", "card-media": "`+link+`"})) fields.set(name, value);
		return (await fetch("/dashboard/templates", {method: "POST", body: fields})).status;
	})()`, chromedp.EvalAwaitPromise))
}

// noise returns a PNG that does not compress, of 4 bytes a pixel.
func noise(t *testing.T, width, height int) []byte {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	_, _ = rand.Read(m.Pix)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
