package oauth

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const form = "application/x-www-form-urlencoded"

func post(t *testing.T, contentType, body, authorization string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, TokenPath, strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

func basic(pair string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(pair)) }

func TestReadRequest_Valid(t *testing.T) {
	t.Parallel()
	credentials := tokenRequest{GrantType: "client_credentials", ClientID: "rcs_1", ClientSecret: "s"}
	refresh := tokenRequest{GrantType: "refresh_token", RefreshToken: "r"}
	const inJSON = `{"grant_type":"client_credentials","client_id":"rcs_1","client_secret":"s"}`
	const inForm = "grant_type=client_credentials&client_id=rcs_1&client_secret=s"
	const bare = "grant_type=client_credentials"
	tests := map[string]struct {
		contentType, body, authorization string
		want                             tokenRequest
	}{
		"JSON":                         {"application/json", inJSON, "", credentials},
		"JSON with a charset":          {"application/json; charset=utf-8", inJSON, "", credentials},
		"JSON without a type":          {"", inJSON, "", credentials},
		"JSON under a form's type":     {form, "\n " + inJSON, "", credentials},
		"JSON under a broken type":     {"a/b/c;", inJSON, "", credentials},
		"JSON with unknown names":      {"application/json", `{"x":{"client_id":[1]},"audience":null,` + inJSON[1:], "", credentials},
		"JSON with null":               {"application/json", `{"scope":null,` + inJSON[1:], "", credentials},
		"JSON with escapes":            {"application/json", strings.Replace(inJSON, "rcs_1", `rcs_\u0031`, 1), "", credentials},
		"form":                         {form, inForm, "", credentials},
		"form with a charset":          {form + ";charset=UTF-8", inForm, "", credentials},
		"form without a type":          {"", inForm, "", credentials},
		"form as text":                 {"text/plain", inForm, "", credentials},
		"form with unknown names":      {form, inForm + "&resource=a&resource=b", "", credentials},
		"Basic":                        {form, bare, basic("rcs_1:s"), credentials},
		"Basic in another case":        {form, bare, "bASIC  " + strings.TrimPrefix(basic("rcs_1:s"), "Basic "), credentials},
		"Basic with encoded parts":     {form, bare, basic("rcs%5F1:%73"), credentials},
		"Basic and the same id":        {form, bare + "&client_id=rcs_1", basic("rcs_1:s"), credentials},
		"Basic and the same in a body": {"application/json", inJSON, basic("rcs_1:s"), credentials},
		"Basic with JSON":              {"application/json", `{"grant_type":"client_credentials"}`, basic("rcs_1:s"), credentials},
		"a colon in the secret": {form, bare, basic("rcs_1:a:b"), tokenRequest{
			GrantType: "client_credentials", ClientID: "rcs_1", ClientSecret: "a:b",
		}},
		"a percent sign that encodes nothing": {form, bare, basic("rcs_1:100%"), tokenRequest{
			GrantType: "client_credentials", ClientID: "rcs_1", ClientSecret: "100%",
		}},
		"another scheme is ignored": {"application/json", inJSON, "Bearer x", credentials},
		"refresh":                   {"application/json", `{"grant_type":"refresh_token","refresh_token":"r"}`, "", refresh},
		"refresh form":              {form, "grant_type=refresh_token&refresh_token=r", "", refresh},
		"scope": {form, "grant_type=refresh_token&refresh_token=r&scope=a+b", "", tokenRequest{
			GrantType: "refresh_token", RefreshToken: "r", Scope: "a b",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readRequest(post(t, test.contentType, test.body, test.authorization))
			if err != nil {
				t.Fatalf("readRequest: %v", err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadRequest_Invalid(t *testing.T) {
	t.Parallel()
	const inJSON = `{"grant_type":"client_credentials","client_id":"rcs_1","client_secret":"s"}`
	const inForm = "grant_type=client_credentials&client_id=rcs_1&client_secret=s"
	tests := map[string]struct {
		contentType, body, authorization string
		status                           int
		code                             string
	}{
		"no body":                   {"application/json", "", "", 400, "invalid_request"},
		"no body and no type":       {"", "", "", 400, "invalid_request"},
		"broken JSON":               {"application/json", inJSON[:20], "", 400, "invalid_request"},
		"more after the JSON":       {"application/json", inJSON + "{}", "", 400, "invalid_request"},
		"an array":                  {"application/json", "[" + inJSON + "]", "", 400, "invalid_request"},
		"a name twice":              {"application/json", `{"client_id":"rcs_2",` + inJSON[1:], "", 400, "invalid_request"},
		"invalid UTF-8":             {"application/json", strings.Replace(inJSON, "rcs_1", "rcs_\xff", 1), "", 400, "invalid_request"},
		"half a surrogate pair":     {"application/json", strings.Replace(inJSON, "rcs_1", `\ud800`, 1), "", 400, "invalid_request"},
		"50,000 brackets":           {"application/json", `{"x":` + strings.Repeat("[", 50_000), "", 400, "invalid_request"},
		"a number as id":            {"application/json", strings.Replace(inJSON, `"rcs_1"`, "1", 1), "", 400, "invalid_request"},
		"an array as grant":         {"application/json", strings.Replace(inJSON, `"client_credentials"`, `["client_credentials"]`, 1), "", 400, "invalid_request"},
		"null as grant":             {"application/json", strings.Replace(inJSON, `"client_credentials"`, "null", 1), "", 400, "invalid_request"},
		"names in another case":     {"application/json", strings.ToUpper(inJSON), "", 400, "invalid_request"},
		"no grant":                  {"application/json", `{"client_id":"rcs_1","client_secret":"s"}`, "", 400, "invalid_request"},
		"no id":                     {form, "grant_type=client_credentials&client_secret=s", "", 400, "invalid_request"},
		"an empty secret":           {form, "grant_type=client_credentials&client_id=rcs_1&client_secret=", "", 400, "invalid_request"},
		"no refresh token":          {form, "grant_type=refresh_token", "", 400, "invalid_request"},
		"another grant":             {form, strings.Replace(inForm, "client_credentials", "password", 1), "", 400, "unsupported_grant_type"},
		"a grant in another case":   {form, strings.Replace(inForm, "client_credentials", "Client_Credentials", 1), "", 400, "unsupported_grant_type"},
		"a parameter twice":         {form, inForm + "&client_id=rcs_1", "", 400, "invalid_request"},
		"a form with invalid UTF-8": {form, strings.Replace(inForm, "rcs_1", "%ff", 1), "", 400, "invalid_request"},
		"a form with a broken escape": {
			form, inForm + "&x=%zz", "", 400, "invalid_request",
		},
		"a body too large":        {"application/json", `{"x":"` + strings.Repeat("a", maxBody) + `",` + inJSON[1:], "", 400, "invalid_request"},
		"Basic and another id":    {form, inForm, basic("rcs_2:s"), 400, "invalid_request"},
		"Basic that is no base64": {form, inForm, "Basic %%%", 401, "invalid_client"},
		"Basic without a colon":   {form, inForm, basic("rcs_1"), 401, "invalid_client"},
		"Basic without a secret":  {form, inForm, basic("rcs_1:"), 401, "invalid_client"},
		"Basic without anything":  {form, inForm, "Basic", 401, "invalid_client"},
		"Basic with invalid UTF-8": {
			form, "grant_type=client_credentials", basic("rcs_1:\xff"), 401, "invalid_client",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := readRequest(post(t, test.contentType, test.body, test.authorization))
			var f *failure
			if !errors.As(err, &f) {
				t.Fatalf("got %+v and error %v, want a failure", got, err)
			}
			if f.status != test.status || f.Code != test.code {
				t.Errorf("got %d %s, want %d %s", f.status, f.Code, test.status, test.code)
			}
		})
	}
}

// A compressed body is named. The header alone does not matter, as in the other calls, nor does a byte order mark.
func TestReadRequest_Encoded(t *testing.T) {
	t.Parallel()
	const inJSON = `{"grant_type":"client_credentials","client_id":"rcs_1","client_secret":"s"}`
	const inForm = "grant_type=client_credentials&client_id=rcs_1&client_secret=s"
	for name, test := range map[string]struct {
		contentType, body, encoding, refused string
	}{
		"compressed JSON":   {"application/json", "\x1f\x8b\x08", "gzip", "without compression"},
		"a compressed form": {form, "\x1f\x8b\x08", "gzip", "without compression"},
		"no header":         {"application/json", "\x1f\x8b\x08", "", "JSON"},
		"JSON":              {"application/json", inJSON, "utf-8", ""},
		"a form":            {form, inForm, "utf-8", ""},
		"JSON with a mark":  {"application/json", "\ufeff" + inJSON, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := post(t, test.contentType, test.body, "")
			r.Header.Set("Content-Encoding", test.encoding)
			_, err := readRequest(r)
			var f *failure
			if errors.As(err, &f) != (test.refused != "") || f != nil && !strings.Contains(f.Description, test.refused) {
				t.Errorf("refused with %+v, want %q", f, test.refused)
			}
		})
	}
}

func TestNarrow(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		granted, asked, want string
		refused              bool
	}{
		"nothing asked":          {"a b", "", "a b", false},
		"white space asked":      {"a b", "  ", "a b", false},
		"all":                    {"a b", "a b", "a b", false},
		"a part":                 {"a b", "b", "b", false},
		"more":                   {"a b", "a c", "", true},
		"something else":         {"a b", "c", "", true},
		"anything, of nothing":   {"", "a", "", true},
		"nothing, of nothing":    {"", "", "", false},
		"in another case":        {"a b", "A", "", true},
		"the beginning of a one": {"abc", "ab", "", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := narrow(test.granted, test.asked)
			if got != test.want || (err != nil) != test.refused {
				t.Errorf("got %q and error %v, want %q", got, err, test.want)
			}
		})
	}
}
