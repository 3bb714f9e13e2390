package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/media/mediafile"
)

const templatesPath = "/api/v1/external/templates"

// template is an answer about a template.
type template struct {
	reply

	ID      string
	Version int
}

// saveTemplate creates a template, or a version of one, by the API.
func (c *client) saveTemplate(path, body string) template {
	c.t.Helper()
	got := template{reply: c.do(http.MethodPost, templatesPath+path, []byte(body), "Authorization", "Bearer "+c.token(), "Content-Type", "application/json")}
	if got.status != http.StatusCreated {
		c.t.Fatalf("saving a template answered %d %s", got.status, got.body)
	}
	must(c.t, json.Unmarshal(got.body, &got))
	return got
}

// A template created and changed by the API is sent as it is at the time of the call.
func TestTemplates_Dispatch(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().ownCredential(account.Scopes...)
	made := c.saveTemplate("", `{"name":"Pedido","text":"Olá {{nome}}, pedido {{pedido}}",
		"suggestions":[{"kind":"openUrl","text":"Ver","url":"https://loja.example/?p={{pedido}}"}]}`)
	first, second := messages(1), messages(1)
	for version, all := range [][]fields{first, second} {
		call := c.call(all)
		call["templateId"] = made.ID
		if got := c.dispatch(call); got.status != http.StatusAccepted || got.Accepted != 1 {
			t.Fatalf("version %d: answered %d %s", version+1, got.status, got.body)
		}
		if version == 0 {
			c.saveTemplate("/"+made.ID+"/versions", `{"version":1,"name":"Pedido","text":"Oi {{nome}}"}`)
		}
	}
	c.eventually(3*time.Minute, "sent", func() bool { return c.sentOnce(append(first, second...)) })
	for want, all := range map[string][]fields{"Olá Ana, pedido 0": first, "Oi Ana": second} {
		if got := c.atProvider(all)[all[0]["phone"].(string)][0].Text; got != want {
			t.Errorf("text %q, want %q", got, want)
		}
	}
}

// A token has the scopes of its credential, or fewer by request. A route requires its own.
func TestTemplates_Scopes(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	for granted, want := range map[string]struct{ asked, scope, dispatch, list, error string }{
		"":                             {"", "campaigns:dispatch", "200", "403", ""},
		"templates":                    {"", "templates", "403", "200", ""},
		"templates campaigns:dispatch": {"", "campaigns:dispatch templates", "200", "200", ""},
		"campaigns:dispatch templates": {"templates", "templates", "403", "200", ""},
		"campaigns:dispatch":           {"templates", "", "", "", "invalid_scope"},
	} {
		own := c.ownCredential(strings.Fields(granted)...)
		got := own.requestToken(url.Values{
			"grant_type": {"client_credentials"}, "client_id": {own.env["CLIENT_ID"]}, "client_secret": {own.env["CLIENT_SECRET"]}, "scope": {want.asked},
		})
		if got.Error != want.error {
			t.Errorf("%q asks for %q: %d %s", granted, want.asked, got.status, got.body)
		}
		if got.Error != "" {
			continue
		}
		var answer struct{ Scope string }
		must(t, json.Unmarshal(got.body, &answer))
		if answer.Scope != want.scope {
			t.Errorf("%q asks for %q: scope %q, want %q", granted, want.asked, answer.Scope, want.scope)
		}
		call, err := json.Marshal(c.call(messages(1)))
		must(t, err)
		bearer := []string{"Authorization", "Bearer " + got.AccessToken, "Content-Type", "application/json"}
		checkScope(t, "campaigns:dispatch", own.do(http.MethodPost, dispatchPath+"?dryRun=true", call, bearer...), want.dispatch)
		checkScope(t, "templates", own.do(http.MethodGet, templatesPath, nil, bearer...), want.list)
	}
}

// checkScope checks the status of an answer, and its challenge if the token lacks the scope.
func checkScope(t *testing.T, scope string, got reply, status string) {
	t.Helper()
	if want := map[string]int{"200": http.StatusOK, "403": http.StatusForbidden}[status]; got.status != want {
		t.Errorf("a route of %s answers %d %s, want %s", scope, got.status, got.body, status)
	}
	challenge := `error="insufficient_scope", scope="` + scope + `"`
	if status == "403" && (got.Code != "insufficient_scope" || !strings.Contains(got.header.Get("WWW-Authenticate"), challenge)) {
		t.Errorf("a route of %s answers %s with %q", scope, got.Code, got.header.Get("WWW-Authenticate"))
	}
}

// Unknown methods and paths below the templates are answered as elsewhere.
func TestTemplates_UnknownRoutes(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for call, want := range map[string]int{
		"DELETE ": http.StatusMethodNotAllowed, "GET /preview": http.StatusMethodNotAllowed,
		"PUT /0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10": http.StatusMethodNotAllowed, "GET /a/b/c/d": http.StatusNotFound, "POST /": http.StatusNotFound,
	} {
		method, path, _ := strings.Cut(call, " ")
		if got := c.do(method, templatesPath+path, nil); got.status != want {
			t.Errorf("%s answers %d, want %d", call, got.status, want)
		}
	}
}

// A template of the API can show an uploaded file of its tenant, and none that is being deleted.
func TestTemplates_UploadedFile(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant().ownCredential(account.Scopes...)
	var picture bytes.Buffer
	must(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))))
	tenant := c.env["TENANT"]
	f := mediafile.File{Tenant: tenant, Hash: mediafile.Hash(tenant, picture.String()), Name: "a.png", Type: "image/png", CreatedAt: time.Now()}
	must(t, s3.New(c.env.AWS(), c.env["MEDIA_BUCKET"], true).Put(t.Context(), f.Key(), picture.Bytes(), f.Type))
	_, err := c.store().AddMedia(t.Context(), f)
	must(t, err)
	body := fmt.Sprintf(`{"name":"Foto","card":{"title":"Foto","media":{"url":%q,"height":"short"}}}`, f.Link(c.env["MEDIA_URL"]))
	c.saveTemplate("", body)

	must(t, c.store().MarkMedia(t.Context(), f, true))

	got := c.do(http.MethodPost, templatesPath, []byte(body), "Authorization", "Bearer "+c.token(), "Content-Type", "application/json")
	if got.status != http.StatusBadRequest {
		t.Errorf("with a file that is being deleted: answered %d %s", got.status, got.body)
	}
}
