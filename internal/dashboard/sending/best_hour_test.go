package sending_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/recent"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/reach"
)

// readHours are campaigns, of which 100 messages were read just after they were sent, and the tenant's rules.
type readHours struct {
	sending.Store

	sent  []time.Time
	rules reach.TenantHours
}

func (r *readHours) ListCampaigns(context.Context, string, string, int32) (list []campaign.Listed, _ error) {
	for i := range r.sent {
		list = append(list, campaign.Listed{ID: campaign.ID{Tenant: "acme", CampaignID: strconv.Itoa(i)}})
	}
	return list, nil
}

func (r *readHours) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	found := map[string]campaign.Summary{}
	for _, id := range ids {
		found[id] = campaign.Summary{Batches: 1}
	}
	return found, nil
}

func (r *readHours) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	var i int
	if _, err := fmt.Sscan(id.CampaignID, &i); err != nil {
		return campaign.Campaign{}, err
	}
	line := campaign.Timeline{Start: r.sent[i], Slots: []campaign.Slot{{Net: map[campaign.Outcome]int{campaign.OutcomeRead: 100}}}}
	b := campaign.BatchProgress{Batch: campaign.Batch{Due: r.sent[i]}, Head: campaign.LedgerSummary{Timeline: line}}
	return campaign.Campaign{Batches: []campaign.BatchProgress{b}}, nil
}

func (r *readHours) TenantHours(context.Context, string) (reach.TenantHours, error) {
	return r.rules, nil
}

func (*readHours) Template(context.Context, string) (campaign.Template, error) {
	return campaign.Template{Tenant: "acme", Traffic: campaign.Transaction}, nil
}

// daytime are rules of transactions from 8:00 to 21:00, from Monday to Friday.
func daytime() reach.TenantHours {
	r := reach.Rule{OffHolidays: true}
	for day := time.Monday; day <= time.Friday; day++ {
		r.Week[day] = window.Hours{From: 8 * 60, Until: 21 * 60}
	}
	return reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Transaction: r}}
}

func closedOn(date string) reach.TenantHours {
	p := daytime()
	p.Holidays = []string{date}
	return p
}

// The form proposes the hour in which most was read, if messages of the template may go then.
func TestBestHour(t *testing.T) {
	t.Parallel()
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 5, 0, 0, localtime.SaoPaulo()) }
	friday := func(hour int) time.Time { return at(20, hour) }
	for name, test := range map[string]struct {
		sent       []time.Time
		rules      reach.TenantHours
		want, fill string
	}{
		"always":        {[]time.Time{at(17, 10), at(10, 10), friday(20)}, reach.TenantHours{}, "Your recipients read most on Tuesdays from 10:00 to 11:00. Use 1 Dec 2026, 10:00", "2026-12-01T10:00"},
		"sending hours": {[]time.Time{at(17, 7), at(10, 7), friday(20)}, daytime(), "Within the sending hours, your recipients read most on Fridays from 20:00 to 21:00. Use 27 Nov 2026, 20:00", "2026-11-27T20:00"},
		"too soon":      {[]time.Time{friday(12), at(13, 12), at(17, 10)}, daytime(), "on Fridays from 12:00 to 13:00. Use 4 Dec 2026, 12:00", "2026-12-04T12:00"},
		"holiday":       {[]time.Time{at(17, 10), at(10, 10), friday(20)}, closedOn("2026-12-01"), "most on Tuesdays from 10:00 to 11:00. Use 8 Dec 2026, 10:00", "2026-12-08T10:00"},
		"few":           {[]time.Time{at(17, 10), friday(20)}, reach.TenantHours{}, "", ""},
		"closed":        {[]time.Time{at(17, 7), at(10, 7), friday(7)}, daytime(), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &readHours{sent: test.sent, rules: test.rules}
			clock := func() time.Time { return at(27, 11).Add(52 * time.Minute) }
			pages := &sending.Pages{Store: r, Reads: &recent.Reads{Store: r, Now: clock}, Now: clock, Lead: 5 * time.Minute}
			who := webtest.New(t, sending.Area(), pages, clock).SignIn("acme", web.RoleAuthor)
			a := who.Get(sending.Path + "/best-hour?template=" + uuid())
			if a.Status != 200 || !strings.Contains(a.Text(), test.want) || test.want == "" && a.Text() != "" {
				t.Errorf("the form proposes %d %q, want %q", a.Status, a.Text(), test.want)
			}
			if fill := `data-fill="schedule" data-value="` + test.fill + `"`; test.fill != "" && !strings.Contains(a.Body, fill) {
				t.Errorf("the button does not enter %s: %s", test.fill, a.Body)
			}
		})
	}
}
