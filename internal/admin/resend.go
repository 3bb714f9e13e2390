package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"campaign-dispatch/internal/campaign"
)

const (
	// perResend is how many dead deliveries are looked up at once.
	perResend = 100
	// recentFailures is how many of the last failures are gone through for
	// deliveries that wait.
	recentFailures = 500
)

// ResendDead lets what was given up of an endpoint's webhooks, at since or later,
// be tried again from the start, within a minute or two. It returns how many
// deliveries it was, after an error too; where they are as many as most, there may be
// more. A delivery is some webhooks of one batch. One that is given up again meanwhile
// is not tried a second time.
func (d *Service) ResendDead(ctx context.Context, tenant, id string, since time.Time, most int) (int, error) {
	if err := d.requireOn(ctx, tenant, id); err != nil {
		return 0, err
	}
	tried := map[campaign.NotifyTask]bool{}
	for total := 0; ; {
		tasks, err := d.Store.DeadDeliveries(ctx, tenant, id, since, min(perResend, most-total))
		if err != nil {
			return total, err
		}
		found := 0
		for _, t := range tasks {
			if tried[t] {
				continue
			}
			tried[t] = true
			ok, err := d.again(ctx, t)
			if err != nil {
				return total + found, err
			}
			if ok {
				found++
			}
		}
		if total += found; found == 0 || total >= most {
			return total, nil
		}
	}
}

// ResendFailed is ResendDead also for webhooks that failed at since or later and
// wait for their next attempt: it comes at once. An endpoint that keeps failing is
// probed soon, and all that waits for it is counted, up to most and what was put
// back.
func (d *Service) ResendFailed(ctx context.Context, tenant, id string, since time.Time, most int) (campaign.Resent, error) {
	n, err := d.resendFailed(ctx, tenant, id, since, most)
	if err != nil {
		return campaign.Resent{Deliveries: n}, err
	}
	failing, err := d.ProbeSoon(ctx, tenant, id)
	if err != nil || !failing {
		return campaign.Resent{Deliveries: n}, err
	}
	parked, err := d.Store.ParkedDeliveries(ctx, tenant, id, most)
	return campaign.Resent{Waiting: n + len(parked)}, err
}

func (d *Service) resendFailed(ctx context.Context, tenant, id string, since time.Time, most int) (int, error) {
	total, err := d.ResendDead(ctx, tenant, id, since, most)
	if err != nil {
		return total, err
	}
	failures, err := d.Store.Failures(ctx, tenant, id, recentFailures)
	if err != nil {
		return total, err
	}
	seen := map[campaign.NotifyTask]bool{}
	for _, f := range failures {
		if total >= most || f.At.Before(since) {
			break
		}
		if seen[f.Task] {
			continue
		}
		seen[f.Task] = true
		ok, err := d.again(ctx, f.Task)
		if err != nil {
			return total, err
		}
		if ok {
			total++
		}
	}
	return total, nil
}

// ResendOne lets a webhook that failed at an instant be posted again, within a
// minute or two, also where it was taken since. What failed of the same delivery goes
// with it. Where the endpoint keeps failing it is probed soon, and the webhook waits
// until it answers.
func (d *Service) ResendOne(ctx context.Context, tenant, id, webhookID string, at time.Time) (waiting bool, err error) {
	if err := d.resendOne(ctx, tenant, id, webhookID, at); err != nil {
		return false, err
	}
	return d.ProbeSoon(ctx, tenant, id)
}

// ProbeSoon lets an endpoint that keeps failing be probed within a minute or two,
// and reports whether it is such a one. All that is owed to it waits until it answers.
func (d *Service) ProbeSoon(ctx context.Context, tenant, id string) (failing bool, err error) {
	for range maxRaces {
		c, err := d.Store.Circuit(ctx, tenant, id)
		if err != nil || !c.Open() {
			return false, err
		}
		if !c.Next.After(d.Now()) {
			return true, nil
		}
		c.Next = d.Now()
		if ok, err := d.Store.SaveCircuit(ctx, c); err != nil || ok {
			return true, err
		}
	}
	return false, fmt.Errorf("probe endpoint %s: %w", id, campaign.ErrLostRace)
}

func (d *Service) resendOne(ctx context.Context, tenant, id, webhookID string, at time.Time) error {
	if err := d.requireOn(ctx, tenant, id); err != nil {
		return err
	}
	f, err := d.Store.Failure(ctx, tenant, id, webhookID, at)
	if err != nil {
		return err
	}
	alone, err := d.deliveryOf(f)
	if err != nil {
		return err
	}
	for _, t := range []campaign.NotifyTask{f.Task, alone.Task()} {
		if _, err := d.Store.Delivery(ctx, t); !errors.Is(err, campaign.ErrNotFound) {
			if err == nil {
				_, err = d.again(ctx, t)
			}
			return err
		}
	}
	return d.Store.AddDeliveries(ctx, []campaign.Delivery{alone})
}

// deliveryOf returns a delivery of the one webhook that failed.
func (d *Service) deliveryOf(f campaign.WebhookFailure) (n campaign.Delivery, err error) {
	n = campaign.Delivery{Tenant: f.Tenant, EndpointID: f.EndpointID, Next: d.Now(), Ends: d.Now().Add(campaign.FailureLife)}
	switch {
	case f.Blob != "":
		n.Kind, n.Blob = f.Kind, f.Blob
		return n.Identified(), nil
	case f.Task.DeliveryID != "":
		n.Entries = f.Entry
		return n.Identified(), nil
	case f.Task.Blob != "":
		n.Ordinal, n.Kind, n.Blob = f.Task.Ordinal, f.Task.Kind, f.Task.Blob
		return n, nil
	}
	n.Ordinal, n.Left = f.Task.Ordinal, []int{f.Position}
	n.Key, err = campaign.ParseBatchKey(f.Task.BatchKey)
	return n, err
}

// requireOn returns an error where the tenant has no such endpoint, or it is
// switched off.
func (d *Service) requireOn(ctx context.Context, tenant, id string) error {
	e, err := d.Store.Endpoint(ctx, tenant, id)
	if errors.Is(err, campaign.ErrNotFound) {
		return noEndpoint(tenant, id)
	}
	if err == nil && e.Off() {
		err = input("endpoint_off", "endpoint %s is switched off: enable it first", id)
	}
	return err
}

// again lets a delivery be posted soon: from the start where it was dead, and one
// that waits for its next attempt without that wait. It reports whether it was one
// of these.
func (d *Service) again(ctx context.Context, t campaign.NotifyTask) (bool, error) {
	read, err := d.Store.Delivery(ctx, t)
	if errors.Is(err, campaign.ErrNotFound) || err == nil && read.Parked {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !read.Dead {
		if !read.Next.After(d.Now()) {
			return false, nil
		}
		return d.Store.MoveDelivery(ctx, t, read.Next, d.Now())
	}
	alive := read
	alive.Dead, alive.Attempt, alive.Next = false, 0, d.Now()
	return d.Store.SaveDelivery(ctx, read, alive)
}
