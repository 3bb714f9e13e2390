package sending_test

import (
	"context"
	"crypto/rand"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/httpapi"
)

var formerNow = time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)

const formerTemplate = "6f1f8a52-3c0b-4d7e-9b59-0c4f6f0a1d01"

// former is a tenant with a campaign, its users and the pages in memory.
type former struct {
	*webtest.Dashboard
	sending.Store
	campaign      campaign.Campaign
	list          export.Export
	atOnce        bool // a list is made in the request
	refusal       error
	admin, viewer webtest.Person
}

func newFormer(t *testing.T) *former {
	t.Helper()
	o := &former{}
	o.campaign.ID = campaign.ID{Tenant: strings.ToLower(rand.Text()), CampaignID: random.UUID()}
	o.campaign.Name = "Natal"
	o.campaign.Batches = []campaign.BatchProgress{{Batch: campaign.Batch{Accepted: 100, TemplateID: formerTemplate}, Head: campaign.LedgerSummary{
		Counts: map[campaign.Outcome]int{campaign.OutcomeDelivered: 30, campaign.OutcomeRead: 46, campaign.OutcomeFailed: 16, campaign.OutcomeExpired: 3, campaign.OutcomeSent: 5},
		Reasons: map[campaign.Reason]int{
			{Outcome: campaign.OutcomeFailed, Code: campaign.CodeOptedOut}:            2,
			{Outcome: campaign.OutcomeFailed, Code: campaign.CodeSuppressed, List: 1}: 4,
		},
		Tapped: 7, Clicked: 4, Touched: 9,
	}}}
	pages := &sending.Pages{Store: o}
	o.Dashboard = webtest.New(t, sending.Area(), pages, func() time.Time { return formerNow })
	o.admin, o.viewer = o.SignIn(o.campaign.Tenant, web.RoleAdmin), o.SignIn(o.campaign.Tenant, web.RoleViewer)
	return o
}

func (o *former) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	if id != o.campaign.ID {
		return campaign.Campaign{}, campaign.ErrNotFound
	}
	return o.campaign, nil
}

func (o *former) Dispatched(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	return o.Overview(ctx, id)
}

func (o *former) CreateRecipients(_ context.Context, id campaign.ID, exportID string, who export.Audience) (export.Export, error) {
	if o.refusal != nil {
		return export.Export{}, o.refusal
	}
	o.list = export.Export{ID: id, ExportID: exportID, Kind: export.Recipients, Audience: who, State: export.Running, Total: 100, Checked: 40}
	if o.atOnce {
		o.complete(1)
	}
	return o.list, nil
}

func (o *former) Find(_ context.Context, id campaign.ID, exportID string) (export.Export, error) {
	if o.list.ID != id || o.list.ExportID != exportID {
		return export.Export{}, &httpapi.Problem{Status: http.StatusNotFound}
	}
	return o.list, nil
}

func (o *former) complete(people int) {
	o.list.State, o.list.Lines, o.list.Parts = export.Completed, people, 1
}

// form returns the path of the form with the list as its file.
func (o *former) form() string {
	return web.Root + "/campaigns/new?list=" + url.QueryEscape(o.campaign.CampaignID+"/"+o.list.ExportID) + "&template=" + formerTemplate
}

func (o *former) path() string {
	return web.Root + "/campaigns/" + o.campaign.CampaignID + "/follow-up"
}

func lacks(t *testing.T, a webtest.Answer, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.Text(), text) {
			t.Errorf("the page lacks %q: %s", text, a.Text())
		}
	}
}

// A list is asked for, prepared, and becomes the file of a new campaign.
func TestFollowUp(t *testing.T) {
	t.Parallel()
	o := newFormer(t)
	page := o.admin.Get(o.path())
	lacks(t, page, "did not read it 30", "did not get it 13", "tapped a button or a link 9")

	a := o.admin.Post(o.path(), url.Values{"once": {page.Value("once")}, "audience": {"unread"}})
	if a.Status != http.StatusSeeOther || a.Location != o.path()+"/"+page.Value("once") {
		t.Fatalf("asked: %d %s", a.Status, a.Location)
	}
	lacks(t, o.admin.Get(a.Location), "40%", "You can close this page")
	webtest.SlowsDown(t, o.admin, o.admin.Get(a.Location).Body)
	waiting := o.admin
	waiting.Header = http.Header{"Hx-Request": {"true"}}
	if early := waiting.Get(a.Location); early.Header.Get("Hx-Redirect") != "" {
		t.Errorf("before the list is ready, the page goes on to %s", early.Header.Get("Hx-Redirect"))
	}

	o.complete(30)
	if ready := waiting.Get(a.Location); ready.Header.Get("Hx-Redirect") != o.form() {
		t.Errorf("the page goes on to %q, want %s", ready.Header.Get("Hx-Redirect"), o.form())
	}
	returned := o.admin.Get(a.Location)
	if lacks(t, returned, "The list is ready: 30 people."); !strings.Contains(html.UnescapeString(returned.Body), `href="`+o.form()+`"`) {
		t.Errorf("who comes back does not get to the form: %s", returned.Body)
	}
	if got := o.Audited(); len(got) != 1 || got[0] != "admin@example.com campaign.audience Natal followup.unread" {
		t.Errorf("audit %q", got)
	}
}

// A form that is sent again for other people does not lead to the list of the first ones.
func TestFollowUp_OtherAudience(t *testing.T) {
	t.Parallel()
	o := newFormer(t)
	o.atOnce = true
	once := random.UUID()
	o.admin.Post(o.path(), url.Values{"once": {once}, "audience": {"unread"}})
	if a := o.admin.Post(o.path(), url.Values{"once": {once}, "audience": {"unread"}}); a.Location != o.form() {
		t.Errorf("the same again: %d to %s", a.Status, a.Location)
	}
	if a := o.admin.Post(o.path(), url.Values{"once": {once}, "audience": {"tapped"}}); a.Location != "" || a.Status != http.StatusBadRequest {
		t.Errorf("others: %d to %s, want a bad form", a.Status, a.Location)
	}
}

// A list that is made in the request needs no page of its own.
func TestFollowUp_AtOnce(t *testing.T) {
	t.Parallel()
	o := newFormer(t)
	o.atOnce = true
	a := o.admin.Post(o.path(), url.Values{"once": {random.UUID()}, "audience": {"unread"}})
	if a.Location != o.form() {
		t.Fatalf("asked: %d to %s", a.Status, a.Location)
	}
	a.Location = o.path()
	lacks(t, o.admin.Follow(a), "The list is ready: 1 person.")
}

// People who are not accepted any more did not get the message, also in a campaign that was cancelled
// before its first batch.
func TestFollowUp_NotAccepted(t *testing.T) {
	t.Parallel()
	o := newFormer(t)
	o.campaign.Submission = campaign.SubmissionTotals{Lines: 140, People: 140, Accepted: 100}
	lacks(t, o.admin.Get(o.path()), "did not get it 53")
	o.campaign.Submission.PartsToCome = 1
	lacks(t, o.admin.Get(o.path()), "did not get it 13")

	o.campaign.Batches, o.campaign.Submission = nil, campaign.SubmissionTotals{Lines: 140, People: 140}
	page := o.admin.Get(o.path())
	lacks(t, page, "did not get it 140")
	a := o.admin.Post(o.path(), url.Values{"once": {page.Value("once")}, "audience": {"missed"}})
	o.complete(140)
	want := url.Values{"list": {o.campaign.CampaignID + "/" + o.list.ExportID}}
	if ready := o.admin.Get(a.Location); !strings.Contains(ready.Body, `href="`+web.Root+"/campaigns/new?"+want.Encode()+`"`) {
		t.Errorf("the page does not lead to the form without a template: %s", ready.Body)
	}
}

func TestFollowUp_Ends(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state        export.State
		lines, parts int
		want         string
	}{
		"nobody": {export.Completed, 0, 1, "Nobody is on the list."},
		"failed": {export.Failed, 0, 0, "could not be prepared"},
		"erased": {export.Deleted, 10, 1, "could not be prepared"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newFormer(t)
			o.list = export.Export{
				ID: o.campaign.ID, ExportID: random.UUID(), Kind: export.Recipients, Audience: export.AudienceMissed,
				State: test.state, Lines: test.lines, Parts: test.parts,
			}
			path := o.path() + "/" + o.list.ExportID
			if a := o.admin.Get(path); !strings.Contains(a.Text(), test.want) || strings.Contains(a.Body, "campaigns/new?list=") {
				t.Errorf("the page lacks %q, or leads to the form: %s", test.want, a.Text())
			}
		})
	}
}

func TestFollowUp_Refused(t *testing.T) {
	t.Parallel()
	o := newFormer(t)
	o.refusal = &httpapi.Problem{Status: http.StatusTooManyRequests, Code: "too_many_exports"}
	lacks(t, o.admin.Post(o.path(), url.Values{"once": {random.UUID()}, "audience": {"missed"}}), "3 files or lists are in progress already")
	o.refusal = nil
	o.admin.Post(o.path(), url.Values{"once": {random.UUID()}, "audience": {"missed"}})
	before := len(o.Audited())
	if a := o.admin.Post(o.path(), url.Values{"once": {random.UUID()}, "audience": {"everybody"}}); a.Status != http.StatusBadRequest || len(o.Audited()) != before {
		t.Errorf("an unknown audience: %d, and the audit log is %q", a.Status, o.Audited())
	}
	other := o.SignIn("another", web.RoleAdmin)
	for _, path := range []string{o.path(), o.path() + "/" + o.list.ExportID} {
		for name, a := range map[string]webtest.Answer{"GET": other.Get(path), "POST": other.Post(path, url.Values{"once": {random.UUID()}, "audience": {"missed"}})} {
			if a.Status != http.StatusNotFound {
				t.Errorf("another tenant's %s %s answers %d, want 404", name, path, a.Status)
			}
		}
		if a := o.viewer.Get(path); a.Status != http.StatusForbidden {
			t.Errorf("a viewer's GET %s answers %d, want 403", path, a.Status)
		}
	}
	webtest.Light(t, o.admin, o.path())
}
