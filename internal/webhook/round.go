package webhook

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/deadline"
)

// round is one post of each letter that a notice has left.
type round struct {
	mu    sync.Mutex
	left  []int // positions that were not taken, ascending
	open  bool  // the endpoint's circuit is to open
	gone  bool  // the endpoint wants nothing ever again
	cut   bool  // there was no time for some letters
	hold  time.Duration
	codes map[string]int
}

// note adds what came of a letter.
func (r *round) note(l letter, v verdict, open bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.taken {
		return
	}
	r.left = append(r.left, l.position)
	r.codes[v.code]++
	r.open, r.gone, r.hold = r.open || open, r.gone || v.gone(), max(r.hold, v.hold)
}

// over tells whether no further letter is to be posted.
func (r *round) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open || r.gone
}

// postAll posts the letters, until the endpoint fails too often or ctx is near
// its end.
func (n *Notifier) postAll(ctx context.Context, notice campaign.Notice, e campaign.Endpoint, letters []letter) *round {
	r := &round{codes: map[string]int{}}
	g := n.gates.of(endpointKey{e.Tenant, e.ID})
	starting, cancel := deadline.Before(ctx, reserve)
	defer cancel()
	var posts sync.WaitGroup
	letters = n.shuffled(notice, letters)
	for i, l := range letters {
		if !g.enter(starting) {
			r.unsent(letters[i:], true)
			break
		}
		if r.over() {
			g.back()
			r.unsent(letters[i:], false)
			break
		}
		posts.Go(func() {
			v := n.post(ctx, e, l)
			r.note(l, v, g.leave(v, n.Now()))
			if !v.taken {
				n.recordFailure(ctx, notice, e, l, v)
			}
		})
	}
	posts.Wait()
	slices.Sort(r.left)
	if len(r.codes) > 0 {
		slog.WarnContext(ctx, "webhooks were not taken", "tenant", e.Tenant, "endpoint_id", e.ID,
			"attempt", notice.Attempt, "left", len(r.left), "codes", r.codes)
	}
	return r
}

// unsent notes letters that were not posted.
func (r *round) unsent(letters []letter, cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = r.cut || cut
	for _, l := range letters {
		r.left = append(r.left, l.position)
	}
}

// shuffled returns letters that failed before in another order each time: a few
// that the endpoint never takes must not stand before the others for ever.
func (n *Notifier) shuffled(notice campaign.Notice, letters []letter) []letter {
	if len(notice.Left) == 0 || len(letters) < 2 {
		return letters
	}
	from := int(n.Jitter() * float64(len(letters)))
	return slices.Concat(letters[from:], letters[:from])
}

// recordFailure writes a failure down. That it cannot be is no failure of
// notifying.
func (n *Notifier) recordFailure(ctx context.Context, notice campaign.Notice, e campaign.Endpoint, l letter, v verdict) {
	err := n.Endpoints.RecordFailure(ctx, campaign.WebhookFailure{
		Tenant: e.Tenant, EndpointID: e.ID, WebhookID: l.id, Kind: l.kind, MessageID: l.messageID,
		Status: v.status, Code: v.code, Attempt: notice.Attempt, At: n.Now(),
	})
	if err != nil {
		slog.WarnContext(ctx, "a failed webhook could not be recorded", "endpoint_id", e.ID, "error", err)
	}
}
