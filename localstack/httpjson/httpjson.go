// Package httpjson calls the servers of a local stack and reads their JSON responses.
package httpjson

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
)

// Call makes a call with a body in JSON, nil for none, and an access token, "" for none. It
// decodes the response's JSON into a value, whatever the status. It returns the status also if
// the response is not JSON, and 0 if there is no response.
func Call(ctx context.Context, client *http.Client, method, address, token string, body, into any) (status int, err error) {
	var text bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&text).Encode(body); err != nil {
			return 0, fmt.Errorf("write the request: %w", err)
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, address, &text)
	if err != nil {
		return 0, fmt.Errorf("create the request: %w", err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, json.NewDecoder(response.Body).Decode(into)
}

// Get decodes the JSON at an address into a value, whatever the status.
func Get(ctx context.Context, address string, into any) error {
	_, err := Call(ctx, http.DefaultClient, http.MethodGet, address, "", nil, into)
	return err
}
