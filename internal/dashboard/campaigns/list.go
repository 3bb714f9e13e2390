package campaigns

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

const (
	// pageLength is how many campaigns a page lists.
	pageLength = 20
	// chunk is how many campaigns are looked at at once.
	chunk = 50
	// maxLooked is how many campaigns one request looks at for those that are
	// searched for. What lies behind them is for the next one.
	maxLooked = 500
)

// listPage is what the list shows.
type listPage struct {
	Query    string
	Status   campaign.Status
	Statuses []campaign.Status
	Rows     []row
	Next     string // the cursor of the next page
	Later    bool   // there are newer ones
}

// Searched reports whether the list leaves campaigns out.
func (l listPage) Searched() bool { return l.Query != "" || l.Status != "" }

type row struct {
	campaign.Listed
	Status   campaign.Status
	Accepted int
	Batches  int
}

var statuses = []campaign.Status{
	campaign.StatusSending, campaign.StatusScheduled, campaign.StatusCompleted, campaign.StatusCancelled,
}

// cursor is what a place in the list looks like.
var cursor = regexp.MustCompile(`^[0-9]{14}#[0-9a-f-]{36}$`)

func (s *Pages) list(p *web.Page) error {
	l := listPage{Query: strings.TrimSpace(p.Query("q")), Status: campaign.Status(p.Query("status")), Statuses: statuses}
	after := p.Query("after")
	if after != "" && !cursor.MatchString(after) || l.Status != "" && !slices.Contains(statuses, l.Status) {
		return campaign.ErrNotFound
	}
	l.Later = after != ""
	if err := s.fill(p.R.Context(), p.Session.Tenant, after, &l); err != nil {
		return err
	}
	return p.Render("campaigns.title", "campaigns_list.html", l)
}

// fill looks through the tenant's campaigns until the page is full or it has seen
// enough.
func (s *Pages) fill(ctx context.Context, tenant, after string, l *listPage) error {
	size := int32(chunk)
	if !l.Searched() {
		size = pageLength + 1
	}
	for looked := 0; looked < maxLooked; {
		listed, err := s.Store.ListCampaigns(ctx, tenant, after, size)
		if err != nil {
			return err
		}
		full, err := s.add(ctx, tenant, listed, l)
		if err != nil || full || len(listed) < int(size) {
			return err
		}
		looked += len(listed)
		after = listed[len(listed)-1].Cursor
	}
	l.Next = after
	return nil
}

// add adds those of the campaigns that are searched for, and reports whether the
// page was full before the last of them.
func (s *Pages) add(ctx context.Context, tenant string, listed []campaign.Listed, l *listPage) (full bool, err error) {
	listed = named(listed, l.Query)
	if l.Status == "" && len(listed) > pageLength-len(l.Rows) {
		full, listed = true, listed[:pageLength-len(l.Rows)]
		l.Next = lastOf(listed, *l)
	}
	ids := make([]string, len(listed))
	for i, c := range listed {
		ids[i] = c.CampaignID
	}
	standings, err := s.Store.Standings(ctx, tenant, ids)
	if err != nil {
		return false, err
	}
	statuses, err := s.statuses(ctx, listed, standings)
	if err != nil {
		return false, err
	}
	for i, c := range listed {
		if l.Status != "" && statuses[i] != l.Status {
			continue
		}
		if len(l.Rows) == pageLength {
			l.Next = l.Rows[pageLength-1].Cursor
			return true, nil
		}
		standing := standings[c.CampaignID]
		l.Rows = append(l.Rows, row{c, statuses[i], standing.Accepted, standing.Batches})
	}
	return full, nil
}

// named returns those of the campaigns whose names contain a text. It leaves the
// others where they are: the last one is where the search goes on.
func named(listed []campaign.Listed, text string) []campaign.Listed {
	text = folded(text)
	var found []campaign.Listed
	for _, c := range listed {
		if strings.Contains(folded(c.Name), text) {
			found = append(found, c)
		}
	}
	return found
}

// lastOf is the cursor of the last row that the page will have.
func lastOf(listed []campaign.Listed, l listPage) string {
	if len(listed) > 0 {
		return listed[len(listed)-1].Cursor
	}
	return l.Rows[len(l.Rows)-1].Cursor
}

// readsAtOnce is how many campaigns are read side by side.
const readsAtOnce = 8

func (s *Pages) statuses(ctx context.Context, listed []campaign.Listed, standings map[string]campaign.Summary) ([]campaign.Status, error) {
	statuses := make([]campaign.Status, len(listed))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsAtOnce)
	for i, c := range listed {
		if statuses[i] = s.known(standings[c.CampaignID]); statuses[i] != "" {
			continue
		}
		group.Go(func() error {
			whole, err := s.overview(ctx, c.ID)
			statuses[i] = whole.Status()
			return err
		})
	}
	return statuses, group.Wait()
}

// stopsWithin is how long it may take at most until nothing more of a cancelled
// campaign is sent.
const stopsWithin = 24 * time.Hour

// known returns how far a campaign is, where its own rows tell: one that is
// scheduled may be of several batches, and one that was cancelled just now may
// still be stopping.
func (s *Pages) known(standing campaign.Summary) campaign.Status {
	switch {
	case !standing.CancelledAt.IsZero():
		if s.Now().Sub(standing.CancelledAt) > stopsWithin {
			return campaign.StatusCancelled
		}
		return ""
	case standing.Completed >= standing.Batches:
		return campaign.StatusCompleted
	case !standing.Scheduled:
		return campaign.StatusSending
	}
	return ""
}

// folded returns a text as it is compared in a search: without case and without
// the accents of Portuguese.
func folded(s string) string { return accents.Replace(strings.ToLower(s)) }

var accents = strings.NewReplacer(
	"á", "a", "à", "a", "â", "a", "ã", "a", "é", "e", "ê", "e", "í", "i", "ó", "o", "ô", "o", "õ", "o", "ú", "u", "ü", "u", "ç", "c")
