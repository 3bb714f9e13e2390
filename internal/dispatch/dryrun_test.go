package dispatch_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/httpapi"
)

const dispatchPath = "/api/v1/external/campaigns/dispatch"

func TestDryRun_InvalidParameter(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	good := b.body(nil)
	for _, query := range []string{
		"dryRun=True", "dryRun=TRUE", "dryRun=yes", "dryRun=1", "dryRun", "dryRun=", "dryRun=true%20", "dryrun=true", "DRYRUN=true",
		"dryRun=true&dryRun=true", "dryRun=true&dryRun=false", "dryRun=false&dryRun=true", "dryRun=true;x=1", "x=1;dryRun=true",
		"dryRun=%zz", "dryRun=true%", "dryRun=true+", "dry%52un=True", "dryRun%3Dtrue", "x=1?dryRun=true", "dryRun[]=true", "dry_run=true",
	} {
		got := b.postTo(dispatchPath+"?"+query, good)
		if got.status != http.StatusBadRequest || got.Code != "invalid_dry_run" {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	if len(b.handoffs.batches) != 0 {
		t.Errorf("%d batches scheduled", len(b.handoffs.batches))
	}
	b.postTo(dispatchPath+"?x=1&x=2&dryRun=false&%zz&to=a;b", good).accepted(t) // the dry runs wrote nothing
}

func TestDryRun_TokenBeforeQuery(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const url = dispatchPath + "?dryRun=yes"
	tokens := b.Tokens.(holder)
	b.Tokens = holder{tokens.claims, &httpapi.Problem{Status: http.StatusForbidden, Code: "insufficient_scope"}}
	b.postTo(url, b.body(nil)).want(t, http.StatusForbidden, "insufficient_scope")
	b.Tokens = tokens
	b.postTo(url, strings.Repeat(" ", 5<<20)).want(t, http.StatusBadRequest, "invalid_dry_run")
	b.must(b.auth.RevokeCredential(t.Context(), b.clientID))
	b.postTo(url, b.body(nil)).want(t, http.StatusUnauthorized, "invalid_token")
}

func (b *bench) dryRun(body string) reply {
	b.t.Helper()
	got := b.postTo(dispatchPath+"?dryRun=true", body)
	if got.status != http.StatusOK || got.RepeatedNumbers == nil || got.TextTooLong == nil || got.InvalidURL == nil || got.UnknownNames == nil {
		b.t.Fatalf("answered %d %s", got.status, got.body)
	}
	return got
}

func TestDryRun_NoWarnings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	body := b.body(fields{
		"batch": "1", "schedule": nil, "notAfter": "2037-11-22T10:00:00Z", "templateId": b.template,
		"messages": []fields{{"phone": "11987654321", "uid": "u", "vars": fields{"nome": "A", "pedido": 1, "other": 2}}},
	})
	got := b.dryRun(body)
	if !got.Valid || !strings.HasSuffix(got.body,
		`"errors":[],"repeatedNumbers":0,"withheld":[],"suppressed":[],"textTooLong":{"count":0,"pointers":[]},"invalidUrl":{"count":0,"pointers":[]},"unknownNames":{"count":0,"pointers":[]}}`) {
		t.Errorf("answered %s", got.body)
	}
	if got := b.post(body); strings.Contains(got.body, "unknownNames") {
		t.Errorf("a real call: %s", got.body)
	}
}

func TestDryRun_UnknownNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := messages(11987654321, 2000)
	for i := range all {
		all[i]["fone"] = "secret"
	}
	all[7]["a/b~"], all[1999][strings.Repeat("ã", 150)] = "secret", "secret"
	body := b.body(fields{"messages": all, "scheduledAt": "2037-11-22T10:00:00Z", "Name": "secret", "vars": fields{"x": 1}})
	got := b.dryRun(body)
	want := findings{2005, []string{
		"/Name", "/scheduledAt", "/vars", "/messages/0/fone", "/messages/7/a~1b~0", "/messages/1999/" + strings.Repeat("ã", 100),
	}}
	if diff := cmp.Diff(want, *got.UnknownNames); diff != "" || !got.Valid || strings.Contains(got.body, "secret") {
		t.Errorf("valid %v (-want +got):\n%s", got.Valid, diff)
	}
	b.post(body).accepted(t) // the call itself ignores them
	if len(b.handoffs.batches) != 1 || b.handoffs.batches[0].Scheduled {
		t.Errorf("scheduled: %+v", b.handoffs.batches)
	}
}

func TestDryRun_TooManyUnknownNames(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := messages(11987654321, 1)[0]
	many := fields{"messages": []fields{one}}
	for i := range 5000 {
		one[fmt.Sprint("m", i)], many[fmt.Sprint("f", i)] = 1, 1
	}
	got := b.dryRun(b.body(many))
	if got.UnknownNames.Count != 10_000 || len(got.UnknownNames.Pointers) != 100 || !got.Valid {
		t.Errorf("%d, %d listed", got.UnknownNames.Count, len(got.UnknownNames.Pointers))
	}
}

func TestDryRun_RepeatedNumbers(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all []fields
	for i, phone := range []string{
		"11987654321", "+5511987654321", "5511987654321", "21987654321", "21987654322", "021987654321", "21987654322", "1", "1", "+1", "+1",
	} {
		all = append(all, fields{"phone": phone, "uid": strconv.Itoa(i)})
	}
	got := b.dryRun(b.body(fields{"messages": all}))
	if *got.RepeatedNumbers != 2 || got.Accepted != 6 || !got.Valid {
		t.Errorf("%d repeated of %d: %s", *got.RepeatedNumbers, got.Accepted, got.body)
	}
}

func TestDryRun_TextTooLong(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const text = "Olá , seu pedido  saiu para entrega."
	room := 3072 - len([]rune(text))
	message := func(phone string, vars fields) fields { return fields{"phone": phone, "uid": "u", "vars": vars} }
	all := []fields{
		message("11987654321", fields{"nome": strings.Repeat("ã", room), "pedido": ""}),
		message("11987654322", fields{"nome": strings.Repeat("ã", room), "pedido": 7}),
		message("1", fields{"nome": strings.Repeat("ã", room), "pedido": 7}), // rejected anyway
		message("11987654324", fields{"nome": "", "pedido": strings.Repeat("a", room+1), "x": strings.Repeat("a", 5000)}),
		message("11987654325", fields{"nome": "A", "pedido": false, "x": strings.Repeat("a", 5000)}),
	}
	body := b.body(fields{"templateId": b.template, "messages": all})
	got := b.dryRun(body)
	if diff := cmp.Diff(findings{2, []string{"/messages/1", "/messages/3"}}, *got.TextTooLong); diff != "" || !got.Valid {
		t.Errorf("valid %v (-want +got):\n%s", got.Valid, diff)
	}
	b.post(body).accepted(t)

	many := make([]fields, 150)
	for i := range many {
		many[i] = message(strconv.Itoa(21987654321+i), fields{"nome": strings.Repeat("a", 4000)})
	}
	got = b.dryRun(b.body(fields{"templateId": b.template, "messages": many}))
	if got.TextTooLong.Count != 150 || len(got.TextTooLong.Pointers) != 100 || got.Valid || got.Errors[0].Code != "missing_variable" {
		t.Errorf("%d, %d listed", got.TextTooLong.Count, len(got.TextTooLong.Pointers))
	}
}

func TestDryRun_InvalidURL(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newUUID()
	_, err := b.store.PutTemplate(t.Context(), campaign.Template{ID: id, Tenant: b.tenant, Name: "n", Content: content.Content{
		Text: "Olá {{nome}}", Suggestions: []content.Suggestion{{Kind: content.OpenURL, Text: "Ver", URL: "{{link}}"}},
	}})
	b.must(err)
	message := func(phone, name, link string) fields {
		return fields{"phone": phone, "uid": "u", "vars": fields{"nome": name, "link": link}}
	}
	body := b.body(fields{"templateId": id, "messages": []fields{
		message("11987654321", "Ana", "https://e.example/?a=b"),
		message("11987654322", "Ana", "http://e.example/"),
		message("1", "Ana", "http://e.example/"), // rejected anyway
		message("11987654323", "Ana", "javascript:alert(1)"),
		message("11987654324", strings.Repeat("a", 4000), "e.example"),
		message("11987654325", "Ana", "https://"+strings.Repeat("a", 2048)+".example/"),
	}})
	got := b.dryRun(body)
	if diff := cmp.Diff(findings{2, []string{"/messages/1", "/messages/3"}}, *got.InvalidURL); diff != "" || !got.Valid {
		t.Errorf("valid %v (-want +got):\n%s", got.Valid, diff)
	}
	if diff := cmp.Diff(findings{2, []string{"/messages/4", "/messages/5"}}, *got.TextTooLong); diff != "" {
		t.Errorf("too long (-want +got):\n%s", diff)
	}
	b.post(body).accepted(t)

	stranger := newBench(t)
	if got := stranger.dryRun(body); got.InvalidURL.Count != 0 || got.Errors[0].Code != "template_of_another_tenant" {
		t.Errorf("another tenant: %s", got.body)
	}
}

// The length of another tenant's template must not be disclosed.
func TestDryRun_TextTooLongForeignTemplate(t *testing.T) {
	t.Parallel()
	b, stranger := newBench(t), newBench(t)
	long := fields{"phone": "11987654321", "uid": "u", "vars": fields{"nome": strings.Repeat("a", 4000), "pedido": "1"}}
	got := stranger.dryRun(b.body(fields{"templateId": b.template, "messages": []fields{long}}))
	if got.TextTooLong.Count != 0 || got.Errors[0].Code != "template_of_another_tenant" {
		t.Errorf("answered %s", got.body)
	}
}

// Numbers of other countries are counted apart, those without a + first among the examples.
func TestDryRun_OtherCountries(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var all []fields
	for i, phone := range []string{
		"11987654321", "+351912345670", "+351912345671", "351912345678", "+14155552671", "+351912345672", "951234567", "119876543210", "+80012345678",
	} {
		all = append(all, fields{"phone": phone, "uid": strconv.Itoa(i)})
	}
	got := b.dryRun(b.body(fields{"messages": all}))
	want := `"otherCountries":{"count":6,"withoutPlus":1,"countries":[` +
		`{"country":"PT","count":4,"examples":[{"pointer":"/messages/3/phone","phone":"351912345678"},` +
		`{"pointer":"/messages/1/phone","phone":"+351912345670"},{"pointer":"/messages/2/phone","phone":"+351912345671"}]},` +
		`{"count":1,"examples":[{"pointer":"/messages/8/phone","phone":"+80012345678"}]},` +
		`{"country":"US","count":1,"examples":[{"pointer":"/messages/4/phone","phone":"+14155552671"}]}]}`
	if got.Accepted != 7 || !got.Valid || !strings.Contains(got.body, want) {
		t.Errorf("answered %s, want %s", got.body, want)
	}
	if none := b.dryRun(b.body(nil)); strings.Contains(none.body, "otherCountries") {
		t.Errorf("without them: %s", none.body)
	}
}
