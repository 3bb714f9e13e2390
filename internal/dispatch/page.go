package dispatch

import (
	"context"
	"crypto/sha256"

	"campaign-dispatch/internal/campaign"
)

// Dispatch serves a call made in the dashboard, by the same rules as a client's call
// but without a credential. base is the base URL of the service. A refused call returns the
// *httpapi.Problem that a client would get. The answer to a dry run lists all violations.
func (s *Service) Dispatch(ctx context.Context, tenant, base string, body []byte, o campaign.PageCall) ([]byte, error) {
	c := &call{tenant: tenant, version: o.TemplateVersion, now: s.Now(), client: &client{base: base, dryRun: o.DryRun, key: o.Key}}
	if o.Key != "" {
		c.client.bodyHash = sha256.Sum256(body)
	}
	if o.DryRun {
		c.client.unknown = &unknownNames{}
	}
	req, found := readRequest(body, c.client.unknown)
	req.lines = o.Lines
	s.take(c, req, found)
	answer, _, err := s.serve(ctx, c)
	return answer, err
}
