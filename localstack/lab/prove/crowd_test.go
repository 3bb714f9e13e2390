package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// crowdCampaigns run concurrently; together they have crowdMessages.
const (
	crowdCampaigns = 50
	crowdMessages  = 50_000
)

// crowd sends many campaigns concurrently, from the first call to the last webhook.
func crowd(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	s, err := newService(ctx, env)
	check(t, err)
	heard, err := listenForWebhooks(ctx, env, delivery.KindRead)
	check(t, errors.Join(err, s.disableRateLimit(ctx), s.behave(ctx, map[string]any{})))
	numbers, begun := someNumbers(min(crowdMessages, loadMessages())), time.Now()
	each := len(numbers) / crowdCampaigns
	ids := make([]string, crowdCampaigns)
	group, calls := errgroup.WithContext(ctx)
	group.SetLimit(dispatchers)
	for i := range ids {
		ids[i] = random.UUID()
		group.Go(func() error { return s.dispatch(calls, ids[i], 1, numbers[i*each:(i+1)*each]) })
	}
	check(t, group.Wait())
	check(t, heard.await(ctx, len(ids)*each))
	took, balanced := time.Since(begun), 0
	for _, id := range ids {
		c, err := s.campaign(ctx, id)
		check(t, err)
		if c.Status == "completed" && c.Accepted == each && c.Counts["read"] == each {
			balanced++
		}
	}
	record(t, balanced == len(ids) && heard.different() == len(ids)*each,
		fmt.Sprintf("%d messages over %d campaigns side by side, to the last webhook", len(ids)*each, len(ids)),
		fmt.Sprintf("%s, %.0f a second, %d webhooks of %d readings, %d campaigns balanced",
			took.Round(time.Second), float64(len(ids)*each)/took.Seconds(), heard.posts(), heard.different(), balanced))
}

// webhooks is an endpoint that counts its webhooks.
type webhooks struct {
	awaited  delivery.Kind
	received atomic.Int64 // bytes

	mu   sync.Mutex
	seen map[string]int // of the awaited kind, by the webhook's id
	all  int
}

// anyKind matches all kinds.
const anyKind delivery.Kind = ""

// listenForWebhooks registers an endpoint of the demo tenant for the awaited kind. It ends
// with the program.
func listenForWebhooks(ctx context.Context, env stackenv.Env, awaited delivery.Kind) (*webhooks, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &webhooks{awaited: awaited, seen: map[string]int{}}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: w}
	go func() { _ = server.Serve(countingListener{listener, &w.received}) }()
	return w, storeOf(env).SaveEndpoint(ctx, endpointAt(env["TENANT"], "http://"+listener.Addr().String(), awaited))
}

// endpointAt is an endpoint for a kind, or for all kinds.
func endpointAt(tenant, url string, kind delivery.Kind) delivery.Endpoint {
	e := delivery.Endpoint{ID: random.UUID(), Tenant: tenant, URL: url, Secret: "whsec_" + "cHJvdmVwcm92ZXByb3ZlcHJvdmVwcm92ZXByb3Zl"}
	if kind != anyKind {
		e.Kinds = []string{string(kind)}
	}
	return e
}

func (w *webhooks) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	var said struct{ Type delivery.Kind }
	if err := json.NewDecoder(r.Body).Decode(&said); err != nil {
		answer.WriteHeader(http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.awaited == anyKind || said.Type == w.awaited {
		w.seen[r.Header.Get("Webhook-Id")]++
	}
	w.all++
	answer.WriteHeader(http.StatusNoContent)
}

func (w *webhooks) different() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.seen) }
func (w *webhooks) posts() int     { w.mu.Lock(); defer w.mu.Unlock(); return w.all }

// await waits until so many different webhooks have arrived.
func (w *webhooks) await(ctx context.Context, n int) error {
	told := time.Now()
	for known, moved := 0, time.Now(); known < n; {
		if now := w.different(); now > known {
			known, moved = now, time.Now()
		}
		if time.Since(moved) > stallTimeout {
			return fmt.Errorf("%d of %d webhooks came, and no more", known, n)
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			fmt.Fprintf(os.Stderr, "  %d of %d webhooks\n", known, n)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}
