package campaigns

import (
	"context"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// start is a step of a tenant's start, shown until its first campaign.
type start struct {
	Key  string
	Path string
	Done bool
}

// addSteps adds the steps if the tenant has no campaigns, or only test messages.
func (s *Pages) addSteps(ctx context.Context, tenant string, l *listPage) error {
	if l.Tests || l.Searched() || l.Later || l.Next != "" || len(l.Rows) > 0 {
		return nil
	}
	templates, err := s.Store.Templates(ctx, tenant)
	if err != nil {
		return err
	}
	credentials, err := s.Credentials.Credentials(ctx, tenant)
	if err != nil {
		return err
	}
	valid := func(c campaign.Credential) bool { return c.RevokedAt.IsZero() }
	l.Steps = []start{
		{"template", web.Root + "/templates", len(templates) > 0},
		{"test", web.Root + "/templates", l.Tested},
		{"campaign", Path + "/new", false},
		{"credential", web.Root + "/settings/credentials", slices.ContainsFunc(credentials, valid)},
	}
	return nil
}
