package templates_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dashboard/templates"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/media/mediafile"
)

// one is the store of a tenant with one template.
type one struct {
	templates.Store
	template campaign.Template
}

func (o one) Template(context.Context, string) (campaign.Template, error) { return o.template, nil }

func (one) MediaFiles(context.Context, string) ([]mediafile.File, error) { return nil, nil }

// editing returns an author of the tenant "t", who may edit a template.
func editing(t *testing.T, of campaign.Template) webtest.Person {
	t.Helper()
	of.Tenant = "t"
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	pages := &templates.Pages{Store: one{template: of}, Now: now, Upload: func(*web.Page) (web.Upload, error) { return web.Upload{}, nil }}
	return webtest.Serve(t, webtest.UI(t, now), templates.Area(), pages).SignIn("t", web.RoleAuthor)
}

// The buttons of a card are symbols with a name, which a pointer shows too.
func TestEditor_ButtonNames(t *testing.T) {
	t.Parallel()
	cards := []content.Card{{Title: "Um"}, {Title: "Dois"}, {Title: "Três"}}
	who := editing(t, campaign.Template{ID: templateID(0), Content: content.Content{Carousel: &content.Carousel{Cards: cards}}})
	edit := list + "/" + templateID(0) + "/edit"
	page := who.Get(edit)
	opened := who.Post(list+"/"+templateID(0), url.Values{"kind": {"carousel"}, "c1": {`{"t":"Um"}`}, "do": {"open c1"}})
	if page.Status != http.StatusOK {
		t.Fatalf("answers %d", page.Status)
	}
	for command, want := range map[string][2]string{
		"open c2": {"✎", "Edit"}, "up c2": {"↑", "Move up"}, "down c2": {"↓", "Move down"}, "remove c2": {"✕", "Remove"},
	} {
		shown(t, page.Body, command, want)
	}
	shown(t, opened.Body, "close c1", [2]string{"✓", "Close"})
}

func shown(t *testing.T, body, command string, symbolAndName [2]string) {
	t.Helper()
	_, attributes, _ := strings.Cut(body, `value="`+command+`"`)
	attributes, _, _ = strings.Cut(attributes, "</button>")
	symbol, name := symbolAndName[0], symbolAndName[1]
	if attributes = strings.Replace(attributes, " autofocus", "", 1); attributes != fmt.Sprintf(` title=%q aria-label=%q>%s`, name, name, symbol) {
		t.Errorf("%s shows %q, want %s for %q", command, attributes, symbol, name)
	}
}
