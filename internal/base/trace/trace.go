// Package trace adds the batches that a function call works on to its trace in AWS X-Ray, and passes the trace on to the next
// queue. A call is sampled only if the stack has Tracing=on, or its caller has sampled it. It writes nothing for other calls.
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
	header := Header(ctx)
	if header == "" {
		return h.invoke(ctx, payload)
	}
	n := &notes{}
	start := h.now()
	defer func() {
		if err := h.report(context.WithoutCancel(ctx), header, n.all(), start); err != nil {
			slog.WarnContext(ctx, "writing a trace failed", "error", err)
		}
	}()
	return h.invoke(context.WithValue(ctx, notesKey{}, n), payload)
}

// Header returns the header of the call's trace, "" if the call is not sampled.
func Header(ctx context.Context) string {
	header, _ := ctx.Value(contextKey).(string)
	if f := fields(header); f["Sampled"] != "1" || f["Root"] == "" || f["Parent"] == "" {
		return ""
	}
	return header
}

func fields(header string) map[string]string {
	all := map[string]string{}
	for field := range strings.SplitSeq(header, ";") {
		if name, value, ok := strings.Cut(strings.TrimSpace(field), "="); ok {
			all[name] = value
		}
	}
	return all
}

// batch identifies a batch. It contains no phone number and no text.
type batch struct{ campaignID, batchID string }

// maxBatches is the maximum number of batches of a call that its trace names.
const maxBatches = 20

type notesKey struct{}

type notes struct {
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

func (h Handler) report(ctx context.Context, header string, batches []batch, start time.Time) error {
	f, end := fields(header), h.now()
	for _, b := range batches {
		document, err := json.Marshal(subsegment{
			Name: "batch", ID: idOf(header, b), TraceID: f["Root"], ParentID: f["Parent"], Type: "subsegment",
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
func idOf(header string, b batch) string {
	sum := sha256.Sum256([]byte(header + "\n" + b.campaignID + "\n" + b.batchID))
	return hex.EncodeToString(sum[:8])
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
