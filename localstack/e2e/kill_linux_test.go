package e2e_test

// The functions' processes are found in /proc, which is why this test is for
// Linux.

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestKilledFunctionsLoseAndRepeatNothing(t *testing.T) { //nolint:paralleltest // it kills what works for other tests too
	c := newClient(t).ownTenant()
	c.behave(map[string]any{"latencyMs": 3000}) // what is killed first has accepted messages to record
	all := messages(1000)
	call := c.call(all)
	if got := c.dispatch(call); got.Accepted != 1000 {
		t.Fatalf("answered %d %s", got.status, got.body)
	}
	killed := c.killFunctions("RELEASE_FUNCTION", "SEND_FUNCTION") // release has just got its task
	for range 4 {
		before := c.accepted(all)
		c.eventually(5*time.Minute, "at work again", func() bool {
			c.sweep()
			n := c.accepted(all)
			return n > before || n == len(all)
		})
		killed += c.killFunctions("RELEASE_FUNCTION", "SEND_FUNCTION") // in the middle of frames
		c.behave(map[string]any{"latencyMs": 100})
	}
	c.behave(map[string]any{})

	c.eventually(5*time.Minute, "sent by those that were left", func() bool { c.sweep(); return c.sentOnce(all) })
	c.eventually(5*time.Minute, "finished", func() bool { return c.finished(c.ref(call)) })

	again := 0
	for _, deliveries := range c.atProvider(all) {
		if deliveries[0].Attempts > 1 {
			again++
		}
	}
	if again == 0 {
		t.Error("no message was tried twice: nothing was killed between sending and recording")
	}
	t.Logf("%d processes were killed, %d messages tried again", killed, again)
}

// killFunctions kills every process of these functions of the stack, and returns
// how many there were.
func (c *client) killFunctions(functions ...string) int {
	c.t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	must(c.t, err)
	killed := 0
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !c.isFunction(environ, functions...) {
			continue // not ours, or gone
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		must(c.t, err)
		if process, err := os.FindProcess(pid); err == nil && process.Kill() == nil {
			killed++
		}
	}
	return killed
}

// isFunction reports whether a process with that environment is one of the stack's
// functions.
func (c *client) isFunction(environ []byte, functions ...string) bool {
	has := func(variable string) bool {
		return bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+variable+"\x00"))
	}
	if !has("AWS_ENDPOINT_URL=" + c.env["AWS_ENDPOINT_URL"]) {
		return false
	}
	for _, f := range functions {
		if has("AWS_LAMBDA_FUNCTION_NAME=" + c.env[f]) {
			return true
		}
	}
	return false
}
