package oauth

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"campaign-dispatch/internal/campaign"
)

// The limit: of one key, limit requests are let through in any period.
const (
	limit  = 10
	period = time.Minute
)

// maxSwaps is how often a request may lose the race for its window. Each time
// another request was let through, so that a window is full long before.
const maxSwaps = 4 * limit

// clientKey is the limit of requests that prove to come from the client.
func clientKey(clientID string) string { return campaign.ClientWindow(clientID) }

// addressKey is the limit of all others, so that nobody can lock a client out
// by using its name.
func addressKey(address, claimedClient string) string {
	return "address " + address + " " + claimedClient
}

// pass adds a request to what the window still holds of the last period, or
// tells how long to wait until it may be added. Clocks of different functions
// differ: times in the window never go back.
func pass(w campaign.Window, now time.Time, id uint64) (next campaign.Window, wait time.Duration) {
	for len(w) > 0 && now.Sub(w[0].At) >= period {
		w = w[1:]
	}
	if len(w) >= limit {
		return nil, w[len(w)-limit].At.Add(period).Sub(now)
	}
	if len(w) > 0 && w[len(w)-1].At.After(now) {
		now = w[len(w)-1].At
	}
	next = append(make(campaign.Window, 0, len(w)+1), w...)
	return append(next, campaign.Pass{At: now, ID: id}), 0
}

// admit lets the request through the limit of the key, whose window was read
// before, or returns a *failure with status 429. Refused requests write
// nothing. A write whose answer was lost is known again by its ID.
func (s *Server) admit(ctx context.Context, key string, window campaign.Window) error {
	id, err := s.passID()
	if err != nil {
		return err
	}
	for range maxSwaps {
		next, wait := pass(window, s.Now(), id)
		if wait > 0 {
			return tooManyRequests(wait)
		}
		current, swapped, err := s.Store.SwapWindow(ctx, key, window, next)
		if err != nil {
			return err
		}
		if swapped || current.Has(id) {
			return nil
		}
		window = current
	}
	return errors.New("count a token request: lost too many races")
}

func (s *Server) passID() (uint64, error) {
	var b [8]byte
	if _, err := io.ReadFull(s.Random, b[:]); err != nil {
		return 0, fmt.Errorf("draw the id of a request: %w", err)
	}
	return binary.BigEndian.Uint64(b[:]), nil
}
