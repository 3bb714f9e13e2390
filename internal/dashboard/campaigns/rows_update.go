package campaigns

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// readsAnUpdate is how many batches and campaigns an update of a list reads on average: a page of 20 small campaigns, or one
// large campaign, takes more than one update. A page that is not open for long reads each campaign more often.
const (
	readsAnUpdate = 24
	mostWait      = 10 * time.Minute
)

// unfinished are the rows of a page that can change. The page updates them together.
type unfinished struct {
	ids     []string
	changes time.Duration // the interval in which one of them changes, 0 without rows
}

func unfinishedOf(rows []row) (u unfinished) {
	for _, r := range rows {
		every := r.changing()
		if every == 0 {
			continue
		}
		u.ids = append(u.ids, r.CampaignID)
		if u.changes == 0 || every < u.changes {
			u.changes = every
		}
	}
	return u
}

// interval returns the interval of the updates, 0 for none. Each looks at many rows, so it is twice that of a campaign's page.
func (u unfinished) interval(p *web.Page) time.Duration { return 2 * p.Interval(u.changes/2) }

// Every returns the interval of the updates as htmx reads it.
func (u unfinished) Every(p *web.Page) string { return web.Seconds(u.interval(p)) }

// Self returns the URL of the next update.
func (u unfinished) Self(p *web.Page) string {
	return p.UpdateFrom(Path + "/rows?ids=" + strings.Join(u.ids, ","))
}

// rowsUpdate is an update of a list.
type rowsUpdate struct {
	Rows       []row // that the page shows anew
	Unfinished unfinished
}

// updated reads the rows that a list updates. Those that it does not read this time stay as they are.
func (s *Pages) updated(p *web.Page) (u rowsUpdate, err error) {
	ctx, tenant, ids := p.R.Context(), p.Session.Tenant, strings.Split(p.Query("ids"), ",")
	invalid := func(id string) bool { _, ok := campaign.ParseUUID(id); return !ok }
	if len(ids) > pageLength || slices.ContainsFunc(ids, invalid) {
		return u, campaign.ErrNotFound
	}
	rows, err := s.stored(ctx, tenant, ids)
	if err != nil {
		return u, err
	}
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for _, r := range due(rows, waitFor(p, rows, s.Now()), s.Now()) {
		group.Go(func() error { return s.readRow(reading, r) })
	}
	if err := group.Wait(); err != nil {
		return u, err
	}
	u.Unfinished = unfinishedOf(rows)
	u.Rows = slices.DeleteFunc(rows, func(r row) bool { return r.Load })
	return u, s.nameUpdated(ctx, tenant, u.Rows)
}

// waitFor returns the time after which results are read again, so that all rows together cost readsAnUpdate.
func waitFor(p *web.Page, rows []row, now time.Time) time.Duration {
	total := 0
	for _, r := range rows {
		total += r.cost()
	}
	wait := unfinishedOf(rows).interval(p) * time.Duration(total) / readsAnUpdate
	if now.Sub(p.OpenedAt()) < web.SeldomAfter {
		return min(wait, mostWait)
	}
	return wait
}

// due returns the rows that an update reads: those whose campaign somebody has changed, and those whose results have waited.
// One update reads the first of them: what was changed, and then the oldest.
func due(rows []row, wait time.Duration, now time.Time) (due []*row) {
	for i := range rows {
		if r := &rows[i]; r.Load && (r.changed || now.Sub(r.At) >= wait) {
			due = append(due, r)
		}
	}
	slices.SortStableFunc(due, func(a, b *row) int {
		switch {
		case a.changed == b.changed:
			return a.At.Compare(b.At)
		case a.changed:
			return -1
		}
		return 1
	})
	read := 0
	for i, r := range due {
		if read += r.cost(); read >= readsAnUpdate {
			return due[:i+1]
		}
	}
	return due
}

// cost is what reading the row costs, in batches and campaigns.
func (r row) cost() int { return r.Batches + 1 }

// nameUpdated names the templates of some rows of a page.
func (s *Pages) nameUpdated(ctx context.Context, tenant string, rows []row) error {
	var ids []string
	for _, r := range rows {
		if r.TemplateID != "" && !slices.Contains(ids, r.TemplateID) {
			ids = append(ids, r.TemplateID)
		}
	}
	templates, err := web.ReadEach(ctx, readsAtOnce, ids, func(ctx context.Context, id string) (campaign.Template, error) {
		return s.template(ctx, tenant, id)
	})
	if err != nil {
		return err
	}
	for i, r := range rows {
		if at := slices.Index(ids, r.TemplateID); at >= 0 {
			rows[i].show(templates[at])
		}
	}
	return nil
}

func showRows(p *web.Page, u rowsUpdate) error { return p.Fragment("campaigns_rows.html", u) }
