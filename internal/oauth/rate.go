package oauth

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/oauth/authrow"
)

// The limits are requests per period.
const (
	limit        = 10 // requests of a client; also failures for one client ID from one address
	failureLimit = 60 // failures of an address
	period       = time.Minute
)

// maxSwaps is the maximum number of lost races for a window. Each lost race admits
// another request, so the window is full before that.
const maxSwaps = 4 * limit

// claimedKey is the limit for failures from an address with one client ID.
//
// Neither it nor failuresKey limits authenticated requests, so nobody can lock a client
// out by using its ID or its address. They do not protect secrets, which have 256 bits;
// they limit the cost of failures: beyond a limit, a failure writes nothing.
func (c caller) claimedKey() string { return "address " + network(c.address) + " " + c.ClientID }

// failuresKey is the limit for all failures from an address, whatever their client ID
// or status.
func (c caller) failuresKey() string { return "failures " + network(c.address) }

// network returns the network of one party: an IPv4 address, or the /64 of an IPv6
// address.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

// refuse counts a failed request and returns its failure, or a *failure with status 429
// if a limit is reached. It checks both limits before it writes.
func (s *Server) refuse(ctx context.Context, c caller, rows authrow.Rows, f *failure) error {
	claimed, now := rows.Windows[c.claimedKey()], s.Now()
	_, wait := pass(claimed, now, 0)
	_, waitAddress := freePlaces(rows.Places, now)
	if wait = max(wait, waitAddress); wait > 0 {
		return tooManyFailures(wait)
	}
	wait, err := s.count(ctx, c.claimedKey(), claimed)
	if err == nil && wait == 0 {
		wait, err = s.countFailure(ctx, c.failuresKey(), rows.Places)
	}
	if err != nil {
		return err
	}
	if wait > 0 {
		return tooManyFailures(wait)
	}
	return f
}

// freePlaces returns the places not used in the last period, or the time until one is
// free.
func freePlaces(places authrow.Places, now time.Time) (free []int, wait time.Duration) {
	wait = period
	for i := range failureLimit {
		age := now.Sub(places.Pass(i).At)
		if age >= period {
			free = append(free, i)
		}
		wait = min(wait, period-age)
	}
	if len(free) > 0 {
		return free, 0
	}
	return nil, wait
}

// countFailure takes a free place, or returns the time until one is free. A lost race
// means that another request took the place.
func (s *Server) countFailure(ctx context.Context, key string, places authrow.Places) (wait time.Duration, err error) {
	id := passID()
	for range 4 * failureLimit {
		now := s.Now()
		free, wait := freePlaces(places, now)
		if wait > 0 {
			return wait, nil
		}
		place := free[id%uint64(len(free))]
		mine := authrow.Pass{At: now.Add(time.Millisecond - 1).Truncate(time.Millisecond), ID: id % authrow.PlaceIDs}
		current, taken, err := s.Store.TakePlace(ctx, key, place, mine, now.Add(time.Millisecond-period))
		if err != nil {
			return 0, err
		}
		if other := current.Pass(place); taken || other.ID == mine.ID && other.At.Equal(mine.At) {
			return 0, nil
		}
		places = current
	}
	return 0, errors.New("count a failed token request: lost too many races")
}

// pass appends a request to the window's requests of the last period, or returns the
// wait until it is admitted. Times in a window never decrease, although the clocks of
// functions differ.
func pass(w authrow.Window, now time.Time, id uint64) (next authrow.Window, wait time.Duration) {
	for len(w) > 0 && now.Sub(w[0].At) >= period {
		w = w[1:]
	}
	if len(w) >= limit {
		return nil, w[len(w)-limit].At.Add(period).Sub(now)
	}
	if len(w) > 0 && w[len(w)-1].At.After(now) {
		now = w[len(w)-1].At
	}
	next = append(make(authrow.Window, 0, len(w)+1), w...)
	return append(next, authrow.Pass{At: now, ID: id}), 0
}

// admit counts an authenticated request, or returns a *failure with status 429.
func (s *Server) admit(ctx context.Context, key string, window authrow.Window) error {
	wait, err := s.count(ctx, key, window)
	if wait > 0 {
		return tooManyRequests(wait)
	}
	return err
}

// count adds the request to the window as read, or returns the wait until it is
// admitted and writes nothing. Request IDs identify a write whose answer was lost.
func (s *Server) count(ctx context.Context, key string, window authrow.Window) (wait time.Duration, err error) {
	id := passID()
	for range maxSwaps {
		next, wait := pass(window, s.Now(), id)
		if wait > 0 {
			return wait, nil
		}
		current, swapped, err := s.Store.SwapWindow(ctx, key, window, next)
		if err != nil {
			return 0, err
		}
		if swapped || current.Has(id) {
			return 0, nil
		}
		window = current
	}
	return 0, errors.New("count a token request: lost too many races")
}

func passID() uint64 { return binary.BigEndian.Uint64(random.Bytes(8)) }
