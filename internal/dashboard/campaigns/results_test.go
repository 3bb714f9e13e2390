package campaigns_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

// rowOf requests a campaign's row of the list.
func (d *service) rowOf(b campaign.Batch) string {
	d.tb.Helper()
	reader := d.admin()
	reader.Header.Set("HX-Request", "true")
	return reader.Get(pathOf(b) + "/row").Text()
}

// The list shows results that are as old as it says, and reads them again when they are old.
func TestList_Results(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	const first = "Natal 21 Nov 2037, 10:00 Sending 1,000 88.9% 50% – 50 Not sent: 6"
	if text := d.admin().Get(campaigns.Path).Text(); !strings.Contains(text, first) || !strings.Contains(text, "from 21 Nov 2037, 12:00 or later") {
		t.Errorf("the list does not say %q:\n%s", first, text)
	}
	d.record(b, campaign.OutcomeRead, "", 0, 799, noon)
	d.later = 9 * time.Second
	if text := d.admin().Get(campaigns.Path).Text(); !strings.Contains(text, first) {
		t.Errorf("9 seconds later, the list reads the campaign again:\n%s", text)
	}
	d.later = 10 * time.Second
	const second = "Natal 21 Nov 2037, 10:00 Sending 1,000 88.9% 100% – 50 Not sent: 6"
	if text := d.admin().Get(campaigns.Path).Text(); !strings.Contains(text, second) {
		t.Errorf("10 seconds later, the list does not say %q:\n%s", second, text)
	}
	d.record(b, campaign.OutcomeRead, "", 0, 999, noon)
	_, err := d.store.CompleteBatch(t.Context(), b, 0, noon)
	d.must(err)
	if text := d.rowOf(b); !strings.Contains(text, "Completed 1,000 100% 100% – 0") {
		t.Errorf("the row of a completed campaign: %s", text)
	}
}

// A row has its template's name before the campaign was read.
func TestList_TemplateOfUnreadCampaign(t *testing.T) {
	t.Parallel()
	d := newService(t)
	template, err := d.store.PutTemplate(t.Context(), campaign.Template{ID: uuid(), Tenant: d.tenant, Name: "Oferta do dia", Content: content.Content{Text: "Olá"}})
	d.must(err)
	id := uuid()
	for ordinal := 1; ordinal <= insight.SmallCampaign+1; ordinal++ {
		d.accept(id, "Natal", ordinal, 10, func(b *campaign.Batch) { b.TemplateID = template.ID })
	}
	if text := d.admin().Get(campaigns.Path).Text(); !strings.Contains(text, "Natal Oferta do dia") || !strings.Contains(text, "counting…") {
		t.Errorf("the row has no template:\n%s", text)
	}
}

// The page requests the results of a campaign that takes long to read, and the next page has
// them.
func TestList_ResultsOfLargeCampaign(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	for ordinal := 2; ordinal <= insight.SmallCampaign+1; ordinal++ {
		d.accept(b.CampaignID, "Natal", ordinal, 200, nil)
	}
	a := d.admin().Get(campaigns.Path)
	if !strings.Contains(a.Text(), "Sending 2,000 counting…") || !strings.Contains(a.Body, `hx-get="`+pathOf(b)+`/row" hx-trigger="load"`) {
		t.Errorf("the list does not request the row:\n%s", a.Text())
	}
	const want = "Sending 2,000 88.9% 50% – 50 Not sent: 6"
	if text := d.rowOf(b); !strings.Contains(text, want) {
		t.Errorf("the row does not say %q: %s", want, text)
	}
	a = d.admin().Get(campaigns.Path)
	if !strings.Contains(a.Text(), want) || !strings.Contains(a.Body, `hx-trigger="every 60s"`) || strings.Contains(a.Body, `hx-trigger="load"`) {
		t.Errorf("the next list does not say %q:\n%s", want, a.Text())
	}
	d.later = time.Minute
	if a = d.admin().Get(campaigns.Path); !strings.Contains(a.Body, `hx-trigger="load"`) {
		t.Error("a minute later, the list does not request the row again")
	}
}

// largeCampaigns are scheduled campaigns of 500 batches each.
type largeCampaigns struct {
	manyCampaigns
	t *testing.T
}

func (largeCampaigns) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	standings := map[string]campaign.Summary{}
	for _, id := range ids {
		standings[id] = campaign.Summary{Batches: 500, Accepted: 1_000_000, Scheduled: true}
	}
	return standings, nil
}

func (l largeCampaigns) Overview(context.Context, campaign.ID) (campaign.Campaign, error) {
	l.t.Error("the list reads a large campaign")
	return campaign.Campaign{}, nil
}

// oldResults are campaigns of 500 batches whose results were read before they were cancelled.
type oldResults struct{ largeCampaigns }

func (oldResults) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	standings := map[string]campaign.Summary{}
	for _, id := range ids {
		standings[id] = campaign.Summary{Batches: 500, Accepted: 1_000_000, CancelledAt: noon.Add(-time.Second)}
	}
	return standings, nil
}

func (oldResults) Results(_ context.Context, _ string, ids []string) (map[string]insight.Results, error) {
	results := map[string]insight.Results{}
	for _, id := range ids {
		results[id] = insight.Results{At: noon.Add(-time.Minute), Status: campaign.StatusSending, Batches: 500, Accepted: 1_000_000, Sent: 1000, Delivered: 900}
	}
	return results, nil
}

// A row with numbers has the status that it had with them, until both are read again.
func TestList_OldResults(t *testing.T) {
	t.Parallel()
	o, now := oldResults{largeCampaigns{t: t}}, func() time.Time { return noon }
	o.list = []campaign.Listed{{ID: campaign.ID{Tenant: "acme", CampaignID: uuid()}, Name: "Natal", Cursor: "1"}}
	d := &service{Dashboard: webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: o, Now: now}, now), tenant: "acme"}
	page := d.admin().Get(campaigns.Path)
	if text := page.Text(); !strings.Contains(text, "Sending 1,000,000 90%") || strings.Contains(text, "counting…") || !strings.Contains(page.Body, `/row" hx-trigger="load"`) {
		t.Errorf("the row does not show what is known:\n%s", text)
	}
}

// A list of a million messages in each row reads none of the campaigns.
func TestList_ReadsNoLargeCampaign(t *testing.T) {
	t.Parallel()
	l := largeCampaigns{t: t}
	for i := range 5000 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		l.list = append(l.list, campaign.Listed{ID: campaign.ID{Tenant: "acme", CampaignID: id}, Name: "Natal " + id, Cursor: fmt.Sprintf("%014d#%s", 2_000_000-i, id)})
	}
	now := func() time.Time { return noon }
	d := &service{Dashboard: webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: l, Now: now}, now), tenant: "acme"}
	a := d.admin().Get(campaigns.Path)
	if n := strings.Count(a.Body, `/row" hx-trigger="load"`); n != 20 || strings.Count(a.Text(), "1,000,000 counting…") != 20 {
		t.Errorf("the page requests %d rows:\n%s", n, a.Text())
	}
}

// Without a script, the page of a large campaign makes its results known to the list.
func TestList_ResultsOfOpenedCampaign(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	for ordinal := 2; ordinal <= insight.SmallCampaign+1; ordinal++ {
		d.accept(b.CampaignID, "Natal", ordinal, 200, nil)
	}
	d.admin().Get(pathOf(b))
	if text := d.admin().Get(campaigns.Path).Text(); !strings.Contains(text, "Sending 2,000 88.9% 50% – 50 Not sent: 6") || !strings.Contains(text, "from 21 Nov 2037, 11:59 or later") {
		t.Errorf("the list after the campaign was opened:\n%s", text)
	}
}

// A list does not update rows that cannot change any more.
func TestList_RefreshesWhileSending(t *testing.T) {
	t.Parallel()
	d := newService(t)
	due := d.accept(uuid(), "Agendada", 1, 3, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Hour)
	})
	done := d.accept(uuid(), "Pronta", 1, 3, nil)
	d.record(done, campaign.OutcomeRead, "", 0, 2, noon)
	_, err := d.store.CompleteBatch(t.Context(), done, 0, noon)
	d.must(err)
	a := d.admin().Get(campaigns.Path)
	if next := updates.FindStringSubmatch(a.Body); len(next) == 0 || next[2] != "60s" || strings.Count(a.Body, "hx-get") != 1 ||
		!strings.Contains(next[1], due.CampaignID) || strings.Contains(next[1], done.CampaignID) {
		t.Errorf("not only the scheduled campaign is updated:\n%s", a.Body)
	}
	if !strings.Contains(a.Text(), "Agendada 21 Nov 2037, 13:00 Scheduled 3 –") {
		t.Errorf("the scheduled campaign in the list:\n%s", a.Text())
	}
}

// The list is in the order of the times at which campaigns go or went, and can be limited to
// days in São Paulo.
func TestList_Period(t *testing.T) {
	t.Parallel()
	d := newService(t)
	for i, name := range []string{"sexta", "sábado", "domingo"} {
		at := time.Date(2037, 11, 20+i, 3, 0, 0, 0, time.UTC) // midnight
		d.accept(uuid(), name, 1, 1, func(b *campaign.Batch) { b.AcceptedAt, b.Due = at, at })
	}
	d.accept(uuid(), "em uma semana", 1, 1, func(b *campaign.Batch) {
		b.AcceptedAt, b.State, b.Scheduled, b.Due = noon.AddDate(0, 0, -5), campaign.BatchPending, true, noon.AddDate(0, 0, 7)
	})
	for query, want := range map[string][]string{
		"":                               {"em uma semana", "domingo", "sábado", "sexta"},
		"?from=2037-11-21":               {"em uma semana", "domingo", "sábado"},
		"?to=2037-11-21":                 {"sábado", "sexta"},
		"?from=2037-11-21&to=2037-11-21": {"sábado"},
		"?from=2037-11-29":               nil,
		"?to=2037-11-30&q=semana":        {"em uma semana"},
	} {
		if got := namesOf(d.admin().Get(campaigns.Path + query).Body); !cmp.Equal(want, got) {
			t.Errorf("%q lists %q, want %q", query, got, want)
		}
	}
	for _, query := range []string{"?from=ontem", "?to=2037-02-30"} {
		if a := d.admin().Get(campaigns.Path + query); a.Status != 404 {
			t.Errorf("%q gets %d", query, a.Status)
		}
	}
}

// replaceFirst gives the first of two messages of a batch a value.
func (d *service) replaceFirst(b *campaign.Batch, value string) {
	d.tb.Helper()
	var w payload.Writer
	w.Add(5511_9_8001_0000, []byte("u0"), [][]byte{[]byte(value)})
	w.Add(5511_9_8001_0001, []byte("u1"), [][]byte{[]byte("Bia")})
	body, offsets := w.Finish()
	key := b.Payload + "-2"
	d.must(d.blobs.Put(context.Background(), key, body, "application/octet-stream"))
	replaced, err := d.store.ReplacePayload(context.Background(), *b, key, offsets)
	d.must(err)
	if !replaced {
		d.tb.Fatal("the payload was not replaced")
	}
	b.Payload = key
}

// The campaign's page shows the message with the values of its first recipient, and the names
// of the variables after the contents were deleted.
func TestCampaign_Message(t *testing.T) {
	t.Parallel()
	d := newService(t)
	template := "template-" + d.tenant
	_, err := d.store.PutTemplate(t.Context(), campaign.Template{
		ID: template, Tenant: d.tenant, Version: 1, Name: "Ofertas", Content: content.Content{Text: "Olá {{nome}}, temos ofertas"},
	})
	d.must(err)
	b := d.accept(uuid(), "Natal", 1, 2, func(b *campaign.Batch) { b.TemplateID = template })
	d.replaceFirst(&b, "Ana <3")
	a := d.admin().Get(pathOf(b))
	if !strings.Contains(a.Text(), "Olá Ana <3, temos ofertas") || !strings.Contains(a.Text(), "As the first recipient gets it.") {
		t.Errorf("the page does not show the message:\n%s", a.Text())
	}
	reader := d.admin()
	reader.Header.Set("HX-Request", "true")
	if a := reader.Get(pathOf(b)); strings.Contains(a.Text(), "Olá") {
		t.Error("the updates show the message too")
	}
	d.must(d.blobs.Delete(t.Context(), b.Payload))
	if text := d.admin().Get(pathOf(b)).Text(); !strings.Contains(text, "Olá nome , temos ofertas") || !strings.Contains(text, "shown by its name") {
		t.Errorf("without the contents, the page says:\n%s", text)
	}
	other := d.accept(uuid(), "Carnaval", 1, 2, nil)
	if text := d.admin().Get(pathOf(other)).Text(); strings.Contains(text, "on a phone") {
		t.Errorf("a deleted template is shown:\n%s", text)
	}
}

func TestResults_Row404(t *testing.T) {
	t.Parallel()
	d, stranger := newService(t), newService(t)
	b := d.running("Natal")
	for name, path := range map[string]string{"another tenant's": pathOf(b), "no campaign's": campaigns.Path + "/x"} {
		if a := stranger.admin().Get(path + "/row"); a.Status != 404 {
			t.Errorf("%s row gets %d", name, a.Status)
		}
	}
}

// An update of a row is small, also with the longest names.
func TestResults_RowSize(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), strings.Repeat(`"`, 200), 1, 2, nil)
	if body := d.admin().Get(pathOf(b) + "/row").Body; len(body) > 10_000 {
		t.Errorf("a row has %d bytes", len(body))
	}
	for i := range 25 {
		d.accept(uuid(), fmt.Sprintf("%02d", i)+strings.Repeat(`"`, 198), 1, 2, nil)
	}
	if body := d.admin().Get(campaigns.Path).Body; len(body) > 60_000 {
		t.Errorf("the list has %d bytes", len(body))
	}
}

// The page counts the recipients who opted out since the campaign was sent, and shows who
// they are. Numbers that the company added or imported are not counted.
func TestCampaign_OptOuts(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	book := optout.Book{Store: d.store, Now: func() time.Time { return noon }}
	out := func(phone string, at time.Time) campaign.OptChange {
		return campaign.OptChange{Phone: phone, Out: true, At: at, Origin: campaign.OriginMessage}
	}
	d.must(book.Record(t.Context(), d.tenant, []campaign.OptChange{
		out("+5511980010003", noon.Add(-time.Hour)), out("+5511980010004", noon.Add(-3*time.Hour)), out("+5521900000000", noon.Add(-time.Hour)),
		{Phone: "+5511980010005", Out: true, At: noon.Add(-time.Hour), Origin: campaign.OriginFile},
		{Phone: "+5511980010006", Out: true, At: noon.Add(-time.Hour), Origin: campaign.OriginHand},
	}))
	reader := d.admin()
	reader.Header.Set("HX-Request", "true")
	if text := reader.Get(pathOf(b) + "/optouts").Text(); !strings.Contains(text, "Since it was sent, 1 recipient of this campaign opted out. 0.1% of those delivered. Show who") {
		t.Errorf("the count says: %s", text)
	}
	a := d.admin().Get(pathOf(b) + "/optouts")
	if !strings.Contains(a.Body, `name="phone" value="&#43;5511980010003"`) || strings.Contains(a.Body, "5511980010004") || strings.Contains(a.Body, "5521900000000") {
		t.Errorf("the page does not list the one who opted out since:\n%s", a.Text())
	}
	if a := d.admin().Get(pathOf(b)); !strings.Contains(a.Body, pathOf(b)+"/optouts") {
		t.Error("the campaign's page does not count opt-outs")
	}
	d.later = 9 * 24 * time.Hour
	if a := d.admin().Get(pathOf(b)); strings.Contains(a.Body, "/optouts") {
		t.Error("after 9 days, the page counts opt-outs whose times are not kept")
	}
	if a := d.SignIn("t-other", web.RoleAdmin).Get(pathOf(b) + "/optouts"); a.Status != 404 {
		t.Errorf("another tenant gets %d", a.Status)
	}
}

// uidsOf returns the uids of the messages on a page.
func uidsOf(body string) (uids []string) {
	for _, match := range regexp.MustCompile(`<span class="soft small">(u\d+)</span>`).FindAllStringSubmatch(body, -1) {
		uids = append(uids, match[1])
	}
	return uids
}

// The messages can be searched by what their recipients did.
func TestMessages_Reactions(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = stackenv.Load(t).LedgerTable(t) })
	b := d.accept(uuid(), "Ofertas", 1, 10, func(b *campaign.Batch) { b.TapKey = []byte("sixteen bytes...") })
	tap := campaign.Change{Index: 7, Outcome: campaign.OutcomeTapped, Suggestion: 1, At: noon}
	_, err := d.store.AppendTaps(t.Context(), b, ledger.Taps{}, []campaign.Change{tap})
	d.must(err)
	old := d.running("Natal")
	for path, want := range map[string]string{
		pathOf(b) + "/messages?status=tapped":                        "u7",
		pathOf(b) + "/messages?status=tapped&uid=u7":                 "u7",
		pathOf(b) + "/messages?status=tapped&uid=u6":                 "",
		pathOf(b) + "/messages?status=opted_out":                     "",
		pathOf(old) + "/messages?status=opted_out":                   "u940 u941 u942 u943 u944 u945",
		pathOf(old) + "/messages?status=opted_out&phone=11980010944": "u944",
		pathOf(old) + "/messages?status=tapped":                      "",
	} {
		a := found(d.admin(), path)
		uids := strings.Join(uidsOf(a.Body), " ")
		if uids != want || (want == "") != strings.Contains(a.Text(), "No message matches") {
			t.Errorf("%s finds %q, want %q", path, uids, want)
		}
	}
}

// An update of a campaign's page is small when it is sent, also with a page of batches and a
// full chart.
func TestCampaign_UpdateSize(t *testing.T) {
	t.Parallel()
	d := newService(t)
	first := d.running("Natal")
	for ordinal := 2; ordinal <= 30; ordinal++ {
		b := d.accept(first.CampaignID, "Natal", ordinal, 50, nil)
		for i := range 5 {
			d.record(b, campaign.OutcomeSent, "", 10*i, 10*i+9, noon.Add(time.Duration(ordinal+30*i-180)*time.Minute))
		}
	}
	reader := d.admin()
	reader.Header.Set("HX-Request", "true")
	if a := reader.Get(pathOf(first)); a.Status != http.StatusOK { // webtest weighs it
		t.Errorf("an update answers %d", a.Status)
	}
}

// scheduledCampaigns are campaigns of one batch that go later.
type scheduledCampaigns struct {
	manyCampaigns
	reads *atomic.Int32
}

func (scheduledCampaigns) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	standings := map[string]campaign.Summary{}
	for _, id := range ids {
		standings[id] = campaign.Summary{Batches: 1, Accepted: 10, Scheduled: true}
	}
	return standings, nil
}

func (s scheduledCampaigns) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	s.reads.Add(1)
	waits := campaign.Batch{BatchRef: campaign.BatchRef{ID: id}, State: campaign.BatchPending, Due: noon.Add(time.Hour)}
	return campaign.Campaign{ID: id, BatchCount: 1, Batches: []campaign.BatchProgress{{Batch: waits}}}, nil
}

// A list by status reads no campaign that cannot have it, and few of the others.
func TestList_StatusReadsFew(t *testing.T) {
	t.Parallel()
	var all manyCampaigns
	for i := range 30 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		all.list = append(all.list, campaign.Listed{
			ID: campaign.ID{Tenant: "acme", CampaignID: id}, Name: "Natal", Cursor: fmt.Sprintf("%014d#%s", noon.AddDate(0, 0, 40-i).UnixMilli(), id),
		})
	}
	for status, want := range map[string]struct{ listed, reads int }{
		"completed": {0, 0}, "cancelled": {0, 0}, "scheduled": {20, 8},
	} {
		s := scheduledCampaigns{manyCampaigns: all, reads: &atomic.Int32{}}
		now := func() time.Time { return noon }
		d := &service{Dashboard: webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: s, Now: now}, now), tenant: "acme"}
		listed := namesOf(d.admin().Get(campaigns.Path + "?status=" + status).Body)
		if reads := int(s.reads.Load()); len(listed) != want.listed || reads != want.reads {
			t.Errorf("%s: %d listed, %d read, want %v", status, len(listed), reads, want)
		}
	}
}
