package exports_test

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/exports"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/httpapi"
)

var now = time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)

// office is a tenant with a campaign, its users and the pages on exports in memory.
type office struct {
	*webtest.Dashboard
	campaign      campaign.Campaign
	all           []export.Export
	refusal       error
	admin, viewer webtest.Person
}

func newOffice(t *testing.T) *office {
	t.Helper()
	o := &office{}
	o.campaign.ID = campaign.ID{Tenant: strings.ToLower(rand.Text()), CampaignID: random.UUID()}
	o.campaign.Name = "Natal"
	o.campaign.Batches = []campaign.BatchProgress{{Batch: campaign.Batch{Accepted: 150, Rejected: 2}}}
	o.Dashboard = webtest.New(t, exports.Area(), &exports.Pages{Exports: o}, func() time.Time { return now })
	o.admin, o.viewer = o.SignIn(o.campaign.Tenant, web.RoleAdmin), o.SignIn(o.campaign.Tenant, web.RoleViewer)
	return o
}

func (o *office) Dispatched(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	if id != o.campaign.ID {
		return campaign.Campaign{}, campaign.ErrNotFound
	}
	return o.campaign, nil
}

func (o *office) OfCampaign(context.Context, campaign.ID) ([]export.Export, error) { return o.all, nil }

func (o *office) Create(_ context.Context, id campaign.ID, exportID string, asked export.Request) (export.Export, error) {
	if o.refusal != nil {
		return export.Export{}, o.refusal
	}
	e := export.Export{
		ID: id, ExportID: exportID, Kind: asked.Kind, Statuses: asked.Statuses, Format: asked.Format, Language: asked.Language,
		State: export.Pending, CreatedAt: now, Total: 150,
	}
	if !slices.ContainsFunc(o.all, func(old export.Export) bool { return old.ExportID == exportID }) {
		o.all = append(o.all, e)
	}
	return e, nil
}

func (o *office) path() string { return web.Root + "/campaigns/" + o.campaign.CampaignID + "/exports" }

func TestPages_StartOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	form := url.Values{
		"once": {o.admin.Get(o.path()).Value("once")}, "kind": {"outcomes"}, "format": {"excel"}, "status": {"read", "failed"},
	}
	for range 2 { // a double click
		if got := o.admin.Post(o.path(), form); got.Status != http.StatusSeeOther || got.Header.Get("Location") != o.path() {
			t.Fatalf("%d %s", got.Status, got.Text())
		}
	}
	if len(o.all) != 1 {
		t.Fatalf("%d exports, want 1", len(o.all))
	}
	got := export.Request{Kind: o.all[0].Kind, Statuses: o.all[0].Statuses, Format: o.all[0].Format, Language: o.all[0].Language}
	want := export.Request{Kind: export.Outcomes, Statuses: []string{"read", "failed"}, Format: export.Excel, Language: "en"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request (-want +got):\n%s", diff)
	}
}

func TestPages_Progress(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.all = []export.Export{
		{ExportID: "a", Secret: "s", Kind: export.Rejected, State: export.Completed, Lines: 2, ExpiresAt: now},
		{ExportID: "b", Kind: export.Outcomes, State: export.Running, Checked: 30, Total: 150},
		{ExportID: "c", Kind: export.Outcomes, Statuses: []string{"read"}, State: export.Deleted},
	}
	page := o.viewer.Get(o.path())
	for _, want := range []string{"20%", "30 of 150", "Download the file", "Deleted, because", "2 lines."} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("the page does not show %q:\n%s", want, page.Text())
		}
	}
	if !strings.Contains(page.Body, `href="/api/v1/export-files/a.s"`) || !strings.Contains(page.Body, `hx-trigger="every 2s"`) {
		t.Error("the page has no link of the file, or does not refresh itself")
	}
	if title := "<title>20% – Export “Natal”"; !strings.Contains(page.Body, title) {
		t.Errorf("the page lacks %q", title)
	}
	update := o.viewer
	update.Header = http.Header{"Hx-Request": {"true"}}
	if got := update.Get(o.path() + "?running=1"); strings.Contains(got.Body, `role="status"`) {
		t.Error("an update without a change of state is announced")
	}
	webtest.SlowsDown(t, update, page.Body)
	o.all = o.all[:1]
	if got := update.Get(o.path() + "?running=1"); !strings.Contains(got.Body, `role="status" hx-swap-oob="true">The file is ready to download.`) {
		t.Errorf("the end of the export is not announced:\n%s", got.Body)
	}
	if page := o.viewer.Get(o.path()); strings.Contains(page.Body, "hx-trigger") {
		t.Error("the page refreshes itself without an export in progress")
	}
}

func TestPages_Refusal(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.refusal = &httpapi.Problem{Status: http.StatusTooManyRequests, Code: "too_many_exports"}
	got := o.admin.Post(o.path(), url.Values{"once": {random.UUID()}, "kind": {"outcomes"}, "format": {"plain"}, "status": {"read"}})
	if got.Status != http.StatusTooManyRequests || !strings.Contains(got.Text(), "Wait until one of them is ready") {
		t.Errorf("%d %s", got.Status, got.Text())
	}
	if !strings.Contains(got.Body, `value="read" checked`) || !strings.Contains(got.Body, `value="plain" checked`) {
		t.Error("the form has lost what was entered")
	}
}

func TestPages_Roles(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if page := o.viewer.Get(o.path()); page.Status != http.StatusOK || strings.Contains(page.Body, "<button>Make") {
		t.Errorf("a viewer's page answers %d, or has the form", page.Status)
	}
	if got := o.viewer.Post(o.path(), url.Values{"once": {random.UUID()}}); got.Status != http.StatusForbidden || len(o.all) > 0 {
		t.Errorf("a viewer's request answers %d", got.Status)
	}
	stranger := o.SignIn("another", web.RoleAdmin)
	if got := stranger.Get(o.path()); got.Status != http.StatusNotFound {
		t.Errorf("another tenant's page answers %d", got.Status)
	}
}

func TestPages_Light(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for range 30 {
		o.all = append(o.all, export.Export{ExportID: random.UUID(), Secret: rand.Text() + rand.Text(), Kind: export.Outcomes, State: export.Completed})
	}
	webtest.Light(t, o.viewer, o.path())
}
