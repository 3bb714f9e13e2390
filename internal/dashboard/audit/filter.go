package audit

import (
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
)

// areas are the first parts of the actions, such as campaign of campaign.cancel.
var areas = []string{
	"campaign", "rollout", "template", "media", "credential", "endpoint", "billing", "hours", "brand", "approval", "people", "list", "team", "session",
}

// filter selects entries of the log. Its zero value selects all.
type filter struct {
	Who  string // a part of the email address
	Area string
	web.Period
}

// filterOf returns the filter of the page's parameters. The error wraps
// campaign.ErrNotFound if one of them is invalid.
func filterOf(p *web.Page) (filter, error) {
	f := filter{Who: strings.TrimSpace(p.Query("who")), Area: p.Query("area")}
	older := p.Query("older")
	if _, err := strconv.ParseUint(older, 10, 63); older != "" && err != nil || f.Area != "" && !slices.Contains(areas, f.Area) {
		return f, campaign.ErrNotFound
	}
	var err error
	f.Period, err = web.ReadPeriod(p)
	return f, err
}

// newest returns the cursor from which the entries are not too new, "" for the first.
func (f filter) newest() string {
	if f.End.IsZero() {
		return ""
	}
	return strconv.FormatInt(f.End.UnixNano(), 10)
}

func (f filter) matches(e account.AuditEntry) bool {
	area, _, _ := strings.Cut(e.Action, ".")
	return (f.Area == "" || area == f.Area) && strings.Contains(strings.ToLower(e.Who), strings.ToLower(f.Who))
}

// Filtered reports whether the filter selects a part of the log.
func (f filter) Filtered() bool { return f.Who+f.Area+f.From+f.To != "" }
