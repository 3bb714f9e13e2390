// Package dispatch accepts dispatch calls. It judges a call by the stored campaign, writes the
// batch in one transaction, and schedules its release. ServeDispatch serves the calls of clients;
// Check and Accept serve the pages and workers of the service itself, by the same rules.
package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/retry"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach"
)

// Store reads and writes the rows of a dispatch call.
type Store interface {
	// Snapshot returns the rows of q. The error wraps campaign.ErrLostRace while the campaign is being deleted.
	Snapshot(ctx context.Context, q acceptance.Query) (acceptance.State, error)
	// Accept returns an error that wraps campaign.ErrLostRace if a row has changed
	// since it was read. Nothing is written then.
	Accept(ctx context.Context, a acceptance.Command, token string) error
}

// Service accepts dispatch calls.
type Service struct {
	Tokens   accesstoken.Authorizer
	Store    Store
	Blobs    port.Blobs
	Releases port.Releases
	Reach    reach.Lookup
	// ListNames returns the names of a tenant's lists by number, for dry runs.
	ListNames   func(ctx context.Context, tenant string) (map[int]string, error)
	SeenNumbers *SeenNumbers
	Now         func() time.Time
	BaseURL     string        // configured base URL, or ""
	Lead        time.Duration // minimum time from now to a schedule
	// SweepDelay is the time after its due time at which sweep releases a batch whose release
	// task was lost.
	SweepDelay time.Duration
	// Limiter limits the calls of each tenant's clients; nil means no limit. Other calls are
	// not limited.
	Limiter *Limiter
}

type call struct {
	tenant     string
	client     *client // nil for a call of a page or a worker
	asked      Call    // of a page or a worker
	confirmed  bool    // it accepts a part, of a campaign that a person has confirmed
	now        time.Time
	req        *request
	faults     faults // found in the request alone
	times      times
	timeFaults faults
	numbers    numberset.Set  // valid numbers
	elsewhere  []int          // indexes of the messages that a part is accepted without, see message.elsewhere
	zones      []window.Count // of the stored messages, nil if no send window applies
	day        string         // in whose budget the call is booked, by the rows that were read last
	bill       bill
	staged     staged
	accepted   bool
}

// take sets the request of a call, with the faults found in it.
func (s *Service) take(c *call, req *request, found faults) {
	c.req, c.faults = req, append(c.faults, found...)
	s.setTimes(c, nil)
	c.numbers = req.numbers()
}

const maxRaces = 40

// attempt is an attempt at a call. earlier is the subset of the call's numbers that earlier batches
// contain.
type attempt func(state acceptance.State, earlier numberset.Set) error

// settle reads the rows of a call and attempts it while it loses races, at most maxRaces times. It
// deletes the objects of a call that was not accepted.
func (s *Service) settle(ctx context.Context, c *call, try attempt) (err error) {
	for race := range maxRaces {
		if err = retry.Wait(ctx, race); err != nil {
			break
		}
		var state acceptance.State
		var earlier numberset.Set
		if state, earlier, err = s.loadState(ctx, c); err == nil {
			err = try(state, earlier)
		}
		if !errors.Is(err, campaign.ErrLostRace) {
			break
		}
	}
	if !c.accepted && !errors.Is(err, errUnsettled) {
		s.discard(ctx, c)
	}
	if errors.Is(err, campaign.ErrLostRace) { // not wrapped: callers act on their own lost races
		return fmt.Errorf("%d lost races: %s", maxRaces, err.Error())
	}
	return err
}

// errUnsettled means that the outcome of the transaction is unknown. The staged objects
// may belong to an accepted batch.
var errUnsettled = errors.New("the outcome of the transaction is unknown")

// decide accepts a call, or returns a *Refusal.
func (s *Service) decide(ctx context.Context, c *call, state acceptance.State, earlier numberset.Set) error {
	if found := validate(c, state, earlier); len(found) > 0 {
		return &Refusal{Faults: found}
	}
	c.sortByZone(state)
	c.bill = price(c, state)
	if found := c.bill.faults(); len(found) > 0 {
		return &Refusal{Faults: found, Budget: c.bill.budget.Figures()}
	}
	return s.accept(ctx, c, state)
}

// check returns all faults of a call, and sets its price.
func (c *call) check(state acceptance.State, earlier numberset.Set) faults {
	c.bill = price(c, state)
	return append(validate(c, state, earlier), c.bill.faults()...)
}

func (c *call) query() acceptance.Query {
	q := acceptance.Query{
		Tenant: c.tenant, TemplateID: c.req.template(), CampaignID: c.req.id(), Name: c.req.name.value,
		BatchID: campaign.BatchID(c.req.batch.value),
		Month:   campaign.MonthOf(cmp.Or(c.day, localtime.Day(c.times.due))),
	}
	if c.confirmed {
		q.TemplateVersion = c.asked.TemplateVersion
	}
	if c.client != nil {
		q.ClientID, q.IdempotencyKey = c.client.id, c.client.key
	}
	return q
}

// loadState reads the rows that the call depends on. It also returns the
// subset of the call's numbers that earlier batches contain; a part is accepted without them instead. A part has the times
// of the campaign as read from then on. The day of the call depends on the rows: if it is in another month than
// the budget that was read with them, all are read again.
func (s *Service) loadState(ctx context.Context, c *call) (acceptance.State, numberset.Set, error) {
	q := c.query()
	q.Calls = s.mustCount(c)
	id := campaign.ID{Tenant: c.tenant, CampaignID: q.CampaignID}
	for range maxReads {
		q.KnownSets = s.SeenNumbers.Known(id)
		state, err := s.Store.Snapshot(ctx, q)
		if err != nil {
			return state, nil, err
		}
		earlier, complete, err := s.findEarlier(id, state, c.numbers)
		if err != nil {
			return state, nil, err
		}
		if c.asked.Part != "" {
			s.setTimes(c, state.Meta)
		}
		if c.confirmed {
			c.leaveOut(earlier)
			earlier = nil
		}
		c.day = c.bookedOn(state)
		if month := campaign.MonthOf(c.day); month != q.Month {
			q.Month = month
			continue
		}
		if complete {
			return state, earlier, nil
		}
		q.Consistent = q.Consistent || state.Meta != nil
	}
	return acceptance.State{}, nil, fmt.Errorf("campaign %s: %w", id.CampaignID, errIncomplete)
}

// findEarlier returns the numbers that earlier batches contain. complete is false if the rows do not match.
func (s *Service) findEarlier(id campaign.ID, state acceptance.State, numbers numberset.Set) (earlier numberset.Set, complete bool, err error) {
	if state.Meta == nil { // the campaign may have been created between the reads of its rows
		return nil, state.NameOwner == "" || state.NameOwner != id.CampaignID, nil
	}
	return s.SeenNumbers.Find(id, *state.Meta, state.Sets, numbers)
}

// leaveOut leaves out the messages of a part whose numbers earlier batches contain, and no others.
func (c *call) leaveOut(earlier numberset.Set) {
	for _, i := range c.elsewhere {
		c.req.messages[i].elsewhere = false
	}
	c.elsewhere, c.req.sorted = messagesWith(c.req, earlier), nil
	for _, i := range c.elsewhere {
		c.req.messages[i].elsewhere = true
	}
}

// stored returns the numbers of the messages that the call's batch has.
func (c *call) stored() numberset.Set {
	if len(c.elsewhere) == 0 {
		return c.numbers
	}
	return c.req.numbers()
}

// maxReads is the maximum number of reads of a call's rows while they and the sets show
// different batches, or the budget of another month than the call's. An eventually consistent
// read may miss the newest set, and a consistent read may miss a set, or return one, that is
// added between the reads.
const maxReads = 8

var errIncomplete = errors.New("the rows of the call do not match")
