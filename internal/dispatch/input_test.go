package dispatch_test

import (
	"net/http"
	"strings"
	"testing"
)

// Every body is accepted or refused with a clear 4xx.
func TestBrokenBodies(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.body(nil)
	for name, test := range map[string]struct {
		body   string
		status int
		code   string
	}{
		"empty":                   {"", 400, "malformed_json"},
		"cut":                     {good[:len(good)/2], 400, "malformed_json"},
		"trailing data":           {good + "{}", 400, "malformed_json"},
		"two byte order marks":    {"\ufeff\ufeff" + good, 400, "malformed_json"},
		"null":                    {"null", 400, "invalid_type"},
		"an array":                {"[" + good + "]", 400, "invalid_type"},
		"a number":                {"1", 400, "invalid_type"},
		"a name twice":            {`{"name":"a","name":"b"}`, 400, "duplicate_name"},
		"a name twice, escaped":   {`{"name":"a","n\u0061me":"b"}`, 400, "duplicate_name"},
		"a name twice, deep":      {`{"x":[{"a":1,"a":2}]}`, 400, "duplicate_name"},
		"invalid UTF-8":           {"{\"name\":\"\xff\"}", 400, "invalid_utf8"},
		"an overlong encoding":    {"{\"name\":\"\xc0\xaf\"}", 400, "invalid_utf8"},
		"a lone surrogate":        {`{"name":"\ud800"}`, 400, "invalid_utf8"},
		"a low surrogate":         {`{"name":"\udc00\ud800"}`, 400, "invalid_utf8"},
		"a control character":     {"{\"name\":\"a\nb\"}", 400, "malformed_json"},
		"50,000 nested brackets":  {strings.Repeat("[", 50_000), 400, "too_deep"},
		"nested in a member":      {`{"x":` + strings.Repeat(`{"a":`, 50_000), 400, "too_deep"},
		"names in another case":   {strings.ReplaceAll(good, "campaignId", "CampaignID"), 400, "missing_field"},
		"5 MB":                    {`{"name":"` + strings.Repeat("a", 5<<20) + `"}`, 413, "body_too_large"},
		"12 MB":                   {strings.Repeat(" ", 12<<20), 413, "body_too_large"},
		"a comment":               {"/* */" + good, 400, "malformed_json"},
		"single quotes":           {"{'name':'a'}", 400, "malformed_json"},
		"not a number":            {`{"x":NaN}`, 400, "malformed_json"},
		"a number that starts 0":  {`{"x":01}`, 400, "malformed_json"},
		"a comma too many":        {`{"name":"a",}`, 400, "malformed_json"},
		"a form":                  {"campaignId=1&name=2", 400, "malformed_json"},
		"messages of mixed types": {`{"messages":[1,"a",null,[],{}]}`, 400, "invalid_type"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.post(test.body)
			got.want(t, test.status, test.code)
			if strings.Contains(got.body, "\xff") {
				t.Error("the answer echoes the request")
			}
		})
	}
}

func TestServeDispatch_TooManyViolations(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for url, status := range map[string]int{
		"/api/v1/external/campaigns/dispatch":             http.StatusBadRequest,
		"/api/v1/external/campaigns/dispatch?dryRun=true": http.StatusOK,
	} {
		got := b.postTo(url, b.body(fields{"messages": make([]fields, 2000)}))
		if got.status != status || len(got.Errors) != 100 {
			t.Errorf("%s: %d with %d errors, want %d with 100", url, got.status, len(got.Errors), status)
		}
	}
}

// Some programs write a byte order mark before JSON. A header that names an encoding does not matter if the body is JSON.
func TestServeDispatch_BodyForms(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post("\ufeff" + b.body(nil)).accepted(t)
	b.post(b.body(nil), "Content-Encoding", "utf-8").accepted(t)
	b.post(b.body(nil), "Content-Encoding", "identity").accepted(t)
	b.post("\x1f\x8b\x08", "Content-Encoding", "gzip").want(t, http.StatusUnsupportedMediaType, "unsupported_encoding")
	b.post("\x1f\x8b\x08", "Content-Encoding", "identity").want(t, http.StatusBadRequest, "malformed_json")
	b.post(b.body(fields{"name": 1}), "Content-Encoding", "gzip").want(t, http.StatusBadRequest, "invalid_type")
	got := b.postTo(dispatchPath+"?dryRun=true", "\x1f\x8b\x08", "Content-Encoding", "gzip")
	if got.status != http.StatusOK || got.Errors[0].Code != "unsupported_encoding" || got.Errors[0].Status != http.StatusUnsupportedMediaType {
		t.Errorf("a dry run answers %d %s", got.status, got.body)
	}
}

// A bad value refuses the call at its pointer. Names, batches, uids and other variables stay as they are.
func TestServeDispatch_BadValue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := func(nome, other string) string {
		return b.body(fields{"templateId": b.template, "name": "Lojas \ufffd " + newUUID(), "batch": "\ufffd", "messages": []fields{
			{"phone": "11987654321", "uid": "\ufffd\x00", "vars": fields{"nome": "Ana", "pedido": "1"}},
			{"phone": "11987654322", "uid": "u", "vars": fields{"nome": nome, "pedido": "2", "loja": other}},
		}})
	}
	for name, test := range map[string]struct{ body, code string }{
		"lost letters":             {call("Jos\ufffd", ""), "invalid_utf8"},
		"lost letters, latin 1":    {strings.ReplaceAll(call("Jos@", ""), "@", "\xe9"), "invalid_utf8"},
		"NUL":                      {call("A\x00", ""), "invalid_character"},
		"an escape":                {strings.ReplaceAll(call("Jos@", ""), "@", `\ufffd`), ""},
		"in another variable":      {call("Ana", "Jos\ufffd\x00"), ""},
		"other control characters": {call("A\x07na\r\n", ""), ""},
	} {
		got := b.post(test.body)
		if test.code == "" {
			got.accepted(t)
			continue
		}
		got.want(t, http.StatusBadRequest, test.code)
		if got.Errors[0].Pointer != "/messages/1/vars/nome" {
			t.Errorf("%s: the pointer is %s", name, got.Errors[0].Pointer)
		}
	}
}
