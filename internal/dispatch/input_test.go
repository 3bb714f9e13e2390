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
