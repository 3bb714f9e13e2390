package webhook

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"campaign-dispatch/internal/webhook/delivery"
)

// Each process keeps the first keptFirst posts to an endpoint in an hour, then one of
// KeptEach. Delivered and failed posts are counted apart.
const (
	keptFirst = 10
	KeptEach  = 100
)

// samples selects the posts to keep. The zero samples is ready to use.
type samples struct {
	mu     sync.Mutex
	counts map[sampled]hourCount
}

type sampled struct {
	endpointKey
	delivered bool
}

type hourCount struct {
	hour  time.Time
	posts int
}

// next counts a post and reports whether to keep it.
func (s *samples) next(of sampled, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil || len(s.counts) >= maxWarm {
		s.counts = map[sampled]hourCount{}
	}
	count := s.counts[of]
	if hour := at.Truncate(time.Hour); !count.hour.Equal(hour) {
		count = hourCount{hour: hour}
	}
	count.posts++
	s.counts[of] = count
	return count.posts <= keptFirst || count.posts%KeptEach == 0
}

// recordPost keeps a sample of the posts, and records each failure.
func (n *Notifier) recordPost(ctx context.Context, d delivery.Delivery, e delivery.Endpoint, m pendingMessage, result Result) {
	at, entry := result.At, selectEntries(d, []int{m.position})
	kept := n.samples.next(sampled{endpointKey{e.Tenant, e.ID}, result.Delivered}, at) && n.keepPost(ctx, delivery.KeptPost{
		Tenant: e.Tenant, EndpointID: e.ID, WebhookID: m.ID, Kind: m.Kind, MessageID: m.MessageID, Attempt: d.Attempt, At: at,
		Status: result.Status, Code: result.Code, Took: result.Took, Payload: m.Body, Answer: result.Answer,
		Entry: entry, Blob: d.Blob,
	})
	if !result.Delivered {
		n.recordFailure(ctx, d, e, m, result, entry, kept)
	}
}

// keepPost reports whether the post is kept. Its errors are only logged.
func (n *Notifier) keepPost(ctx context.Context, p delivery.KeptPost) bool {
	err := n.Endpoints.KeepPost(ctx, p)
	if err != nil {
		slog.WarnContext(ctx, "keeping post failed", "endpoint_id", p.EndpointID, "error", err)
	}
	return err == nil
}
