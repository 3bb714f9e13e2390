package oauth

import (
	"fmt"
	"net/http"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
)

// cacheControl allows verifiers to cache the keys: a new key is published before it is
// used to sign.
const cacheControl = "public, max-age=300"

type keySet struct {
	Keys []accesstoken.JWK `json:"keys"`
}

// metadata is the authorization server metadata of RFC 8414.
type metadata struct {
	Issuer        string   `json:"issuer"`
	TokenEndpoint string   `json:"token_endpoint"`
	KeysURI       string   `json:"jwks_uri"`
	GrantTypes    []string `json:"grant_types_supported"`
	AuthMethods   []string `json:"token_endpoint_auth_methods_supported"`
	Scopes        []string `json:"scopes_supported"`
	ResponseTypes []string `json:"response_types_supported"`
	Documentation string   `json:"service_documentation"`
}

func (s *Server) serveKeys(w http.ResponseWriter, r *http.Request) error {
	keys, err := s.Signer.Keys(r.Context())
	if err != nil {
		return fmt.Errorf("publish keys: %w", err)
	}
	set := keySet{Keys: make([]accesstoken.JWK, 0, len(keys))}
	for _, key := range keys {
		jwk, err := key.JWK()
		if err != nil {
			return fmt.Errorf("publish keys: %w", err)
		}
		set.Keys = append(set.Keys, jwk)
	}
	w.Header().Set("Cache-Control", cacheControl)
	httpapi.WriteJSON(w, http.StatusOK, set)
	return nil
}

func (s *Server) serveMetadata(w http.ResponseWriter, r *http.Request) error {
	base := httpapi.BaseURL(r, s.BaseURL)
	w.Header().Set("Cache-Control", cacheControl)
	httpapi.WriteJSON(w, http.StatusOK, metadata{
		Issuer:        base,
		TokenEndpoint: base + TokenPath,
		KeysURI:       base + KeysPath,
		GrantTypes:    []string{grantClientCredentials, grantRefreshToken},
		AuthMethods:   []string{"client_secret_basic", "client_secret_post"},
		Scopes:        account.Scopes,
		ResponseTypes: []string{},
		Documentation: base + "/api/v1/openapi.json",
	})
	return nil
}

// onlyGet serves a document for GET and HEAD.
func onlyGet(serve httpapi.HandlerFunc) httpapi.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) error {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return serve(w, r)
		}
		return &httpapi.Problem{
			Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Detail: "This document takes GET only.",
			Header: http.Header{"Allow": {"GET, HEAD"}},
		}
	}
}
