package campaignupload_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/campaignupload"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

// office is a tenant whose campaigns to two people or more need approval.
type office struct {
	*bench
	author, approver webtest.Person
}

func newOffice(t *testing.T) office {
	t.Helper()
	o := office{bench: newBench(t)}
	o.author, o.approver = o.SignIn(o.tenant, web.RoleAuthor), o.SignIn(o.tenant, web.RoleApprover)
	if a := o.admin.Post(campaignupload.RulePath, url.Values{"from": {"2"}}); a.Location != campaignupload.RulePath {
		t.Fatalf("saving the rule: %d %s", a.Status, a.Text())
	}
	return o
}

// ask uploads a file and asks for approval. It returns the path of the request.
func (o office) ask(who webtest.Person, change fields) string {
	o.t.Helper()
	page := who.Get(o.upload(who, file, change).Location)
	says(o.t, page, http.StatusOK, "Ask for approval")
	a := o.confirmAs(who, page)
	if !strings.HasPrefix(a.Location, campaignupload.ApprovalsPath+"/") {
		o.t.Fatalf("asked: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	return a.Location
}

func (o office) confirmAs(who webtest.Person, page webtest.Answer) webtest.Answer {
	return who.Post("/dashboard/campaigns/new/confirm", url.Values{"upload": {page.Value("upload")}, "version": {page.Value("version")}})
}

func (o office) decide(who webtest.Person, path, decision, reason string) webtest.Answer {
	return who.Post(path, url.Values{"decision": {decision}, "reason": {reason}, "hash": {o.admin.Get(path).Value("hash")}})
}

// A campaign waits for a second person, who sees and sends exactly what was asked for.
func TestApproval(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.ask(o.author, fields{"name": "Natal"})
	if len(o.handoffs.batches) > 0 {
		t.Fatal("the campaign was sent without approval")
	}
	says(t, o.approver.Get(path), http.StatusOK, "Olá Ana", "lista.csv", "SHA-256", "Approve and send to 2 people")
	sent := o.decide(o.approver, path, "approve", "")
	if id := strings.TrimPrefix(path, campaignupload.ApprovalsPath+"/"); sent.Location != "/dashboard/campaigns/"+id {
		t.Fatalf("approved: %d to %q\n%s", sent.Status, sent.Location, sent.Text())
	}
	if len(o.handoffs.batches) != 1 || o.handoffs.batches[0].Accepted != 2 {
		t.Errorf("handed on %+v", o.handoffs.batches)
	}
	if c, err := o.store.Overview(t.Context(), o.handoffs.batches[0].ID); err != nil || c.AskedBy != "author@example.com" {
		t.Errorf("the campaign was asked for by %q, %v", c.AskedBy, err)
	}
	says(t, o.author.Get(path), http.StatusOK, "Approved and sent", "approver@example.com")
	o.decide(o.approver, path, "approve", "")
	if len(o.handoffs.batches) != 1 {
		t.Errorf("approved twice, handed on %d", len(o.handoffs.batches))
	}
	want := []string{
		"admin@example.com approval.rule 0 → 2", "author@example.com approval.ask Natal", "approver@example.com approval.approve Natal",
	}
	if diff := cmp.Diff(want, o.Audited()); diff != "" {
		t.Errorf("audit (-want +got):\n%s", diff)
	}
}

// Nobody gets around the second person.
func TestApproval_Forged(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.ask(o.admin, nil)
	for name, test := range map[string]struct {
		answer webtest.Answer
		status int
	}{
		"who asked":            {o.decide(o.admin, path, "approve", ""), http.StatusForbidden},
		"an author":            {o.decide(o.author, path, "approve", ""), http.StatusForbidden},
		"a viewer":             {o.decide(o.SignIn(o.tenant, web.RoleViewer), path, "approve", ""), http.StatusForbidden},
		"another tenant":       {o.decide(o.SignIn("another", web.RoleAdmin), path, "approve", ""), http.StatusNotFound},
		"another hash":         {o.approver.Post(path, url.Values{"decision": {"approve"}, "hash": {"x"}}), http.StatusBadRequest},
		"no decision":          {o.decide(o.approver, path, "", ""), http.StatusBadRequest},
		"an approver uploads":  {o.upload(o.approver, file, nil), http.StatusForbidden},
		"an approver confirms": {o.approver.Post("/dashboard/campaigns/new/confirm", url.Values{"upload": {"x"}}), http.StatusForbidden},
		"an author's rule":     {o.author.Post(campaignupload.RulePath, url.Values{"from": {""}}), http.StatusForbidden},
		"a mistyped rule":      {o.admin.Post(campaignupload.RulePath, url.Values{"from": {"1.000"}}), http.StatusUnprocessableEntity},
		"a rule of zero":       {o.admin.Post(campaignupload.RulePath, url.Values{"from": {"0"}}), http.StatusUnprocessableEntity},
		"a stale rule":         {o.admin.Post(campaignupload.RulePath, url.Values{"from": {"9"}, "was": {"from 7"}}), http.StatusConflict},
	} {
		if test.answer.Status != test.status {
			t.Errorf("%s: %d, want %d", name, test.answer.Status, test.status)
		}
	}
	if from, err := o.store.ApprovalFrom(t.Context(), o.tenant); err != nil || from != 2 || len(o.handoffs.batches) > 0 {
		t.Errorf("rule %d, %v; handed on %d", from, err, len(o.handoffs.batches))
	}
}

// Of several changes of the rule at once, one takes effect.
func TestApprovalRule_Races(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	var saved atomic.Int32
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			form := url.Values{"from": {strconv.Itoa(10 + i)}, "was": {"from 2"}}
			if a := o.admin.Post(campaignupload.RulePath, form); a.Location == campaignupload.RulePath {
				saved.Add(1)
			} else if a.Status != http.StatusConflict {
				t.Errorf("the rule answers %d, want 409", a.Status)
			}
		})
	}
	all.Wait()
	if saved.Load() != 1 {
		t.Errorf("%d changes were saved, want 1", saved.Load())
	}
}

// Of several decisions at once, one takes effect.
func TestApproval_Races(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.ask(o.author, nil)
	approvers := []webtest.Person{o.approver, o.SignedIn(web.Session{Tenant: o.tenant, Email: "second@example.com", Role: web.RoleApprover}), o.admin}
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() { o.decide(approvers[i%3], path, []string{"approve", "refuse"}[i%2], "no") })
	}
	all.Wait()
	r, err := o.store.Approval(t.Context(), o.tenant, strings.TrimPrefix(path, campaignupload.ApprovalsPath+"/"))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[campaign.ApprovalState]int{campaign.ApprovalSent: 1, campaign.ApprovalRefused: 0}; len(o.handoffs.batches) != want[r.State] {
		t.Errorf("%s, and handed on %d", r.State, len(o.handoffs.batches))
	}
}

// A request that cannot be sent as it was asked for is not sent.
func TestApproval_Changed(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		schedule string
		change   func(o office, path string) error
		want     string
	}{
		"template": {"", func(o office, _ string) error {
			_, err := o.store.PutTemplate(o.t.Context(), campaign.Template{ID: o.template, Tenant: o.tenant, Name: "T", Content: content.Content{Text: "Tchau {{nome}}"}})
			return err
		}, "The template has changed since"},
		"time": {"2037-11-21T13:00", func(o office, _ string) error {
			o.pages.Now = func() time.Time { return time.Date(2037, 11, 21, 15, 58, 0, 0, time.UTC) }
			return nil
		}, "has passed or is too close"},
		"file": {"", func(o office, path string) error {
			a := campaign.Approval{Tenant: o.tenant, CampaignID: strings.TrimPrefix(path, campaignupload.ApprovalsPath+"/")}
			return o.pages.Blobs.Put(o.t.Context(), a.Blob(), []byte(file+"11987654323;c;Caio\n"), "text/csv")
		}, "no longer exists or was changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t)
			path := o.ask(o.author, fields{"schedule": test.schedule})
			if err := test.change(o, path); err != nil {
				t.Fatal(err)
			}
			says(t, o.approver.Get(path), http.StatusOK, test.want)
			says(t, o.decide(o.approver, path, "approve", ""), http.StatusConflict, test.want)
			if len(o.handoffs.batches) > 0 {
				t.Error("it was sent")
			}
		})
	}
}

// A template that changes at the last moment is not sent.
func TestApproval_TemplateChangesMeanwhile(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.ask(o.author, nil)
	o.dispatch.making = func() {
		_, err := o.store.PutTemplate(t.Context(), campaign.Template{ID: o.template, Tenant: o.tenant, Name: "T", Content: content.Content{Text: "Tchau {{nome}}"}})
		if err != nil {
			t.Error(err)
		}
	}
	a := o.decide(o.approver, path, "approve", "")
	if a.Location != path || len(o.handoffs.batches) > 0 {
		t.Errorf("approved: %d to %q, handed on %+v", a.Status, a.Location, o.handoffs.batches)
	}
	says(t, o.approver.Get(path), http.StatusOK, "The template has changed since")
}

// A refusal has a reason, and ends the request.
func TestApproval_Refused(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.ask(o.author, nil)
	says(t, o.decide(o.approver, path, "refuse", " "), http.StatusUnprocessableEntity, "Write the reason")
	o.decide(o.approver, path, "refuse", "O preço está errado.")
	says(t, o.author.Get(path), http.StatusOK, "Refused", "O preço está errado.")
	says(t, o.decide(o.approver, path, "approve", ""), http.StatusConflict, "Your decision was not recorded")
	if again := o.decide(o.approver, path, "refuse", "O preço está errado."); again.Location != path || len(o.handoffs.batches) > 0 {
		t.Errorf("refused again: %d to %q, %d batches are sent", again.Status, again.Location, len(o.handoffs.batches))
	}
}

// A smaller campaign needs nobody else.
func TestApproval_BelowTheRule(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	page := o.author.Get(o.upload(o.author, "phone;uid;nome\n11987654321;a;Ana\n", nil).Location)
	says(t, page, http.StatusOK, "Send to 1 person")
	if a := o.confirmAs(o.author, page); !strings.HasPrefix(a.Location, "/dashboard/campaigns/") || len(o.handoffs.batches) != 1 {
		t.Errorf("confirmed: %d to %q", a.Status, a.Location)
	}
}
