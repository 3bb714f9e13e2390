// Package browser_test tests the dashboard of the local stack in a browser. It signs in
// through the user pool and checks every page with axe-core.
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
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"campaign-dispatch/localstack/stackenv"
)

// actionTimeout is the maximum time of an action, on a busy machine.
const actionTimeout = 90 * time.Second

// browser is a window with a profile of its own.
type browser struct {
	t    *testing.T
	env  stackenv.Env
	ctx  context.Context //nolint:containedctx // chromedp keeps its browser in it
	seen record
}

// record holds the errors and the page sizes from the browser's events.
type record struct {
	sync.Mutex
	faults []string
	page   cdp.LoaderID // current page
	loads  map[network.RequestID]part
	sizes  map[string]int // bytes of styles and scripts by their address
	weight map[part]int   // bytes, without updates
}

func newRecord() record {
	return record{loads: map[network.RequestID]part{}, sizes: map[string]int{}, weight: map[part]int{}}
}

// part is a page, or a style or a script of it.
type part struct {
	page    cdp.LoaderID
	address string // of the style or the script
}

// weigh takes down the bytes of a loaded part. The browser keeps styles and scripts, and loads nothing for the next page:
// they weigh what they did at their first load.
func (r *record) weigh(p part, loaded int) {
	if p.address != "" {
		r.sizes[p.address] = max(r.sizes[p.address], loaded)
		loaded = r.sizes[p.address]
	}
	r.weight[p] = loaded
}

// bytes is the size of the current page with its style and scripts.
func (r *record) bytes() (n int) {
	for p, size := range r.weight {
		if p.page == r.page {
			n += size
		}
	}
	return n
}

// started has the browsers by language. Tests share them, because a start takes seconds of processor time.
var started struct {
	sync.Mutex
	browsers map[string]context.Context
	stops    []context.CancelFunc
}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range started.stops {
		stop()
	}
	os.Exit(code)
}

// start returns the browser with the given Accept-Language.
func start(t *testing.T, language string) context.Context {
	t.Helper()
	started.Lock()
	defer started.Unlock()
	if ctx, ok := started.browsers[language]; ok {
		return ctx
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-component-update", true), chromedp.Flag("accept-lang", language),
	)
	allocator, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), options...)
	ctx, shut := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	if started.browsers == nil {
		started.browsers = map[string]context.Context{}
	}
	started.browsers[language], started.stops = ctx, append(started.stops, shut, stop)
	return ctx
}

// admin has the cookies of the demo tenant's admin, who signs in for the first of the tests alone.
var admin struct {
	sync.Mutex
	cookies []*network.CookieParam
}

// openAsAdmin opens a window in which the demo tenant's admin has signed in.
func openAsAdmin(t *testing.T, language string) *browser {
	t.Helper()
	b := open(t, language)
	admin.Lock()
	defer admin.Unlock()
	if admin.cookies == nil {
		b.signIn(b.env["DASHBOARD_EMAIL"])
		admin.cookies = b.cookies()
	} else {
		set(b, network.SetCookies, network.SetCookiesParams{Cookies: admin.cookies})
	}
	return b
}

// cookies returns the cookies of the dashboard.
func (b *browser) cookies() (all []*network.CookieParam) {
	b.t.Helper()
	got, err := chromedp.Call(b.ctx, network.GetCookies, network.GetCookiesParams{URLs: []string{b.env["DASHBOARD_URL"]}})
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range got.Cookies {
		all = append(all, &network.CookieParam{
			Name: c.Name, Value: c.Value, URL: b.env["BASE_URL"], Path: c.Path, HTTPOnly: c.HTTPOnly, Secure: c.Secure, SameSite: c.SameSite,
		})
	}
	return all
}

// open opens a window with the given Accept-Language.
func open(t *testing.T, language string) *browser {
	t.Helper()
	env := stackenv.Load(t)
	ctx, shut := chromedp.NewContext(start(t, language), chromedp.WithNewBrowserContext())
	t.Cleanup(shut)
	b := &browser{t: t, env: env, ctx: ctx, seen: newRecord()}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("open a window: %v", err)
	}
	set(b, network.Enable, network.EnableParams{})
	set(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // of several windows, one has the focus
	b.run("set the window", chromedp.EmulateViewport(windows[0].width, tall))
	return b
}

// set calls a command of the browser that changes a setting.
func set[P any](b *browser, command cdp.Command[P, cdp.Empty], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// chromium returns the path of the browser: CHROMIUM, or the first on the PATH. The headless shell shows pages with the
// same engine in half of the processor time.
func chromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	for _, name := range []string{
		"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("this test needs Chromium or Chrome: install it, or set CHROMIUM to its path")
	return ""
}

// otherImages are the images of another test's template. Lists show their thumbnails.
const otherImages = "https://media.example/"

// listen records script errors, requests that the content security policy or the network
// blocked, and the size of the page.
func (b *browser) listen(event any) {
	b.seen.Lock()
	defer b.seen.Unlock()
	switch e := event.(type) {
	case *runtime.EventExceptionThrown:
		b.seen.faults = append(b.seen.faults, fmt.Sprint("exception: ", e.ExceptionDetails.Text, " ", e.ExceptionDetails.Exception.Description))
	case *runtime.EventConsoleAPICalled:
		if abortedRequest.Match(e.Args[0].Value) {
			return
		}
		if slices.Contains([]string{"error", "warning", "assert"}, string(e.Type)) {
			b.seen.faults = append(b.seen.faults, fmt.Sprintf("console: %s", e.Args[0].Value))
		}
	case *log.EventEntryAdded:
		if strings.HasPrefix(e.Entry.URL, otherImages) {
			return
		}
		if e.Entry.Level == log.EntryLevelError || e.Entry.Source == log.EntrySourceSecurity {
			b.seen.faults = append(b.seen.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		// Updates do not count: their number depends on how long the page stays open.
		if e.Type == network.ResourceTypeXHR || e.Type == network.ResourceTypeFetch {
			return
		}
		if e.Type == network.ResourceTypeImage && !strings.HasPrefix(e.Request.URL, b.env["BASE_URL"]) {
			return // a file that the tenant uploaded
		}
		loads := part{e.LoaderID, e.Request.URL}
		if e.Type == network.ResourceTypeDocument {
			b.seen.page, loads.address = e.LoaderID, ""
		}
		b.seen.loads[e.RequestID] = loads
	case *network.EventLoadingFinished:
		if loaded, ok := b.seen.loads[e.RequestID]; ok {
			b.seen.weigh(loaded, int(e.EncodedDataLength))
		}
	}
}

// abortedRequest matches htmx's messages for a request that newer input has replaced. A
// failed request has other messages too.
var abortedRequest = regexp.MustCompile(`^"htmx:(sendAbort|afterRequest),`)

// takeFaults returns and removes the recorded faults. weight is the size of the current
// page with its style and scripts, in bytes.
func (b *browser) takeFaults() (faults []string, weight int) {
	b.seen.Lock()
	defer b.seen.Unlock()
	faults, b.seen.faults = b.seen.faults, nil
	return faults, b.seen.bytes()
}

// run runs actions in the browser. It fails the test if they exceed the timeout.
func (b *browser) run(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	read(b, what, chromedp.Steps(actions...))
}

// read runs an action in the browser and returns its result.
func read[T any](b *browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.ctx, actionTimeout)
	defer stop()
	found, err := chromedp.Run(ctx, action)
	if err != nil {
		if err := b.screenshot("failed-" + strings.ReplaceAll(b.t.Name(), "/", "-")); err != nil {
			b.t.Log(err)
		}
		b.t.Fatalf("%s, at %s: %v", what, b.address(), err)
	}
	return found
}

// visit opens a page of the dashboard.
func (b *browser) visit(path string) {
	b.t.Helper()
	b.takeFaults()
	b.run("visit "+path, chromedp.Navigate(b.env["BASE_URL"]+path))
}

// loadsWith runs actions that load a page. It fails the test if the page's status is
// another one. The browser's own message about the status is not a fault.
func (b *browser) loadsWith(status int, what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	b.takeFaults()
	ctx, stop := context.WithTimeout(b.ctx, actionTimeout)
	defer stop()
	answer, err := chromedp.RunResponse(ctx, actions...)
	if err != nil {
		b.t.Fatalf("%s, at %s: %v", what, b.address(), err)
	}
	if answer.Status != int64(status) {
		b.t.Errorf("%s: status %d, want %d", what, answer.Status, status)
	}
	b.run("wait for the page", whole)
	b.seen.Lock()
	defer b.seen.Unlock()
	b.seen.faults = slices.DeleteFunc(b.seen.faults, func(f string) bool {
		return strings.Contains(f, fmt.Sprintf("the server responded with a status of %d", status))
	})
}

// visitRefused opens a page that returns an error status.
func (b *browser) visitRefused(path string, status int) {
	b.t.Helper()
	b.loadsWith(status, "visit "+path, chromedp.Navigate(b.env["BASE_URL"]+path))
}

// sendRefused submits a form without the browser's validation. The response has an error
// status.
func (b *browser) sendRefused(form string, status int) {
	b.t.Helper()
	b.loadsWith(status, "send "+form, chromedp.Evaluate[chromedp.Void](
		`(() => { const f = document.querySelector(`+strconv.Quote(form)+`); f.noValidate = true; f.requestSubmit(); })()`))
}

// signIn signs in on the user pool's page.
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
	b.takeFaults()
}

// click clicks a link or a button and waits for an element that was not visible before.
func (b *browser) click(selector, then string) {
	b.t.Helper()
	b.takeFaults()
	b.run("click "+selector, shows(then, chromedp.Click(selector)))
}

// shows runs an action and waits for an element that was not visible before it: the page that
// follows may have the same one.
func shows(then string, action chromedp.Action[chromedp.Void]) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(
		chromedp.Evaluate[chromedp.Void](`document.querySelectorAll(`+strconv.Quote(then)+`).forEach(e => { if (e.checkVisibility()) e.dataset.seen = ""; })`),
		action,
		chromedp.WaitVisible(`:is(`+then+`):not([data-seen])`),
		whole,
	)
}

// whole waits until the page and its scripts are loaded. If another page replaces one that is asked, that page is asked.
func whole(ctx context.Context, t *chromedp.Target) (done chromedp.Void, err error) {
	for {
		done, err = chromedp.Poll[chromedp.Void](`document.readyState === "complete"`)(ctx, t)
		if err == nil || !strings.Contains(err.Error(), replacedPage) {
			return done, err
		}
	}
}

// replacedPage is in the error of Chromium about a page that another one has replaced.
const replacedPage = "Cannot find context with specified id"

// text returns the text of an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return strings.TrimSpace(read(b, "read "+selector, chromedp.Text(selector)))
}

// address returns the page's URL, or the error text.
func (b *browser) address() string {
	ctx, stop := context.WithTimeout(b.ctx, actionTimeout)
	defer stop()
	at, err := chromedp.Run(ctx, chromedp.Location())
	if err != nil {
		return err.Error()
	}
	return at
}

// path returns the path and query of the page.
func (b *browser) path() string { return strings.TrimPrefix(b.address(), b.env["BASE_URL"]) }

// screenshots is the folder of the screenshots.
var screenshots = filepath.Join("..", "..", ".local", "screenshots")

// screenshot writes a screenshot of the whole page.
func (b *browser) screenshot(name string) error {
	const png = 100
	return b.save(name, chromedp.FullScreenshot(png))
}

// save takes a picture and writes it to a file.
func (b *browser) save(name string, picture chromedp.Action[[]byte]) error {
	ctx, stop := context.WithTimeout(b.ctx, actionTimeout)
	defer stop()
	image, err := chromedp.Run(ctx, picture)
	if err == nil {
		err = os.MkdirAll(screenshots, 0o750)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(screenshots, name+".png"), image, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the screenshot of %s: %w", name, err)
	}
	return nil
}
