package templates_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/openapi/openapitest"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/templates"
)

// fake is a store whose tenant has one template and, if full, the maximum of templates.
type fake struct {
	templates.Store

	full    bool
	current campaign.Template
	unfit   error // returned for the access token
	saved   int
	// unusable are the media that the provider could not fetch.
	unusable []content.Flaw
}

func (f *fake) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return accesstoken.Claims{Tenant: "acme", ClientID: "rcs_1"}, f.unfit
}

func (f *fake) CreateTemplate(_ context.Context, t campaign.Template, _ int, _ account.AuditEntry) (campaign.Template, bool, error) {
	f.saved++
	t.Version = 1
	return t, f.full, nil
}

func (f *fake) Flaws(context.Context, content.Content, content.Content) []content.Flaw {
	return f.unusable
}

func (f *fake) Template(context.Context, string) (campaign.Template, error) {
	if f.current.Tenant == "" {
		return campaign.Template{}, campaign.ErrNotFound
	}
	return f.current, nil
}

func (f *fake) AddTemplateVersion(_ context.Context, t campaign.Template, _ account.AuditEntry) (campaign.Template, error) {
	f.saved++
	return t, nil
}

func (f *fake) call(t *testing.T, method, path, body string) reply {
	t.Helper()
	mux := http.NewServeMux()
	(&templates.Service{Tokens: f, Media: f, Store: f, Now: func() time.Time { return noon }}).Register(mux)
	server := httptest.NewServer(mux)
	defer server.Close()
	d := &tenant{t: t, server: server, client: &http.Client{Transport: openapitest.New(t, http.DefaultTransport)}}
	return d.send(method, path, body)
}

func named(content string) string { return `{"name":"n",` + content + `}` }

func repeated(what string, n int) string { return strings.TrimSuffix(strings.Repeat(what+",", n), ",") }

const card = `{"title":"a"}`

// suggestion returns a template with a suggestion below a text.
func suggestion(fields string) string {
	return named(`"text":"a","suggestions":[{"kind":"reply","text":"a"},{` + fields + `}]`)
}

// variables returns n variables.
func variables(n int) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "{{v%d}}", i)
	}
	return text.String()
}

var refusals = map[string]struct {
	body string
	want []violation
}{
	"no name":                 {`{"text":"a"}`, []violation{{"/name", "blank"}}},
	"name too long":           {`{"name":"` + strings.Repeat("é", 201) + `","text":"a"}`, []violation{{"/name", "too_long"}}},
	"name with a line break":  {`{"name":"a\nb","text":"a"}`, []violation{{"/name", "control_character"}}},
	"unknown traffic":         {named(`"text":"a","traffic":"spam"`), []violation{{"/traffic", "unknown_value"}}},
	"no content":              {`{"name":"n"}`, []violation{{"", "blank"}}},
	"two contents":            {named(`"text":"a","card":` + card), []violation{{"", "several_contents"}}},
	"text too long":           {named(`"text":"` + strings.Repeat("é", 3073) + `"`), []violation{{"/text", "too_long"}}},
	"text with long names":    {named(`"text":"{{` + strings.Repeat("a", 6141) + `}}"`), []violation{{"/text", "too_long_with_variables"}}},
	"braces":                  {named(`"text":"{{a b}}"`), []violation{{"/text", "invalid_braces"}}},
	"NUL":                     {named(`"text":"a\u0000"`), []violation{{"/text", "control_character"}}},
	"51 variables":            {named(`"text":"` + variables(51) + `"`), []violation{{"", "too_many"}}},
	"51 variables of a card":  {named(`"card":{"title":"` + variables(26) + `"},"suggestions":[{"kind":"openUrl","text":"a","url":"https://a.example/` + strings.ReplaceAll(variables(25), "v", "w") + `"}]`), []violation{{"", "too_many"}}},
	"empty card":              {named(`"card":{}`), []violation{{"/card", "blank"}}},
	"title too long":          {named(`"card":{"title":"` + strings.Repeat("a", 201) + `"}`), []violation{{"/card/title", "too_long"}}},
	"description too long":    {named(`"card":{"description":"` + strings.Repeat("a", 2001) + `"}`), []violation{{"/card/description", "too_long"}}},
	"media without URL":       {named(`"card":{"title":"a","media":{"url":""}}`), []violation{{"/card/media/url", "blank"}}},
	"media not https":         {named(`"card":{"title":"a","media":{"url":"http://a.example"}}`), []violation{{"/card/media/url", "not_https"}}},
	"thumbnail not https":     {named(`"card":{"title":"a","media":{"url":"https://a.example","thumbnailUrl":"x"}}`), []violation{{"/card/media/thumbnailUrl", "not_https"}}},
	"URL too long":            {named(`"card":{"title":"a","media":{"url":"https://a.example/` + strings.Repeat("a", 2048) + `"}}`), []violation{{"/card/media/url", "too_long"}}},
	"unknown height":          {named(`"card":{"title":"a","media":{"url":"https://a.example","height":"huge"}}`), []violation{{"/card/media/height", "unknown_value"}}},
	"5 suggestions of a card": {named(`"card":{"title":"a","suggestions":[` + repeated(`{"kind":"reply","text":"a"}`, 5) + `]}`), []violation{{"/card/suggestions", "too_many"}}},
	"12 suggestions":          {named(`"text":"a","suggestions":[` + repeated(`{"kind":"reply","text":"a"}`, 12) + `]`), []violation{{"/suggestions", "too_many"}}},
	"suggestions of a card and of its message": {
		named(`"card":{"title":"a","suggestions":[{"kind":"reply","text":" "}]},"suggestions":[{"kind":"reply","text":"a"},{"kind":"reply","text":"` + strings.Repeat("a", 26) + `"}]`),
		[]violation{{"/card/suggestions/0/text", "blank"}, {"/suggestions/1/text", "too_long"}},
	},
	"one card":           {named(`"carousel":{"cards":[` + card + `]}`), []violation{{"/carousel/cards", "too_few"}}},
	"11 cards":           {named(`"carousel":{"cards":[` + repeated(card, 11) + `]}`), []violation{{"/carousel/cards", "too_many"}}},
	"unknown width":      {named(`"carousel":{"width":"huge","cards":[` + repeated(card, 2) + `]}`), []violation{{"/carousel/width", "unknown_value"}}},
	"half a location":    {suggestion(`"kind":"showLocation","text":"a","location":{"latitude":3}`), []violation{{"/suggestions/1/location/longitude", "missing_field"}}},
	"mixed heights":      {named(`"carousel":{"cards":[{"media":{"url":"https://a.example","height":"short"}},{"media":{"url":"https://a.example","height":"tall"}}]}`), []violation{{"/carousel/cards", "mixed_heights"}}},
	"second card":        {named(`"carousel":{"cards":[` + card + `,{"title":"` + strings.Repeat("a", 201) + `","suggestions":[{"kind":"openUrl","text":"a","url":"x"}]}]}`), []violation{{"/carousel/cards/1/title", "too_long"}, {"/carousel/cards/1/suggestions/0/url", "not_https"}}},
	"file without URL":   {named(`"file":{"url":" "}`), []violation{{"/file/url", "blank"}, {"/file/url", "not_https"}}},
	"thumbnail of file":  {named(`"file":{"url":"https://a.example","thumbnailUrl":"x"},"suggestions":[{"kind":"openUrl","text":"a","url":"x"}]`), []violation{{"/file/thumbnailUrl", "not_https"}, {"/suggestions/0/url", "not_https"}}},
	"unknown kind":       {suggestion(`"kind":"call","text":"a"`), []violation{{"/suggestions/1/kind", "unknown_value"}}},
	"label too long":     {suggestion(`"kind":"reply","text":"` + strings.Repeat("a", 26) + `"`), []violation{{"/suggestions/1/text", "too_long"}}},
	"no URL":             {suggestion(`"kind":"openUrl","text":"a"`), []violation{{"/suggestions/1/url", "blank"}}},
	"unknown webview":    {suggestion(`"kind":"openUrl","text":"a","url":"https://a.example","webview":"wide"`), []violation{{"/suggestions/1/webview", "unknown_value"}}},
	"no phone":           {suggestion(`"kind":"dial","text":"a"`), []violation{{"/suggestions/1/phone", "blank"}}},
	"invalid phone":      {suggestion(`"kind":"dial","text":"a","phone":"11999"`), []violation{{"/suggestions/1/phone", "invalid_value"}}},
	"no location":        {suggestion(`"kind":"showLocation","text":"a"`), []violation{{"/suggestions/1/location", "blank"}}},
	"latitude too large": {suggestion(`"kind":"showLocation","text":"a","location":{"latitude":91,"longitude":0}`), []violation{{"/suggestions/1/location", "invalid_value"}}},
	"event without title": {
		suggestion(`"kind":"calendarEvent","text":"a","event":{"title":"","start":"2037-12-24T18:00:00Z","end":"2037-12-24T19:00:00Z"}`),
		[]violation{{"/suggestions/1/event/title", "blank"}},
	},
	"event that ends first": {
		suggestion(`"kind":"calendarEvent","text":"a","event":{"title":"a","start":"2037-12-24T18:00:00Z","end":"2037-12-24T18:00:00Z"}`),
		[]violation{{"/suggestions/1/event/end", "invalid_value"}},
	},
	"event that ends in the year 10000, in UTC": {
		suggestion(`"kind":"calendarEvent","text":"a","event":{"title":"a","start":"2037-12-24T18:00:00Z","end":"9999-12-31T23:30:00-03:00"}`),
		[]violation{{"/suggestions/1/event/end", "invalid_value"}},
	},
	"event without offset": {
		suggestion(`"kind":"calendarEvent","text":"a","event":{"title":"a","start":"2037-12-24T18:00:00","end":5}`),
		[]violation{{"/suggestions/1/event/end", "invalid_type"}, {"/suggestions/1/event/start", "invalid_value"}},
	},
	"content too large": {named(`"carousel":{"cards":[` + repeated(`{"description":"`+strings.Repeat("<", 2000)+`","suggestions":[`+repeated(`{"kind":"openUrl","text":"a","url":"https://a.example/`+strings.Repeat("&", 2000)+`"}`, 4)+`]}`, 10) + `]}`), []violation{{"", "too_long"}}},
	"content too large with its variables": {
		named(`"carousel":{"cards":[` + repeated(`{"description":"`+strings.Repeat("<", 1900)+`{{`+strings.Repeat("a", 1900)+`}}","suggestions":[`+
			repeated(`{"kind":"openUrl","text":"a","url":"https://a.example/`+strings.Repeat("<", 400)+`{{`+strings.Repeat("a", 3500)+`}}"}`, 4)+`]}`, 10) + `]}`),
		[]violation{{"", "too_long"}},
	},

	"a host of a value":   {suggestion(`"kind":"openUrl","text":"a","url":"https://{{+a}}.example/"`), []violation{{"/suggestions/1/url", "variable_in_host"}}},
	"a URL after a value": {suggestion(`"kind":"openUrl","text":"a","url":"{{a}}?b=c"`), []violation{{"/suggestions/1/url", "variable_in_host"}}},
	"a plus in a text":    {named(`"text":"Olá {{+nome}}"`), []violation{{"/text", "plus_outside_url"}}},
	"description of media too long": {
		named(`"card":{"title":"a","media":{"url":"https://a.example/a.png","contentDescription":"` + strings.Repeat("a", 201) + `"}}`),
		[]violation{{"/card/media/contentDescription", "too_long"}},
	},

	"no JSON":               {`{`, []violation{{"", "malformed_json"}}},
	"a name twice":          {`{"name":"a","name":"b"}`, []violation{{"", "duplicate_name"}}},
	"half a surrogate pair": {`{"name":"\ud800"}`, []violation{{"/name", "invalid_utf8"}}},
	"too deep":              {strings.Repeat("[", 65) + strings.Repeat("]", 65), []violation{{"", "too_deep"}}},
	"null":                  {`null`, []violation{{"", "invalid_type"}}},
	"an array":              {`[]`, []violation{{"", "invalid_type"}}},
	"types": {
		`{"name":1,"card":{"title":null,"horizontal":"yes"},"suggestions":["a",null,{"kind":2}],"version":1.5,"text":["a"]}`,
		[]violation{
			{"/card/horizontal", "invalid_type"},
			{"/name", "invalid_type"},
			{"/suggestions/0", "invalid_type"},
			{"/suggestions/1", "invalid_type"},
			{"/suggestions/2/kind", "invalid_type"},
			{"/text", "invalid_type"},
			{"/version", "invalid_type"},
		},
	},
	"number out of range": {suggestion(`"kind":"showLocation","text":"a","location":{"latitude":1e999,"longitude":0}`), []violation{{"", "invalid_type"}}},
	"unknown fields": {
		`{"name":"n","text":"a","Text":"b","card":{"media":{"url":"https://a.example","Url":"b"}},"a/b":1}`,
		[]violation{{"/Text", "unknown_field"}, {"/a~1b", "unknown_field"}, {"/card/media/Url", "unknown_field"}},
	},
}

// Every refusal names the places of the violations, and nothing is saved.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fake{current: campaign.Template{Tenant: "acme", Version: 1}}
			for _, path := range []string{"", "/0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10/versions"} {
				got := f.call(t, http.MethodPost, path, c.body)
				got.want(t, http.StatusBadRequest, c.want[0].Code)
				if diff := cmp.Diff(c.want, got.Errors); diff != "" {
					t.Error(diff)
				}
			}
			if f.saved > 0 {
				t.Error("a refused template was saved")
			}
		})
	}
}

// A refusal says which values its field can have.
func TestRefusals_Detail(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"unknown traffic":       "must be one of: promotion, transaction, authentication, serviceRequest",
		"unknown height":        "must be one of: short, medium, tall",
		"unknown width":         "must be one of: small, medium",
		"unknown kind":          "must be one of: reply, openUrl, dial, showLocation, requestLocation, calendarEvent",
		"unknown webview":       "must be one of: full, half, tall",
		"empty card":            "must have a title, a description or media",
		"no location":           "must have latitude and longitude, or query",
		"invalid phone":         "must be + and 7 to 15 digits, such as +551133334444",
		"latitude too large":    "latitude must be from -90 to 90, longitude from -180 to 180",
		"event that ends first": "must be later than start, and start is required",
	} {
		var got struct{ Detail string }
		answer := (&fake{}).call(t, http.MethodPost, "", refusals[name].body)
		if err := json.Unmarshal(answer.body, &got); err != nil || got.Detail != want {
			t.Errorf("%s: detail %q, %v, want %q", name, got.Detail, err, want)
		}
	}
}

// At each limit a template is saved.
func TestAtTheLimits(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"name":        `{"name":"` + strings.Repeat("é", 200) + `","text":"a"}`,
		"text":        named(`"text":"` + strings.Repeat("é", 3072) + `"`),
		"variables":   named(`"text":"` + variables(50) + `"`),
		"card":        named(`"card":{"title":"` + strings.Repeat("a", 200) + `","description":"` + strings.Repeat("a", 2000) + `","suggestions":[` + repeated(`{"kind":"reply","text":"`+strings.Repeat("a", 25)+`"}`, 4) + `]}`),
		"cards":       named(`"carousel":{"cards":[` + repeated(card, 10) + `]}`),
		"suggestions": named(`"text":"a","suggestions":[` + repeated(`{"kind":"requestLocation","text":"a"}`, 11) + `]`),
		"an answer":   `{"id":"a","version":3,"variables":["x"],"createdAt":"2037-11-21T12:00:00Z","name":"n","traffic":"promotion","text":"a"}`,
	} {
		f := &fake{}
		f.call(t, http.MethodPost, "", body).want(t, http.StatusCreated, "")
		if f.saved != 1 {
			t.Errorf("%s: saved %d templates", name, f.saved)
		}
	}
}

func TestLimits_Conflicts(t *testing.T) {
	t.Parallel()
	full := &fake{full: true}
	full.call(t, http.MethodPost, "", named(`"text":"a"`)).want(t, http.StatusConflict, "too_many_templates")
	const versions = "/0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10/versions"
	f := &fake{current: campaign.Template{Tenant: "acme", Version: campaign.MaxTemplateVersions - 1}}
	f.call(t, http.MethodPost, versions, named(`"version":999,"text":"a"`)).want(t, http.StatusCreated, "")
	f.current.Version = campaign.MaxTemplateVersions
	f.call(t, http.MethodPost, versions, named(`"version":1000,"text":"a"`)).want(t, http.StatusConflict, "too_many_versions")
}

func TestBody_TooLarge(t *testing.T) {
	t.Parallel()
	f := &fake{current: campaign.Template{Tenant: "acme", Version: 1}}
	padded := func(size int) string {
		body := named(`"version":1,"text":"a"`)
		return body + strings.Repeat(" ", size-len(body))
	}
	for _, path := range []string{"", "/0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10/versions"} {
		f.call(t, http.MethodPost, path, padded(256<<10)).want(t, http.StatusCreated, "")
		f.call(t, http.MethodPost, path, padded(256<<10+1)).want(t, http.StatusRequestEntityTooLarge, "body_too_large")
	}
	f.call(t, http.MethodPost, "/preview", padded(256<<10+1)).want(t, http.StatusRequestEntityTooLarge, "body_too_large")
}

// A token that is refused gets no further.
func TestToken_Refused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status int
		code   string
	}{{http.StatusUnauthorized, "invalid_token"}, {http.StatusForbidden, "insufficient_scope"}} {
		f := &fake{unfit: &httpapi.Problem{Status: c.status, Code: c.code, Detail: "d", Header: http.Header{"Www-Authenticate": {"Bearer"}}}}
		const id = "/0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"
		for _, call := range []string{"GET ", "POST ", "GET " + id, "GET " + id + "/versions/1", "POST " + id + "/versions", "POST " + id + "/preview", "POST /preview"} {
			method, path, _ := strings.Cut(call, " ")
			f.call(t, method, path, "{").want(t, c.status, c.code)
		}
	}
}

func FuzzCreate(f *testing.F) {
	for _, c := range refusals {
		if len(c.body) < 1000 {
			f.Add(c.body)
		}
	}
	f.Add(text)
	f.Add(carousel)
	mux := http.NewServeMux()
	(&templates.Service{Tokens: &fake{}, Media: &fake{}, Store: &fake{}, Now: func() time.Time { return noon }}).Register(mux)
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://a.example"+templates.Path, strings.NewReader(body))
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError {
			t.Errorf("status %d: %s", w.Code, w.Body)
		}
	})
}

// Media that the provider could not fetch are refused at their places.
func TestRefusals_UnusableMedia(t *testing.T) {
	t.Parallel()
	flaw := func(card int, part content.Part) content.Flaw {
		return content.Flaw{Place: content.Place{Card: card}, Part: part, Code: content.FlawUnusable, Why: "status", Detail: "the URL answers without a file"}
	}
	const media = `{"media":{"url":"https://a.example/a.png","thumbnailUrl":"https://a.example/b.png"}}`
	for name, test := range map[string]struct {
		body string
		flaw content.Flaw
		want string
	}{
		"file":           {named(`"file":{"url":"https://a.example/a.png"}`), flaw(0, content.PartFile), "/file/url"},
		"card":           {named(`"card":` + media), flaw(0, content.PartMedia), "/card/media/url"},
		"card thumbnail": {named(`"card":` + media), flaw(0, content.PartThumbnail), "/card/media/thumbnailUrl"},
		"second card":    {named(`"carousel":{"cards":[` + media + "," + media + `]}`), flaw(2, content.PartMedia), "/carousel/cards/1/media/url"},
	} {
		f := &fake{unusable: []content.Flaw{test.flaw}}
		got := f.call(t, http.MethodPost, "", test.body)
		want := []violation{{test.want, "unusable_media"}}
		if got.status != http.StatusBadRequest || !cmp.Equal(want, got.Errors) || f.saved != 0 {
			t.Errorf("%s: %d %s, %d saved", name, got.status, got.body, f.saved)
		}
	}
}
