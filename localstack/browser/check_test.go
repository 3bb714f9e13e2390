package browser_test

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/localstack/testsize"
)

// tall is the height of the windows.
const tall = 900

// windows are the window widths of the checks.
var windows = []struct {
	name  string
	width int64
	as    []chromedp.EmulateViewportOption
}{
	{"desktop", 1280, nil},
	{"phone", 390, []chromedp.EmulateViewportOption{chromedp.EmulateMobile}},
}

// axeFile is axe-core, which tools.sh installs.
var axeFile = filepath.Join("..", "..", ".local", "axe", "axe_playwright_python", "axe.min.js")

// violation is a finding of axe-core.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// schemes are the color schemes of the checks.
var schemes = []string{"light", "dark"}

// axeChecks reports whether axe-core checks a page in a window with a color scheme. It takes nearly
// all the time of these tests, so that a page has one window, chosen by its name, and a window has
// one scheme. The proofs try all.
func axeChecks(page string, window, scheme int) bool {
	turn := int(crc32.ChecksumIEEE([]byte(page))) % len(windows)
	return testsize.Proof() || window == turn && scheme == turn
}

// takeScreenshots reports whether the checks write a screenshot of each page, window and
// scheme. SCREENSHOTS=1 sets it.
var takeScreenshots = os.Getenv("SCREENSHOTS") != ""

// check fails the test if the page has faults or axe-core violations, exceeds the window
// or is too large.
func (b *browser) check(name string) {
	b.t.Helper()
	b.checkPage(name, true)
}

// checkPage is check, with or without axe-core.
func (b *browser) checkPage(name string, axe bool) {
	b.t.Helper()
	b.run("wait for the page", whole) // without its style sheet, the page has other colors
	faults, weight := b.takeFaults()
	for _, fault := range faults {
		b.t.Errorf("%s: %s", name, fault)
	}
	if weight > web.PageLimit {
		b.t.Errorf("%s has %d bytes, want %d at most", name, weight, web.PageLimit)
	}
	if n := read(b, "count the primary buttons", chromedp.Evaluate[int](primaryButtons)); n > 1 {
		b.t.Errorf("%s has %d primary buttons, want 1 at most", name, n)
	}
	for at, w := range windows {
		b.run("set the window", chromedp.EmulateViewport(w.width, tall, w.as...))
		wide := read(b, "measure the page", chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
		if wide > w.width {
			b.t.Errorf("%s is %d pixels wide in a window of %d", name, wide, w.width)
		}
		for i, scheme := range schemes {
			if axe && axeChecks(name, at, i) {
				b.checkIn(scheme, name+"-"+w.name+"-"+scheme)
			}
		}
	}
	b.setScheme(schemes[0])
	b.run("set the window", chromedp.EmulateViewport(windows[0].width, tall))
	b.takeFaults()
}

// primaryButtons counts the visible buttons in the accent color.
const primaryButtons = `[...document.querySelectorAll("main :is(button, .button):not(.second, .quiet, .unseen, .var, .item button)")].filter(e => e.checkVisibility()).length`

// checkIn fails the test if axe-core has findings on the page in a color scheme. It writes a
// screenshot if it has, or with SCREENSHOTS=1.
func (b *browser) checkIn(scheme, name string) {
	b.t.Helper()
	b.setScheme(scheme)
	found := b.axe()
	for _, v := range found {
		b.t.Errorf("%s: axe %s: %s%s", name, v.ID, v.Help, v.where())
	}
	if !takeScreenshots && len(found) == 0 {
		return
	}
	if err := b.screenshot(name); err != nil {
		b.t.Error(err)
	}
}

// setScheme sets the color scheme that the system prefers.
func (b *browser) setScheme(scheme string) {
	b.t.Helper()
	prefer := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme},
		{Name: "prefers-reduced-motion", Value: "reduce"}, // a number that fades in is pale for a moment
	}}
	if _, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, prefer); err != nil {
		b.t.Fatalf("prefer a %s scheme: %v", scheme, err)
	}
}

func (v violation) where() string {
	const shown = 4
	var out strings.Builder
	for i, n := range v.Nodes {
		if i == shown {
			fmt.Fprintf(&out, "\n  and %d more", len(v.Nodes)-shown)
			break
		}
		fmt.Fprintf(&out, "\n  %.200s: %s", n.HTML, strings.Join(strings.Fields(n.Summary), " "))
	}
	return out.String()
}

// axe returns the findings of all axe-core rules on the page.
func (b *browser) axe() []violation {
	b.t.Helper()
	if !read(b, "look for axe-core", chromedp.Evaluate[bool](`"axe" in window`)) {
		b.loadAxe()
	}
	return read(b, "run axe-core", chromedp.Evaluate[[]violation](`axe.run({resultTypes: ["violations"]}).then(r => r.violations.map(v => (
		{id: v.id, help: v.help, nodes: v.nodes.map(n => ({html: n.html, failureSummary: n.failureSummary}))})))`, chromedp.EvalAwaitPromise))
}

// loadAxe loads axe-core into the page.
func (b *browser) loadAxe() {
	b.t.Helper()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		b.t.Fatalf("this test needs axe-core, which `make test` installs: %v", err)
	}
	read(b, "load axe-core", chromedp.Evaluate[int](string(script)+"; 0"))
}

func TestCheck_Faults(t *testing.T) {
	t.Parallel()
	b := open(t, "en-US")
	b.visit("/dashboard/docs")
	read(b, "add faults to the page", chromedp.Evaluate[int](`
		console.error("test fault");
		document.head.append(Object.assign(document.createElement("script"), {src: "https://example.com/x.js"}));
		const pale = Object.assign(document.createElement("p"), {textContent: "pale"});
		pale.style.color = "#777", pale.style.background = "#888";
		document.querySelector("main").append(new Image(), pale); 0`))
	var ids []string
	for _, v := range b.axe() {
		ids = append(ids, v.ID)
	}
	if want := []string{"color-contrast", "image-alt"}; !slices.Equal(ids, want) {
		t.Errorf("axe-core found %q, want %q", ids, want)
	}
	if b.screenshot("no such folder/picture") == nil {
		t.Error("screenshot in a missing folder: got no error")
	}
	faults, weight := b.takeFaults()
	if got := strings.Join(faults, "\n"); !strings.Contains(got, "test fault") || !strings.Contains(got, "Content Security Policy") {
		t.Errorf("faults %q, want a console error and a policy violation", got)
	}
	if least := 10_000; weight < least {
		t.Errorf("the page has %d bytes, want %d at least, with its style and scripts", weight, least)
	}
}

// The size of a page must not depend on how long it stays open.
func TestWeight_ExcludesUpdates(t *testing.T) {
	t.Parallel()
	b := open(t, "en-US")
	b.visit("/dashboard/docs")
	_, before := b.takeFaults()
	update := read(b, "update the page", chromedp.Evaluate[int](`
		(async () => { let n; for (let i = 0; i < 3; i++) n = (await (await fetch(location.href)).text()).length; return n })()`, chromedp.EvalAwaitPromise))
	// The icon may load after the first measurement.
	if _, after := b.takeFaults(); after-before >= update {
		t.Errorf("the page has %d bytes after three updates of %d, and %d before", after, update, before)
	}
}
