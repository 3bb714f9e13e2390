// Package browser_test drives the dashboard in a browser, as people do: on the
// local stack, signed in by its user pool, every page looked at by axe-core.
package browser_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"campaign-dispatch/localstack/stackenv"
)

// patience is how long a page, or what is to appear on it, may take on a busy
// machine.
const patience = 90 * time.Second

// browser is a browser of one person, with a profile of its own.
type browser struct {
	t    *testing.T
	env  stackenv.Env
	ctx  context.Context //nolint:containedctx // chromedp keeps its browser in it
	seen record
}

// record is what the browser told of.
type record struct {
	sync.Mutex
	faults []string
	page   cdp.LoaderID                       // of the page that is shown
	loads  map[network.RequestID]cdp.LoaderID // the page that asked
	weight map[cdp.LoaderID]int               // with its style and scripts, without later updates of itself
}

// open starts a browser that asks for pages in the language.
func open(t *testing.T, language string) *browser {
	t.Helper()
	env := stackenv.Load(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("accept-lang", language),
	)
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	t.Cleanup(stop)
	ctx, shut := chromedp.NewContext(allocator)
	t.Cleanup(shut)
	b := &browser{t: t, env: env, ctx: ctx, seen: record{loads: map[network.RequestID]cdp.LoaderID{}, weight: map[cdp.LoaderID]int{}}}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		t.Fatal(err)
	}
	b.run("set the window", chromedp.EmulateViewport(windows[0].width, tall))
	return b
}

// chromium returns the browser to drive: CHROMIUM, or the first on the PATH.
func chromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test needs Chromium or Chrome: install it, or set CHROMIUM to its program")
	return ""
}

// listen writes down what a page does wrong: errors in its scripts, what the
// policy or the network refused, and what it weighs.
func (b *browser) listen(event any) {
	b.seen.Lock()
	defer b.seen.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.seen.faults = append(b.seen.faults, fmt.Sprint("exception: ", e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception.Description))
	case *runtime.EventConsoleAPICalled:
		if givenUp.Match(e.Args[0].Value) {
			return
		}
		if slices.Contains([]string{"error", "warning", "assert"}, string(e.Type)) {
			b.seen.faults = append(b.seen.faults, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			b.seen.faults = append(b.seen.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		// An update is left out: how many come depends on how long the page stays open.
		if e.Type == network.ResourceTypeXHR || e.Type == network.ResourceTypeFetch {
			return
		}
		if e.Type == network.ResourceTypeDocument {
			b.seen.page = e.LoaderID
		}
		b.seen.loads[e.RequestID] = e.LoaderID
	case *network.EventLoadingFinished:
		if page, ok := b.seen.loads[e.RequestID]; ok {
			b.seen.weight[page] += int(e.EncodedDataLength)
		}
	}
}

// givenUp is what htmx says of a request whose answer is not needed any more, as
// somebody has typed on. Of one that failed it says more.
var givenUp = regexp.MustCompile(`^"htmx:(sendAbort|afterRequest),`)

// forget returns the faults that were seen since the last call, and the bytes of
// the page that is shown, with its style and scripts.
func (b *browser) forget() (faults []string, weight int) {
	b.seen.Lock()
	defer b.seen.Unlock()
	faults, b.seen.faults = b.seen.faults, nil
	return faults, b.seen.weight[b.seen.page]
}

// run does things in the browser, and fails the test where they take too long.
func (b *browser) run(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	read(b, what, chromedp.Steps(actions...))
}

// read does something in the browser and returns what came of it.
func read[T any](b *browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	found, err := chromedp.Run(ctx, action)
	if err != nil {
		if err := b.shoot("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-")); err != nil {
			b.t.Log(err)
		}
		b.t.Fatalf("%s, at %s: %v", what, b.address(), err)
	}
	return found
}

// visit goes to a page of the dashboard.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.forget()
	b.run("visit "+path, chromedp.Navigate(b.env["BASE_URL"]+path))
}

// lands does things that lead to a page, and fails the test where that does not
// come with the status. What the browser says of the status is no fault.
func (b *browser) lands(status int, what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.forget()
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	answer, err := chromedp.RunResponse(ctx, actions...)
	if err != nil {
		b.t.Fatalf("%s, at %s: %v", what, b.address(), err)
	}
	if answer.Status != int64(status) {
		b.t.Errorf("%s: answered %d, want %d", what, answer.Status, status)
	}
	b.run("wait for the page", whole)
	b.seen.Lock()
	defer b.seen.Unlock()
	b.seen.faults = slices.DeleteFunc(b.seen.faults, func(f string) bool {
		return strings.Contains(f, fmt.Sprintf("the server responded with a status of %d", status))
	})
}

// visitRefused goes to a page that is answered with a status.
func (b *browser) visitRefused(path string, status int) {
	b.t.Helper()
	b.lands(status, "visit "+path, chromedp.Navigate(b.env["BASE_URL"]+path))
}

// sendRefused sends a form with what it holds, whatever the browser thinks of that,
// to a service that answers with a status.
func (b *browser) sendRefused(form string, status int) {
	b.t.Helper()
	b.lands(status, "send "+form, chromedp.Evaluate[chromedp.Void](
		`(() => { const f = document.querySelector(`+strconv.Quote(form)+`); f.noValidate = true; f.requestSubmit(); })()`))
}

// signIn signs a person in, as they do: by the user pool's page.
func (b *browser) signIn(email string) {
	b.t.Helper()
	b.run("sign in",
		chromedp.Navigate(b.env["DASHBOARD_URL"]),
		chromedp.WaitVisible(`input[name="password"]`),
		chromedp.SendKeys(`input[name="username"]`, email),
		chromedp.SendKeys(`input[name="password"]`, b.env["DASHBOARD_PASSWORD"]),
		chromedp.Submit(`input[name="password"]`),
		chromedp.WaitVisible(`form[action="/dashboard/sign-out"]`),
	)
	b.forget()
}

// click follows a link or presses a button, and waits for what it leads to.
func (b *browser) click(selector, then string) {
	b.t.Helper()
	b.forget()
	b.run("click "+selector, chromedp.Click(selector), chromedp.WaitVisible(then), whole)
}

// whole waits until the page and its scripts are loaded.
var whole = chromedp.Poll[chromedp.Void](`document.readyState === "complete"`)

// text returns what an element shows.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return strings.TrimSpace(read(b, "read "+selector, chromedp.Text(selector)))
}

// address returns the page's address, as far as it can be told.
func (b *browser) address() string {
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	at, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return err.Error()
	}
	return at
}

// path returns the path and query of the page.
func (b *browser) path() string { return strings.TrimPrefix(b.address(), b.env["BASE_URL"]) }

// screenshots is where what was seen is kept.
var screenshots = filepath.Join("..", "..", ".local", "screenshots")

// shoot keeps a picture of the page.
func (b *browser) shoot(name string) error {
	ctx, stop := context.WithTimeout(b.ctx, patience)
	defer stop()
	const png = 100
	picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(png))
	if err == nil {
		err = os.MkdirAll(screenshots, 0o750)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(screenshots, name+".png"), picture, 0o600)
	}
	if err != nil {
		return fmt.Errorf("no screenshot of %s: %w", name, err)
	}
	return nil
}
