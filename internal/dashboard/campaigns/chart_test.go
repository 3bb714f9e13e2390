package campaigns_test

import (
	"cmp"
	"context"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// charted is a campaign whose messages were sent in the slot of a timeline.
type charted struct {
	manyCampaigns
	slot int
	all  campaign.Outcome // OutcomeSent if empty
}

func (s charted) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	sent := campaign.Slot{Number: s.slot, Net: map[campaign.Outcome]int{cmp.Or(s.all, campaign.OutcomeSent): 2}}
	head := campaign.LedgerSummary{Timeline: campaign.Timeline{Start: noon, Slots: []campaign.Slot{sent}}}
	b := campaign.Batch{BatchRef: campaign.BatchRef{ID: id}, State: campaign.BatchCompleted}
	return campaign.Campaign{ID: id, BatchCount: 1, Batches: []campaign.BatchProgress{{Batch: b, Head: head}}}, nil
}

// The axis has the date once if the chart is of one day, and no times if it is of more than three.
func TestChart_Axis(t *testing.T) {
	t.Parallel()
	for slot, want := range map[int]string{
		0:  "21 Nov, 12:00:00 12:00:30 12:01:00",
		4:  "21 Nov, 12:00 12:02 12:05",
		19: "21 Nov, 12:00 21 Nov, 21:00 22 Nov, 06:00",
		34: "21 Nov 23 Nov 25 Nov",
	} {
		now := func() time.Time { return noon.AddDate(0, 0, 5) }
		d := webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: charted{slot: slot}, Now: now}, now)
		viewer := d.SignIn("acme", web.RoleViewer)
		viewer.Header.Set("HX-Request", "true")
		a := viewer.Get(campaigns.Path + "/" + oneID)
		if !strings.Contains(a.Text(), want) {
			t.Errorf("the axis does not say %q:\n%s", want, a.Text())
		}
	}
}

// A campaign that was cancelled before it went has no messages to draw, and the page says so.
func TestChart_NothingSent(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return noon.AddDate(0, 0, 5) }
	d := webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: charted{all: campaign.OutcomeStopped}, Now: now}, now)
	viewer := d.SignIn("acme", web.RoleViewer)
	viewer.Header.Set("HX-Request", "true")
	page := viewer.Get(campaigns.Path + "/" + oneID).Text()
	if !strings.Contains(page, "The chart begins with the first message sent.") {
		t.Errorf("the page draws a chart of no messages:\n%s", page)
	}
}
