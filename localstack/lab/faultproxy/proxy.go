// Package faultproxy is a proxy between the functions of a local stack and the emulator of
// AWS. It identifies each call by its function, operation and subject, and fails chosen
// ones.
package faultproxy

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/localstack/forward"
	"campaign-dispatch/localstack/procnet"
)

// Proxy forwards calls. Start creates it.
type Proxy struct {
	*forward.Proxy

	mu    sync.Mutex
	seen  map[Call]int
	armed []*Armed
	lost  []string
}

// Start listens on a free port of 127.0.0.1 for the functions of a stack, and forwards their calls to the emulator.
func Start(ctx context.Context, stack string, to *url.URL) (p *Proxy, err error) {
	p = &Proxy{seen: map[Call]int{}}
	p.Proxy, err = forward.Start(ctx, stack, to, p)
	return p, err
}

// Seen returns how often each call was made.
func (p *Proxy) Seen() map[Call]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.seen)
}

// UnknownCallers returns the numbers of calls of unknown processes, by operation, without those of
// processes that exited before they were found.
func (p *Proxy) UnknownCallers() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	unknown := map[string]int{}
	for call, n := range p.seen {
		if call.Function == "" {
			unknown[call.Operation] += n
		}
	}
	return unknown
}

// Arm fails the next call of the fault's name.
func (p *Proxy) Arm(f Fault) *Armed {
	a := &Armed{Fault: f, happened: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = append(p.armed, a)
	return a
}

// Disarm removes a fault.
func (p *Proxy) Disarm(a *Armed) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = slices.DeleteFunc(p.armed, func(other *Armed) bool { return other == a })
}

// Lose fails every call of dispatch that queues the word, so that the hand-off of a campaign with that id is lost.
func (p *Proxy) Lose(word string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = append(p.lost, word)
}

// Kill ends the processes of a function, so that a new process makes its next call.
func (p *Proxy) Kill(function string) {
	for pid, name := range p.All() {
		if name == function {
			kill(pid)
		}
	}
}

func kill(pid int) {
	if process, err := os.FindProcess(pid); err == nil {
		_ = process.Kill()
	}
}

// ServeHTTP forwards a call, or fails it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller disconnected
	}
	function, err := p.Function(r)
	own := err == nil && function == "" // this process acts as the user of the pages
	exited := err != nil && r.Context().Err() != nil
	if own || exited {
		p.pass(w, r, body)
		return
	}
	call := Call{Function: function}
	call.Operation, call.Subject = nameCall(r, body)
	fault := p.note(call, r.Header.Get("Amz-Sdk-Invocation-Id"), body)
	switch fault { //nolint:exhaustive // fail handles the others
	case "":
		p.pass(w, r, body)
	case Throttled, Refused:
		status, header, text := refusal(call.Operation, fault)
		maps.Copy(w.Header(), header)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	default:
		p.fail(w, r, body, fault)
	}
}

// note counts a call and returns its fault, "" for none.
func (p *Proxy) note(c Call, invocation string, body []byte) Kind {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[c]++
	for _, a := range p.armed {
		if a.takes(c, invocation) {
			return a.Kind
		}
	}
	if c.Function == "dispatch" && strings.HasPrefix(c.Operation, "SQS.") {
		for _, word := range p.lost {
			if bytes.Contains(body, []byte(word)) {
				return Refused
			}
		}
	}
	return ""
}

func (p *Proxy) pass(w http.ResponseWriter, r *http.Request, body []byte) {
	answer, text, err := p.Forward(r, body) //nolint:bodyclose // it is closed
	if err != nil {
		hangUp(w, nil)
		return
	}
	forward.Write(w, answer, text)
}

// fail makes the call, and withholds the answer.
func (p *Proxy) fail(w http.ResponseWriter, r *http.Request, body []byte, fault Kind) {
	var caller procnet.Process
	if fault == Killed {
		caller, _ = p.Process(r)
	}
	answer, text, err := p.Forward(r, body) //nolint:bodyclose // it is closed
	var begun []byte                        // of the answer
	switch {
	case err != nil:
	case fault == Killed && caller.ID != 0:
		kill(caller.ID)
	case fault == Cut:
		begun = half(answer, text)
	case fault == Slow:
		_ = retry.Sleep(r.Context(), patience) // ends early if the caller disconnects
	}
	hangUp(w, begun)
}

// half is an answer up to the middle of its body, or of its header if it has no body.
func half(answer *http.Response, text []byte) []byte {
	answer.ContentLength, answer.TransferEncoding = int64(len(text)), nil
	answer.Body = io.NopCloser(bytes.NewReader(text))
	whole, err := httputil.DumpResponse(answer, true)
	if err != nil {
		return nil
	}
	if len(text) < 2 {
		return whole[:len(whole)/2]
	}
	return whole[:len(whole)-len(text)/2]
}

func hangUp(w http.ResponseWriter, said []byte) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = connection.Write(said)
	_ = connection.Close()
}
