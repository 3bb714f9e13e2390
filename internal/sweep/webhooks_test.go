package sweep_test

import (
	"context"
	"errors"
	"sync"
	"time"

	"campaign-dispatch/internal/aws/sqs"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// sink counts posts by endpoint, and by message and outcome, or by kind for webhooks
// without a message.
type sink struct {
	mu       sync.Mutex
	posts    map[string]map[string]int
	contents map[string]string // webhooks without a message, by blob
}

// sameAs reports whether a blob's content equals the last posted one.
func (s *sink) sameAs(blob, content string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, again := s.contents[blob]
	s.contents[blob] = content
	return !again || before == content
}

func (s *sink) post(endpoint, what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.posts[endpoint] == nil {
		s.posts[endpoint] = map[string]int{}
	}
	s.posts[endpoint][what]++
}

// notifier posts pending webhooks; all endpoints are healthy.
func (w *pipeline) notifier() sqs.Handler {
	m := mortal{w}
	return sqs.BatchHandler(func(ctx context.Context, messages []delivery.NotifyMessage) []error {
		errs := make([]error, len(messages))
		for i, message := range messages {
			for _, t := range message.Tasks() {
				errs[i] = errors.Join(errs[i], m.notify(ctx, t))
			}
		}
		return errs
	})
}

func (m mortal) notify(ctx context.Context, t delivery.NotifyTask) error {
	if t.Entries != "" {
		return m.postEntries(t)
	}
	n, err := call(m, "Delivery", func() (delivery.Delivery, error) { return m.w.store.Delivery(ctx, t) })
	if errors.Is(err, campaign.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	content, err := m.Get(ctx, n.Blob)
	if err != nil {
		return err
	}
	if !m.w.sink.sameAs(n.Blob, string(content)) {
		m.w.t.Errorf("%s is posted again with different content: %s", n.Kind, content)
	}
	err = m.w.death.call("post", func() error {
		m.w.sink.post(n.EndpointID, string(n.Kind))
		return nil
	})
	if err != nil {
		return err
	}
	return m.w.death.call("DeleteDelivery", func() error { return m.w.store.DeleteDelivery(ctx, t) })
}

func (m mortal) FindBatch(ctx context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	return call(m, "FindBatch", func() (campaign.Batch, error) { return m.w.store.FindBatch(ctx, key) })
}

func (m mortal) CompleteBatch(ctx context.Context, b campaign.Batch, unused campaign.Money, next time.Time) (bool, error) {
	return call(m, "CompleteBatch", func() (bool, error) { return m.w.store.CompleteBatch(ctx, b, unused, next) })
}

func (m mortal) Progress(ctx context.Context, id campaign.ID) (campaign.Progress, error) {
	return call(m, "Progress", func() (campaign.Progress, error) { return m.w.store.Progress(ctx, id) })
}

func (m mortal) EndPause(ctx context.Context, id campaign.ID, p campaign.Progress) error {
	return m.w.death.call("EndPause", func() error { return m.w.store.EndPause(ctx, id, p) })
}

func (m mortal) Endpoints(ctx context.Context, tenant string) ([]delivery.Endpoint, error) {
	return call(m, "Endpoints", func() ([]delivery.Endpoint, error) { return m.w.store.Endpoints(ctx, tenant) })
}

func (m mortal) AddDeliveries(ctx context.Context, deliveries []delivery.Delivery) error {
	return m.w.death.call("AddDeliveries", func() error { return m.w.store.AddDeliveries(ctx, deliveries) })
}

func (m mortal) PostponeDelivery(ctx context.Context, t delivery.NotifyTask, read, next time.Time) (bool, error) {
	return call(m, "PostponeDelivery", func() (bool, error) { return m.w.store.PostponeDelivery(ctx, t, read, next) })
}

func (m mortal) TenantOf(ctx context.Context, agentID string) (string, error) {
	return call(m, "TenantOf", func() (string, error) { return m.w.store.TenantOf(ctx, agentID) })
}

func (m mortal) OptOuts(ctx context.Context, tenant string) ([]campaign.OptOuts, error) {
	return call(m, "OptOuts", func() ([]campaign.OptOuts, error) { return m.w.store.OptOuts(ctx, tenant) })
}

func (m mortal) OptOutShard(ctx context.Context, tenant string, shard int) (campaign.OptOuts, error) {
	return call(m, "OptOutShard", func() (campaign.OptOuts, error) { return m.w.store.OptOutShard(ctx, tenant, shard) })
}

func (m mortal) OptOutParts(ctx context.Context, tenant string, shard int, ids []string) (map[string]campaign.OptOutPart, error) {
	return call(m, "OptOutParts", func() (map[string]campaign.OptOutPart, error) { return m.w.store.OptOutParts(ctx, tenant, shard, ids) })
}

func (m mortal) SwapOptOuts(ctx context.Context, tenant string, o campaign.OptOuts, gone ...string) (bool, error) {
	return call(m, "SwapOptOuts", func() (bool, error) { return m.w.store.SwapOptOuts(ctx, tenant, o, gone...) })
}

func (m mortal) Put(_ context.Context, key string, body []byte, _ string) error {
	return m.w.death.call("Put", func() error {
		m.w.mu.Lock()
		defer m.w.mu.Unlock()
		m.w.blobs[key] = body
		return nil
	})
}

func (m mortal) Get(_ context.Context, key string) ([]byte, error) {
	return call(m, "Get", func() ([]byte, error) {
		m.w.mu.Lock()
		defer m.w.mu.Unlock()
		body, ok := m.w.blobs[key]
		if !ok {
			return nil, campaign.ErrNotFound
		}
		return body, nil
	})
}
