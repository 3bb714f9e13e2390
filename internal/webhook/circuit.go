package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/retry"
)

const (
	// closingFor is how long a closing circuit is kept: deliveries that were parked
	// just before are found by then.
	closingFor = time.Minute
	// perDrain is how many parked deliveries are looked up at once.
	perDrain = 100
	// idleProbes is after how many probes that found nothing to post a circuit
	// ends.
	idleProbes = 3
	// circuitRaces is how often a circuit that changes meanwhile is read again.
	circuitRaces = 5
)

// openCircuit stops posts to an endpoint but for probes, the first of them not
// before the hold that the endpoint asked for is over.
func (n *Notifier) openCircuit(ctx context.Context, e campaign.Endpoint, hold time.Duration) error {
	key := endpointKey{e.Tenant, e.ID}
	for range circuitRaces {
		c, err := n.Endpoints.Circuit(ctx, e.Tenant, e.ID)
		if err != nil {
			return err
		}
		opened := c
		if !c.Open() {
			opened = campaign.Circuit{
				Tenant: e.Tenant, EndpointID: e.ID, Since: n.Now(), Next: n.Now().Add(probeGap(0, n.Jitter())), Version: c.Version,
			}
		}
		if asked := n.Now().Add(hold); hold > 0 && opened.Next.Before(asked) {
			opened.Next = asked
		}
		ok := true
		if opened != c {
			ok, err = n.Endpoints.SaveCircuit(ctx, opened)
		}
		n.circuits.Drop(key)
		if err != nil {
			return err
		}
		if !ok {
			continue // another call was faster
		}
		n.limiters.of(key).opened()
		if c.Open() {
			return nil
		}
		metrics.Add(ctx, metrics.CircuitsOpened, 1)
		slog.WarnContext(ctx, "an endpoint keeps failing: nothing but probes is posted to it", "tenant", e.Tenant, "endpoint_id", e.ID)
		return n.probeLater(ctx, opened)
	}
	return fmt.Errorf("open the circuit: %w", campaign.ErrLostRace)
}

// probeLater queues the next look after an endpoint where it comes before sweep
// would see to it.
func (n *Notifier) probeLater(ctx context.Context, c campaign.Circuit) error {
	delay := c.Next.Sub(n.Now())
	if delay >= soonest {
		return nil
	}
	// The queue counts whole seconds: a task must not come too early.
	return n.queue(ctx, campaign.NotifyTask{Tenant: c.Tenant, EndpointID: c.EndpointID}, delay+time.Second)
}

// lookAfter does what an endpoint's circuit needs: a probe, or an end.
func (n *Notifier) lookAfter(ctx context.Context, t campaign.NotifyTask) error {
	key := endpointKey{t.Tenant, t.EndpointID}
	n.circuits.Drop(key)
	n.endpoints.Drop(key)
	c, err := n.Endpoints.Circuit(ctx, t.Tenant, t.EndpointID)
	if err != nil || c.Version == 0 || c.Next.After(n.Now()) {
		return err
	}
	e, err := n.endpoint(ctx, t.Tenant, t.EndpointID)
	if errors.Is(err, campaign.ErrNotFound) {
		return n.forget(ctx, c)
	}
	if err == nil && e.Off() {
		_, err = n.Endpoints.EndCircuit(ctx, c)
	}
	if err != nil || e.Off() {
		return err
	}
	if c.Closing {
		return n.drain(ctx, c)
	}
	// Who moves the circuit on probes, and no other.
	c.Probes++
	c.Next = n.Now().Add(probeGap(c.Probes, n.Jitter()))
	if ok, err := n.Endpoints.SaveCircuit(ctx, c); err != nil || !ok {
		return err
	}
	c.Version++
	return n.probe(ctx, c, e)
}

// forget deletes what waits for an endpoint that does not exist any more, and then its
// circuit.
func (n *Notifier) forget(ctx context.Context, c campaign.Circuit) error {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for starting.Err() == nil {
		tasks, err := n.Endpoints.ParkedDeliveries(ctx, c.Tenant, c.EndpointID, perDrain)
		if err != nil {
			return err
		}
		if len(tasks) == 0 {
			_, err = n.Endpoints.EndCircuit(ctx, c)
			return err
		}
		for _, t := range tasks {
			if err := n.Store.DeleteDelivery(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil // sweep finds the circuit again
}

// probe posts one message of a delivery that waits.
func (n *Notifier) probe(ctx context.Context, c campaign.Circuit, e campaign.Endpoint) error {
	read, messages, err := n.sample(ctx, c, e)
	if err != nil {
		return err
	}
	if len(messages) == 0 {
		if c.Probes < idleProbes {
			return n.probeLater(ctx, c)
		}
		return n.closeCircuit(ctx, c)
	}
	i := (c.Probes + n.pick(len(messages))) % len(messages)
	v := n.poster().Post(ctx, e, messages[i].Message)
	n.countPost(ctx, e, v)
	if v.Delivered {
		return n.recovered(ctx, c, read, slices.Delete(messages, i, i+1))
	}
	n.recordFailure(ctx, read, e, messages[i], v)
	slog.WarnContext(ctx, "a probe failed", "tenant", e.Tenant, "endpoint_id", e.ID, "code", v.Code, "probes", c.Probes)
	// Another delivery is the next probe: this one may be what the endpoint refuses.
	turned := read
	turned.Next = n.Now()
	if _, err := n.Store.SaveDelivery(ctx, read, turned); err != nil {
		return err
	}
	switch reason := offReason(c, v, n.Now()); {
	case reason != "":
		if err := n.switchOff(ctx, e, reason); err != nil {
			return err
		}
		_, err := n.Endpoints.EndCircuit(ctx, c)
		return err
	case v.RetryAfter > c.Next.Sub(n.Now()):
		c.Next = n.Now().Add(v.RetryAfter)
		if _, err := n.Endpoints.SaveCircuit(ctx, c); err != nil {
			return err
		}
	}
	return n.probeLater(ctx, c)
}

// offReason tells why an endpoint is switched off after a probe, "" where it is
// not.
func offReason(c campaign.Circuit, v Result, now time.Time) string {
	switch {
	case v.Gone():
		return "gone"
	case now.Sub(c.Since) >= patience:
		return "failing"
	}
	return ""
}

// sample returns a delivery that waits and its messages, none where no delivery waits.
// What is owed no longer is removed on the way.
func (n *Notifier) sample(ctx context.Context, c campaign.Circuit, e campaign.Endpoint) (campaign.Delivery, []pendingMessage, error) {
	tasks, err := n.Endpoints.ParkedDeliveries(ctx, c.Tenant, c.EndpointID, perDrain)
	if err != nil {
		return campaign.Delivery{}, nil, err
	}
	for _, t := range tasks {
		read, err := n.delivery(ctx, t)
		if lost(err) || err == nil && !read.Parked {
			continue
		}
		if err != nil {
			return read, nil, err
		}
		messages, ok, err := n.readable(ctx, read, e)
		if err != nil || len(messages) > 0 {
			return read, messages, err
		}
		if !ok {
			continue
		}
		if err := n.Store.DeleteDelivery(ctx, t); err != nil {
			return read, nil, err
		}
	}
	return campaign.Delivery{}, nil, nil
}

// recovered writes down that a message of the delivery was taken, and lets posts to
// the endpoint go freely again.
func (n *Notifier) recovered(ctx context.Context, c campaign.Circuit, read campaign.Delivery, rest []pendingMessage) error {
	n.limiters.of(endpointKey{c.Tenant, c.EndpointID}).reset(n.Now())
	slog.InfoContext(ctx, "an endpoint is well again", "tenant", c.Tenant, "endpoint_id", c.EndpointID, "probes", c.Probes)
	if len(rest) == 0 {
		if err := n.Store.DeleteDelivery(ctx, read.Task()); err != nil {
			return err
		}
		return n.closeCircuit(ctx, c)
	}
	left := read
	left.Left = make([]int, len(rest))
	for i, l := range rest {
		left.Left[i] = l.position
	}
	if _, err := n.Store.SaveDelivery(ctx, read, left); err != nil {
		return err
	}
	return n.closeCircuit(ctx, c)
}

// closeCircuit puts what was parked back, now and once more after a while.
func (n *Notifier) closeCircuit(ctx context.Context, c campaign.Circuit) error {
	c.Closing, c.Next = true, n.Now()
	ok, err := n.Endpoints.SaveCircuit(ctx, c)
	n.circuits.Drop(endpointKey{c.Tenant, c.EndpointID})
	if err != nil || !ok {
		return err
	}
	c.Version++
	return n.drain(ctx, c)
}

// drain puts the deliveries of a closing circuit back in sweep's sight and queues
// their tasks. The circuit ends when none is found a while after it closed.
func (n *Notifier) drain(ctx context.Context, c campaign.Circuit) error {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	total, damaged := 0, map[campaign.NotifyTask]bool{}
	for starting.Err() == nil {
		tasks, err := n.Endpoints.ParkedDeliveries(ctx, c.Tenant, c.EndpointID, perDrain)
		if err != nil {
			return err
		}
		found := 0
		for _, t := range tasks {
			// What an operator asks for comes at once.
			ok, err := n.unpark(ctx, t, c.Since.IsZero())
			if errors.Is(err, campaign.ErrDamaged) {
				ok, err = false, n.queueOnce(ctx, t, damaged)
			}
			if err != nil {
				return err
			}
			if ok {
				found++
			}
		}
		total += found
		if found == 0 {
			break
		}
	}
	if total == 0 && c.Drained {
		_, err := n.Endpoints.EndCircuit(ctx, c)
		return err
	}
	c.Drained, c.Next = true, n.Now().Add(closingFor)
	_, err := n.Endpoints.SaveCircuit(ctx, c)
	return err
}

// queueOnce queues the task of a damaged delivery, to end in the dead letters.
func (n *Notifier) queueOnce(ctx context.Context, t campaign.NotifyTask, queued map[campaign.NotifyTask]bool) error {
	if queued[t] {
		return nil
	}
	queued[t] = true
	return n.queue(ctx, t, 0)
}
