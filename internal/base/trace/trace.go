// Package trace adds the batches that a function call works on to its trace in AWS X-Ray, and passes the trace on to the next
// queue. It writes nothing for a call that is not sampled, and a function that is not traced has no Handler.
package trace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// contextKey is the key by which aws-lambda-go puts the header of a call's trace into its context.
const contextKey = "x-amzn-trace-id"

// Handler is a Lambda handler that adds to traces.
type Handler struct {
	invoke func(ctx context.Context, payload []byte) ([]byte, error)
	send   Sender
	now    func() time.Time
}

// Sender sends a packet.
type Sender func(ctx context.Context, packet []byte) error

// NewHandler returns a handler that calls invoke. It gives what it adds to the trace to send, after the call.
func NewHandler(invoke func(ctx context.Context, payload []byte) ([]byte, error), send Sender, now func() time.Time) Handler {
	return Handler{invoke, send, now}
}

// ToDaemon returns a Sender to the X-Ray daemon at an address, such as "169.254.79.129:2000". Without an address it does nothing.
func ToDaemon(address string) Sender {
	return func(ctx context.Context, packet []byte) error {
		if address == "" {
			return nil
		}
		connection, err := (&net.Dialer{}).DialContext(ctx, "udp", address)
		if err != nil {
			return fmt.Errorf("reach the X-Ray daemon: %w", err)
		}
		defer func() { _ = connection.Close() }()
		_, err = connection.Write(packet)
		return err
	}
}

// Invoke calls the handler. If the call is sampled, it then sends a subsegment for each batch of the call, also after a panic.
func (h Handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	header, _ := ctx.Value(contextKey).(string)
	called, sampled := parse(header)
	if !sampled {
		return h.invoke(ctx, payload)
	}
	n := &notes{call: called}
	start := h.now()
	defer func() {
		if err := h.report(context.WithoutCancel(ctx), called, n.all(), start); err != nil {
			slog.WarnContext(ctx, "writing a trace failed", "error", err)
		}
	}()
	return h.invoke(context.WithValue(ctx, notesKey{}, n), payload)
}

// Header returns the header of the call's trace, "" if the call is not sampled or no Handler made it.
func Header(ctx context.Context) string {
	n, ok := ctx.Value(notesKey{}).(*notes)
	if !ok {
		return ""
	}
	return n.call.header()
}

// call identifies a sampled call.
type call struct{ root, parent string }

// header returns the text that SQS takes. It refuses a message with any other form.
func (c call) header() string { return "Root=" + c.root + ";Parent=" + c.parent + ";Sampled=1" }

// parse returns the call of a header that is well formed and sampled. The header can be that of a client, with anything in it.
func parse(header string) (c call, sampled bool) {
	flag := ""
	for field := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		switch name {
		case "Root":
			c.root = value
		case "Parent":
			c.parent = value
		case "Sampled":
			flag = value
		}
	}
	version, rest, _ := strings.Cut(c.root, "-")
	seconds, random, _ := strings.Cut(rest, "-")
	return c, flag == "1" && version == "1" && isHex(seconds, 8) && isHex(random, 24) && isHex(c.parent, 16)
}

func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}

// batch identifies a batch. It contains no phone number and no text.
type batch struct{ campaignID, batchID string }

// maxBatches is the maximum number of batches of a call that its trace names.
const maxBatches = 20

type notesKey struct{}

type notes struct {
	call    call
	mu      sync.Mutex
	batches []batch
}

func (n *notes) add(b batch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.batches) < maxBatches && !slices.Contains(n.batches, b) {
		n.batches = append(n.batches, b)
	}
}

func (n *notes) all() []batch {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.batches
}

// Batch adds a batch to the trace of the call. It has no effect on a call that is not sampled.
func Batch(ctx context.Context, campaignID, batchID string) {
	if n, ok := ctx.Value(notesKey{}).(*notes); ok {
		n.add(batch{campaignID, batchID})
	}
}

// subsegment is a document of X-Ray.
type subsegment struct {
	Name        string            `json:"name"`
	ID          string            `json:"id"`
	TraceID     string            `json:"trace_id"`
	ParentID    string            `json:"parent_id"`
	Type        string            `json:"type"`
	Start       float64           `json:"start_time"` // seconds since 1970
	End         float64           `json:"end_time"`
	Annotations map[string]string `json:"annotations"`
}

// daemonHeader is before each document.
const daemonHeader = `{"format": "json", "version": 1}` + "\n"

func (h Handler) report(ctx context.Context, c call, batches []batch, start time.Time) error {
	end := h.now()
	for _, b := range batches {
		document, err := json.Marshal(subsegment{
			Name: "batch", ID: idOf(c, b), TraceID: c.root, ParentID: c.parent, Type: "subsegment",
			Start: seconds(start), End: seconds(end), Annotations: map[string]string{"campaign": b.campaignID, "batch": b.batchID},
		})
		if err == nil {
			err = h.send(ctx, append([]byte(daemonHeader), document...))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// idOf returns the ID of a subsegment: the parent is another one in each call.
func idOf(c call, b batch) string {
	sum := sha256.Sum256([]byte(c.header() + "\n" + b.campaignID + "\n" + b.batchID))
	return hex.EncodeToString(sum[:8])
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
