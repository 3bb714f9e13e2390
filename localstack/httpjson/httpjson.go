// Package httpjson calls the servers of a local stack and reads their JSON responses.
package httpjson

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// Do sends a request and decodes the response's JSON into a value, whatever the status.
// It returns the status also if the response is not JSON, and 0 if there is no response.
func Do(client *http.Client, r *http.Request, into any) (status int, err error) {
	response, err := client.Do(r) //nolint:gosec // an address of the local stack
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, json.NewDecoder(response.Body).Decode(into)
}

// Get decodes the JSON at an address into a value, whatever the status.
func Get(ctx context.Context, address string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	_, err = Do(http.DefaultClient, r, into)
	return err
}

// NewPost returns a request that posts JSON with an access token. An empty token sends no
// Authorization header.
func NewPost(ctx context.Context, address, token string, body []byte) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	return r, nil
}
