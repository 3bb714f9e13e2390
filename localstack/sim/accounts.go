package sim

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	grantType     = "urn:ietf:params:oauth:grant-type:jwt-bearer"
	scope         = "https://www.googleapis.com/auth/rcsbusinessmessaging"
	emailDomain   = "@simulator.iam.gserviceaccount.com"
	tokenLifetime = time.Hour
)

// accounts holds the access tokens that the simulator has issued.
type accounts struct {
	mu     sync.Mutex
	grants map[string]grant
}

type grant struct {
	agentID string
	expires time.Time
}

// KeyDocument returns the key document of the agent's service account, in the JSON
// format of Google's console. Its token_uri is the simulator's.
func (s *Sim) KeyDocument(agentID string) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(s.options.Key)
	if err != nil {
		return nil, fmt.Errorf("marshal the service account's key: %w", err)
	}
	return json.Marshal(map[string]string{
		"type":           "service_account",
		"project_id":     "simulator",
		"private_key_id": "simulator",
		"private_key":    string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email":   agentID + emailDomain,
		"client_id":      agentID,
		"token_uri":      s.tokenURL(),
	})
}

// keyDocument returns the key document of any agent id: agents need no registration.
func (s *Sim) keyDocument(w http.ResponseWriter, r *http.Request) error {
	agentID := r.URL.Query().Get("agentId")
	if agentID == "" {
		return invalid("agentId is required.")
	}
	document, err := s.KeyDocument(agentID)
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, json.RawMessage(document))
	return nil
}

func (s *Sim) tokenURL() string { return s.options.URL + "/token" }

// issueToken exchanges a service account's signed assertion for a token (RFC 7523).
func (s *Sim) issueToken(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("grant_type") != grantType {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "unsupported_grant_type"})
		return
	}
	agentID, err := s.verifyAssertion(r.PostFormValue("assertion"))
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": s.accounts.issue(agentID, s.options.Now()),
		"token_type":   "Bearer",
		"expires_in":   int(tokenLifetime.Seconds()),
	})
}

// verifyAssertion returns the agent whose service account signed the assertion.
func (s *Sim) verifyAssertion(assertion string) (string, error) {
	var claims struct {
		jwt.RegisteredClaims
		Scope string `json:"scope"`
	}
	_, err := jwt.ParseWithClaims(assertion, &claims,
		func(*jwt.Token) (any, error) { return &s.options.Key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithAudience(s.tokenURL()),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(s.options.Now))
	if err != nil {
		return "", fmt.Errorf("invalid JWT: %w", err)
	}
	agentID, ok := strings.CutSuffix(claims.Issuer, emailDomain)
	if !ok || claims.Scope != scope {
		return "", errors.New("unknown account or scope")
	}
	return agentID, nil
}

// issue creates a token and removes the expired ones.
func (a *accounts) issue(agentID string, now time.Time) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.grants, func(_ string, g grant) bool { return !now.Before(g.expires) })
	token := rand.Text()
	a.grants[token] = grant{agentID: agentID, expires: now.Add(tokenLifetime)}
	return token
}

// authorize returns the agent's id if the request's bearer token belongs to the agent, and an apiError otherwise.
func (s *Sim) authorize(r *http.Request, agentID string) (string, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.accounts.mu.Lock()
	g, ok := s.accounts.grants[token]
	s.accounts.mu.Unlock()
	switch {
	case !ok || !s.options.Now().Before(g.expires):
		return "", &apiError{Code: http.StatusUnauthorized, Message: "Request had invalid authentication credentials."}
	case agentID == "":
		return "", invalid("agentId is required.")
	case agentID != g.agentID:
		return "", &apiError{Code: http.StatusForbidden, Message: "The caller does not have permission."}
	}
	return g.agentID, nil
}
