// Package start has the first steps of a tenant, shown until its first campaign. Their texts
// and the list start.html are in package web.
package start

import (
	"context"
	"slices"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/settings/account"
)

// Templates reads a tenant's templates.
type Templates interface {
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
}

// Credentials reads the credentials of a tenant.
type Credentials interface {
	Credentials(ctx context.Context, tenant string) ([]account.Credential, error)
}

// Step is a step of a tenant's start.
type Step struct {
	Key  string
	Path string
	Done bool
}

// Steps returns the steps of a tenant without campaigns. tested reports whether it has sent a
// test message.
func Steps(ctx context.Context, t Templates, c Credentials, tenant string, tested bool) ([]Step, error) {
	templates, err := t.Templates(ctx, tenant)
	if err != nil {
		return nil, err
	}
	credentials, err := c.Credentials(ctx, tenant)
	if err != nil {
		return nil, err
	}
	valid := func(c account.Credential) bool { return c.RevokedAt.IsZero() }
	return []Step{
		{"template", web.Root + "/templates", len(templates) > 0},
		{"test", web.Root + "/templates", tested},
		{"campaign", web.Root + "/campaigns/new", false},
		{"credential", web.Root + "/settings/credentials", slices.ContainsFunc(credentials, valid)},
	}, nil
}
