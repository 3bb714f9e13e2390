package campaigns

import (
	"context"
	"regexp"
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

// testName matches the names that the templates page gives to test messages.
var testName = regexp.MustCompile(`^(Teste|Test): .*\d\d:\d\d:\d\d$`)

// addSteps adds the steps if the tenant has no campaigns, or only test messages.
func (s *Pages) addSteps(ctx context.Context, tenant string, l *listPage) error {
	isTest := func(r row) bool { return testName.MatchString(r.Name) }
	if l.Searched() || l.Later || l.Next != "" || !all(l.Rows, isTest) {
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
		{"test", web.Root + "/templates", len(l.Rows) > 0},
		{"campaign", Path + "/new", false},
		{"credential", web.Root + "/settings/credentials", slices.ContainsFunc(credentials, valid)},
	}
	return nil
}

func all(rows []row, is func(row) bool) bool {
	return !slices.ContainsFunc(rows, func(r row) bool { return !is(r) })
}
