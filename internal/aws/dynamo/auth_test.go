package dynamo

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth/authrow"
	"campaign-dispatch/localstack/stackenv"
)

var authNow = time.Date(2037, 3, 1, 12, 0, 0, 123_000_000, time.UTC)

func authStore(t *testing.T) *AuthStore {
	t.Helper()
	env := stackenv.Load(t)
	return NewAuthStore(Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"],
		Now: func() time.Time { return authNow },
	})
}

func unique() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b)
	return hex.EncodeToString(b)
}

func savedCredential(t *testing.T, s *AuthStore) account.Credential {
	t.Helper()
	c := account.Credential{
		ClientID: "rcs_" + unique(), Tenant: "acme", Name: "back office", SecretHash: []byte{1},
		PreviousSecretHash: []byte{2}, PreviousUntil: authNow.Add(time.Hour),
		Scope: account.ScopeDispatch, CreatedAt: authNow,
	}
	if err := s.CreateCredential(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCredential_RoundTrip(t *testing.T) {
	t.Parallel()
	s := authStore(t)
	want := savedCredential(t, s)
	got, err := s.Credential(t.Context(), want.ClientID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("credential (-want +got):\n%s", diff)
	}
}

func TestRevokeCredential_Repeated(t *testing.T) {
	t.Parallel()
	s := authStore(t)
	c := savedCredential(t, s)
	later := *s
	later.Now = func() time.Time { return authNow.Add(time.Hour) }
	for _, store := range []*AuthStore{s, &later} {
		if err := store.RevokeCredential(t.Context(), c.ClientID); err != nil {
			t.Fatal(err)
		}
	}
	got, err := s.Credential(t.Context(), c.ClientID)
	if err != nil {
		t.Fatal(err)
	}
	c.RevokedAt = authNow
	if diff := cmp.Diff(c, got); diff != "" {
		t.Errorf("credential (-want +got):\n%s", diff)
	}
}

func TestCredential_NotFound(t *testing.T) {
	t.Parallel()
	s := authStore(t)
	if _, err := s.Credential(t.Context(), "rcs_"+unique()); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("read: error %v, want not found", err)
	}
	if err := s.RevokeCredential(t.Context(), "rcs_"+unique()); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("revoke: error %v, want not found", err)
	}
}

func refreshToken(clientID string) authrow.RefreshToken {
	return authrow.RefreshToken{
		Hash: unique(), Family: unique(), ClientID: clientID, Scope: account.ScopeDispatch, Expires: authNow.Add(time.Hour),
	}
}

func TestRotateRefreshToken(t *testing.T) {
	t.Parallel()
	s := authStore(t)
	c := savedCredential(t, s)
	used, next := refreshToken(c.ClientID), refreshToken(c.ClientID)
	next.Family = used.Family
	if err := s.PutRefreshToken(t.Context(), used); err != nil {
		t.Fatal(err)
	}
	if err := s.RotateRefreshToken(t.Context(), used, next, authNow); err != nil {
		t.Fatal(err)
	}
	used.Used = authNow
	for _, want := range []authrow.RefreshToken{used, next} {
		rows, err := s.AuthRows(t.Context(), authrow.Query{TokenHash: want.Hash})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, rows.Token); diff != "" {
			t.Errorf("token (-want +got):\n%s", diff)
		}
	}
}

// A rotation detects every change that ended the token since it was read.
func TestRotateRefreshToken_Conflicts(t *testing.T) {
	t.Parallel()
	tests := map[string]func(s *AuthStore, used authrow.RefreshToken) error{
		"after another one": func(s *AuthStore, used authrow.RefreshToken) error {
			next := refreshToken(used.ClientID)
			next.Family = used.Family
			return s.RotateRefreshToken(t.Context(), used, next, authNow)
		},
		"after the family's end": func(s *AuthStore, used authrow.RefreshToken) error {
			return s.RevokeFamily(t.Context(), used.Family, authNow.Add(time.Hour))
		},
		"after the credential's": func(s *AuthStore, used authrow.RefreshToken) error {
			return s.RevokeCredential(t.Context(), used.ClientID)
		},
		"after a new secret without overlap": func(s *AuthStore, used authrow.RefreshToken) error {
			return s.RotateCredential(t.Context(), used.ClientID, []byte("new"), time.Time{})
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := authStore(t)
			used := refreshToken(savedCredential(t, s).ClientID)
			if err := s.PutRefreshToken(t.Context(), used); err != nil {
				t.Fatal(err)
			}
			if err := end(s, used); err != nil {
				t.Fatal(err)
			}
			next := refreshToken(used.ClientID)
			if err := s.RotateRefreshToken(t.Context(), used, next, authNow); !errors.Is(err, campaign.ErrLostRace) {
				t.Errorf("error %v, want a lost race", err)
			}
			rows, err := s.AuthRows(t.Context(), authrow.Query{TokenHash: next.Hash})
			if err != nil || rows.Token != nil {
				t.Errorf("the next token is %+v, error %v, want none", rows.Token, err)
			}
		})
	}
}

func TestAuthRows(t *testing.T) {
	t.Parallel()
	s := authStore(t)
	c := savedCredential(t, s)
	token := refreshToken(c.ClientID)
	if err := s.PutRefreshToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeFamily(t.Context(), token.Family, authNow.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	window := authrow.Window{{At: authNow, ID: 1}, {At: authNow.Add(time.Nanosecond), ID: 1<<64 - 1}}
	busy, idle := unique(), unique()
	if _, swapped, err := s.SwapWindow(t.Context(), busy, nil, window); err != nil || !swapped {
		t.Fatalf("swapped %t, error %v", swapped, err)
	}
	got, err := s.AuthRows(t.Context(), authrow.Query{
		ClientID: c.ClientID, TokenHash: token.Hash, Family: token.Family, Windows: []string{busy, idle},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := authrow.Rows{
		Credential: &c, Token: &token, FamilyRevoked: true,
		Windows: map[string]authrow.Window{busy: window, idle: nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestAuthRows_NotFound(t *testing.T) {
	t.Parallel()
	got, err := authStore(t).AuthRows(t.Context(), authrow.Query{
		ClientID: "rcs_" + unique(), TokenHash: unique(), Family: unique(),
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(authrow.Rows{Windows: map[string]authrow.Window{}}, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestSwapWindow(t *testing.T) {
	t.Parallel()
	s, key := authStore(t), unique()
	first := authrow.Window{{At: authNow, ID: 1}}
	second := authrow.Window{first[0], {At: authNow, ID: 2}}
	third := authrow.Window{first[0], {At: authNow, ID: 3}}
	steps := []struct {
		read, next, current authrow.Window
		swapped             bool
	}{
		{nil, first, first, true},
		{nil, first, first, false},
		{first, second, second, true},
		{first, third, second, false},
		{second, third, third, true},
	}
	for i, step := range steps {
		current, swapped, err := s.SwapWindow(t.Context(), key, step.read, step.next)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.current, current); diff != "" || swapped != step.swapped {
			t.Errorf("step %d: swapped %t, window (-want +got):\n%s", i, swapped, diff)
		}
	}
}

func TestTakePlace(t *testing.T) {
	t.Parallel()
	s, key, at := authStore(t), unique(), authNow.Truncate(time.Millisecond)
	minute := func(p authrow.Pass) time.Time { return p.At.Add(time.Millisecond - time.Minute) }
	first, second := authrow.Pass{At: at, ID: 7}, authrow.Pass{At: at, ID: 999_999}
	third, fourth := authrow.Pass{At: at.Add(time.Minute - time.Millisecond), ID: 1}, authrow.Pass{At: at.Add(time.Minute)}
	for i, step := range []struct {
		place int
		pass  authrow.Pass
		taken bool
		holds authrow.Places
	}{
		{2, first, true, authrow.Places{{}, {}, first}},
		{2, first, false, authrow.Places{{}, {}, first}}, // repeated by the SDK
		{0, second, true, authrow.Places{second, {}, first}},
		{2, third, false, authrow.Places{second, {}, first}},
		{2, fourth, true, authrow.Places{second, {}, fourth}},
	} {
		current, taken, err := s.TakePlace(t.Context(), key, step.place, step.pass, minute(step.pass))
		if err != nil || taken != step.taken {
			t.Fatalf("step %d: taken %t, %v", i, taken, err)
		}
		rows, err := s.AuthRows(t.Context(), authrow.Query{Places: key})
		if diff := cmp.Diff(step.holds, rows.Places); err != nil || diff != "" {
			t.Errorf("step %d: %v, places (-want +got):\n%s", i, err, diff)
		}
		if diff := cmp.Diff(step.holds, current); !taken && diff != "" {
			t.Errorf("step %d: current (-want +got):\n%s", i, diff)
		}
	}
}

// A row with all slots of the token endpoint's limit takes one write unit.
func TestTakePlace_RowSize(t *testing.T) {
	t.Parallel()
	size := 0
	for name, value := range rateKey(unique()) {
		size += len(name) + len(value.(*types.AttributeValueMemberS).Value)
	}
	size += len(TTL) + 7
	for i := range 60 {
		digits := packPlace(authrow.Pass{At: authNow, ID: 999_999}).(*types.AttributeValueMemberN).Value
		size += len(placeName(i)) + len(digits)/2 + 2
	}
	if size > 1024 {
		t.Errorf("%d bytes", size)
	}
}

func TestSwapWindow_DeletedRow(t *testing.T) {
	t.Parallel()
	read := authrow.Window{{At: authNow, ID: 1}}
	current, swapped, err := authStore(t).SwapWindow(t.Context(), unique(), read, read)
	if err != nil || swapped || current != nil {
		t.Errorf("window %v, swapped %t, error %v, want none", current, swapped, err)
	}
}

// Rows must not expire before they are obsolete.
func TestAuthRows_Expiry(t *testing.T) {
	t.Parallel()
	token := refreshToken("rcs_1")
	if got := getNumber(refreshRow(token), TTL); got <= token.Expires.Unix() {
		t.Errorf("the token's row goes at %d, want later than the token at %d", got, token.Expires.Unix())
	}
	window := authrow.Window{{At: authNow.Add(-time.Hour)}, {At: authNow}}
	if got := getNumber(windowRow("key", window), TTL); got < authNow.Add(2*time.Minute).Unix() {
		t.Errorf("the window's row goes at %d, want after the minute", got)
	}
}
