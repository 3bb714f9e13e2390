package e2e_test

// This test finds the functions' processes in /proc, so it runs on Linux only.

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"campaign-dispatch/localstack/testsize"
)

func TestSend_KilledFunctions(t *testing.T) { //nolint:paralleltest // it kills functions that other tests use
	c := newClient(t).ownTenant()
	c.setBehaviour(map[string]any{"latencyMs": 3000}) // the first kill is between sending and recording
	all := messages(testsize.Of(1000, 2000))
	call := c.call(all)
	if got := c.dispatch(call); got.Accepted != len(all) {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	killed := c.killFunctions("RELEASE_FUNCTION", "SEND_FUNCTION") // release has just received its task
	for range 4 {
		before := c.accepted(all)
		c.eventually(5*time.Minute, "sending again", func() bool {
			c.sweep(c.ref(call))
			n := c.accepted(all)
			return n > before || n == len(all)
		})
		killed += c.killFunctions("RELEASE_FUNCTION", "SEND_FUNCTION") // while frames are being sent
		c.setBehaviour(map[string]any{"latencyMs": 100})
	}
	c.setBehaviour(map[string]any{})

	c.eventually(5*time.Minute, "sent", func() bool { c.sweep(c.ref(call)); return c.sentOnce(all) })
	c.eventually(5*time.Minute, "finished", func() bool { return c.finished(c.ref(call)) })

	again := 0
	for _, deliveries := range c.atProvider(all) {
		if deliveries[0].Attempts > 1 {
			again++
		}
	}
	if again == 0 {
		t.Error("no message has two attempts: no function was killed between sending and recording")
	}
	t.Logf("killed %d processes, %d messages have more than one attempt", killed, again)
}

// killFunctions kills all processes of the given functions and returns their number.
func (c *client) killFunctions(functions ...string) int {
	c.t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/environ")
	must(c.t, err)
	killed := 0
	for _, path := range paths {
		environ, err := os.ReadFile(path)
		if err != nil || !c.isFunction(environ, functions...) {
			continue // another process, or exited
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		must(c.t, err)
		if process, err := os.FindProcess(pid); err == nil && process.Kill() == nil {
			killed++
		}
	}
	return killed
}

// isFunction reports whether the environment belongs to one of the functions.
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
