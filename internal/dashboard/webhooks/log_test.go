package webhooks_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dashboard/webhooks"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// send accepts the campaign Natal with a message for each uid.
func (o tenantFixture) send(t *testing.T, uids ...string) campaign.Batch {
	t.Helper()
	var writer payload.Writer
	for i, uid := range uids {
		writer.Add(5511900000000+uint64(i), []byte(uid), nil)
	}
	content, offsets := writer.Finish()
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: o.tenant, CampaignID: random.UUID()}, BatchID: campaign.BatchID("lote")},
		Name:     "lote", Payload: "payloads/" + o.tenant + "/" + rand.Text(), Offsets: offsets, Accepted: len(uids),
		AcceptedAt: now.Add(-time.Hour), Due: now.Add(-time.Hour), State: campaign.BatchSending, TemplateID: "t", TemplateVersion: 1,
	}
	_, _ = rand.Read(b.Key[:])
	if err := o.blobs.Put(t.Context(), b.Payload, content, "application/octet-stream"); err != nil {
		t.Fatal(err)
	}
	if err := o.store.Accept(t.Context(), acceptance.Command{Batch: b, Campaign: "Natal", Ordinal: 1, Packed: []byte{1}, CreatedAt: now}, rand.Text()); err != nil {
		t.Fatal(err)
	}
	return b
}

// record records changes of a batch.
func (o tenantFixture) record(t *testing.T, b campaign.Batch, changes ...campaign.Change) {
	t.Helper()
	head, err := o.store.LedgerHead(t.Context(), b.Key)
	if err == nil {
		_, err = o.store.AppendLedger(t.Context(), b, head, changes)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func entryOf(b campaign.Batch, sequence int, c campaign.Change) []byte {
	return ledger.PackNewEntries([]ledger.NewEntries{{Key: b.Key, Entries: []ledger.Entry{{Sequence: sequence, Change: c}}}})
}

// failOf records a failed post of a change, and returns it.
func (o tenantFixture) failOf(t *testing.T, e delivery.Endpoint, b campaign.Batch, c campaign.Change, at time.Time) delivery.Failure {
	t.Helper()
	kind := delivery.KindOf(c.Outcome)
	f := delivery.Failure{
		Tenant: o.tenant, EndpointID: e.ID, WebhookID: delivery.WebhookID(delivery.Subject(c, b.Key), kind), Kind: kind, MessageID: b.Key.MessageID(c.Index),
		Status: http.StatusServiceUnavailable, Code: "status_503", At: at, Took: 321 * time.Millisecond, Entry: entryOf(b, c.Index+1, c),
	}
	f.Task = f.Alone().Task()
	if err := o.store.RecordFailure(t.Context(), f); err != nil {
		t.Fatal(err)
	}
	return f
}

// The log shows failed and delivered attempts with their message, campaign, answer, attempt and time.
func TestLog(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.delivered", "message.read")
	b := o.send(t, "customer-1", "customer-2")
	f := o.failOf(t, e, b, campaign.Change{Index: 1, Outcome: campaign.OutcomeRead, At: now.Add(-time.Hour)}, now.Add(-time.Minute))
	again := f.Alone()
	again.Attempt, again.Next = 1, now.Add(5*time.Minute+7*time.Second)
	if err := o.store.AddDeliveries(t.Context(), []delivery.Delivery{again}); err != nil {
		t.Fatal(err)
	}
	p := delivery.KeptPost{
		Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_" + rand.Text(), Kind: delivery.KindDelivered, At: now.Add(-2 * time.Minute), Status: 200,
		Took:    45 * time.Millisecond,
		Payload: fmt.Appendf(nil, `{"data":{"uid":"customer-1","campaignId":%q,"messageId":%q}}`, b.CampaignID, b.Key.MessageID(0)),
	}
	if err := o.store.KeepPost(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	path := webhooks.Path + "/" + e.ID
	page := o.viewer.Get(path)
	lacks(t, page,
		"503 Message read", "Next attempt at 4 May 2100, 12:35:07 customer-2 Natal 4 May 2100, 12:29:00 1 321 ms",
		"200 Message delivered", "customer-1 Natal 4 May 2100, 12:28:00 1 45 ms")
	for _, want := range []string{`datetime="2100-05-04T15:29:00Z"`, `href="/dashboard/campaigns/` + b.CampaignID + `"`, path + "/messages/" + b.Key.MessageID(1)} {
		if !strings.Contains(page.Body, want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	portuguese := o.viewer
	portuguese.Language = "pt-BR"
	lacks(t, portuguese.Get(path), "Nova tentativa em 04/05/2100 12:35:07", "04/05/2100 12:29:00")
	for query, want := range map[string]string{
		"uid=customer-1": "customer-1", "uid=customer-2": "customer-2", "uid=customer-3": "", "campaign=nat": "both", "campaign=pascoa": "",
		"campaign=" + b.CampaignID: "both", "kind=message.read": "customer-2", "kind=message.sent": "", "result=delivered": "customer-1",
		"result=failed": "customer-2", "result=waiting": "customer-2", "uid=customer-2&result=delivered": "",
	} {
		body := o.viewer.Get(path + "?" + query).Body
		for _, uid := range []string{"customer-1", "customer-2"} {
			if shown := strings.Contains(body, ">"+uid+"</a>"); shown != (want == uid || want == "both") {
				t.Errorf("%s: %s is shown: %t", query, uid, shown)
			}
		}
	}
	if a := o.viewer.Get(path + "?result=unknown"); a.Status != http.StatusNotFound {
		t.Errorf("an unknown result answers %d, want 404", a.Status)
	}
}

// A search that finds nothing among many attempts continues with older ones.
func TestLog_SearchContinues(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	b := o.send(t, "customer-1")
	f := o.failOf(t, e, b, campaign.Change{Outcome: campaign.OutcomeRead, At: now.Add(-3 * time.Hour)}, now.Add(-3*time.Hour))
	for i := range 120 {
		other := delivery.Failure{Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_" + rand.Text(), Kind: delivery.KindRead, Code: "timeout", At: now.Add(-time.Duration(i) * time.Minute)}
		if err := o.store.RecordFailure(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	page := webtest.Light(t, o.admin, webhooks.Path+"/"+e.ID+"?uid=customer-1")
	if strings.Contains(page.Body, f.WebhookID) || page.Next() == "" {
		t.Fatalf("the first page finds it, or has no next page: %s", page.Text())
	}
	lacks(t, page, "A busca continua com as mais antigas")
	if last := o.admin.Get(page.Next()); !strings.Contains(last.Body, f.WebhookID) || last.Next() != "" {
		t.Errorf("the next page does not find it, or is not the last: %s", last.Text())
	}
}

// A delivered post is posted again with its ID, once for each page that was opened.
func TestResend_Delivered(t *testing.T) {
	t.Parallel()
	o := newTenantFixture(t, false)
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	b := o.send(t, "customer-1")
	entry := entryOf(b, 1, campaign.Change{Outcome: campaign.OutcomeRead, At: now.Add(-time.Hour)})
	p := delivery.KeptPost{
		Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_" + rand.Text(), Kind: delivery.KindRead, At: now.Add(-time.Minute), Status: 200,
		Payload: []byte(`{}`), Entry: entry,
	}
	if err := o.store.KeepPost(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	path := webhooks.Path + "/" + e.ID
	post := o.admin.Get(fmt.Sprintf("%s/posts/%d-%s", path, p.At.UnixMilli(), p.WebhookID))
	lacks(t, post, "webhook-id: "+p.WebhookID, fmt.Sprintf("webhook-timestamp: %d", p.At.Unix()), "content-type: application/json")
	form := url.Values{"once": {post.Value("once")}, "webhook": {post.Value("webhook")}, "at": {post.Value("at")}}
	answer := o.admin.Post(path+"/resend", form)
	lacks(t, o.admin.Follow(answer), "Resent: it arrives within 2 minutes", "Queued: it will be posted in a moment")
	alone := delivery.Failure{Tenant: o.tenant, EndpointID: e.ID, Entry: entry}.Alone()
	if d, err := o.store.Delivery(t.Context(), alone.Task()); err != nil || !slices.Equal(d.Entries, entry) || d.Next.After(now) {
		t.Errorf("the delivery is %+v, %v", d, err)
	}
	if again := o.admin.Post(path+"/resend", form); again.Status != http.StatusConflict {
		t.Errorf("the same form answers %d, want 409", again.Status)
	}
	if got := o.Audited(); got[len(got)-1] != "admin@example.com endpoint.resend crm.example.com ("+e.ID+")" {
		t.Errorf("audit log %q", got)
	}
}

// The page of a message has its events, also those of which no post is stored, and resends them.
func TestMessage(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	o := fixtureWith(t, false, env.OwnTable(t, env["OUTCOMES_TABLE"]))
	e, _ := o.add(t, "https://crm.example.com/", "message.delivered", "message.read")
	b := o.send(t, "customer-1", "customer-2")
	sent, delivered := campaign.Change{Index: 1, Outcome: campaign.OutcomeSent, At: now.Add(-time.Hour)}, campaign.Change{Index: 1, Outcome: campaign.OutcomeDelivered, At: now.Add(-50 * time.Minute)}
	read := campaign.Change{Index: 1, Outcome: campaign.OutcomeRead, At: now.Add(-40*time.Minute - 5*time.Second)}
	o.record(t, b, campaign.Change{Outcome: campaign.OutcomeSent, At: now.Add(-time.Hour)}, sent, delivered, read)
	o.failOf(t, e, b, read, now.Add(-39*time.Minute))
	path := webhooks.Path + "/" + e.ID
	lacks(t, o.viewer.Get(path+"?uid=customer-2&campaign="+b.CampaignID), "With this uid: "+b.Key.MessageID(1))
	lacks(t, o.viewer.Get(path+"?uid=customer-9&campaign="+b.CampaignID), "No message of the campaign has this uid")
	link := path + "/messages/" + b.Key.MessageID(1)
	webtest.Light(t, o.admin, link)
	page := o.admin.Get(link)
	lacks(t, page, "customer-2", "Natal", "The endpoint does not get this event", "No attempt is kept", "4 May 2100, 11:49:55 503 Failed 4 May 2100, 11:51:00", delivery.WebhookID(delivery.Subject(delivered, b.Key), delivery.KindDelivered))
	webhook := delivery.WebhookID(delivery.Subject(delivered, b.Key), delivery.KindDelivered)
	resend := func(who webtest.Person, link, webhook string) webtest.Answer {
		return who.Post(link+"/resend", url.Values{"once": {page.Value("once")}, "webhook": {webhook}})
	}
	answer := resend(o.admin, link, webhook)
	if answer.Location != link {
		t.Fatalf("resending answers %d to %q: %s", answer.Status, answer.Location, answer.Text())
	}
	lacks(t, o.admin.Follow(answer), "Resent: it arrives within 2 minutes", "Queued: it will be posted in a moment")
	alone := delivery.Failure{Tenant: o.tenant, EndpointID: e.ID, Entry: entryOf(b, 3, delivered)}.Alone()
	if _, err := o.store.Delivery(t.Context(), alone.Task()); err != nil {
		t.Error(err)
	}
	unwanted := delivery.WebhookID(delivery.Subject(sent, b.Key), delivery.KindSent)
	for _, wrong := range []string{unwanted, "msg_x", ""} {
		if a := resend(o.admin, link, wrong); a.Status != http.StatusNotFound {
			t.Errorf("resending %q answers %d, want 404", wrong, a.Status)
		}
	}
	stranger := newTenantFixture(t, false)
	theirs, _ := stranger.add(t, "https://crm.example.com/", "message.delivered")
	foreign := webhooks.Path + "/" + theirs.ID + "/messages/" + b.Key.MessageID(1)
	if a, b := stranger.admin.Get(foreign), resend(stranger.admin, foreign, webhook); a.Status != http.StatusNotFound || b.Status != http.StatusNotFound {
		t.Errorf("another tenant's message answers %d and %d, want 404", a.Status, b.Status)
	}
}

// The page of a message has the attempts of its own webhooks, also of posts that only their payload assigns to it, and says
// how far it looked.
func TestMessage_Attempts(t *testing.T) {
	t.Parallel()
	env := stackenv.Load(t)
	o := fixtureWith(t, false, env.OwnTable(t, env["OUTCOMES_TABLE"]))
	e, _ := o.add(t, "https://crm.example.com/", "message.read")
	b := o.send(t, "customer-1", "customer-2")
	o.record(t, b, campaign.Change{Outcome: campaign.OutcomeSent, At: now.Add(-10 * time.Minute)})
	own := b.Key.MessageID(0)
	keep := func(name, messageID string, payload []byte, minutesAgo int) {
		p := delivery.KeptPost{
			Tenant: o.tenant, EndpointID: e.ID, WebhookID: "msg_" + name, Kind: delivery.KindRead, MessageID: messageID, Status: 200,
			At: now.Add(-time.Duration(minutesAgo) * time.Minute), Payload: payload,
		}
		if err := o.store.KeepPost(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	keep("named", own, []byte(`{}`), 1)
	keep("unnamed", "", fmt.Appendf(nil, `{"data":{"messageId":%q}}`, own), 2)
	keep("other", b.Key.MessageID(1), []byte(`{}`), 3)
	keep("mentions", "", fmt.Appendf(nil, `{"data":{"messageId":%q,"uid":%q}}`, b.Key.MessageID(1), own), 4)
	page := webhooks.Path + "/" + e.ID + "/messages/" + own
	a := o.viewer.Get(page)
	for name, want := range map[string]bool{"named": true, "unnamed": true, "other": false, "mentions": false} {
		if shown := strings.Contains(a.Body, "-msg_"+name); shown != want {
			t.Errorf("the post %q is shown: %t, want %t", name, shown, want)
		}
	}
	if strings.Contains(a.Text(), "We looked at the attempts since") {
		t.Errorf("the page looked at a part: %s", a.Text())
	}
	for i := range 300 {
		keep(fmt.Sprint("later-", i), b.Key.MessageID(1), []byte(`{}`), 0)
	}
	lacks(t, o.viewer.Get(page), "We looked at the attempts since 4 May 2100, 12:30:00")
}
