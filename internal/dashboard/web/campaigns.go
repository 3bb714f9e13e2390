package web

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/reach"
)

// CampaignPath returns the path of a campaign's page.
func CampaignPath(id string) string { return Root + "/campaigns/" + id }

// OfCampaign reads something of a campaign of the person's tenant. The error wraps campaign.ErrNotFound for an invalid ID.
func OfCampaign[T any](p *Page, id string, read func(context.Context, campaign.ID) (T, error)) (found T, err error) {
	id, ok := campaign.ParseUUID(id)
	if !ok {
		return found, campaign.ErrNotFound
	}
	return read(p.R.Context(), campaign.ID{Tenant: p.Session.Tenant, CampaignID: id})
}

// CampaignInPath returns OfCampaign for the campaign that the path names.
func CampaignInPath[T any](read func(context.Context, campaign.ID) (T, error)) func(*Page) (T, error) {
	return func(p *Page) (T, error) { return OfCampaign(p, p.R.PathValue("campaignId"), read) }
}

// OwnTemplate reads a template of the person's tenant. The error wraps campaign.ErrNotFound for an invalid ID, and for
// the template of another tenant.
func OwnTemplate(p *Page, id string, read func(ctx context.Context, id string) (campaign.Template, error)) (campaign.Template, error) {
	id, ok := campaign.ParseUUID(id)
	if !ok {
		return campaign.Template{}, campaign.ErrNotFound
	}
	t, err := read(p.R.Context(), id)
	return campaign.OwnTemplate(p.Session.Tenant, t, err)
}

// CampaignStore reads and stores what pages of many campaigns show, and reads what a tenant without campaigns
// has.
type CampaignStore interface {
	reach.Store
	// Overview returns a campaign with its outcomes but no contents. The error wraps campaign.ErrNotFound if there is none.
	Overview(ctx context.Context, id campaign.ID) (campaign.Campaign, error)
	// KeepResults stores results without their opt-outs, unless newer ones are stored.
	KeepResults(ctx context.Context, id campaign.ID, r insight.Results) error
	// Templates returns the templates of a tenant. Of their contents, only the form and the thumbnail are read.
	Templates(ctx context.Context, tenant string) ([]campaign.Template, error)
	// Credentials returns the credentials of a tenant, revoked ones included.
	Credentials(ctx context.Context, tenant string) ([]account.Credential, error)
}

// ResultReader reads the results of campaigns for pages that show many, and stores them for the next page.
type ResultReader struct {
	Store CampaignStore
	Now   func() time.Time
}

// Read returns the results of a campaign. The error wraps campaign.ErrNotFound if it does not
// exist.
func (r ResultReader) Read(ctx context.Context, id campaign.ID) (insight.Results, error) {
	now := r.Now()
	c, err := r.Store.Overview(ctx, id)
	if err != nil {
		return insight.Results{}, err
	}
	if c, _, err = reach.Timed(ctx, r.Store, c, now); err != nil {
		return insight.Results{}, fmt.Errorf("read when campaign %s goes: %w", id.CampaignID, err)
	}
	found := insight.ResultsOf(c, now)
	r.Keep(ctx, id, found)
	return found, nil
}

// Keep stores results. A failure costs only another reading.
func (r ResultReader) Keep(ctx context.Context, id campaign.ID, found insight.Results) {
	if err := r.Store.KeepResults(ctx, id, found); err != nil {
		slog.WarnContext(ctx, "storing a campaign's results failed", "campaign_id", id.CampaignID, "error", err)
	}
}

// ReadEach reads something of each of some things, most at once, in their order.
func ReadEach[T, U any](ctx context.Context, most int, all []T, read func(context.Context, T) (U, error)) ([]U, error) {
	found := make([]U, len(all))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(most)
	for i, one := range all {
		group.Go(func() (err error) {
			found[i], err = read(ctx, one)
			return err
		})
	}
	return found, group.Wait()
}

// Step is one of the first steps of a tenant, shown until its first campaign by start.html.
type Step struct {
	Key  string
	Path string
	Done bool
}

// Steps returns the steps of a tenant without campaigns. tested reports whether it has sent a
// test message.
func Steps(ctx context.Context, s CampaignStore, tenant string, tested bool) ([]Step, error) {
	templates, err := s.Templates(ctx, tenant)
	if err != nil {
		return nil, err
	}
	credentials, err := s.Credentials(ctx, tenant)
	if err != nil {
		return nil, err
	}
	valid := func(c account.Credential) bool { return !c.Revoked() }
	const example = Root + "/templates/new?example=1"
	test := example
	if len(templates) > 0 {
		newest := slices.MaxFunc(templates, func(a, b campaign.Template) int { return a.CreatedAt.Compare(b.CreatedAt) })
		test = Root + "/templates/" + newest.ID + "#test"
	}
	return []Step{
		{"template", example, len(templates) > 0},
		{"test", test, tested},
		{"campaign", Root + "/campaigns/new", false},
		{"credential", Root + "/settings/credentials", slices.ContainsFunc(credentials, valid)},
	}, nil
}
