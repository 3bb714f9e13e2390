package trace_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/trace"
)

const sampled = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

// under returns the context of a call with the header of a trace, as aws-lambda-go makes it.
func under(t *testing.T, header string) context.Context {
	t.Helper()
	return context.WithValue(t.Context(), "x-amzn-trace-id", header) //nolint:staticcheck,revive // the key of aws-lambda-go
}

// sentBy returns what a call sends to the daemon.
func sentBy(t *testing.T, header string, call func(ctx context.Context)) (packets []string) {
	t.Helper()
	at := time.UnixMilli(1_700_000_000_000)
	now := func() time.Time { at = at.Add(250 * time.Millisecond); return at }
	h := trace.NewHandler(func(ctx context.Context, _ []byte) ([]byte, error) { call(ctx); return nil, nil },
		func(_ context.Context, packet []byte) error { packets = append(packets, string(packet)); return nil }, now)
	func() {
		defer func() { _ = recover() }()
		_, _ = h.Invoke(under(t, header), nil)
	}()
	return packets
}

func TestInvoke_Batches(t *testing.T) {
	t.Parallel()
	packets := sentBy(t, sampled, func(ctx context.Context) {
		trace.Batch(ctx, "campaign", "one")
		trace.Batch(ctx, "campaign", "two")
		trace.Batch(ctx, "campaign", "one")
		panic("a trace shows what a call that fails worked on")
	})
	ids := map[string]bool{}
	var batches []string
	for _, packet := range packets {
		head, document, _ := strings.Cut(packet, "\n")
		var got map[string]any
		if err := json.Unmarshal([]byte(document), &got); err != nil || head != `{"format": "json", "version": 1}` {
			t.Fatalf("packet %q: %v", packet, err)
		}
		id, _ := got["id"].(string)
		ids[id] = len(id) == 16
		batch, _ := got["annotations"].(map[string]any)["batch"].(string)
		batches = append(batches, batch)
		delete(got, "id")
		want := map[string]any{
			"name": "batch", "trace_id": "1-5759e988-bd862e3fe1be46a994272793", "parent_id": "53995c3f42cd8ad8", "type": "subsegment",
			"start_time": 1_700_000_000.25, "end_time": 1_700_000_000.5, "annotations": map[string]any{"campaign": "campaign", "batch": batch},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("subsegment (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"one", "two"}, batches); diff != "" || len(ids) != 2 {
		t.Errorf("ids %v, batches (-want +got):\n%s", ids, diff)
	}
}

func TestInvoke_MostBatches(t *testing.T) {
	t.Parallel()
	packets := sentBy(t, sampled, func(ctx context.Context) {
		for n := range 100 {
			trace.Batch(ctx, "campaign", string(rune('A'+n)))
		}
	})
	if len(packets) != 20 {
		t.Errorf("%d packets, want 20", len(packets))
	}
}

// headerOf returns what a call with the header of a trace passes on.
func headerOf(t *testing.T, header string) (passed string) {
	t.Helper()
	sentBy(t, header, func(ctx context.Context) { passed = trace.Header(ctx) })
	return passed
}

// A client can send any header.
func TestInvoke_NotSampled(t *testing.T) {
	t.Parallel()
	const root, parent = "1-5759e988-bd862e3fe1be46a994272793", "53995c3f42cd8ad8"
	for _, header := range []string{
		"", "Sampled=1", "nonsense", "Root=" + root + ";Sampled=1", "Root=" + root + ";Parent=" + parent, "Parent=" + parent + ";Sampled=1",
		"Root=" + root + ";Parent=" + parent + ";Sampled=0", "Root=" + root + ";Parent=" + parent + ";Sampled=?",
		"Root=1-a-b;Parent=c;Sampled=1", "Root=2-5759e988-bd862e3fe1be46a994272793;Parent=" + parent + ";Sampled=1",
		"Root=1-5759e98g-bd862e3fe1be46a994272793;Parent=" + parent + ";Sampled=1", "Root=" + root + "0;Parent=" + parent + ";Sampled=1",
		"Root=" + root + "-1;Parent=" + parent + ";Sampled=1", "Root=" + root + ";Parent=\n3995c3f42cd8ad8;Sampled=1",
	} {
		packets := sentBy(t, header, func(ctx context.Context) { trace.Batch(ctx, "campaign", "one") })
		if passed := headerOf(t, header); len(packets) > 0 || passed != "" {
			t.Errorf("%q: sent %q, passes %q on", header, packets, passed)
		}
	}
}

// What SQS gets has the form that it requires.
func TestHeader_Form(t *testing.T) {
	t.Parallel()
	for _, header := range []string{sampled, sampled + ";Lineage=a87bd80c:1|68fd508a:5", "Self=1-2;" + strings.ReplaceAll(sampled, ";", "; ")} {
		if got := headerOf(t, header); got != sampled {
			t.Errorf("%q: header %q", header, got)
		}
	}
}

// A function that is not traced passes no client's header on.
func TestHeader_NotTraced(t *testing.T) {
	t.Parallel()
	if got := trace.Header(under(t, sampled)); got != "" {
		t.Errorf("header %q", got)
	}
}

func TestInvoke_Result(t *testing.T) {
	t.Parallel()
	failed := errors.New("failed")
	h := trace.NewHandler(func(ctx context.Context, payload []byte) ([]byte, error) {
		trace.Batch(ctx, "campaign", "one")
		return payload, failed
	}, func(context.Context, []byte) error { return errors.New("no daemon") }, time.Now)
	got, err := h.Invoke(under(t, sampled), []byte("a"))
	if string(got) != "a" || !errors.Is(err, failed) {
		t.Errorf("%q, %v", got, err)
	}
}

func TestToDaemon(t *testing.T) {
	t.Parallel()
	daemon, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Close() }()
	if err := trace.ToDaemon(daemon.LocalAddr().String())(t.Context(), []byte("a packet")); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, 100)
	n, _, err := daemon.ReadFrom(packet)
	if err != nil || string(packet[:n]) != "a packet" {
		t.Errorf("received %q, %v", packet[:n], err)
	}
	if err := trace.ToDaemon("")(t.Context(), []byte("a packet")); err != nil {
		t.Errorf("without a daemon: %v", err)
	}
}
