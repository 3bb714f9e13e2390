package campaigns

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
)

const (
	readsAtOnce = 8
	// readsAPage is the maximum number of small campaigns that are read to show their results
	// on a page. The page requests the other rows one by one.
	readsAPage = 8
)

type row struct {
	campaign.Listed
	insight.Results

	Status            campaign.Status // "" if it is not known yet
	Messages          int             // one for each person of the campaign
	Template          string          // name of the first batch's template, "" if it no longer exists
	content.Thumbnail                 // of the current version of the template
	Load              bool            // the page requests the row, because its results are missing or old
	changed           bool            // its results are missing, or older than a change of the campaign; more batches are none
}

// When returns when the campaign goes or went. Before its first message goes, that is within the sending hours.
func (r row) When() time.Time {
	switch {
	case r.unsent() && !r.Next.IsZero():
		return r.Next
	case r.First.IsZero():
		return listedAt(r.Cursor)
	}
	return r.First
}

// unsent reports whether the campaign waits for its time, and nothing of it was sent yet.
func (r row) unsent() bool {
	due := r.Status == campaign.StatusScheduled || r.Status == insight.StatusAwaitsHours
	return due && r.Sent+r.Lost == 0
}

func (r row) Counted() bool {
	return !r.At.IsZero() && r.Status != campaign.StatusScheduled && !r.unsent()
}

// Shown returns the status that the row shows: until it is read again, that of its numbers. It is "" if it has neither.
func (r row) Shown() campaign.Status {
	old := r.Results.Status
	if r.Status == "" && old != campaign.StatusScheduled && old != insight.StatusAwaitsHours { // whose time has passed
		return old
	}
	return r.Status
}

// State returns the status of the campaign in words.
func (r row) State(p *web.Page) string { return stateOf(p, r.Shown(), r.Results) }

func (r row) More() int { return r.Templates - 1 }

type rowView struct {
	*web.Page

	Row    row
	Update bool // the row replaces itself on the page
}

// View returns the row as a part of a page.
func (r row) View(p *web.Page) rowView { return rowView{Page: p, Row: r} }

// Update returns the row as a part of an update.
func (r row) Update(p *web.Page) rowView { return rowView{Page: p, Row: r, Update: true} }

// changing returns the interval in which the row changes, 0 for never.
func (r row) changing() time.Duration {
	switch {
	case r.Status == campaign.StatusSending && r.Batches <= insight.SmallCampaign && r.Unanswered == 0:
		return 2 * web.Often
	case r.Status == campaign.StatusSending, sendsLater(r.Status), r.Load:
		return web.Seldom
	}
	return 0
}

// Taps returns the rate of messages with a tapped suggestion or, without suggestions that count
// taps, with a clicked link.
func (r row) Taps() insight.Rate {
	if r.Tappable {
		return r.Rate(insight.StepTapped)
	}
	return r.Rate(insight.StepClicked)
}

// rows returns the rows of the campaigns. It reads some of those without current results.
func (s *Pages) rows(
	ctx context.Context, tenant string, listed []campaign.Listed, standings map[string]campaign.Summary, l *listPage,
) ([]row, error) {
	stored, err := s.Store.Results(ctx, tenant, campaign.IDsOf(listed))
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(listed))
	group, reading := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, c := range listed {
		rows[i] = s.newRow(c, standings[c.CampaignID], stored[c.CampaignID])
		if rows[i].Status == "" && !maySend(l.Status) && s.waits(c, standings[c.CampaignID]) {
			rows[i].Status = campaign.StatusScheduled
		}
		if l.Status == insight.StatusAwaitsHours && rows[i].Load && sends(rows[i].Status) {
			rows[i].Status = ""
		}
		if l.reading(rows[i]) {
			group.Go(func() error { return s.readRow(reading, &rows[i]) })
		}
	}
	return rows, group.Wait()
}

func (s *Pages) newRow(c campaign.Listed, standing campaign.Summary, stored insight.Results) row {
	messages := standing.Accepted + standing.Submission.NotAccepted()
	r := row{Listed: c, Results: stored, Messages: messages, Status: s.known(standing), Load: true}
	switch {
	case stored.Current(standing, s.Now()):
		r.Status, r.Load = stored.Status, false
	case stored.AwaitsHours(standing, s.Now()):
		r.Status = stored.Status
	}
	grown := standing
	grown.Batches = stored.Batches
	r.changed = !stored.Holds(grown, s.Now())
	r.Batches, r.InWaves = standing.Batches, insight.InWavesOf(standing.Submission)
	if r.TemplateID == "" { // the campaign was not read yet
		r.TemplateID = standing.TemplateID
	}
	return r
}

// reading reports whether the page waits until a row is read: to find its status if the list
// is filtered by it, or because the campaign is small and few were read.
func (l *listPage) reading(r row) bool {
	switch {
	case !r.Load:
		return false
	case l.Status != "" && r.Status == "":
		return true
	case r.Batches > insight.SmallCampaign, l.reads == readsAPage, l.Status != "" && r.Status != l.Status:
		return false
	}
	l.reads++
	return true
}

// readRow reads the campaign of a row, and stores its results for the next page.
func (s *Pages) readRow(ctx context.Context, r *row) error {
	read, err := s.reader().Read(ctx, r.ID)
	if errors.Is(err, campaign.ErrNotFound) { // it was deleted since it was listed
		r.Load = false
		return nil
	}
	if err != nil {
		return err
	}
	r.Results, r.Status, r.Load = read, read.Status, false
	return nil
}

func (s *Pages) reader() web.ResultReader { return web.ResultReader{Store: s.Store, Now: s.Now} }

func (s *Pages) nameRows(ctx context.Context, tenant string, rows []row) error {
	if !slices.ContainsFunc(rows, func(r row) bool { return r.TemplateID != "" }) {
		return nil
	}
	templates, err := s.Store.Templates(ctx, tenant)
	if err != nil {
		return err
	}
	byID := map[string]campaign.Template{}
	for _, t := range templates {
		byID[t.ID] = t
	}
	for i := range rows {
		rows[i].show(byID[rows[i].TemplateID])
	}
	return nil
}

func (r *row) show(t campaign.Template) { r.Template, r.Thumbnail = t.Name, t.Thumbnail() }

func showRow(p *web.Page, r row) error { return p.Fragment("campaigns_row_update.html", r) }

// current returns a row of the list. It reads the campaign if its stored results are not current.
func (s *Pages) current(ctx context.Context, id campaign.ID) (r row, err error) {
	rows, err := s.stored(ctx, id.Tenant, []string{id.CampaignID})
	if err != nil {
		return r, err
	}
	if len(rows) == 0 {
		return r, campaign.ErrNotFound
	}
	if r = rows[0]; r.Load {
		if err := s.readRow(ctx, &r); err != nil {
			return r, err
		}
	}
	t, err := s.template(ctx, r.Tenant, r.TemplateID)
	r.show(t)
	return r, err
}

// stored returns the rows of campaigns by their stored results, without those that do not exist.
func (s *Pages) stored(ctx context.Context, tenant string, ids []string) (rows []row, err error) {
	standings, err := s.Store.Standings(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	results, err := s.Store.Results(ctx, tenant, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if standing := standings[id]; standing.Name != "" {
			c := campaign.Listed{ID: campaign.ID{Tenant: tenant, CampaignID: id}, Name: standing.Name}
			rows = append(rows, s.newRow(c, standing, results[id]))
		}
	}
	return rows, nil
}

// template returns a tenant's template, the zero Template if it no longer exists.
func (s *Pages) template(ctx context.Context, tenant, id string) (campaign.Template, error) {
	t, err := s.Store.Template(ctx, id)
	t, err = campaign.OwnTemplate(tenant, t, err)
	return t, campaign.IgnoreNotFound(err)
}

// Oldest returns when the oldest results of the page were read, the zero time if there are
// none.
func (l listPage) Oldest() (oldest time.Time) {
	for _, r := range l.Rows {
		if r.Counted() && (oldest.IsZero() || r.At.Before(oldest)) {
			oldest = r.At
		}
	}
	return oldest
}
