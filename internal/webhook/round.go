package webhook

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/retry"
)

// round is one post of each letter that a notice has left.
type round struct {
	mu            sync.Mutex
	taken, failed int   // posts
	left          []int // positions that were not taken, ascending
	open          bool  // the endpoint's circuit is to open
	gone          bool  // the endpoint wants nothing ever again
	fails         bool  // too many in a row were refused
	cut           bool  // there was no time for some letters
	hold          time.Duration
	codes         map[string]int // why letters were refused, and how many
}

// note adds what came of a letter.
func (r *round) note(l letter, v Verdict, fails bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if v.Taken {
		r.taken++
		return
	}
	r.failed++
	r.left = append(r.left, l.position)
	r.codes[v.Code]++
	r.fails, r.gone, r.hold = r.fails || fails, r.gone || v.Gone(), max(r.hold, v.Hold)
}

// refused tells whether a letter was posted and not taken.
func (r *round) refused() bool { return len(r.codes) > 0 }

// over tells whether no further letter is to be posted.
func (r *round) over() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fails || r.gone
}

// speaks tells whether the failures of a notice speak for its endpoint. Where
// others of its letters were taken they do not: those that are left may be what a
// well endpoint refuses.
func speaks(n campaign.Notice) bool { return len(n.Left) == 0 }

// postAll posts the letters, until the endpoint fails too often or ctx is near
// its end.
func (n *Notifier) postAll(ctx context.Context, notice campaign.Notice, e campaign.Endpoint, letters []letter) *round {
	r := &round{codes: map[string]int{}}
	g := n.gates.of(endpointKey{e.Tenant, e.ID})
	starting, cancel := retry.Before(ctx, reserve)
	defer cancel()
	poster := n.poster()
	var posts sync.WaitGroup
	letters = n.shuffled(notice, letters)
	for i, l := range letters {
		if !g.enter(starting) {
			r.unsent(letters[i:], true)
			break
		}
		if r.over() || g.isShut() {
			g.back()
			r.unsent(letters[i:], false)
			break
		}
		posts.Go(func() {
			v := poster.Post(ctx, e, l.Letter)
			r.note(l, v, g.judge(v, n.Now(), speaks(notice)))
			g.leave(v.Taken)
			if !v.Taken {
				metrics.Kind(ctx, v.Code, 1)
				n.recordFailure(ctx, notice, e, l, v)
			}
		})
	}
	posts.Wait()
	n.countPosts(ctx, e, r.taken, r.failed)
	slices.Sort(r.left)
	r.open = g.isShut()
	if r.refused() {
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
	if notice.Attempt == 0 {
		return letters
	}
	for i := len(letters) - 1; i > 0; i-- {
		j := n.pick(i + 1)
		letters[i], letters[j] = letters[j], letters[i]
	}
	return letters
}

// pick returns a number from 0 up to, not including, of.
func (n *Notifier) pick(of int) int { return min(int(n.Jitter()*float64(of)), of-1) }

// recordFailure writes a failure down. That it cannot be is no failure of
// notifying.
func (n *Notifier) recordFailure(ctx context.Context, notice campaign.Notice, e campaign.Endpoint, l letter, v Verdict) {
	f := campaign.WebhookFailure{
		Tenant: e.Tenant, EndpointID: e.ID, WebhookID: l.ID, Kind: l.Kind, MessageID: l.MessageID,
		Status: v.Status, Code: v.Code, Attempt: notice.Attempt, At: n.Now(),
		Task: notice.Task(), Position: l.position,
	}
	if notice.ID != "" {
		f.Blob, f.Entry = notice.Blob, pick(notice, []int{l.position})
	}
	err := n.Endpoints.RecordFailure(ctx, f)
	if err != nil {
		slog.WarnContext(ctx, "a failed webhook could not be recorded", "endpoint_id", e.ID, "error", err)
	}
}

// countPosts adds to the counts of the hour. That it cannot is no failure of
// notifying.
func (n *Notifier) countPosts(ctx context.Context, e campaign.Endpoint, taken, failed int) {
	if taken+failed == 0 {
		return
	}
	metrics.Add(ctx, metrics.WebhooksTaken, taken)
	metrics.Add(ctx, metrics.WebhooksRefused, failed)
	if err := n.Posts.CountPosts(ctx, e.Tenant, e.ID, n.Now(), taken, failed); err != nil {
		slog.WarnContext(ctx, "posts could not be counted", "endpoint_id", e.ID, "error", err)
	}
}

func (n *Notifier) countPost(ctx context.Context, e campaign.Endpoint, v Verdict) {
	if v.Taken {
		n.countPosts(ctx, e, 1, 0)
		return
	}
	n.countPosts(ctx, e, 0, 1)
}
