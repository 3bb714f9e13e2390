package sending_test

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"campaign-dispatch/internal/dashboard/sending"
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
	if a := o.admin.Post(sending.RulePath, url.Values{"from": {"2"}}); a.Location != sending.RulePath {
		t.Fatalf("saving the rule: %d %s", a.Status, a.Text())
	}
	return o
}

// ask uploads a file and asks for approval. It returns the path of its page.
func (o office) ask(change fields) string {
	o.t.Helper()
	address := o.upload(o.author, file, change).Location
	page := o.author.Get(address)
	says(o.t, page, http.StatusOK, "Ask for approval")
	if a := o.author.Post(address+"/confirm", url.Values{"hash": {page.Value("hash")}}); a.Location != address {
		o.t.Fatalf("asked: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	return address
}

func (o office) approve(who webtest.Person, path string) webtest.Answer {
	return who.Post(path+"/decide", url.Values{"decision": {"approve"}, "hash": {o.admin.Get(path).Value("hash")}})
}

// A small campaign waits for a second person too, who sees and sends exactly what was asked for.
func TestApproval(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	path := o.ask(fields{"name": "Natal"})
	if len(o.handoffs.batches) > 0 {
		t.Fatal("the campaign was sent without approval")
	}
	list := o.approver.Get(sending.ApprovalsPath)
	if says(t, list, http.StatusOK, "Natal", "Waiting for approval", "author@example.com"); !strings.Contains(list.Body, `href="`+path+`"`) {
		t.Errorf("the list has no link to %s: %s", path, list.Body)
	}
	says(t, o.approver.Get(path), http.StatusOK, "Olá Ana", "lista.csv", "SHA-256", "Approve and send now to 2 people")
	says(t, o.approve(o.author, path), http.StatusForbidden)
	says(t, o.approve(o.SignIn("another", web.RoleAdmin), path), http.StatusNotFound)
	sent := o.approve(o.approver, path)
	if got := o.approver.Follow(sent); got.Location != campaignOf(path) {
		t.Fatalf("approved: %d to %q, which leads to %q", sent.Status, sent.Location, got.Location)
	}
	if o.approve(o.approver, path); len(o.handoffs.batches) != 1 || o.handoffs.batches[0].Accepted != 2 {
		t.Errorf("handed on %+v", o.handoffs.batches)
	}
	if c, err := o.store.Overview(t.Context(), o.handoffs.batches[0].ID); err != nil || c.AskedBy != "author@example.com" {
		t.Errorf("the campaign was asked for by %q, %v", c.AskedBy, err)
	}
	says(t, o.author.Get(sending.ApprovalsPath), http.StatusOK, "Approved, and sent or scheduled")
}

// Nobody else changes the rule, and nobody by mistake.
func TestApprovalRule_Forged(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	for name, test := range map[string]struct {
		answer webtest.Answer
		status int
	}{
		"an approver uploads": {o.upload(o.approver, file, nil), http.StatusForbidden},
		"an author's rule":    {o.author.Post(sending.RulePath, url.Values{"from": {""}}), http.StatusForbidden},
		"a mistyped rule":     {o.admin.Post(sending.RulePath, url.Values{"from": {"1.000"}}), http.StatusUnprocessableEntity},
		"a rule of zero":      {o.admin.Post(sending.RulePath, url.Values{"from": {"0"}}), http.StatusUnprocessableEntity},
		"a stale rule":        {o.admin.Post(sending.RulePath, url.Values{"from": {"9"}, "was": {"from 7"}}), http.StatusConflict},
	} {
		if test.answer.Status != test.status {
			t.Errorf("%s: %d, want %d", name, test.answer.Status, test.status)
		}
	}
	if from, err := o.store.ApprovalFrom(t.Context(), o.tenant); err != nil || from != 2 {
		t.Errorf("rule %d, %v", from, err)
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
			if a := o.admin.Post(sending.RulePath, form); a.Location == sending.RulePath {
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
	rule := func(line string) bool { return !strings.Contains(line, "approval.rule") }
	if audit := slices.DeleteFunc(webtest.AuditedIn(t, o.store, o.tenant), rule); len(audit) != 2 {
		t.Errorf("the audit log has %q, want the first rule and the change of it", audit)
	}
}

// A smaller campaign needs nobody else.
func TestApproval_BelowTheRule(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	address := o.upload(o.author, "phone;uid;nome\n11987654321;a;Ana\n", nil).Location
	page := o.author.Get(address)
	says(t, page, http.StatusOK, "Send to 1 person")
	if a := o.author.Post(address+"/confirm", url.Values{"hash": {page.Value("hash")}}); len(o.handoffs.batches) != 1 {
		t.Errorf("confirmed: %d to %q", a.Status, a.Location)
	}
}
