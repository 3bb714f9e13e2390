package campaignupload_test

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
	"campaign-dispatch/internal/dashboard/campaignupload"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/phone/e164"
)

// many has more templates than the form lists, with names of the greatest length.
type many struct{ memory }

const manyTemplates = 120

func manyID(i int) string { return fmt.Sprintf("5b0e6d3c-0000-4000-8000-%012d", i) }

func (m many) Templates(context.Context, string) ([]campaign.Template, error) {
	var all []campaign.Template
	for i := range manyTemplates {
		all = append(all, campaign.Template{
			ID: manyID(i), Name: fmt.Sprintf("%03d", (i*7)%1000) + strings.Repeat("&", campaign.MaxTemplateName-3),
			CreatedAt: time.Date(2037, 1, 1, 0, i, 0, 0, time.UTC),
		})
	}
	return all, nil
}

func (m many) Template(_ context.Context, id string) (campaign.Template, error) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "{{variavel_%d}}", i)
	}
	return campaign.Template{ID: id, Tenant: "t", Name: strings.Repeat("&", campaign.MaxTemplateName), Content: content.Content{Text: text.String()}}, nil
}

// shop is the dashboard of a tenant with many templates.
func shop(t *testing.T, all memory) webtest.Person {
	t.Helper()
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	pages := &campaignupload.Pages{Store: many{all}, Blobs: all, Dispatch: all, OptOuts: memory{}, Now: now, Upload: noUpload}
	who := webtest.New(t, campaignupload.Area(), pages, now).SignIn("t", web.RoleAdmin)
	who.Language = "pt-BR"
	return who
}

func TestForm_ArchivedTemplates(t *testing.T) {
	t.Parallel()
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	pages := &campaignupload.Pages{Store: archived{}, Blobs: memory{}, Dispatch: memory{}, Now: now, Upload: noUpload}
	who := webtest.New(t, campaignupload.Area(), pages, now).SignIn("t", web.RoleAdmin)
	for path, offered := range map[string]bool{campaignupload.Path: false, campaignupload.Path + "?template=" + manyID(1): true} {
		if got := strings.Contains(who.Get(path).Body, `value="`+manyID(1)+`"`); got != offered {
			t.Errorf("%s: the archived template is offered: %t, want %t", path, got, offered)
		}
	}
}

// archived has an active and an archived template.
type archived struct{ memory }

func (archived) Templates(context.Context, string) ([]campaign.Template, error) {
	return []campaign.Template{{ID: manyID(0), Name: "A"}, {ID: manyID(1), Name: "B"}}, nil
}

func (archived) ArchivedTemplates(context.Context, string) (map[string]bool, error) {
	return map[string]bool{manyID(1): true}, nil
}

func TestForm_Templates(t *testing.T) {
	t.Parallel()
	who := shop(t, memory{})
	page := who.Get(campaignupload.Path + "?template=" + manyID(0))
	if page.Status != http.StatusOK || len(page.Body) > web.HTMLLimit {
		t.Errorf("answers %d, %d bytes; want at most 28000", page.Status, len(page.Body))
	}
	if n := strings.Count(page.Body, "<option "); n != 50 {
		t.Errorf("offers %d templates, want 50", n)
	}
	for i, offered := range map[int]bool{0: true, 1: false, manyTemplates - 49: true, manyTemplates - 50: false, manyTemplates - 1: true} {
		if strings.Contains(page.Body, `value="`+manyID(i)+`"`) != offered {
			t.Errorf("template %d is offered: %t", i, !offered)
		}
	}
	if !strings.Contains(page.Body, manyID(0)+`" selected`) || !strings.Contains(page.Text(), "os 50 modelos mais recentes") {
		t.Errorf("the page does not say what to do: %s", page.Text())
	}
	if !strings.Contains(page.Text(), "variavel_0") || !strings.Contains(page.Text(), "estão no arquivo de exemplo") {
		t.Errorf("the columns: %s", page.Text())
	}
	long := who.Post(campaignupload.Path+"/columns", url.Values{"template": {manyID(0)}, "name": {strings.Repeat("&", 1000)}})
	if len(long.Body) > web.HTMLLimit || !strings.Contains(long.Body, strings.Repeat("&amp;", 1000)) {
		t.Errorf("with a long name %d bytes; want at most 28000, and the name", len(long.Body))
	}
}

// long is a template of the provider's greatest length.
type long struct{ memory }

func (l long) Template(context.Context, string) (campaign.Template, error) {
	return campaign.Template{
		Tenant: "t", Name: strings.Repeat("&", campaign.MaxTemplateName), Content: content.Content{Text: "{{nome}}" + strings.Repeat("😀", content.MaxText)},
	}, nil
}

// refusing is a dispatch service that rejects every line.
type refusing struct{ memory }

func (refusing) Check(_ context.Context, c dispatch.Call) (v dispatch.Verdict, err error) {
	for i := range c.Messages {
		v.Rejected = append(v.Rejected, dispatch.Rejection{Message: i, Rejection: e164.Rejection{Code: "not_a_mobile", Reason: "r"}})
		v.Faults = append(v.Faults, dispatch.Fault{Message: i, Field: strings.Repeat("n", 200), Code: "missing_variable"})
	}
	return v, nil
}

func TestReview_Size(t *testing.T) {
	t.Parallel()
	var file strings.Builder
	file.WriteString("phone;uid;nome\n")
	for i := range 300 {
		fmt.Fprintf(&file, "119%08d;c;%s\n119%08d;c;n\n%s%d;c;n\n", i, strings.Repeat("&", 100), i, strings.Repeat("&", 90), i)
	}
	head := fmt.Sprintf(`{"name":%q,"templateId":%q,"fileName":%q}`, strings.Repeat("&", 1000), manyID(1), strings.Repeat("<", 1000)+".csv")
	kept := memory{head + "\n" + file.String()}
	now := func() time.Time { return time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC) }
	pages := &campaignupload.Pages{Store: long{}, Blobs: kept, Dispatch: refusing{}, OptOuts: memory{}, Now: now, Upload: noUpload}
	who := webtest.New(t, campaignupload.Area(), pages, now).SignIn("t", web.RoleAdmin)
	who.Language = "pt-BR"
	page := who.Get(campaignupload.Path + "/review?upload=AAAAAAAAAAAAAAAAAAAAAA")
	if page.Status != http.StatusOK || len(page.Body) > web.HTMLLimit {
		t.Errorf("answers %d, %d bytes; want at most 28000", page.Status, len(page.Body))
	}
	for _, want := range []string{"Linhas a corrigir", "600 números inválidos ficaram de fora", "300 números repetidos", "E há mais."} {
		if !strings.Contains(page.Text(), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// noUpload is the upload of large files on pages without them.
func noUpload(*web.Page) (web.Upload, error) { return web.Upload{}, nil }
