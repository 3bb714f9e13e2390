package sending_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/intake/submission"
)

var tabs = regexp.MustCompile(`(?s)<nav class="tabs" aria-label="Campaigns">(.*?)</nav>`)

// tabsOf returns the tabs of a page, with the numbers and [brackets] around the current one.
func tabsOf(a webtest.Answer) string {
	found := tabs.FindStringSubmatch(a.Body)
	if found == nil {
		return ""
	}
	marked := regexp.MustCompile(`aria-current="page">(.*?)</a>`).ReplaceAllString(found[1], ">[$1]</a>")
	return webtest.Answer{Body: marked}.Text()
}

// Drafts, files and requests for approval are tabs beside the list of campaigns, with what waits.
func TestTabs(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	for state, name := range map[submission.State]string{
		submission.StateDraft: "d", submission.StateApproval: "a", submission.StateSent: "s", submission.StateSending: "g", submission.StateInterrupted: "i",
	} {
		other := c.stored
		other.State, other.Name = state, name
		c.others = append(c.others, other)
	}
	viewer := c.SignIn(tenant, web.RoleViewer)
	for _, test := range []struct {
		who        webtest.Person
		path, want string
	}{
		{c.author, sending.SubmissionsPath, "Campaigns Drafts 1 [Files to review 2 ] Approvals 1 Tests"},
		{c.author, sending.DraftsPath, "Campaigns [Drafts 1 ] Files to review 2 Approvals 1 Tests"},
		{viewer, sending.ApprovalsPath, "Campaigns Files to review 2 [Approvals 1 ] Tests"},
		{c.author, path, ""},
	} {
		a := test.who.Get(test.path)
		if got := tabsOf(a); a.Status != http.StatusOK || got != test.want {
			t.Errorf("%s has the tabs %q, want %q", test.path, got, test.want)
		}
	}
	if review := c.author.Get(path).Body; !strings.Contains(review, `<a href="/dashboard/submissions">Files to review</a></p>`) {
		t.Errorf("the review does not lead back to the files:\n%s", review)
	}
}

// Only files that need somebody are to be reviewed. Newer ones that wait for approval, or are sent or ended, follow under
// headings of their own.
func TestListSubmissions_Groups(t *testing.T) {
	t.Parallel()
	c := newCompany(t, submission.StateReady)
	for name, state := range map[string]submission.State{"Pedida": submission.StateApproval, "Enviada": submission.StateSent} {
		other := c.stored
		other.State, other.Name, other.CreatedAt = state, name, noon
		c.others = append(c.others, other)
	}
	page := c.author.Get(sending.SubmissionsPath).Body
	last := 0
	for _, want := range []string{">Natal<", "<h2>Waiting for approval</h2>", ">Pedida<", "<h2>Sent and ended</h2>", ">Enviada<"} {
		at := strings.Index(page, want)
		if at < last {
			t.Errorf("%s is at %d, after %d:\n%s", want, at, last, page)
		}
		last = at
	}
	c.stored.State = submission.StateDiscarded
	says(t, c.author.Get(sending.SubmissionsPath), http.StatusOK, "No files to review")
}
