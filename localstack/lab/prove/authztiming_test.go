package prove

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/oauth"
	"campaign-dispatch/internal/oauth/authrow"
)

// knownClients are the credentials of a token endpoint without a database, whose time
// would hide the endpoint's own. No other method is called: no secret is right.
type knownClients struct {
	oauth.Store

	byID map[string]account.Credential
}

// AuthRows returns the credential, and no window.
func (c knownClients) AuthRows(_ context.Context, q authrow.Query) (authrow.Rows, error) {
	rows := authrow.Rows{Windows: map[string]authrow.Window{}}
	if known, ok := c.byID[q.ClientID]; ok {
		rows.Credential = &known
	}
	return rows, nil
}

// SwapWindow keeps nothing.
func (knownClients) SwapWindow(_ context.Context, _ string, _, next authrow.Window) (authrow.Window, bool, error) {
	return next, true, nil
}

// TakePlace keeps nothing.
func (knownClients) TakePlace(context.Context, string, int, authrow.Pass, time.Time) (authrow.Places, bool, error) {
	return nil, true, nil
}

// tryUnknownClients checks that the token endpoint refuses known clients with a wrong
// secret and unknown clients with the same answer, after the same time.
func (w *authzFixture) tryUnknownClients(ctx context.Context, t *testing.T) {
	t.Helper()
	const rounds, most = 4000, 0.05
	same := w.sameRefusal(ctx, t)
	took := timeRefusals(ctx, t, rounds)
	unknown := took[unknownClient]
	delete(took, unknownClient)
	odds, known := 0.5, time.Duration(0)
	for _, times := range took {
		if o := oddsOf(times, unknown); math.Abs(o-0.5) >= math.Abs(odds-0.5) {
			odds, known = o, middle(times)
		}
	}
	record(t, same && math.Abs(odds-0.5) <= most,
		fmt.Sprintf("%d refusals of the token endpoint in one process, known clients against an unknown one", rounds*(len(took)+1)),
		fmt.Sprintf("medians %s and %s, told apart %.1f %% of the time (50 ± %.0f allowed), the same answer on the stack: %v",
			known, middle(unknown), 100*odds, 100*most, same))
}

const unknownClient = "rcs_unknown00"

// timeRefusals returns the times of refusals by client, requested in random order.
func timeRefusals(ctx context.Context, t *testing.T, rounds int) map[string][]time.Duration {
	t.Helper()
	now, sum := time.Now(), sha256.Sum256([]byte("secret"))
	known := account.Credential{Tenant: "t", Scope: account.ScopeDispatch, SecretHash: sum[:]}
	rotated, revoked := known, known
	rotated.PreviousSecretHash, rotated.PreviousUntil = sum[:], now.Add(time.Hour)
	revoked.RevokedAt = now
	store := knownClients{byID: map[string]account.Credential{"rcs_known0001": known, "rcs_rotated01": rotated, "rcs_revoked01": revoked}}
	server := oauth.Server{Store: store, Now: time.Now, BaseURL: "https://api.example.com"}
	handler, took := server.Handler(), map[string][]time.Duration{}
	ids := []string{unknownClient, "rcs_known0001", "rcs_rotated01", "rcs_revoked01"}
	secret := strings.Repeat("s", 60_000) // nearly the limit: the longer, the more time goes into comparing it
	for range rounds {
		mathrand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		for _, id := range ids {
			form := url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
			r := httptest.NewRequestWithContext(ctx, http.MethodPost, oauth.TokenPath, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			got := httptest.NewRecorder()
			begun := time.Now()
			handler.ServeHTTP(got, r)
			took[id] = append(took[id], time.Since(begun))
			if got.Code != http.StatusUnauthorized {
				t.Fatalf("the token endpoint answers %d", got.Code)
			}
		}
	}
	return took
}

func middle(all []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(all))[len(all)/2]
}

// oddsOf returns how often a time of a is above one of b; equal ones count half.
func oddsOf(a, b []time.Duration) float64 {
	b = slices.Sorted(slices.Values(b))
	wins := 0.0
	for _, d := range a {
		below, _ := slices.BinarySearch(b, d)
		upTo, _ := slices.BinarySearch(b, d+1)
		wins += float64(below+upTo) / 2
	}
	return wins / float64(len(a)*len(b))
}

// sameRefusal reports whether the stack refuses a known client with a wrong secret, a
// revoked one and an unknown one with the same answer.
func (w *authzFixture) sameRefusal(ctx context.Context, t *testing.T) bool {
	t.Helper()
	w.forgetFailures(ctx, t)
	different := map[answer]bool{}
	for _, id := range []string{w.owner.credential, w.revoked, "rcs_" + rand.Text()} {
		a := w.call(ctx, t, http.MethodPost, oauth.TokenPath, map[string]string{
			"grant_type": "client_credentials", "client_id": id, "client_secret": "wrong",
		}, "")
		different[a] = true
		if a.status != http.StatusUnauthorized {
			return false
		}
	}
	return len(different) == 1
}

func TestOddsOf(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		a, b []time.Duration
		want float64
	}{
		"the same":       {[]time.Duration{1, 2, 3}, []time.Duration{3, 2, 1}, 0.5},
		"always slower":  {[]time.Duration{4, 5}, []time.Duration{1, 2}, 1},
		"always faster":  {[]time.Duration{1, 2}, []time.Duration{4, 5}, 0},
		"mostly slower":  {[]time.Duration{2, 4}, []time.Duration{1, 3}, 0.75},
		"all are equals": {[]time.Duration{1, 1}, []time.Duration{1}, 0.5},
	} {
		if got := oddsOf(test.a, test.b); math.Abs(got-test.want) > 0 {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
