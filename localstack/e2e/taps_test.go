package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/settings"
)

// tapPage is a page of the log of taps.
type tapPage struct {
	Events []struct {
		ID, UID, Status string
		Sequence        int
		Suggestion      campaign.TappedSuggestion
	}
}

// Recipients tap suggestions. Each tap counts once in the campaign, in the log and at the
// endpoints. A forged tap does not.
func TestTaps(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	template, err := c.service().SaveTemplate(t.Context(), settings.TemplateForm{Tenant: c.env["TENANT"], Content: []byte(carousel)})
	must(t, err)
	taps, others := c.receiver("message.tapped"), c.receiver("message.replied", "message.opted_out")
	all := messages(4)
	all[0]["phone"], all[1]["phone"], all[2]["phone"] = "+5511900000006", "+5521900000006", "+5531900000007"
	call := c.call(all)
	call["templateId"] = template.ID
	if got := c.dispatch(call); got.Accepted != 4 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "taps received", func() bool {
		return cmp.Equal(map[string]int{"message.tapped": 3}, taps.kinds()) && c.read(call).Counts["read"] == 4
	})

	batch := c.dispatched(call)
	last := all[3]["phone"].(string)
	tap := func(phone string) {
		c.sendEvent(fields{"phone": phone, "suggestionResponse": fields{"text": "Ligar", "postbackData": reaction.Postback(batch, 3, 3, last), "type": "ACTION"}})
	}
	tap(last)
	c.eventually(5*time.Minute, "the fourth tap received", func() bool { return taps.kinds()["message.tapped"] == 4 })
	tap(last) // after the first one: two at the same time may both be replies
	tap("+5541988887777")
	c.eventually(5*time.Minute, "replies received", func() bool { // the forged tap is a reply
		return cmp.Equal(map[string]int{"message.replied": 5, "message.opted_out": 1}, others.kinds())
	})

	var page tapPage
	c.fetch(campaignPath(call)+"/batches/"+batch.BatchID+"/events?log=taps", &page)
	tapped, webhooks := map[string]string{}, taps.accepted()
	for _, e := range page.Events {
		tapped[e.UID] = strings.Join([]string{e.Status, string(e.Suggestion.Kind), e.Suggestion.Text, e.Suggestion.URL}, " ")
		if w, there := webhooks[e.ID]; !there || w.Data.UID != e.UID || w.Data.Sequence != e.Sequence || *w.Data.Suggestion != e.Suggestion {
			t.Errorf("the event %+v has the webhook %+v", e, w)
		}
	}
	link := "read openUrl Ver https://loja.example/?cliente=Ana"
	want := map[string]string{
		all[0]["uid"].(string): link, all[1]["uid"].(string): link,
		all[2]["uid"].(string): "read reply Parar ", all[3]["uid"].(string): "read dial Ligar ",
	}
	if diff := cmp.Diff(want, tapped); diff != "" || len(page.Events) != 4 {
		t.Errorf("%d taps (-want +got):\n%s", len(page.Events), diff)
	}
	c.eventually(time.Minute, "four messages tapped and read", func() bool { // counts can be 2 seconds old
		r := c.read(call)
		return r.Tapped == 4 && r.Counts["read"] == 4
	})
}

// dispatched returns the only batch of a campaign.
func (c *client) dispatched(call fields) campaign.Batch {
	c.t.Helper()
	id := campaign.ID{Tenant: c.env["TENANT"], CampaignID: call["campaignId"].(string)}
	found, err := c.store().Dispatched(c.t.Context(), id)
	must(c.t, err)
	if len(found.Batches) != 1 {
		c.t.Fatalf("the campaign has %d batches", len(found.Batches))
	}
	return found.Batches[0].Batch
}
