package oauth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/oauth/authrow"
)

const (
	grantClientCredentials = "client_credentials"
	grantRefreshToken      = "refresh_token"
)

// reuseGrace is the time after its rotation in which reuse of a refresh token counts as
// a client's retry, not as theft.
const reuseGrace = time.Minute

// maxClientID exceeds the length of every issued client ID.
const maxClientID = 256

type caller struct {
	tokenRequest
	address string
	baseURL string
}

// clientCredentials handles the grant of RFC 6749 §4.4.
func (s *Server) clientCredentials(ctx context.Context, c caller) (tokenResponse, error) {
	proven := authrow.ClientWindow(c.ClientID)
	q := authrow.Query{Windows: []string{proven, c.claimedKey()}, Places: c.failuresKey()}
	if len(c.ClientID) <= maxClientID {
		q.ClientID = c.ClientID
	}
	rows, err := s.Store.AuthRows(ctx, q)
	if err != nil {
		return tokenResponse{}, err
	}
	if !s.secretMatches(rows.Credential, c.ClientSecret) {
		return tokenResponse{}, s.refuse(ctx, c, rows, invalidClient())
	}
	if err := s.admit(ctx, proven, rows.Windows[proven]); err != nil {
		return tokenResponse{}, err
	}
	return s.startFamily(ctx, c, *rows.Credential)
}

// secretMatches takes the same time whether or not the credential exists.
func (s *Server) secretMatches(c *account.Credential, secret string) bool {
	known := c != nil
	if !known {
		c = &account.Credential{SecretHash: make([]byte, sha256.Size)}
	}
	sum := sha256.Sum256([]byte(secret))
	current := subtle.ConstantTimeCompare(sum[:], c.SecretHash) == 1
	previous := subtle.ConstantTimeCompare(sum[:], c.PreviousSecretHash) == 1 && s.Now().Before(c.PreviousUntil)
	return known && !c.Revoked() && (current || previous)
}

func (s *Server) startFamily(ctx context.Context, c caller, credential account.Credential) (tokenResponse, error) {
	scope, err := narrow(credential.Scope, c.Scope)
	if err != nil {
		return tokenResponse{}, err
	}
	return s.issue(ctx, c, credential, scope, authrow.RefreshToken{
		Family: random.Hex(16), ClientID: credential.ClientID, Scope: scope, Generation: credential.RefreshGeneration,
	}, s.Store.PutRefreshToken)
}

// refreshToken handles the grant of RFC 6749 §6.
func (s *Server) refreshToken(ctx context.Context, c caller) (tokenResponse, error) {
	hash := hashToken(c.RefreshToken)
	read, err := s.Store.AuthRows(ctx, authrow.Query{
		TokenHash: hash, Windows: []string{c.claimedKey()}, Places: c.failuresKey(),
	})
	if err != nil {
		return tokenResponse{}, err
	}
	token, now := read.Token, s.Now()
	if token == nil || !now.Before(token.Expires) {
		return tokenResponse{}, s.refuse(ctx, c, read, invalidGrant())
	}
	if !token.Used.IsZero() {
		return tokenResponse{}, s.reused(ctx, c, read)
	}
	proven := authrow.ClientWindow(token.ClientID)
	rows, err := s.Store.AuthRows(ctx, authrow.Query{
		ClientID: token.ClientID, Family: token.Family, Windows: []string{proven},
	})
	if err != nil {
		return tokenResponse{}, err
	}
	if f := s.judgeRefresh(c, *token, rows); f != nil {
		return tokenResponse{}, s.refuse(ctx, c, read, f)
	}
	if err := s.admit(ctx, proven, rows.Windows[proven]); err != nil {
		return tokenResponse{}, err
	}
	return s.rotate(ctx, c, *token, *rows.Credential)
}

// reused handles a refresh token that was already used. After reuseGrace it counts as
// stolen and its family is revoked. A rate limit does not prevent the revocation:
// otherwise a thief at the client's address could exhaust the limit.
func (s *Server) reused(ctx context.Context, c caller, read authrow.Rows) error {
	if s.Now().Sub(read.Token.Used) > reuseGrace {
		if err := s.endFamily(ctx, read.Token.Family); err != nil {
			return err
		}
	}
	return s.refuse(ctx, c, read, invalidGrant())
}

// endFamily revokes the token's family. It writes nothing if the family is already
// revoked.
func (s *Server) endFamily(ctx context.Context, family string) error {
	rows, err := s.Store.AuthRows(ctx, authrow.Query{Family: family})
	if err != nil || rows.FamilyRevoked {
		return err
	}
	return s.Store.RevokeFamily(ctx, family, s.Now().Add(campaign.RefreshLife))
}

// judgeRefresh returns why an unused token is refused, or nil: its family or credential
// was revoked, the secret was rotated without overlap, or another client presented it.
func (s *Server) judgeRefresh(c caller, token authrow.RefreshToken, rows authrow.Rows) *failure {
	foreign := c.ClientID != "" && c.ClientID != token.ClientID
	wrong := c.ClientSecret != "" && !s.secretMatches(rows.Credential, c.ClientSecret)
	switch {
	case foreign, wrong:
		return invalidClient()
	case rows.FamilyRevoked, rows.Credential == nil, rows.Credential.Revoked(), rows.Credential.RefreshGeneration != token.Generation:
		return invalidGrant()
	}
	return nil
}

// rotate exchanges the token.
func (s *Server) rotate(ctx context.Context, c caller, token authrow.RefreshToken, credential account.Credential) (tokenResponse, error) {
	scope, err := narrow(common(token.Scope, credential.Scope), c.Scope)
	if err != nil {
		return tokenResponse{}, err
	}
	return s.issue(ctx, c, credential, scope, token, func(ctx context.Context, next authrow.RefreshToken) error {
		err := s.Store.RotateRefreshToken(ctx, token, next, s.Now())
		if errors.Is(err, campaign.ErrLostRace) {
			return invalidGrant()
		}
		return err
	})
}

// issue issues an access token and a refresh token like from. It stores the refresh token last, so
// that a signing failure leaves the previous one valid.
func (s *Server) issue(
	ctx context.Context, c caller, credential account.Credential, scope string, from authrow.RefreshToken,
	store func(context.Context, authrow.RefreshToken) error,
) (tokenResponse, error) {
	refresh, kept := s.newRefreshToken(from)
	issuer := accesstoken.Issuer{Signer: s.Signer, Now: s.Now}
	token, err := issuer.Issue(ctx, c.baseURL, accesstoken.Claims{
		Tenant: credential.Tenant, ClientID: credential.ClientID, Scope: scope,
	})
	if err == nil {
		err = store(ctx, kept)
	}
	if err != nil {
		return tokenResponse{}, err
	}
	return tokenResponse{
		AccessToken: token, TokenType: "Bearer", ExpiresIn: int(accesstoken.Lifetime / time.Second), RefreshToken: refresh, Scope: scope,
	}, nil
}

// newRefreshToken generates a refresh token with the properties of from, except its
// times. It returns the token and the row to store.
func (s *Server) newRefreshToken(from authrow.RefreshToken) (token string, kept authrow.RefreshToken) {
	token, kept = random.Token(32), from
	kept.Hash, kept.Used, kept.Expires = hashToken(token), time.Time{}, s.Now().Add(campaign.RefreshLife)
	return token, kept
}

func hashToken(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// narrow returns the requested scope, or the granted scope if none was requested. A
// scope beyond the granted one is a *failure.
func narrow(granted, asked string) (string, error) {
	wanted := strings.Fields(asked)
	if len(wanted) == 0 {
		return granted, nil
	}
	if common(asked, granted) != strings.Join(wanted, " ") {
		return "", &failure{
			status: http.StatusBadRequest, Code: "invalid_scope",
			Description: "The scope is unknown, or exceeds what the client was granted.",
		}
	}
	return strings.Join(wanted, " "), nil
}

// common returns the words of a that b contains.
func common(a, b string) string {
	allowed := strings.Fields(b)
	words := slices.DeleteFunc(strings.Fields(a), func(w string) bool { return !slices.Contains(allowed, w) })
	return strings.Join(words, " ")
}
