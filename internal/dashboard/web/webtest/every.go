package webtest

import (
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var updates = regexp.MustCompile(`hx-get="([^"]+opened=)([0-9]+)([^"]*)" hx-trigger="every 2s"`)

// SlowsDown fails the test unless a page that has just been opened updates itself every two seconds, and every minute if it
// was opened an hour earlier.
func SlowsDown(tb testing.TB, who Person, page string) {
	tb.Helper()
	next := updates.FindStringSubmatch(page)
	if next == nil {
		tb.Fatal("the page does not update itself every two seconds")
	}
	at, err := strconv.ParseInt(next[2], 10, 64)
	if err != nil {
		tb.Fatal(err)
	}
	who.Header = http.Header{"Hx-Request": {"true"}}
	before := strconv.FormatInt(at-int64(time.Hour/time.Second), 10)
	if a := who.Get(html.UnescapeString(next[1] + before + next[3])); !strings.Contains(a.Body, `hx-trigger="every 60s"`) {
		tb.Errorf("an hour after the page was opened, it does not wait for a minute:\n%s", a.Body)
	}
}
