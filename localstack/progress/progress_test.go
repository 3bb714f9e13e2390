package progress

import (
	"strings"
	"testing"
	"time"
)

// clock is a clock that the test sets.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func TestLog_Terminal(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &clock{}
	l := &Log{out: &out, live: true, now: c.now}
	build, send := l.Step("build"), l.Step("send")
	build.Note("3 compiled")
	send.Bar(1, 2, "on its way")
	c.at = c.at.Add(1500 * time.Millisecond)
	out.Reset()
	build.Done("all of it")
	want := "\r\033[K✓ build      all of it (1.5 s)\n\r\033[Ksend [██████████░░░░░░░░░░] 1/2 on its way"
	if got := out.String(); got != want {
		t.Errorf("wrote\n%q, want\n%q", got, want)
	}
}

func TestLog_File(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &clock{}
	l := &Log{out: &out, now: c.now}
	send := l.Step("send")
	for i := range 5 {
		c.at = c.at.Add(time.Second)
		send.Bar(i, 5, "")
	}
	send.Done("sent %d", 5)
	l.Line("bye")
	if got := strings.Count(out.String(), "\n"); got != 4 { // two from Bar, one each from Done and Line
		t.Errorf("%d lines, want 4:\n%s", got, out.String())
	}
	if strings.Contains(out.String(), "\r") {
		t.Error("the file contains control characters of a terminal")
	}
}
