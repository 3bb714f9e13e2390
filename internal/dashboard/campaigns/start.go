package campaigns

import (
	"context"

	"campaign-dispatch/internal/dashboard/web"
)

// addSteps adds the first steps if the tenant has no campaigns, or only test messages.
func (s *Pages) addSteps(ctx context.Context, tenant string, l *listPage) (err error) {
	if l.Tests || l.Searched() || l.Later || l.Next != "" || len(l.Rows) > 0 {
		return nil
	}
	l.Steps, err = web.Steps(ctx, s.Store, s.Credentials, tenant, l.Tested)
	return err
}
