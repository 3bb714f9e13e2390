package dynamo

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/webhook/delivery"
)

// AddEndpoint writes a new endpoint if its tenant has fewer than most, disabled ones
// included. It returns their number before the addition.
func (s *EndpointStore) AddEndpoint(ctx context.Context, e delivery.Endpoint, most int) (has int, err error) {
	err = untilDecided(ctx, "add endpoint "+e.ID, maxAdditions, func(int) error {
		has, err = s.addEndpoint(ctx, e, most)
		return err
	})
	return has, err
}

// addEndpoint makes one attempt. The error wraps campaign.ErrLostRace after a concurrent
// addition.
func (s *EndpointStore) addEndpoint(ctx context.Context, e delivery.Endpoint, most int) (has int, err error) {
	doing := "add endpoint " + e.ID
	guard, err := s.find(ctx, doing, endpointGuardKey(e.Tenant))
	if err != nil {
		return 0, err
	}
	all, err := s.Endpoints(ctx, e.Tenant)
	if err != nil || len(all) >= most {
		return len(all), err
	}
	addition := s.nextAddition(endpointGuardKey(e.Tenant), getInt(guard, "additions"))
	return len(all), s.writeAll(ctx, doing, addition, s.putNew(endpointRow(e)))
}

// nextAddition increments a guard row if it is unchanged.
func (t *table) nextAddition(guard Item, before int) types.TransactWriteItem {
	return t.putAfter(with(guard, Item{"additions": number(before + 1)}), "additions", before)
}

// SaveEndpoint creates or replaces an endpoint.
func (s *EndpointStore) SaveEndpoint(ctx context.Context, e delivery.Endpoint) error {
	return s.writeAll(ctx, "save endpoint "+e.ID, s.put(endpointRow(e)))
}

// Endpoint reads an endpoint consistently. The error wraps campaign.ErrNotFound if it does
// not exist.
func (s *EndpointStore) Endpoint(ctx context.Context, tenant, id string) (delivery.Endpoint, error) {
	row, err := s.get(ctx, "read endpoint "+id, endpointKey(tenant, id))
	return readEndpoint(tenant, id, row), err
}

// Endpoints returns a tenant's endpoints, disabled ones included, ordered by ID.
func (s *EndpointStore) Endpoints(ctx context.Context, tenant string) ([]delivery.Endpoint, error) {
	return list(ctx, &s.table, tenantPrefix+tenant, endpointPrefix, func(id string, row Item) delivery.Endpoint {
		return readEndpoint(tenant, id, row)
	})
}

// RotateEndpoint replaces an endpoint's signing secret. The previous secret also signs
// until previousUntil. The error wraps campaign.ErrNotFound if the endpoint does not exist.
func (s *EndpointStore) RotateEndpoint(ctx context.Context, tenant, id, secret string, previousUntil time.Time) error {
	w := s.update(endpointKey(tenant, id), "SET previousSecret = secret, previousUntil = :until, secret = :new",
		present+" AND secret <> :new", Item{":until": millis(previousUntil), ":new": text(secret)})
	return s.rotate(ctx, "rotate the secret of endpoint "+id, w, func(there Item) bool { return getText(there, "secret") == secret })
}

// setOff disables an endpoint.
const setOff = "SET offReason = :reason, offAt = :at"

func off(reason string, at time.Time) Item { return Item{":reason": text(reason), ":at": millis(at)} }

// SwitchEndpoint disables an endpoint for a reason, or enables it if the reason is empty.
// It reports whether the endpoint exists.
func (s *EndpointStore) SwitchEndpoint(ctx context.Context, tenant, id, offReason string) (bool, error) {
	update, values := "REMOVE offReason, offAt, offBy", Item(nil)
	if offReason != "" {
		update, values = setOff, off(offReason, s.Now())
	}
	return s.write(ctx, "switch endpoint "+id, s.update(endpointKey(tenant, id), update, present, values))
}

// DisableEndpoint disables an endpoint that is on, and reports whether it did. Of the callers that disable it within noticeEvery,
// only the first gets notice = true.
func (s *EndpointStore) DisableEndpoint(
	ctx context.Context, tenant, id, offReason string, noticeEvery time.Duration,
) (disabled, notice bool, err error) {
	key, on, at := endpointKey(tenant, id), present+" AND attribute_not_exists(offReason)", s.Now()
	first := on + " AND (attribute_not_exists(noticeAt) OR noticeAt <= :earlier)"
	values := with(off(offReason, at), Item{":by": text(random.Hex(8))})
	noticed := with(maps.Clone(values), Item{":earlier": millis(at.Add(-noticeEvery))})
	if notice, err = s.disable(ctx, s.update(key, setOff+", offBy = :by, noticeAt = :at", first, noticed)); notice || err != nil {
		return notice, notice, err
	}
	disabled, err = s.disable(ctx, s.update(key, setOff+", offBy = :by", on, values))
	return disabled, false, err
}

// disable reports whether an update has disabled an endpoint. The SDK repeats an update without a response: then the condition
// fails, and offBy is the update's own.
func (s *EndpointStore) disable(ctx context.Context, w types.TransactWriteItem) (bool, error) {
	there, held, err := s.writeOrRead(ctx, "disable an endpoint", w)
	own := held || getText(there, "offBy") == getText(w.Update.ExpressionAttributeValues, ":by")
	return err == nil && own, err
}

// SetKinds sets the webhook event types of an endpoint, none for the default. It reports
// whether the endpoint exists.
func (s *EndpointStore) SetKinds(ctx context.Context, tenant, id string, kinds []string) (bool, error) {
	values := Item{":kinds": text(strings.Join(kinds, ","))}
	return s.write(ctx, "change the kinds of endpoint "+id, s.update(endpointKey(tenant, id), "SET kinds = :kinds", present, values))
}

func endpointFields(e *delivery.Endpoint) fields {
	return fields{
		"url": &e.URL, "secret": &e.Secret, "previousSecret?": &e.PreviousSecret, "previousUntil?": &e.PreviousUntil,
		"offReason?": &e.OffReason, "offAt?": &e.OffAt, "noticeAt?": &e.NoticeAt,
	}
}

func endpointRow(e delivery.Endpoint) Item {
	return with(with(endpointKey(e.Tenant, e.ID), endpointFields(&e).item()), Item{"kinds": text(strings.Join(e.Kinds, ","))})
}

func readEndpoint(tenant, id string, row Item) delivery.Endpoint {
	e := fill(delivery.Endpoint{ID: id, Tenant: tenant}, endpointFields, row)
	if kinds := getText(row, "kinds"); kinds != "" {
		e.Kinds = strings.Split(kinds, ",")
	}
	return e
}

func readCircuitKey(row Item) (t delivery.NotifyTask, ok bool) {
	tenant, ofTenant := strings.CutPrefix(getText(row, "pk"), tenantPrefix)
	id, isCircuit := strings.CutPrefix(getText(row, "sk"), circuitPrefix)
	return delivery.NotifyTask{Tenant: tenant, EndpointID: id}, ofTenant && isCircuit
}

// Circuit reads an endpoint's circuit consistently. Without a circuit, only Tenant and
// EndpointID are set.
func (s *EndpointStore) Circuit(ctx context.Context, tenant, endpointID string) (delivery.Circuit, error) {
	row, err := s.find(ctx, "read the circuit of endpoint "+endpointID, circuitKey(tenant, endpointID))
	return readCircuit(tenant, endpointID, row), err
}

func circuitFields(c *delivery.Circuit) fields {
	return fields{"since": &c.Since, "probes": &c.Probes, "closing": &c.Closing, "drained": &c.Drained, "version": &c.Version, "nextCheck": &c.Next}
}

func readCircuit(tenant, endpointID string, row Item) delivery.Circuit {
	return fill(delivery.Circuit{Tenant: tenant, EndpointID: endpointID}, circuitFields, row)
}

// SaveCircuit writes the circuit if it is unchanged since it was read, and reports whether
// it did. Sweep checks the circuit at its Next.
func (s *EndpointStore) SaveCircuit(ctx context.Context, c delivery.Circuit) (bool, error) {
	row := with(circuitKey(c.Tenant, c.EndpointID), circuitFields(&c).item())
	row["version"], row["due"] = number(c.Version+1), text(s.dueKey(c.Tenant, getText(row, "pk")+getText(row, "sk")))
	return s.write(ctx, "write the circuit of endpoint "+c.EndpointID, s.putAfter(row, "version", c.Version))
}

// EndCircuit deletes the circuit if it is unchanged since it was read, and reports whether
// it did.
func (s *EndpointStore) EndCircuit(ctx context.Context, c delivery.Circuit) (bool, error) {
	w := s.removeIf(circuitKey(c.Tenant, c.EndpointID), absent, nil)
	if c.Version > 0 {
		w = s.removeIf(circuitKey(c.Tenant, c.EndpointID), "#version = :read", Item{":read": number(c.Version)})
	}
	return s.write(ctx, "end the circuit of endpoint "+c.EndpointID, w)
}
