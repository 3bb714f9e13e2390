package sending

import (
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/reach"
)

// bestHour is the time that the form proposes.
type bestHour struct {
	insight.WeekHour

	At      time.Time // zero for none
	Limited bool      // more is read in an hour in which nothing may be sent
}

// From returns the start of the hour as 09:00.
func (b bestHour) From() string { return window.Clock(60 * b.Hour) }

// Until returns the end of the hour.
func (b bestHour) Until() string { return window.Clock(60 * (b.Hour + 1)) }

// proposeHour shows when most messages are read, within the sending hours of the chosen template.
func (s *Pages) proposeHour(p *web.Page) error {
	ctx, tenant := p.R.Context(), p.Session.Tenant
	times, err := s.Reads.Times(ctx, tenant)
	if err != nil {
		return err
	}
	if !times.Enough() {
		return p.Fragment("sending_best_hour.html", bestHour{})
	}
	rules, err := s.Store.TenantHours(ctx, tenant)
	if err != nil {
		return err
	}
	t, err := s.asked(p)
	if campaign.IgnoreNotFound(err) != nil {
		return err
	}
	return p.Fragment("sending_best_hour.html", proposed(times.Ranked(), rules.HoursFor(t.Traffic, nil), s.Now().Add(s.Lead)))
}

// proposed returns the first of the hours in which messages may go, on its next day without a holiday.
func proposed(ranked []insight.WeekHour, hours reach.Hours, from time.Time) bestHour {
	const weeks = 4
	for i, h := range ranked {
		for week := range weeks {
			if at := h.Next(from).AddDate(0, 0, 7*week); hours.Open(window.SaoPaulo, at) {
				return bestHour{h, at, i > 0}
			}
		}
	}
	return bestHour{}
}
