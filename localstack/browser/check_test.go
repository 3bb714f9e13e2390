package browser_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"campaign-dispatch/internal/dashboard/web"
)

// tall is the height of the windows.
const tall = 900

// windows are the widths in which every page is looked at.
var windows = []struct {
	name  string
	width int64
	as    []chromedp.EmulateViewportOption
}{
	{"desktop", 1280, nil},
	{"phone", 390, []chromedp.EmulateViewportOption{chromedp.EmulateMobile}},
}

// axeFile is axe-core, as `make test` fetches it.
var axeFile = filepath.Join("..", "..", ".local", "axe", "axe_playwright_python", "axe.min.js")

// violation is what axe-core finds wrong with a page.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// check looks at the page in each window: nothing is wrong with it, nothing
// sticks out of the window, and it is light. A picture is kept by the name.
func (b *browser) check(name string) {
	b.t.Helper()
	faults, weight := b.forget()
	for _, fault := range faults {
		b.t.Errorf("%s: %s", name, fault)
	}
	if weight > web.PageLimit {
		b.t.Errorf("%s weighs %d bytes, want %d at most", name, weight, web.PageLimit)
	}
	for _, w := range windows {
		b.run("set the window", chromedp.EmulateViewport(w.width, tall, w.as...))
		if err := b.shoot(name + "-" + w.name); err != nil {
			b.t.Error(err)
		}
		wide := read(b, "measure the page", chromedp.Evaluate[int64](`document.documentElement.scrollWidth`))
		if wide > w.width {
			b.t.Errorf("%s is %d wide in a window of %d", name, wide, w.width)
		}
		for _, v := range b.axe() {
			b.t.Errorf("%s on the %s: axe %s: %s%s", name, w.name, v.ID, v.Help, v.where())
		}
	}
	b.run("set the window", chromedp.EmulateViewport(windows[0].width, tall))
	b.forget()
}

func (v violation) where() string {
	const some = 4
	var out strings.Builder
	for i, n := range v.Nodes {
		if i == some {
			fmt.Fprintf(&out, "\n  and %d more", len(v.Nodes)-some)
			break
		}
		fmt.Fprintf(&out, "\n  %.200s: %s", n.HTML, strings.Join(strings.Fields(n.Summary), " "))
	}
	return out.String()
}

// axe returns what axe-core, with all its rules, finds wrong with the page.
func (b *browser) axe() []violation {
	b.t.Helper()
	script, err := os.ReadFile(axeFile)
	if err != nil {
		b.t.Fatalf("this test needs axe-core, which `make axe` fetches: %v", err)
	}
	read(b, "load axe-core", chromedp.Evaluate[int](string(script)+"; 0"))
	return read(b, "run axe-core", chromedp.Evaluate[[]violation](`axe.run({resultTypes: ["violations"]}).then(r => r.violations.map(v => (
		{id: v.id, help: v.help, nodes: v.nodes.map(n => ({html: n.html, failureSummary: n.failureSummary}))})))`, chromedp.EvalAwaitPromise))
}

// What check looks for, it finds.
func TestTheChecksSeeWhatIsWrong(t *testing.T) {
	t.Parallel()
	b := open(t, "en-US")
	b.visit("/dashboard/docs")
	read(b, "spoil the page", chromedp.Evaluate[int](`
		console.error("spoilt");
		document.head.append(Object.assign(document.createElement("script"), {src: "https://example.com/x.js"}));
		document.querySelector("main").append(new Image()); 0`))
	found := b.axe()
	if len(found) != 1 || found[0].ID != "image-alt" {
		t.Errorf("axe-core found %+v, want image-alt", found)
	}
	if b.shoot("no such folder/picture") == nil {
		t.Error("a picture that could not be kept is none")
	}
	faults, weight := b.forget()
	if told := strings.Join(faults, "\n"); !strings.Contains(told, "spoilt") || !strings.Contains(told, "Content Security Policy") {
		t.Errorf("the browser told of %q, want an error in the console and one of the policy", told)
	}
	if least := 10_000; weight < least {
		t.Errorf("the page weighs %d bytes: its style and scripts are not counted", weight)
	}
}

// A page that stays open for long updates itself often: only the page counts.
func TestUpdatesAreNoWeightOfThePage(t *testing.T) {
	t.Parallel()
	b := open(t, "en-US")
	b.visit("/dashboard/docs")
	_, before := b.forget()
	update := read(b, "update the page", chromedp.Evaluate[int](`
		(async () => { let n; for (let i = 0; i < 3; i++) n = (await (await fetch(location.href)).text()).length; return n })()`, chromedp.EvalAwaitPromise))
	// An icon may still have been on its way.
	if _, after := b.forget(); after-before >= update {
		t.Errorf("the page weighs %d bytes after three updates of %d, and weighed %d before", after, update, before)
	}
}
