package hours_test

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/hours"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/localstack/stackenv"
)

// office is a new tenant in the stack's tables with its users and the page.
type office struct {
	*webtest.Dashboard
	t             *testing.T
	store         *dynamotest.Store
	tenant        string
	admin, viewer webtest.Person
}

func newOffice(t *testing.T) office {
	t.Helper()
	env, clock := stackenv.Load(t), func() time.Time { return time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC) }
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock,
	})
	o := office{Dashboard: webtest.New(t, hours.Area(), &hours.Pages{Store: store, Campaigns: store, Now: clock}, clock), t: t, store: store, tenant: strings.ToLower(rand.Text())}
	o.admin, o.viewer = o.SignIn(o.tenant, web.RoleAdmin), o.SignIn(o.tenant, web.RoleViewer)
	return o
}

func (o office) stored() reach.TenantHours {
	o.t.Helper()
	p, err := o.store.TenantHours(o.t.Context(), o.tenant)
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

func mondays(edit url.Values) url.Values {
	form := url.Values{
		"promotion-on": {"yes"}, "promotion-from-1": {"09:00"}, "promotion-until-1": {"24:00"}, "promotion-holidays": {"yes"},
		"zone": {"America/Manaus"}, "holidays": {"09/07\r\n 24/12/2026 \r\n\r\n"},
	}
	maps.Copy(form, edit)
	return form
}

func TestChange(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	page := o.admin.Get(hours.Path)
	if page.Status != http.StatusOK || page.Value("promotion-from-1") != "09:00" || page.Value("promotion-from-7") != "" || !strings.Contains(page.Text(), "No hours are set") {
		t.Fatalf("the proposal: %d %s", page.Status, page.Text())
	}
	if len(o.stored().Rules) > 0 {
		t.Fatal("the proposal was saved")
	}
	saved := o.admin.Post(hours.Path, mondays(nil))
	if saved.Status != http.StatusSeeOther {
		t.Fatalf("answered %d: %s", saved.Status, saved.Text())
	}
	want := reach.TenantHours{
		Zone: window.Manaus, Holidays: []string{"07-09", "2026-12-24"}, Revision: 1,
		Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: {Week: window.Week{time.Monday: {From: 9 * 60, Until: window.Day}}, OffHolidays: true}},
	}
	if diff := cmp.Diff(want, o.stored()); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	page = o.admin.Follow(saved)
	if page.Value("promotion-from-1") != "09:00" || page.Value("promotion-until-1") != "24:00" || page.Value("promotion-from-2") != "" {
		t.Errorf("the page shows %s", page.Text())
	}
	o.admin.Post(hours.Path, mondays(nil)) // changes nothing
	o.admin.Post(hours.Path, mondays(url.Values{"promotion-on": nil}))
	if p := o.stored(); len(p.Rules) > 0 || p.Revision != 2 {
		t.Errorf("without a rule, %+v is stored", p)
	}
	const who = "admin@example.com hours.change  "
	if diff := cmp.Diff([]string{
		who + "said audit.hours.promotion week:1-1=09:00-24:00 audit.hours.off_holidays said audit.hours.holidays dates:07-09+2026-12-24" +
			" said audit.hours.zone text:ui.zone.12",
		who + "said audit.hours.promotion text:audit.hours.any",
	}, webtest.AuditedIn(t, o.store, o.tenant)); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// Of admins who save at the same time, one saves, and the others are told. The audit log has the change of the one.
func TestChange_AtTheSameTime(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var conflicts atomic.Int32
	var all sync.WaitGroup
	for i := range 5 {
		all.Go(func() {
			form := mondays(url.Values{"promotion-from-1": {fmt.Sprintf("0%d:00", i)}, "was": {"revision 0"}})
			if o.admin.Post(hours.Path, form).Status == http.StatusConflict {
				conflicts.Add(1)
			}
		})
	}
	all.Wait()
	audit := webtest.AuditedIn(t, o.store, o.tenant)
	if conflicts.Load() != 4 || o.stored().Revision != 1 || len(audit) != 1 {
		t.Errorf("%d conflicts, stored %+v, audit %q", conflicts.Load(), o.stored(), audit)
	}
}

// A local holiday can have a name. The page shows it, and the zones with their names.
func TestChange_HolidayNames(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	const entered = "09/07 Revolução de 1932\n24/12/2026\n25/01   Aniversário da cidade"
	saved := o.admin.Post(hours.Path, mondays(url.Values{"holidays": {entered}}))
	want := map[string]string{"07-09": "Revolução de 1932", "01-25": "Aniversário da cidade"}
	if diff := cmp.Diff(want, o.stored().HolidayNames); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	page := o.admin.Follow(saved)
	if !strings.Contains(page.Body, strings.ReplaceAll(entered, "   ", " ")) || !strings.Contains(page.Text(), "Acre (−5) The west of AM (−5/−4)") {
		t.Errorf("the page shows %s", page.Body)
	}
	o.admin.Post(hours.Path, mondays(url.Values{"holidays": {strings.ReplaceAll(entered, "1932", "32")}}))
	if p := o.stored(); p.Revision != 2 || p.HolidayNames["07-09"] != "Revolução de 32" {
		t.Errorf("after a change of a name only, %+v is stored", p)
	}
}

func TestChange_Refused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, test := range map[string]struct {
		form url.Values
		says string
	}{
		"inverted":         {mondays(url.Values{"promotion-until-1": {"08:00"}}), "An hour was not understood"},
		"half a day":       {mondays(url.Values{"promotion-until-1": {""}}), "An hour was not understood"},
		"not a time":       {mondays(url.Values{"promotion-from-2": {"nove"}, "promotion-until-2": {"21:00"}}), "An hour was not understood"},
		"no open day":      {mondays(url.Values{"promotion-from-1": {""}, "promotion-until-1": {""}}), "no day has hours"},
		"an unknown zone":  {mondays(url.Values{"zone": {"Europe/Lisbon"}}), "Choose a time zone"},
		"not a date":       {mondays(url.Values{"holidays": {"09/07\n31/02/2026"}}), "“31/02/2026” is not a date"},
		"too many":         {mondays(url.Values{"holidays": {strings.Repeat("09/07\n", 101)}}), "more than 100 local holidays"},
		"a stale revision": {mondays(url.Values{"was": {"revision 7"}}), "Somebody changed the hours"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page := o.admin.Post(hours.Path, test.form)
			if page.Status < 400 || !strings.Contains(page.Text(), test.says) {
				t.Errorf("answered %d: %s", page.Status, page.Text())
			}
			if p := o.stored(); p.Revision > 0 {
				t.Errorf("stored %+v", p)
			}
		})
	}
}

func TestChange_Viewer(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	if page := o.viewer.Post(hours.Path, mondays(nil)); page.Status != http.StatusForbidden {
		t.Errorf("answered %d", page.Status)
	}
	o.admin.Post(hours.Path, mondays(nil))
	page := o.viewer.Get(hours.Path)
	if !strings.Contains(page.Text(), "09:00–24:00") || strings.Contains(page.Body, "<form class") {
		t.Errorf("a viewer sees %s", page.Text())
	}
}

// accept stores a campaign of 20 people that go on Tuesdays, by the call's hours.
func (o office) accept(name string, edit func(*campaign.Batch)) {
	o.t.Helper()
	now := o.store.Tables().Now()
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: o.tenant, CampaignID: "0198d3a0-0000-4000-8000-" + strings.ToLower(rand.Text()[:12])}, BatchID: campaign.BatchID("1")},
		Ordinal:  1, Accepted: 20, AcceptedAt: now, Due: now, State: campaign.BatchSending, NextCheck: now.Add(time.Hour),
		SendWindow: &window.Week{time.Tuesday: {From: 9 * 60, Until: 21 * 60}}, Zones: []window.Count{{Zone: window.SaoPaulo, Messages: 20}},
	}
	_, _ = rand.Read(b.Key[:])
	edit(&b)
	if err := o.store.Accept(o.t.Context(), acceptance.Command{Batch: b, Campaign: name, Ordinal: 1, Packed: []byte{0}}, rand.Text()); err != nil {
		o.t.Fatal(err)
	}
}

// Hours by which people of accepted campaigns get no message are saved only if the person confirms as many.
func TestChange_NobodyLeft(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.accept("Natal", func(*campaign.Batch) {})
	o.accept("Páscoa", func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, b.Due.AddDate(0, 0, 3)
		b.Accepted, b.Zones = 1, []window.Count{{Zone: window.Manaus, Messages: 1}}
	})
	o.accept("Any day", func(b *campaign.Batch) { b.SendWindow = nil })
	page := o.admin.Post(hours.Path, mondays(nil))
	for _, says := range []string{"21 people of accepted campaigns would get no message", "Natal : 20 people", "Páscoa : 1 person", "Save anyway"} {
		if !strings.Contains(page.Text(), says) {
			t.Errorf("the page does not say %q: %s", says, page.Text())
		}
	}
	if page.Status != http.StatusConflict || page.Value("promotion-until-1") != "24:00" || page.Value("unsent") != "21" || strings.Contains(page.Text(), "Any day") {
		t.Errorf("answered %d: %s", page.Status, page.Text())
	}
	entered := page.Value("entered")
	for _, form := range []url.Values{
		{"unsent": {"20"}, "entered": {entered}},                                 // another person has appeared since
		{"unsent": {"21"}, "entered": {entered}, "promotion-until-1": {"23:00"}}, // seen of other hours
		{"unsent": {"21"}},
	} {
		o.admin.Post(hours.Path, mondays(form))
		if p := o.stored(); p.Revision > 0 {
			t.Fatalf("stored without a confirmation, after %v: %+v", form, p)
		}
	}
	confirmed := mondays(url.Values{"unsent": {"21"}, "entered": {entered}})
	if page := o.admin.Post(hours.Path, confirmed); page.Status != http.StatusSeeOther || o.stored().Revision != 1 {
		t.Errorf("confirmed, and answered %d: %s", page.Status, page.Text())
	}
}
