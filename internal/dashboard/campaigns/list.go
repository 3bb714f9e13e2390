package campaigns

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/intake/sheet"
)

const (
	pageLength = 20 // campaigns
	chunk      = 50 // campaigns read at once
	// maxLooked is the number of campaigns that one search request reads. The next
	// request continues after them.
	maxLooked = 500
	// maxStatuses is maxLooked for a search by status, which reads more rows of each campaign.
	maxStatuses = chunk
	// maxSending is maxLooked for a search of what is being sent, which reads the batches too.
	maxSending = 25
)

type listPage struct {
	Query    string
	Status   campaign.Status
	Statuses []campaign.Status
	web.Period
	order
	Heads  map[string]head // by column
	Rows   []row
	Next   string // the cursor of the next page
	Later  bool   // there are newer campaigns
	Tests  bool   // the list shows test messages instead of campaigns
	Tested bool   // there are test messages
	Steps  []web.Step

	reads int // small campaigns that were read for this page
}

func (l listPage) Title() string {
	if l.Tests {
		return "ui.tests"
	}
	return "campaigns.title"
}

// Unfinished returns the rows that the page updates.
func (l listPage) Unfinished() unfinished { return unfinishedOf(l.Rows) }

// Filters returns the number of filters that are set, without the name.
func (l listPage) Filters() (n int) {
	for _, filter := range []string{string(l.Status), l.From, l.To} {
		if filter != "" {
			n++
		}
	}
	return n
}

func (l listPage) Searched() bool { return l.Query+string(l.Status)+l.From+l.To != "" }

var statuses = []campaign.Status{
	campaign.StatusSending, insight.StatusAwaitsHours, insight.StatusHolding, campaign.StatusScheduled, campaign.StatusPaused,
	campaign.StatusCompleted, campaign.StatusCancelled,
}

// maySend reports whether campaigns of the status are sending by their summaries, whatever their hours.
func maySend(s campaign.Status) bool {
	return s == campaign.StatusSending || s == insight.StatusAwaitsHours
}

// sendsLater reports whether campaigns of the status go on at a time or by a person.
func sendsLater(s campaign.Status) bool {
	return s == campaign.StatusScheduled || s == campaign.StatusPaused || s == insight.StatusAwaitsHours || s == insight.StatusHolding
}

var cursor = pattern.AtFirstUse(`^[0-9]{14}#[0-9a-f-]{36}$`)

func (s *Pages) list(p *web.Page) (err error) {
	l := listPage{Query: strings.TrimSpace(p.Query("q")), Status: campaign.Status(p.Query("status")), Statuses: statuses}
	after := p.Query("after")
	if after != "" && !cursor().MatchString(after) || l.Status != "" && !slices.Contains(statuses, l.Status) {
		return campaign.ErrNotFound
	}
	if l.Period, err = web.ReadPeriod(p); err != nil {
		return err
	}
	if l.order, err = readOrder(p); err != nil {
		return err
	}
	l.Heads = l.heads(p)
	l.Later, l.Tests = after != "", p.Query("tests") != ""
	if err := s.fill(p.R.Context(), p.Session.Tenant, after, &l); err != nil {
		return err
	}
	if err := s.nameRows(p.R.Context(), p.Session.Tenant, l.Rows); err != nil {
		return err
	}
	if err := s.addSteps(p.R.Context(), p.Session.Tenant, &l); err != nil {
		return err
	}
	p.ShowMedia()
	return p.Render(l.Title(), "campaigns_list.html", l)
}

func (l *listPage) most() int {
	if l.Sorted() {
		return maxLooked
	}
	return pageLength
}

// fill reads the tenant's campaigns until the page is full, the period is read, or maxLooked
// are read. A page of a sorted list is cut from all rows.
func (s *Pages) fill(ctx context.Context, tenant, after string, l *listPage) error {
	defer func() {
		l.sort(l.Rows)
		l.cut()
	}()
	size := int32(chunk)
	if maySend(l.Status) {
		size = maxSending
	}
	if !l.Searched() && !l.Sorted() {
		size = pageLength + 1
	}
	after = cmp.Or(after, cursorOf(l.End))
	for looked := 0; looked < l.maxLooked(); {
		listed, err := s.Store.ListCampaigns(ctx, tenant, after, size)
		if err != nil {
			return err
		}
		full, err := s.addAll(ctx, tenant, l.matching(listed), l)
		if err != nil || full || len(listed) < int(size) || l.before(listed[len(listed)-1]) {
			return err
		}
		looked += len(listed)
		after = listed[len(listed)-1].Cursor
	}
	l.Next = after
	return nil
}

func (l *listPage) maxLooked() int {
	switch {
	case l.Status == "":
		return maxLooked
	case maySend(l.Status):
		return maxSending
	}
	return maxStatuses
}

// addAll adds campaigns until the page is full. It reads no more than a page at once.
func (s *Pages) addAll(ctx context.Context, tenant string, listed []campaign.Listed, l *listPage) (full bool, err error) {
	for some := range slices.Chunk(listed, pageLength+1) {
		if full, err = s.add(ctx, tenant, some, l); full || err != nil {
			return full, err
		}
	}
	return false, nil
}

// add adds campaigns. It reports whether the page was full before the last of them.
func (s *Pages) add(ctx context.Context, tenant string, listed []campaign.Listed, l *listPage) (full bool, err error) {
	standings, err := s.Store.Standings(ctx, tenant, campaign.IDsOf(listed))
	if err != nil {
		return false, err
	}
	listed = s.ofStatus(l.Status, l.ofKind(listed), standings)
	if l.Status == "" && len(listed) > l.most()-len(l.Rows) {
		full, listed = true, listed[:l.most()-len(l.Rows)]
		l.Next = lastOf(listed, *l)
	}
	rows, err := s.rows(ctx, tenant, listed, standings, l)
	if err != nil {
		return false, err
	}
	for _, r := range rows {
		if l.Status != "" && r.Status != l.Status {
			continue
		}
		if len(l.Rows) == l.most() {
			l.Next = l.Rows[l.most()-1].Cursor
			return true, nil
		}
		l.Rows = append(l.Rows, r)
	}
	return full, nil
}

// matching returns the campaigns of the period whose names contain the query. It does not
// change listed, whose last entry is the next cursor.
func (l *listPage) matching(listed []campaign.Listed) []campaign.Listed {
	text := sheet.Fold(l.Query)
	return slices.DeleteFunc(slices.Clone(listed), func(c campaign.Listed) bool {
		return l.before(c) || !strings.Contains(sheet.Fold(c.Name), text)
	})
}

// ofKind leaves the test messages, or the other campaigns.
func (l *listPage) ofKind(listed []campaign.Listed) []campaign.Listed {
	return slices.DeleteFunc(listed, func(c campaign.Listed) bool {
		l.Tested = l.Tested || c.Test
		return c.Test != l.Tests
	})
}

// ofStatus returns the campaigns that can have a status, all for "".
func (s *Pages) ofStatus(status campaign.Status, listed []campaign.Listed, standings map[string]campaign.Summary) []campaign.Listed {
	if status == "" {
		return listed
	}
	ends := status == campaign.StatusCompleted || status == campaign.StatusCancelled
	return slices.DeleteFunc(listed, func(c campaign.Listed) bool {
		standing := standings[c.CampaignID]
		known := s.known(standing)
		switch {
		case status == insight.StatusHolding:
			return standing.Submission.Holding() == 0
		case known == "" && status == campaign.StatusPaused:
			return standing.PausedAt.IsZero()
		case sends(known) && status == insight.StatusAwaitsHours:
			return false
		}
		return known != "" && known != status || known == "" && ends && standing.CancelledAt.IsZero()
	})
}

func lastOf(listed []campaign.Listed, l listPage) string {
	if len(listed) > 0 {
		return listed[len(listed)-1].Cursor
	}
	return l.Rows[len(l.Rows)-1].Cursor
}

const stopsWithin = 24 * time.Hour // messages of a cancelled campaign may still be sent

// known completes a summary with the campaign, if the summary does not suffice: a
// scheduled campaign may have several batches, a recently cancelled one may still
// be stopping, and a paused one may have sent everything.
func (s *Pages) known(standing campaign.Summary) campaign.Status {
	switch {
	case !standing.CancelledAt.IsZero():
		if s.Now().Sub(standing.CancelledAt) > stopsWithin {
			return campaign.StatusCancelled
		}
		return ""
	case standing.Finished():
		return campaign.StatusCompleted
	case standing.Scheduled || !standing.PausedAt.IsZero():
		return ""
	case standing.Submission.Holding() > 0:
		return insight.StatusHolding
	}
	return campaign.StatusSending
}

// sends reports whether a campaign with the known status may wait for its sending hours: only its batches show it.
func sends(known campaign.Status) bool {
	return known == campaign.StatusSending || known == insight.StatusHolding
}

// waits reports whether a campaign waits for its first time, as far as its summary shows: a
// batch that was rescheduled through the API has another time.
func (s *Pages) waits(c campaign.Listed, standing campaign.Summary) bool {
	unmoved := standing.Scheduled && standing.Batches == 1 && standing.Moves == 0
	return unmoved && standing.CancelledAt.IsZero() && standing.PausedAt.IsZero() && listedAt(c.Cursor).After(s.Now())
}

// addSteps adds the first steps if the tenant has no campaigns, or only test messages.
func (s *Pages) addSteps(ctx context.Context, tenant string, l *listPage) (err error) {
	if l.Tests || l.Searched() || l.Later || l.Next != "" || len(l.Rows) > 0 {
		return nil
	}
	l.Steps, err = web.Steps(ctx, s.Store, tenant, l.Tested)
	return err
}

// cursorOf returns a cursor at a time, "" for the zero time.
func cursorOf(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return campaign.CursorAt(at)
}

// before reports whether a campaign is listed before the period, as are all that follow it.
func (l *listPage) before(c campaign.Listed) bool { return c.Cursor < cursorOf(l.Start) }

func listedAt(cursor string) time.Time {
	ms, _, _ := strings.Cut(cursor, "#")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n)
}
