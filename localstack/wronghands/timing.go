package wronghands

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth"
	"campaign-dispatch/internal/oauth/authrow"
)

// clients are the credentials of a token endpoint without a database, whose time would
// drown the endpoint's own.
type clients map[string]campaign.Credential

// AuthRows returns the credential, and no window: nobody has asked before.
func (c clients) AuthRows(_ context.Context, q authrow.Query) (authrow.Rows, error) {
	rows := authrow.Rows{Windows: map[string]authrow.Window{}}
	if credential, ok := c[q.ClientID]; ok {
		rows.Credential = &credential
	}
	return rows, nil
}

// SwapWindow keeps nothing.
func (clients) SwapWindow(_ context.Context, _ string, _, next authrow.Window) (authrow.Window, bool, error) {
	return next, true, nil
}

// TakePlace keeps nothing.
func (clients) TakePlace(context.Context, string, int, authrow.Pass, time.Time) (authrow.Places, bool, error) {
	return nil, true, nil
}

// PutRefreshToken is never called: no secret is right.
func (clients) PutRefreshToken(context.Context, authrow.RefreshToken) error { return nil }

// RotateRefreshToken is never called.
func (clients) RotateRefreshToken(context.Context, authrow.RefreshToken, authrow.RefreshToken, time.Time) error {
	return nil
}

// RevokeFamily is never called.
func (clients) RevokeFamily(context.Context, string, time.Time) error { return nil }

// Timing is how the times differ that the token endpoint takes to refuse a known
// client with a wrong secret and an unknown one.
type Timing struct {
	Requests int
	// Known and Unknown are medians; for Known that of the kind of clients which
	// differs most.
	Known, Unknown time.Duration
	// Odds is how often who takes the slower of two answers for the known client's is
	// right, and 0.5 is what tossing a coin gives.
	Odds float64
}

// MaxOdds is how far from 0.5 the odds may be.
const MaxOdds = 0.05

const (
	rounds = 4000
	// longSecret is nearly as long as the endpoint takes: the longer, the more time
	// goes into what only a known client's secret might be worth.
	longSecret = 60_000
)

// ByTiming measures the token endpoint, its clients in random order.
func ByTiming(ctx context.Context) (Timing, error) {
	const unknown = "rcs_unknown00"
	now, sum := time.Now(), sha256.Sum256([]byte("secret"))
	known := campaign.Credential{Tenant: "t", Scope: campaign.ScopeDispatch, SecretHash: sum[:]}
	rotated, revoked := known, known
	rotated.PreviousSecretHash, rotated.PreviousUntil = sum[:], now.Add(time.Hour)
	revoked.RevokedAt = now
	store := clients{"rcs_known0001": known, "rcs_rotated01": rotated, "rcs_revoked01": revoked}
	server := oauth.Server{Store: store, Now: time.Now, BaseURL: "https://api.example.com"}
	handler := server.Handler()
	ids := []string{unknown, "rcs_known0001", "rcs_rotated01", "rcs_revoked01"}
	took, secret := map[string][]time.Duration{}, strings.Repeat("s", longSecret)
	for range rounds {
		mathrand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] }) //nolint:gosec // an order, no secret
		for _, id := range ids {
			d, err := refusal(ctx, handler, id, secret)
			if err != nil {
				return Timing{}, err
			}
			took[id] = append(took[id], d)
		}
	}
	t := Timing{Requests: rounds * len(ids), Unknown: median(took[unknown]), Odds: 0.5}
	for id := range store {
		if o := odds(took[id], took[unknown]); abs(o-0.5) >= abs(t.Odds-0.5) {
			t.Odds, t.Known = o, median(took[id])
		}
	}
	return t, nil
}

func abs(x float64) float64 { return max(x, -x) }

func refusal(ctx context.Context, handler http.Handler, id, secret string) (time.Duration, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, oauth.TokenPath, strings.NewReader(form.Encode()))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := status{header: http.Header{}}
	begun := time.Now()
	handler.ServeHTTP(&answer, r)
	d := time.Since(begun)
	if answer.code != http.StatusUnauthorized {
		return 0, fmt.Errorf("the token endpoint answers %d", answer.code)
	}
	return d, nil
}

// status keeps an answer's status alone.
type status struct {
	header http.Header
	code   int
}

func (s *status) Header() http.Header { return s.header }

func (s *status) Write(p []byte) (int, error) { return len(p), nil }

func (s *status) WriteHeader(code int) { s.code = code }

func median(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// odds returns how often one of a is above one of b; equal ones count half.
func odds(a, b []time.Duration) float64 {
	b = slices.Sorted(slices.Values(b))
	wins := 0.0
	for _, d := range a {
		below, _ := slices.BinarySearch(b, d)
		upTo, _ := slices.BinarySearch(b, d+1)
		wins += float64(below+upTo) / 2
	}
	return wins / float64(len(a)*len(b))
}

// SameRefusal reports whether the stack's token endpoint answers the same to a known
// client with a wrong secret, a revoked one, and an unknown one.
func (w *World) SameRefusal(ctx context.Context) (same bool, err error) {
	if err := w.forgetFailures(ctx); err != nil {
		return false, err
	}
	var first answer
	for i, id := range []string{w.victim.credential, w.revoked, "rcs_" + rand.Text()} {
		a, err := w.call(ctx, http.MethodPost, oauth.TokenPath, map[string]string{
			"grant_type": "client_credentials", "client_id": id, "client_secret": "wrong",
		}, "")
		if err != nil {
			return false, err
		}
		if i == 0 {
			first = a
		}
		if a != first || a.status != http.StatusUnauthorized {
			return false, nil
		}
	}
	return true, nil
}
