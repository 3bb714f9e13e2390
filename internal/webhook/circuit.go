package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"campaign-dispatch/internal/base/metrics"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

const (
	// closingFor is how long a closing circuit is kept, to find deliveries that were parked just before it closed.
	closingFor = time.Minute
	perUnpark  = 100 // number of parked deliveries per read
	// idleProbes is the number of probes without a pending message after which the circuit closes.
	idleProbes   = 3
	circuitRaces = 5 // number of attempts to update a circuit
)

// openCircuit stops posts to an endpoint, except probes. The first probe is not earlier
// than the hold requested by the endpoint.
func (n *Notifier) openCircuit(ctx context.Context, e delivery.Endpoint, hold time.Duration) error {
	key := endpointKey{e.Tenant, e.ID}
	for race := range circuitRaces {
		if err := retry.Wait(ctx, race); err != nil {
			return err
		}
		c, err := n.Endpoints.Circuit(ctx, e.Tenant, e.ID)
		if err != nil {
			return err
		}
		opened := c
		if !c.Open() {
			opened = delivery.Circuit{
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
			continue // changed concurrently
		}
		n.limiters.get(key).circuitOpened()
		if c.Open() {
			return nil
		}
		metrics.Add(ctx, metrics.CircuitsOpened, 1)
		metrics.AddOf(ctx, metrics.CircuitsOpened, metrics.OfEndpoint, e.ID, 1)
		slog.WarnContext(ctx, "endpoint failing, circuit opened", "tenant", e.Tenant, "endpoint_id", e.ID)
		return n.probeLater(ctx, opened)
	}
	return fmt.Errorf("open circuit: %w", campaign.ErrLostRace)
}

// probeLater queues the next check of the circuit if it is due before the next sweep.
func (n *Notifier) probeLater(ctx context.Context, c delivery.Circuit) error {
	delay := c.Next.Sub(n.Now())
	if delay >= minSweepDelay {
		return nil
	}
	// Delays are in whole seconds. Round up, so that the task is not early.
	return n.queue(ctx, delivery.NotifyTask{Tenant: c.Tenant, EndpointID: c.EndpointID}, delay+time.Second)
}

func (n *Notifier) checkCircuit(ctx context.Context, t delivery.NotifyTask) error {
	key := endpointKey{t.Tenant, t.EndpointID}
	n.circuits.Drop(key)
	n.endpoints.Drop(key)
	c, err := n.Endpoints.Circuit(ctx, t.Tenant, t.EndpointID)
	if err != nil || c.Version == 0 || c.Next.After(n.Now()) {
		return err
	}
	e, err := n.endpoint(ctx, t.Tenant, t.EndpointID)
	if errors.Is(err, campaign.ErrNotFound) {
		return n.deleteParked(ctx, c)
	}
	if err == nil && e.Off() {
		_, err = n.Endpoints.EndCircuit(ctx, c)
	}
	if err != nil || e.Off() {
		return err
	}
	if c.Closing {
		return n.unparkAll(ctx, c)
	}
	// Only the caller whose update succeeds probes.
	c.Probes++
	c.Next = n.Now().Add(probeGap(c.Probes, n.Jitter()))
	if ok, err := n.Endpoints.SaveCircuit(ctx, c); err != nil || !ok {
		return err
	}
	c.Version++
	return n.probe(ctx, c, e)
}

// deleteParked deletes the parked deliveries of a deleted endpoint, then its circuit.
func (n *Notifier) deleteParked(ctx context.Context, c delivery.Circuit) error {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	for starting.Err() == nil {
		tasks, err := n.Endpoints.ParkedDeliveries(ctx, c.Tenant, c.EndpointID, perUnpark)
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

func (n *Notifier) probe(ctx context.Context, c delivery.Circuit, e delivery.Endpoint) error {
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
	i := (c.Probes + n.randomIndex(len(messages))) % len(messages)
	result := n.poster().Post(ctx, e, messages[i].Message)
	if result.Delivered {
		n.countPosts(ctx, e, delivery.PostCount{Accepted: 1})
	} else {
		n.countPosts(ctx, e, delivery.PostCount{Failed: 1})
	}
	n.recordPost(ctx, read, e, messages[i], result)
	if result.Delivered {
		return n.recovered(ctx, c, read, slices.Delete(messages, i, i+1))
	}
	slog.WarnContext(ctx, "probe failed", "tenant", e.Tenant, "endpoint_id", e.ID, "code", result.Code, "probes", c.Probes)
	// Probe with another delivery next time: this one may be invalid.
	turned := read
	turned.Next = n.Now()
	if _, err := n.Store.SaveDelivery(ctx, read, turned); err != nil {
		return err
	}
	switch reason := offReason(c, result, n.Now()); {
	case reason != "":
		if err := n.switchOff(ctx, e, reason); err != nil {
			return err
		}
		_, err := n.Endpoints.EndCircuit(ctx, c)
		return err
	case result.RetryAfter > c.Next.Sub(n.Now()):
		c.Next = n.Now().Add(result.RetryAfter)
		if _, err := n.Endpoints.SaveCircuit(ctx, c); err != nil {
			return err
		}
	}
	return n.probeLater(ctx, c)
}

// offReason returns why an endpoint is disabled after a failed probe, "" if it is not.
func offReason(c delivery.Circuit, result Result, now time.Time) string {
	switch {
	case result.Gone():
		return "gone"
	case now.Sub(c.Since) >= disableAfter:
		return "failing"
	}
	return ""
}

// sample returns a parked delivery and its messages, or no messages if none is parked. It
// deletes deliveries without pending messages.
func (n *Notifier) sample(ctx context.Context, c delivery.Circuit, e delivery.Endpoint) (delivery.Delivery, []pendingMessage, error) {
	tasks, err := n.Endpoints.ParkedDeliveries(ctx, c.Tenant, c.EndpointID, perUnpark)
	if err != nil {
		return delivery.Delivery{}, nil, err
	}
	for _, t := range tasks {
		read, err := n.delivery(ctx, t)
		if isUnreadable(err) || err == nil && !read.Parked {
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
	return delivery.Delivery{}, nil, nil
}

// recovered records that a message of the delivery was posted and closes the circuit.
func (n *Notifier) recovered(ctx context.Context, c delivery.Circuit, read delivery.Delivery, rest []pendingMessage) error {
	n.limiters.get(endpointKey{c.Tenant, c.EndpointID}).reset(n.Now())
	slog.InfoContext(ctx, "endpoint recovered, circuit closed", "tenant", c.Tenant, "endpoint_id", c.EndpointID, "probes", c.Probes)
	if len(rest) == 0 {
		if err := n.Store.DeleteDelivery(ctx, read.Task()); err != nil {
			return err
		}
		return n.closeCircuit(ctx, c)
	}
	next := read
	next.Pending = make([]int, len(rest))
	for i, m := range rest {
		next.Pending[i] = m.position
	}
	if _, err := n.Store.SaveDelivery(ctx, read, next); err != nil {
		return err
	}
	return n.closeCircuit(ctx, c)
}

// closeCircuit starts to unpark the endpoint's deliveries. Another check follows after closingFor.
func (n *Notifier) closeCircuit(ctx context.Context, c delivery.Circuit) error {
	c.Closing, c.Next = true, n.Now()
	ok, err := n.Endpoints.SaveCircuit(ctx, c)
	n.circuits.Drop(endpointKey{c.Tenant, c.EndpointID})
	if err != nil || !ok {
		return err
	}
	c.Version++
	return n.unparkAll(ctx, c)
}

// unparkAll unparks the deliveries of a closing circuit and queues their tasks. It deletes
// the circuit when a later check finds no parked delivery.
func (n *Notifier) unparkAll(ctx context.Context, c delivery.Circuit) error {
	starting, cancel := retry.WithMargin(ctx, shutdownMargin)
	defer cancel()
	total, damaged := 0, map[delivery.NotifyTask]bool{}
	for starting.Err() == nil {
		tasks, err := n.Endpoints.ParkedDeliveries(ctx, c.Tenant, c.EndpointID, perUnpark)
		if err != nil {
			return err
		}
		found := 0
		for _, t := range tasks {
			// Resends by an operator are posted at once.
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

// queueOnce queues the task of a damaged delivery once. The task ends in the dead-letter queue.
func (n *Notifier) queueOnce(ctx context.Context, t delivery.NotifyTask, queued map[delivery.NotifyTask]bool) error {
	if queued[t] {
		return nil
	}
	queued[t] = true
	return n.queue(ctx, t, 0)
}
