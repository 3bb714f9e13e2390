package privacy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/webhook/delivery"
)

const (
	eventsAtOnce = 32 // number of event contents read concurrently
	// appliedAfter is the age from which no function that has read the content still applies
	// the event. A content that is needed to record an opt-out is marked as pending.
	appliedAfter = time.Hour
)

type heard struct {
	campaign.Blob
	content      reaction.EventContent // of a received event
	webhookEvent *delivery.Event       // of an event forwarded to the tenant's endpoints
}

type keptEvents struct {
	contents []campaign.Blob
	keys     map[string]bool
	told     map[string]bool // events forwarded to any tenant
}

func (p *person) keptEvents(ctx context.Context) (keptEvents, error) {
	kept := keptEvents{keys: map[string]bool{}, told: map[string]bool{}}
	for o, err := range p.Blobs.List(ctx, "events/") {
		if err != nil {
			return kept, err
		}
		kept.add(o)
	}
	return kept, nil
}

func (k *keptEvents) add(o campaign.Blob) {
	k.contents, k.keys[o.Key] = append(k.contents, o), true
	if event, told := eventOf(o.Key); told {
		k.told[event] = true
	}
}

// eachEvent visits the stored replies, opt-outs and opt-ins of the person, concurrently.
func (p *person) eachEvent(ctx context.Context, visit func(ctx context.Context, h heard) error) error {
	kept, err := p.keptEvents(ctx)
	if err != nil {
		return err
	}
	return each(p, "events", eventsAtOnce, kept.contents, func(o campaign.Blob) error {
		if !p.concerns(o.Key, kept) {
			return nil
		}
		h, about, err := p.hear(ctx, o)
		if err == nil && about {
			err = visit(ctx, h)
		}
		return err
	})
}

// happens returns the key of the content that is forwarded to the tenant for an event.
func (p *person) happens(event string, kind delivery.Kind) string {
	return event + "." + campaign.Digest(p.tenant.ID+"#"+event+"#"+string(kind))
}

// concerns reports whether an event belongs to the tenant: it was forwarded to the
// tenant, or it was forwarded to nobody and came from an agent of the tenant. Tenants
// may share an agent.
func (p *person) concerns(key string, kept keptEvents) bool {
	event, told := eventOf(key)
	mine := false
	for _, kind := range []delivery.Kind{delivery.KindReplied, delivery.KindOptedOut} {
		name := p.happens(event, kind)
		if told && name == key {
			return true
		}
		mine = mine || kept.keys[name]
	}
	toAgent := slices.ContainsFunc(p.agents, func(id string) bool { return strings.HasPrefix(key, "events/"+id+"/") })
	return !told && (mine || !kept.told[event] && toAgent)
}

// eventOf returns the key of the event that a key belongs to. told reports whether the
// key is a forwarded content. The last part of an event's key has no dot.
func eventOf(key string) (event string, told bool) {
	slash, dot := strings.LastIndexByte(key, '/'), strings.LastIndexByte(key, '.')
	if dot > slash {
		return key[:dot], true
	}
	return key, false
}

func (p *person) hear(ctx context.Context, o campaign.Blob) (h heard, about bool, err error) {
	body, err := p.Blobs.Get(ctx, o.Key)
	if err != nil {
		return h, false, campaign.IgnoreNotFound(err)
	}
	h.Blob = o
	var phone string
	if _, told := eventOf(o.Key); told {
		h.webhookEvent = &delivery.Event{}
		err = json.Unmarshal(body, h.webhookEvent)
		phone = h.webhookEvent.Phone
	} else {
		err = json.Unmarshal(body, &h.content)
		phone = h.content.Phone
	}
	if err != nil {
		return h, false, fmt.Errorf("read the content of an event: %w", campaign.ErrDamaged) // the cause may contain the data
	}
	return h, p.is(phone), nil
}

// eraseEvent erases the content of an event. early reports that
// the event is too recent, or its opt-out is not recorded, and that it was kept.
func (p *person) eraseEvent(ctx context.Context, h heard) (early bool, err error) {
	if h.webhookEvent == nil {
		if h.content.Pending || p.Now().Sub(h.At) < appliedAfter {
			return true, nil
		}
		// An empty object is ignored if the event is applied again.
		return false, p.Blobs.Put(ctx, h.Key, []byte("{}"), "application/json")
	}
	told := *h.webhookEvent
	told.Phone, told.Text, told.Erased = "", "", true
	return false, port.PutJSON(ctx, p.Blobs, h.Key, told)
}
