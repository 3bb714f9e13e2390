package settings

import (
	"context"
	"errors"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

const (
	// perResend is the number of dead deliveries read per page.
	perResend = 100
	// recentFailures is the number of recent failures searched for pending deliveries.
	recentFailures = 500
)

// ResendDead retries an endpoint's dead deliveries that failed at since or later, from
// their first attempt, within a minute or two. It returns the number of deliveries,
// also with an error; if it equals most, there may be more. A delivery that becomes
// dead again is not retried twice. A delivery holds webhooks of one batch.
func (d *Service) ResendDead(ctx context.Context, tenant, id string, since time.Time, most int) (int, error) {
	if err := d.requireOn(ctx, tenant, id); err != nil {
		return 0, err
	}
	tried := map[delivery.NotifyTask]bool{}
	for total := 0; ; {
		tasks, err := d.Store.Webhooks.DeadDeliveries(ctx, tenant, id, since, min(perResend, most-total))
		if err != nil {
			return total, err
		}
		found, err := d.retry(ctx, tasks, tried, most-total)
		if total += found; err != nil || found == 0 || total >= most {
			return total, err
		}
	}
}

// retry schedules those deliveries for soon that were not tried before, up to most.
func (d *Service) retry(ctx context.Context, tasks []delivery.NotifyTask, tried map[delivery.NotifyTask]bool, most int) (n int, err error) {
	for _, t := range tasks {
		if tried[t] || n >= most {
			continue
		}
		tried[t] = true
		ok, err := d.repeatSoon(ctx, t)
		if err != nil {
			return n, err
		}
		if ok {
			n++
		}
	}
	return n, nil
}

// ResendFailed is ResendDead, and also retries deliveries that failed at since or later
// and wait for their next attempt. A failing endpoint is probed soon, and its parked
// deliveries are counted, up to most in all.
func (d *Service) ResendFailed(ctx context.Context, tenant, id string, since time.Time, most int) (delivery.Resent, error) {
	n, err := d.resendFailed(ctx, tenant, id, since, most)
	if err != nil {
		return delivery.Resent{Deliveries: n}, err
	}
	failing, err := d.ProbeSoon(ctx, tenant, id)
	if err != nil || !failing {
		return delivery.Resent{Deliveries: n}, err
	}
	parked, err := d.Store.Webhooks.ParkedDeliveries(ctx, tenant, id, most)
	return delivery.Resent{Parked: n + len(parked)}, err
}

func (d *Service) resendFailed(ctx context.Context, tenant, id string, since time.Time, most int) (int, error) {
	total, err := d.ResendDead(ctx, tenant, id, since, most)
	if err != nil {
		return total, err
	}
	failures, err := d.Store.Webhooks.Failures(ctx, tenant, id, recentFailures)
	if err != nil {
		return total, err
	}
	var tasks []delivery.NotifyTask
	for _, f := range failures { // newest first
		if !f.At.Before(since) {
			tasks = append(tasks, f.Task)
		}
	}
	n, err := d.retry(ctx, tasks, map[delivery.NotifyTask]bool{}, most-total)
	return total + n, err
}

// ResendOne posts a webhook again whose post at a time failed or is kept, within a minute or
// two, even if it was delivered. The other failed webhooks of its delivery are posted too.
// A failing endpoint is probed soon; parked reports that the webhook waits for the
// probe. The error wraps campaign.ErrNotFound if no such post is stored.
func (d *Service) ResendOne(ctx context.Context, tenant, id, webhookID string, at time.Time) (parked bool, err error) {
	if err := d.requireOn(ctx, tenant, id); err != nil {
		return false, err
	}
	posted, err := d.posted(ctx, tenant, id, webhookID, at)
	if err != nil {
		return false, err
	}
	return d.postAgain(ctx, posted)
}

// ResendEntry is ResendOne for the webhook of a log entry, see ledger.PackNewEntries.
func (d *Service) ResendEntry(ctx context.Context, tenant, id string, entry []byte) (parked bool, err error) {
	if err := d.requireOn(ctx, tenant, id); err != nil {
		return false, err
	}
	return d.postAgain(ctx, delivery.Failure{Tenant: tenant, EndpointID: id, Entry: entry})
}

// posted returns the failure of a post, or what a failure of a kept post would be.
func (d *Service) posted(ctx context.Context, tenant, id, webhookID string, at time.Time) (delivery.Failure, error) {
	f, err := d.Store.Webhooks.Failure(ctx, tenant, id, webhookID, at)
	if !errors.Is(err, campaign.ErrNotFound) {
		return f, err
	}
	p, err := d.Store.Webhooks.KeptPost(ctx, tenant, id, webhookID, at)
	if err == nil && len(p.Entry) == 0 && p.Blob == "" {
		err = missing("webhook " + webhookID + " was kept by an earlier release: it cannot be posted again")
	}
	return delivery.Failure{Tenant: tenant, EndpointID: id, Kind: p.Kind, Entry: p.Entry, Blob: p.Blob}, err
}

// ProbeSoon schedules a probe of a failing endpoint within a minute or two. It reports
// whether the endpoint is failing. Its pending deliveries wait for the probe.
func (d *Service) ProbeSoon(ctx context.Context, tenant, id string) (failing bool, err error) {
	err = d.changeCircuit(ctx, tenant, id, func(c *delivery.Circuit) bool {
		late := c.Next.After(d.Now())
		failing, c.Next = c.Open(), d.Now()
		return failing && late
	})
	return failing, err
}

// postAgain makes the delivery of a webhook due: that of its failure, or one of only this webhook.
func (d *Service) postAgain(ctx context.Context, f delivery.Failure) (parked bool, err error) {
	alone := f.Alone()
	alone.Next, alone.ExpiresAt = d.Now(), d.Now().Add(campaign.FailureLife)
	if err := d.postDelivery(ctx, f.Task, alone); err != nil {
		return false, err
	}
	return d.ProbeSoon(ctx, f.Tenant, f.EndpointID)
}

func (d *Service) postDelivery(ctx context.Context, failed delivery.NotifyTask, alone delivery.Delivery) error {
	for _, t := range []delivery.NotifyTask{failed, alone.Task()} {
		if t.DeliveryID == "" {
			continue
		}
		if _, err := d.Store.Webhooks.Delivery(ctx, t); !errors.Is(err, campaign.ErrNotFound) {
			if err == nil {
				_, err = d.repeatSoon(ctx, t)
			}
			return err
		}
	}
	return d.Store.Webhooks.AddDeliveries(ctx, []delivery.Delivery{alone})
}

func (d *Service) requireOn(ctx context.Context, tenant, id string) error {
	e, err := d.Store.Webhooks.Endpoint(ctx, tenant, id)
	if err == nil && e.Off() {
		err = input("endpoint_off", "endpoint %s is disabled: enable it first", id)
	}
	return explainEndpoint(tenant, id, err)
}

// repeatSoon schedules a dead or pending delivery for soon; a dead one starts from its first
// attempt. It reports whether the delivery was dead or pending.
func (d *Service) repeatSoon(ctx context.Context, t delivery.NotifyTask) (bool, error) {
	read, err := d.Store.Webhooks.Delivery(ctx, t)
	if err != nil || read.Parked {
		return false, campaign.IgnoreNotFound(err)
	}
	if !read.Dead {
		if !read.Next.After(d.Now()) {
			return false, nil
		}
		return d.Store.Webhooks.PostponeDelivery(ctx, t, read.Next, d.Now())
	}
	alive := read
	alive.Dead, alive.Attempt, alive.Next, alive.NotBefore = false, 0, d.Now(), time.Time{}
	return d.Store.Webhooks.SaveDelivery(ctx, read, alive)
}
