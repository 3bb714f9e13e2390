package campaigns_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// scheduled accepts batches of 10 messages each, in an hour and later.
func (d *service) scheduled(id string, batches int) (all []campaign.Batch) {
	for i := range batches {
		all = append(all, d.accept(id, "Natal", i+1, 10, func(b *campaign.Batch) {
			b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Duration(i+1)*time.Hour)
		}))
	}
	return all
}

// The page names the campaign, its people and its time, and moves all batches.
func TestMove(t *testing.T) {
	t.Parallel()
	d := newService(t)
	id := uuid()
	batches := d.scheduled(id, 2)
	admin, path := d.admin(), pathOf(batches[0])+"/reschedule"
	page := admin.Get(pathOf(batches[0]))
	if !strings.Contains(page.Body, `id="move" href="`+path+`"`) || !strings.Contains(page.Text(), "People: 20.") {
		t.Errorf("the campaign's page: %s", page.Text())
	}
	form := admin.Get(path)
	for _, want := range []string{"Campaign Natal", "People 20", "Current time 21 Nov 2037, 13:00 – 21 Nov 2037, 14:00"} {
		if !strings.Contains(form.Text(), want) {
			t.Errorf("the form lacks %q: %s", want, form.Text())
		}
	}
	sent := url.Values{"plan": {form.Value("plan")}, "schedule": {"2037-11-22T10:30"}}
	for range 2 { // a form that is sent twice
		done := admin.Post(path, sent)
		if done.Status != http.StatusSeeOther {
			t.Fatalf("answered %d: %s", done.Status, done.Text())
		}
		page := admin.Follow(done).Text()
		if !strings.Contains(page, "The campaign “Natal” now goes out on 22 Nov 2037, 10:30.") || !strings.Contains(page, "Goes out on 22 Nov 2037, 10:30.") {
			t.Errorf("the page does not say the new time: %s", page)
		}
	}
	want := time.Date(2037, 11, 22, 13, 30, 0, 0, time.UTC)
	for _, b := range batches {
		if now, err := d.store.Batch(t.Context(), b.BatchRef); err != nil || !now.Due.Equal(want) {
			t.Errorf("%s is due at %v (%v)", b.Name, now.Due, err)
		}
	}
	if diff := cmp.Diff([]string{"admin@example.com campaign.move Natal moved 2037-11-21T16:00:00Z 2037-11-22T13:30:00Z"}, d.Audited()); diff != "" {
		t.Errorf("audit log (-want +got):\n%s", diff)
	}
	if len(d.handed) != 2 {
		t.Errorf("%d releases scheduled", len(d.handed))
	}
}

// A refused form shows the campaign as it is now, and keeps what was entered.
func TestMove_Refused(t *testing.T) {
	t.Parallel()
	d := newService(t)
	id := uuid()
	b := d.scheduled(id, 1)[0]
	admin, path := d.admin(), pathOf(b)+"/reschedule"
	plan := admin.Get(path).Value("plan")
	soon := admin.Post(path, url.Values{"plan": {plan}, "schedule": {"2037-11-21T12:01"}})
	if soon.Status != http.StatusBadRequest || !strings.Contains(soon.Text(), "too close") || soon.Value("schedule") != "2037-11-21T12:01" {
		t.Errorf("answered %d: %s", soon.Status, soon.Text())
	}
	d.accept(id, "Natal", 2, 5, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Hour)
	})
	changed := admin.Post(path, url.Values{"plan": {plan}, "schedule": {"2037-11-22T10:30"}})
	if changed.Status != http.StatusConflict || !strings.Contains(changed.Text(), "The campaign changed while this page was open.") ||
		!strings.Contains(changed.Text(), "People 15") || changed.Value("schedule") != "2037-11-22T10:30" {
		t.Errorf("answered %d: %s", changed.Status, changed.Text())
	}
	again := admin.Post(path, url.Values{"plan": {changed.Value("plan")}, "schedule": {"2037-11-22T10:30"}})
	if again.Status != http.StatusSeeOther {
		t.Errorf("answered %d: %s", again.Status, again.Text())
	}
	if got := d.Audited(); len(got) != 1 {
		t.Errorf("audit log: %q", got)
	}
}

// An approved campaign keeps its time, unless another admin than the one who asked changes it,
// however often it was moved and however old the request for approval is.
func TestMove_Approved(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.asker = d.admin().Session.Email
	b := d.scheduled(uuid(), 1)[0]
	path := pathOf(b) + "/reschedule"
	for _, test := range []struct {
		days int
		to   string
	}{{0, "2038-02-01T10:30"}, {31, "2038-03-02T10:30"}, {90, "2038-06-02T10:30"}} {
		d.later = time.Duration(test.days) * 24 * time.Hour
		other := d.SignedIn(web.Session{Tenant: b.Tenant, Email: "bia@example.com", Role: web.RoleAdmin})
		form := url.Values{"plan": {other.Get(path).Value("plan")}, "schedule": {test.to}}
		for _, who := range []webtest.Person{d.admin(), d.SignIn(b.Tenant, web.RoleAuthor)} {
			for _, page := range []webtest.Answer{who.Get(path), who.Get(path + "?batch=" + b.BatchID), who.Post(path, form)} {
				if page.Status != http.StatusForbidden || !strings.Contains(page.Text(), "was approved with this time") {
					t.Errorf("day %d: %s gets %d: %s", test.days, who.Session.Email, page.Status, page.Text())
				}
			}
		}
		if page := other.Post(path, form); page.Status != http.StatusSeeOther {
			t.Errorf("day %d: another admin gets %d: %s", test.days, page.Status, page.Text())
		}
	}
}

// A campaign that has begun says how many people were sent it.
func TestMove_Started(t *testing.T) {
	t.Parallel()
	d := newService(t)
	id := uuid()
	started := d.accept(id, "Natal", 1, 10, nil)
	d.accept(id, "Natal", 2, 10, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(time.Hour)
	})
	d.record(started, campaign.OutcomeDelivered, "", 0, 2, noon)
	admin, path := d.admin(), pathOf(started)+"/reschedule"
	for _, page := range []struct{ status, want any }{{admin.Get(path).Status, 409}, {admin.Post(path, url.Values{"schedule": {"2037-11-22T10:30"}}).Status, 409}} {
		if page.status != page.want {
			t.Errorf("answered %v", page.status)
		}
	}
	if text := admin.Get(path).Text(); !strings.Contains(text, "People to whom it was sent already: 3.") {
		t.Error(text)
	}
	if page := admin.Get(pathOf(started)); strings.Contains(page.Body, `id="move"`) || !strings.Contains(page.Body, path+"?batch=") {
		t.Errorf("the page: %s", page.Text())
	}
}

// The batches are under the technical details, which a page of batches opens.
func TestCampaign_Details(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.scheduled(uuid(), 1)[0]
	closed, opened := d.admin().Get(pathOf(b)), d.admin().Get(pathOf(b)+"?batches=0")
	if !strings.Contains(closed.Body, `<details class="card" id="details">`) || !strings.Contains(opened.Body, `<details class="card" id="details" open>`) {
		t.Error("the technical details are not as asked for")
	}
	before, _, _ := strings.Cut(closed.Text(), "Keep the technical details open")
	if strings.Contains(strings.ToLower(before), "batch") {
		t.Errorf("the page speaks of batches before its details:\n%s", before)
	}
}

func TestCancel_SaysWhatWasDone(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.scheduled(uuid(), 1)[0]
	admin := d.admin()
	if page := admin.Follow(admin.Post(pathOf(b)+"/cancel", nil)).Text(); !strings.Contains(page, "The campaign “Natal” was cancelled.") {
		t.Error(page)
	}
}
