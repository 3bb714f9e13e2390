package audit

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/settings/account"
)

// areas are the first parts of the actions, such as campaign of campaign.cancel.
var areas = []string{"campaign", "template", "media", "credential", "endpoint", "billing", "approval", "people", "team", "session"}

// filter selects entries of the log. Its zero value selects all.
type filter struct {
	Who  string // a part of the email address
	Area string
	// From and To are dates such as 2026-11-23 in São Paulo, both included, or "".
	From, To string

	from, until time.Time
}

// filterOf returns the filter of the page's parameters. The error wraps
// campaign.ErrNotFound if one of them is invalid.
func filterOf(p *web.Page) (filter, error) {
	f := filter{Who: strings.TrimSpace(p.Query("who")), Area: p.Query("area"), From: p.Query("from"), To: p.Query("to")}
	older := p.Query("older")
	if _, err := strconv.ParseUint(older, 10, 63); older != "" && err != nil || f.Area != "" && !slices.Contains(areas, f.Area) {
		return f, campaign.ErrNotFound
	}
	var err error
	if f.from, err = day(f.From); err != nil {
		return f, campaign.ErrNotFound
	}
	if f.until, err = day(f.To); err != nil {
		return f, campaign.ErrNotFound
	}
	if !f.until.IsZero() {
		f.until = f.until.AddDate(0, 0, 1)
	}
	return f, nil
}

// day returns the start of a date in São Paulo, the zero time for "".
func day(date string) (time.Time, error) {
	if date == "" {
		return time.Time{}, nil
	}
	return localtime.Parse(date + "T00:00:00")
}

// newest returns the cursor from which the entries are not too new, "" for the first.
func (f filter) newest() string {
	if f.until.IsZero() {
		return ""
	}
	return strconv.FormatInt(f.until.UnixNano(), 10)
}

func (f filter) matches(e account.AuditEntry) bool {
	area, _, _ := strings.Cut(e.Action, ".")
	return (f.Area == "" || area == f.Area) && strings.Contains(strings.ToLower(e.Who), strings.ToLower(f.Who))
}

// Filtered reports whether the filter selects a part of the log.
func (f filter) Filtered() bool { return f.Who+f.Area+f.From+f.To != "" }
