package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/privacy"
	"campaign-dispatch/internal/reach/lists/book"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/settings"
)

const counted = `{"text": "Olá {{nome}}", "suggestions": ["Sim",
  {"kind": "openUrl", "text": "Ver", "url": "https://loja.example/?cliente={{nome}}", "countClicks": true}]}`

// A phone opens the link of its message, and others are opened by hand. Each message counts
// once, a forged link leads nowhere, and an erased number's link ends.
func TestClicks(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().receiveEvents()
	template, err := c.service().SaveTemplate(t.Context(), settings.TemplateForm{Tenant: c.env["TENANT"], Content: []byte(counted)})
	must(t, err)
	all := messages(4)
	all[0]["phone"] = "+5511900000008"
	call := c.call(all)
	call["templateId"] = template.ID
	if got := c.dispatch(call); got.Accepted != 4 {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	c.eventually(5*time.Minute, "sent", func() bool { return c.sentOnce(all[1:]) })

	batch := c.dispatched(call)
	for range 3 {
		if status, target := c.open(http.MethodGet, reaction.LinkToken(batch, 1, 2), "Chrome"); status != http.StatusFound || target != "https://loja.example/?cliente=Ana" {
			t.Errorf("the link answers %d and leads to %q", status, target)
		}
	}
	for _, request := range [][2]string{{http.MethodHead, "Chrome"}, {http.MethodGet, "GoogleMessages/1"}, {http.MethodGet, "Google-PageRenderer"}} {
		if status, _ := c.open(request[0], reaction.LinkToken(batch, 2, 2), request[1]); status != http.StatusFound {
			t.Errorf("%v answers %d, want a redirect", request, status)
		}
	}
	for name, token := range map[string]string{"forged": reaction.LinkToken(batch, 1, 2)[:30] + "_", "a reply's": reaction.LinkToken(batch, 1, 1), "unknown": "oferta"} {
		if status, target := c.open(http.MethodGet, token, "Chrome"); status != http.StatusNotFound || target != "" {
			t.Errorf("the link %s answers %d and leads to %q, want 404", name, status, target)
		}
	}
	soon := func() time.Time { return time.Now().Add(2 * time.Hour) } // all received events count as applied
	person := &privacy.Service{
		Store: c.personRows(), Blobs: c.blobs(), OptOuts: &optout.Book{Store: c.store(), Now: soon},
		Lists: &book.Book{Store: c.store(), Blobs: c.blobs(), Now: soon},
		Now:   soon, Progress: func(string, int, int) {},
	}
	_, err = person.Erase(t.Context(), c.env["TENANT"], all[3]["phone"].(string))
	must(t, err)
	if status, target := c.open(http.MethodGet, reaction.LinkToken(batch, 3, 2), "Chrome"); status != http.StatusGone || target != "" {
		t.Errorf("the link of an erased number answers %d and leads to %q, want 410", status, target)
	}

	c.eventually(5*time.Minute, "the phone's click and the one by hand", func() bool { return c.read(call).Clicked == 2 })
	var page struct {
		Messages []struct {
			UID    string
			Clicks []struct{ Text, URL string }
		}
	}
	c.fetch(campaignPath(call)+"/messages", &page)
	clicks := map[string]int{}
	for _, m := range page.Messages {
		if m.UID != "" {
			clicks[m.UID] = len(m.Clicks)
		}
	}
	if diff := cmp.Diff(map[string]int{"u-0": 1, "u-1": 1, "u-2": 0}, clicks); diff != "" {
		t.Errorf("clicks by message (-want +got):\n%s", diff)
	}
}

// open opens a link, and returns the status and the target of the redirect.
func (c *client) open(method, token, agent string) (status int, target string) {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.env["BASE_URL"]+"/l/"+token, nil)
	must(c.t, err)
	r.Header.Set("User-Agent", agent)
	direct := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Timeout: time.Minute}
	res, err := direct.Do(r)
	must(c.t, err)
	must(c.t, res.Body.Close())
	return res.StatusCode, res.Header.Get("Location")
}
