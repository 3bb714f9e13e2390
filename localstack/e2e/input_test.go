package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Invalid input whose result may depend on the gateway. The handler's tests have the rest.
func TestDispatch_InvalidBody(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"malformed JSON":         {`{"campaignId":`, 400, "malformed_json"},
		"no body":                {"", 400, "malformed_json"},
		"a lone surrogate":       {`{"name":"\ud800"}`, 400, "invalid_utf8"},
		"50,000 nested brackets": {strings.Repeat("[", 50_000), 400, "too_deep"},
		"5 MB":                   {strings.Repeat(" ", 5<<20), 413, "body_too_large"},
		"wrong types everywhere": {`{"campaignId":1,"name":[],"templateId":{},"messages":"x","batch":true,"schedule":2}`, 400, "invalid_type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newClient(t).post([]byte(test.body))
			if got.status != test.status || got.Code != test.code {
				t.Errorf("status %d: %.300s, want %d %s", got.status, got.body, test.status, test.code)
			}
		})
	}
}

// The gateway replaces bytes that are not UTF-8 by U+FFFD. No person gets the text that is left: the call is refused at
// the value, and the escape, which no gateway writes, is accepted.
func TestDispatch_LostLetters(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for name, test := range map[string]struct{ value, code string }{
		"Latin-1": {"Jos\xe9", "invalid_utf8"}, "U+FFFD": {"Jos\ufffd", "invalid_utf8"}, "the escape": {`Jos\ufffd`, ""}, "UTF-8": {"José", ""},
	} {
		call := c.call(messages(1))
		call["messages"].([]fields)[0]["vars"] = fields{"nome": "VALUE", "pedido": "1"}
		body, err := json.Marshal(call)
		if err != nil {
			t.Fatal(err)
		}
		got := c.post([]byte(strings.ReplaceAll(string(body), "VALUE", test.value)))
		switch {
		case test.code == "" && got.status != http.StatusAccepted:
			t.Errorf("%s: status %d: %.300s, want 202", name, got.status, got.body)
		case test.code != "" && (got.status != http.StatusBadRequest || got.Code != test.code || !strings.Contains(string(got.body), `"/messages/0/vars/nome"`)):
			t.Errorf("%s: status %d: %.300s, want 400 %s", name, got.status, got.body, test.code)
		}
	}
}

// A byte order mark before JSON is ignored.
func TestDispatch_ByteOrderMark(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	body, err := json.Marshal(c.call(messages(1)))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.post(append([]byte("\ufeff"), body...)); got.status != http.StatusAccepted {
		t.Errorf("a byte order mark: status %d: %.300s", got.status, got.body)
	}
}

func TestAPI_UnknownPathAndMethod(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	if got := c.do(http.MethodGet, "/api/v1/nothing", nil); got.status != http.StatusNotFound || got.Code != "not_found" {
		t.Errorf("unknown path: status %d: %s", got.status, got.body)
	}
	got := c.do(http.MethodGet, dispatchPath, nil)
	if got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != http.MethodPost {
		t.Errorf("wrong method: status %d, Allow %q", got.status, got.header.Get("Allow"))
	}
	if ct := got.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("Content-Type %q", ct)
	}
}

func TestDispatch_Tokens(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	call, err := json.Marshal(c.call(messages(1)))
	if err != nil {
		t.Fatal(err)
	}
	good := c.token()
	parts := strings.Split(good, ".")
	for name, test := range map[string]struct {
		header string
		status int
		code   string
	}{
		"none":       {"", 401, "missing_token"},
		"basic":      {"Basic Zm9vOmJhcg==", 401, "missing_token"},
		"nonsense":   {"Bearer x", 401, "invalid_token"},
		"edited":     {"Bearer " + parts[0] + "." + parts[1][:len(parts[1])-2] + "AA." + parts[2], 401, "invalid_token"},
		"unsigned":   {"Bearer " + parts[0] + "." + parts[1] + ".", 401, "invalid_token"},
		"alg none":   {"Bearer eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0." + parts[1] + ".", 401, "invalid_token"},
		"expired":    {"Bearer " + c.env["EXPIRED_ACCESS_TOKEN"], 401, "invalid_token"},
		"no scope":   {"Bearer " + c.env["NO_SCOPE_ACCESS_TOKEN"], 403, "insufficient_scope"},
		"lower case": {"bearer " + good, 202, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := newClient(t).do(http.MethodPost, dispatchPath, call, "Authorization", test.header, "Content-Type", "application/json")
			if got.status != test.status || got.Code != test.code {
				t.Errorf("status %d: %.300s, want %d %s", got.status, got.body, test.status, test.code)
			}
			if test.status == http.StatusUnauthorized && !strings.HasPrefix(got.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("WWW-Authenticate %q", got.header.Get("WWW-Authenticate"))
			}
		})
	}
}

// Every route of a campaign rejects invalid tokens and hides the campaign from other
// tenants.
func TestCampaignRoutes_Tokens(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	call := c.call(messages(1))
	call["batch"], call["schedule"] = "later", time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if got := c.dispatch(call); got.status != http.StatusAccepted {
		t.Fatalf("dispatch: status %d: %s", got.status, got.body)
	}
	body, err := json.Marshal(fields{"batch": "later", "schedule": time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)})
	if err != nil {
		t.Fatal(err)
	}
	stranger := newClient(t).ownTenant().token()
	for route, body := range map[string][]byte{
		"GET ": nil, "GET /messages": nil, "GET /batches/later/events": nil, "POST /cancel?revoke=true": nil, "POST /pause": nil, "POST /resume": nil, "POST /reschedule": body,
	} {
		method, path, _ := strings.Cut(route, " ")
		for header, want := range map[string]string{
			"":         "401 missing_token",
			"Bearer x": "401 invalid_token",
			"Bearer " + c.env["EXPIRED_ACCESS_TOKEN"]:  "401 invalid_token",
			"Bearer " + c.env["NO_SCOPE_ACCESS_TOKEN"]: "403 insufficient_scope",
			"Bearer " + stranger:                       "404 campaign_not_found",
		} {
			got := c.do(method, campaignPath(call)+path, body, "Authorization", header, "Content-Type", "application/json")
			if is := fmt.Sprint(got.status, " ", got.Code); is != want {
				t.Errorf("%s: %s, want %s", route, is, want)
			}
		}
	}
	if r := c.read(call); r.Status != "scheduled" {
		t.Errorf("the campaign is %s, want scheduled", r.Status)
	}
}

func TestToken_RevokedAndExpired(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	for name, body := range map[string]map[string]string{
		"revoked credential":    {"grant_type": "client_credentials", "client_id": c.env["REVOKED_CLIENT_ID"], "client_secret": c.env["REVOKED_CLIENT_SECRET"]},
		"expired refresh token": {"grant_type": "refresh_token", "refresh_token": c.env["EXPIRED_REFRESH_TOKEN"]},
	} {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		got := c.do(http.MethodPost, "/api/v1/oauth/token", encoded, "Content-Type", "application/json")
		if got.status != http.StatusUnauthorized || got.Error == "" {
			t.Errorf("%s: status %d: %s", name, got.status, got.body)
		}
	}
}

func TestDispatch_TemplateOfAnotherTenant(t *testing.T) {
	t.Parallel()
	c := newClient(t)
	call := c.call(messages(1))
	call["templateId"] = c.env["OTHER_TEMPLATE_ID"]
	if got := c.dispatch(call); got.status != http.StatusForbidden || got.Code != "template_of_another_tenant" {
		t.Errorf("dispatch: status %d: %s", got.status, got.body)
	}
}
