package dispatch_test

import (
	"bytes"
	"encoding/csv"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/httpapi"
)

func TestServeDispatch_ValidCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newUUID()

	got := b.post(b.body(fields{"campaignId": id, "templateId": b.template, "messages": []fields{
		{"phone": "5511987654321", "uid": "a", "vars": fields{"nome": "Ana", "pedido": 12.50, "other": []int{1}}},
		{"phone": "+5511987654322", "uid": "a", "vars": fields{"nome": "", "pedido": true}},
	}}))

	got.accepted(t)
	if diff := cmp.Diff(`{"campaignId":"`+id+`","status":"sending","accepted":2,"rejected":0,"feedback":{"invalidPhones":[]}}`, got.body); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	if len(b.handoffs.batches) != 1 || b.handoffs.batches[0].CampaignID != id || b.handoffs.batches[0].Accepted != 2 {
		t.Errorf("scheduled: %+v, want the one batch", b.handoffs.batches)
	}
}

func TestServeDispatch_CampaignIDCase(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id, name := newUUID(), "n"
	b.post(b.body(fields{"campaignId": id, "name": name})).accepted(t)

	upper := strings.ToUpper(id)
	b.post(b.body(fields{"campaignId": upper, "name": name})).want(t, http.StatusBadRequest, "batch_required")
	got := b.post(b.body(fields{"campaignId": upper, "name": name, "batch": "2", "messages": messages(21987654321, 1)}))

	got.accepted(t)
	if got.CampaignID != upper {
		t.Errorf("campaignId = %q, want it as sent: %q", got.CampaignID, upper)
	}
}

func TestServeDispatch_InvalidFields(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	foreign := newUUID()
	b.putTemplate("another-tenant", foreign, "Olá!")
	for name, test := range map[string]struct {
		changes fields
		status  int
		code    string
		pointer string
	}{
		"campaignId absent":         {fields{"campaignId": nil}, 400, "missing_field", "/campaignId"},
		"campaignId a number":       {fields{"campaignId": 7}, 400, "invalid_type", "/campaignId"},
		"campaignId no UUID":        {fields{"campaignId": "7"}, 400, "invalid_campaign_id", "/campaignId"},
		"campaignId empty":          {fields{"campaignId": ""}, 400, "invalid_campaign_id", "/campaignId"},
		"campaignId in braces":      {fields{"campaignId": "{" + newUUID() + "}"}, 400, "invalid_campaign_id", "/campaignId"},
		"campaignId a urn":          {fields{"campaignId": "urn:uuid:" + newUUID()}, 400, "invalid_campaign_id", "/campaignId"},
		"name absent":               {fields{"name": nil}, 400, "missing_field", "/name"},
		"name blank":                {fields{"name": " \t"}, 400, "blank", "/name"},
		"name too long":             {fields{"name": strings.Repeat("é", 1001)}, 400, "too_long", "/name"},
		"name an object":            {fields{"name": fields{}}, 400, "invalid_type", "/name"},
		"templateId absent":         {fields{"templateId": nil}, 400, "missing_field", "/templateId"},
		"templateId a boolean":      {fields{"templateId": true}, 400, "invalid_type", "/templateId"},
		"templateId no UUID":        {fields{"templateId": "x"}, 404, "template_not_found", "/templateId"},
		"templateId empty":          {fields{"templateId": ""}, 404, "template_not_found", "/templateId"},
		"templateId unknown":        {fields{"templateId": newUUID()}, 404, "template_not_found", "/templateId"},
		"template of another":       {fields{"templateId": foreign}, 403, "template_of_another_tenant", "/templateId"},
		"messages absent":           {fields{"messages": nil}, 400, "missing_field", "/messages"},
		"messages empty":            {fields{"messages": []fields{}}, 400, "messages_empty", "/messages"},
		"messages an object":        {fields{"messages": fields{}}, 400, "invalid_type", "/messages"},
		"2,001 messages":            {fields{"messages": messages(11987650000, 2001)}, 400, "too_many_messages", "/messages"},
		"a message that is a text":  {fields{"messages": []string{"x"}}, 400, "invalid_type", "/messages/0"},
		"uid absent":                {fields{"messages": []fields{{"phone": "11987654321"}}}, 400, "missing_uid", "/messages/0/uid"},
		"uid null":                  {fields{"messages": []fields{{"phone": "11987654321", "uid": any(nil)}}}, 400, "missing_uid", "/messages/0/uid"},
		"uid blank":                 {fields{"messages": []fields{{"phone": "11987654321", "uid": " "}}}, 400, "missing_uid", "/messages/0/uid"},
		"uid a number":              {fields{"messages": []fields{{"phone": "11987654321", "uid": 1}}}, 400, "invalid_type", "/messages/0/uid"},
		"uid too long":              {fields{"messages": []fields{{"phone": "1", "uid": strings.Repeat("u", 1001)}}}, 400, "too_long", "/messages/0/uid"},
		"phone absent":              {fields{"messages": []fields{{"uid": "u"}}}, 400, "missing_phone", "/messages/0/phone"},
		"phone a number":            {fields{"messages": []fields{{"phone": 11987654321, "uid": "u"}}}, 400, "invalid_type", "/messages/0/phone"},
		"vars an array":             {fields{"messages": []fields{{"phone": "1", "uid": "u", "vars": []int{}}}}, 400, "invalid_type", "/messages/0/vars"},
		"variables absent":          {fields{"templateId": b.template}, 400, "missing_variable", "/messages/0/vars/nome"},
		"a variable null":           {withVars(b, fields{"nome": nil, "pedido": "1"}), 400, "missing_variable", "/messages/0/vars/nome"},
		"a variable an array":       {withVars(b, fields{"nome": []int{}, "pedido": "1"}), 400, "invalid_variable", "/messages/0/vars/nome"},
		"batch blank":               {fields{"batch": ""}, 400, "blank", "/batch"},
		"batch a number":            {fields{"batch": 2}, 400, "invalid_type", "/batch"},
		"schedule a number":         {fields{"schedule": 1798137000}, 400, "invalid_type", "/schedule"},
		"schedule a date":           {fields{"schedule": "2037-12-24"}, 400, "invalid_schedule", "/schedule"},
		"schedule on 30 February":   {fields{"schedule": "2038-02-30T10:00:00Z"}, 400, "invalid_schedule", "/schedule"},
		"schedule in the past":      {fields{"schedule": "2018-11-04T00:30:00"}, 400, "schedule_too_soon", "/schedule"},
		"schedule 4:59.999 ahead":   {fields{"schedule": "2037-11-21T15:04:59.999Z"}, 400, "schedule_too_soon", "/schedule"},
		"schedule in the year 9999": {fields{"schedule": "9999-12-31T23:59:59Z"}, 400, "schedule_too_far", "/schedule"},
		"notAfter no time":          {fields{"notAfter": "soon"}, 400, "invalid_not_after", "/notAfter"},
		"notAfter beyond all years": {fields{"notAfter": "9999-12-31T23:59:59-12:00"}, 400, "invalid_not_after", "/notAfter"},
		"notAfter before sending":   {fields{"notAfter": "2037-11-21T15:00:00Z"}, 400, "invalid_not_after", "/notAfter"},
		"sendWindow a text":         {fields{"sendWindow": "9-21"}, 400, "invalid_type", "/sendWindow"},
		"sendWindow empty":          {fields{"sendWindow": fields{}}, 400, "invalid_send_window", "/sendWindow"},
		"sendWindow without days":   {fields{"sendWindow": fields{"days": []string{}}}, 400, "invalid_send_window", "/sendWindow/days"},
		"sendWindow of Montag":      {fields{"sendWindow": fields{"days": []string{"Montag"}}}, 400, "invalid_send_window", "/sendWindow/days"},
		"sendWindow of a day":       {fields{"sendWindow": fields{"days": "monday"}}, 400, "invalid_type", "/sendWindow/days"},
		"sendWindow from 9":         {fields{"sendWindow": fields{"from": "9:00"}}, 400, "invalid_send_window", "/sendWindow/from"},
		"sendWindow from a number":  {fields{"sendWindow": fields{"from": 9}}, 400, "invalid_type", "/sendWindow/from"},
		"sendWindow until 25":       {fields{"sendWindow": fields{"until": "25:00"}}, 400, "invalid_send_window", "/sendWindow/until"},
		"sendWindow inverted":       {fields{"sendWindow": fields{"from": "18:00", "until": "09:00"}}, 400, "invalid_send_window", "/sendWindow/until"},
		"sendWindow of no minute":   {fields{"sendWindow": fields{"from": "18:00", "until": "18:00"}}, 400, "invalid_send_window", "/sendWindow/until"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := b.post(b.body(test.changes))
			got.want(t, test.status, test.code)
			if len(got.Errors) == 0 || got.Errors[0].Pointer != test.pointer {
				t.Errorf("errors = %+v, want the first at %s", got.Errors, test.pointer)
			}
			if ct := got.header.Get("Content-Type"); ct != "application/problem+json" {
				t.Errorf("Content-Type = %q", ct)
			}
		})
	}
}

func withVars(b *bench, vars fields) fields {
	return fields{"templateId": b.template, "messages": []fields{{"phone": "bad", "uid": "u", "vars": vars}}}
}

func TestServeDispatch_UnusualValidCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for name, changes := range map[string]fields{
		"nulls are absent":       {"batch": any(nil), "schedule": any(nil), "notAfter": any(nil)},
		"1,000 characters":       {"name": strings.Repeat("é", 1000), "batch": strings.Repeat("b", 1000)},
		"NUL and emoji":          {"name": "a\x00b 🎉 " + newUUID(), "batch": "\x00"},
		"a batch when creating":  {"batch": "first"},
		"2,000 messages":         {"messages": messages(11987650000, 2000)},
		"one number twice":       {"messages": append(messages(11987654321, 1), messages(11987654321, 1)...)},
		"a nil UUID":             {"campaignId": "00000000-0000-0000-0000-000000000000"},
		"unknown names":          {"Name": 7, "extra": []any{fields{"a": any(nil)}}},
		"vars nobody needs":      {"messages": []fields{{"phone": "11987654321", "uid": "u", "vars": fields{"x": []int{1}}}}},
		"a template in capitals": {"templateId": strings.ToUpper(b.plain)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.post(b.body(changes)).accepted(t)
		})
	}
}

func TestServeDispatch_Schedule(t *testing.T) {
	t.Parallel()
	for schedule, due := range map[string]string{
		"2037-11-21T12:05:00":       "2037-11-21T15:05:00Z", // exactly five minutes ahead, in São Paulo
		"2037-11-21T15:05:00.000Z":  "2037-11-21T15:05:00Z",
		"2037-11-21T17:05:00+02:00": "2037-11-21T15:05:00Z",
		"2038-11-21T15:00:00Z":      "2038-11-21T15:00:00Z",
	} {
		b := newBench(t)
		got := b.post(b.body(fields{"schedule": schedule}))
		got.accepted(t)
		if got.Status != "scheduled" {
			t.Errorf("%s: status %v, want scheduled", schedule, got.Status)
		}
		if batch := b.handoffs.batches[0]; !batch.Scheduled || batch.Due.Format(time.RFC3339) != due {
			t.Errorf("%s: scheduled for %v, want %s", schedule, batch.Due, due)
		}
	}
}

func TestServeDispatch_ExistingCampaign(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newUUID()
	b.post(b.body(fields{"campaignId": id, "name": "natal", "batch": "1", "messages": messages(11987654321, 3)})).accepted(t)
	next := fields{"campaignId": id, "name": "natal", "batch": "2", "messages": messages(21987654321, 1)}
	for name, test := range map[string]struct {
		changes fields
		status  int
		code    string
	}{
		"no batch":                     {fields{"batch": nil}, 400, "batch_required"},
		"no batch and other faults":    {fields{"batch": nil, "name": "x"}, 400, "batch_required"},
		"batch used":                   {fields{"batch": "1"}, 409, "batch_already_used"},
		"batch used, number used":      {fields{"batch": "1", "messages": messages(11987654321, 1)}, 409, "batch_already_used"},
		"a number of an earlier batch": {fields{"messages": append(messages(21987654321, 1), fields{"phone": "+5511987654323", "uid": "u"})}, 409, "number_already_dispatched"},
		"number used, another name":    {fields{"name": "x", "messages": messages(11987654321, 1)}, 409, "number_already_dispatched"},
		"another name":                 {fields{"name": "Natal"}, 409, "campaign_name_mismatch"},
		"the name of a new campaign":   {fields{"campaignId": newUUID(), "batch": nil}, 409, "campaign_name_taken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b.post(b.body(merge(next, test.changes))).want(t, test.status, test.code)
		})
	}
}

func TestServeDispatch_NumberOfEarlierBatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := fields{"campaignId": newUUID(), "name": "natal", "batch": "1", "messages": messages(11987654321, 3)}
	b.post(b.body(call)).accepted(t)
	b.post(b.body(merge(call, fields{"batch": "2", "messages": messages(21987654321, 1)}))).accepted(t)
	for phone, status := range map[int]int{21987654321: 409, 11987654322: 409, 31987654321: 202} {
		got := b.post(b.body(merge(call, fields{"batch": strconv.Itoa(phone), "messages": messages(phone, 1)})))
		if got.status != status {
			t.Errorf("%d: answered %d %s, want %d", phone, got.status, got.body, status)
		}
	}
	got := b.post(b.body(merge(call, fields{"batch": "3", "messages": messages(11987654320, 3)})))
	if len(got.Errors) != 2 || got.Errors[0].Pointer != "/messages/1/phone" {
		t.Errorf("errors = %+v, want the two numbers of batch 1", got.Errors)
	}
}

func merge(base, changes fields) fields {
	all := maps.Clone(base)
	maps.Copy(all, changes)
	return all
}

func TestServeDispatch_TenantIsolation(t *testing.T) {
	t.Parallel()
	one, two := newBench(t), newBench(t)
	changes := fields{"campaignId": newUUID(), "name": "the same"}
	one.post(one.body(changes)).accepted(t)
	two.post(two.body(changes)).accepted(t)
}

func TestServeDispatch_InvalidPhones(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	got := b.post(b.body(fields{"messages": []fields{
		{"phone": "", "uid": "a"}, {"phone": "551187654321", "uid": "b"}, {"phone": "11987654321", "uid": "c"},
	}}))
	got.accepted(t)
	if got.Accepted != 1 || got.Rejected != 2 || got.Feedback.ErrorFileURL != "" {
		t.Fatalf("accepted %d, rejected %d, file %q; want 1, 2, none", got.Accepted, got.Rejected, got.Feedback.ErrorFileURL)
	}
	ninth := got.Feedback.InvalidPhones[1]
	if ninth.Phone != "551187654321" || ninth.Code != "missing_ninth_digit" || ninth.Reason == "" {
		t.Errorf("rejection = %+v", ninth)
	}
}

func TestServeDispatch_LongInvalidPhones(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bad := make([]fields, 20)
	for i := range bad {
		bad[i] = fields{"phone": strings.Repeat("<\u2028", 10_000), "uid": "u"}
	}
	got := b.post(b.body(fields{"messages": bad}))
	got.accepted(t)
	if want := strings.Repeat("<\u2028", 50); got.Feedback.InvalidPhones[0].Phone != want || len(got.body) > 20_000 {
		t.Errorf("an answer of %d bytes", len(got.body))
	}
}

func TestServeDispatch_OnlyInvalidPhones(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newUUID()
	got := b.post(b.body(fields{"campaignId": id, "name": "n", "messages": []fields{{"phone": "x", "uid": "a"}}}))
	got.accepted(t)
	if got.Accepted != 0 || got.Rejected != 1 || len(b.handoffs.batches) != 0 {
		t.Errorf("accepted %d, rejected %d, scheduled %d", got.Accepted, got.Rejected, len(b.handoffs.batches))
	}
	b.post(b.body(fields{"campaignId": id, "name": "n"})).want(t, 400, "batch_required")
}

func TestServeDispatch_ErrorFile(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	bad := []fields{{"phone": "11987654321", "uid": "ok"}}
	for _, phone := range []string{"+1", "=cmd()", "-1", "@x", "\tx", "+a"} {
		bad = append(bad, fields{"phone": phone, "uid": "=1+1"})
	}
	bad[1]["uid"], bad[2]["uid"] = ";=1|calc", "order 7"
	got := b.post(b.body(fields{"messages": bad}))
	got.accepted(t)
	if len(got.Feedback.InvalidPhones) != 6 {
		t.Errorf("%d invalid phones are listed, want all 6", len(got.Feedback.InvalidPhones))
	}
	name, ok := strings.CutPrefix(got.Feedback.ErrorFileURL, "https://api.example.test/api/v1/error-files/")
	if !ok {
		t.Fatalf("errorFileUrl = %q", got.Feedback.ErrorFileURL)
	}
	file, err := b.Blobs.Get(t.Context(), campaign.ErrorFileKey(name))
	b.must(err)
	for line := range strings.Lines(string(file)) {
		if strings.Count(line, `"`) != 10 {
			t.Errorf("a cell without quotes in %s", line)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(string(file))).ReadAll()
	b.must(err)
	var cells [][]string
	for _, row := range rows {
		cells = append(cells, row[:3])
	}
	want := [][]string{
		{"line", "phone", "uid"},
		{"2", "+1", ";'=1|calc"},
		{"3", "'=cmd()", "order 7"},
		{"4", "'-1", "'=1+1"},
		{"5", "'@x", "'=1+1"},
		{"6", "'\tx", "'=1+1"},
		{"7", "'+a", "'=1+1"},
	}
	if diff := cmp.Diff(want, cells); diff != "" {
		t.Errorf("error file (-want +got):\n%s", diff)
	}
}

func TestServeDispatch_RevokedCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(b.auth.RevokeCredential(t.Context(), b.clientID))
	for name, body := range map[string]string{"a good call": b.body(nil), "a bad call": "{", "a large one": strings.Repeat(" ", 5<<20)} {
		got := b.post(body)
		got.want(t, http.StatusUnauthorized, "invalid_token")
		if !strings.Contains(got.header.Get("WWW-Authenticate"), "Bearer") {
			t.Errorf("%s: WWW-Authenticate = %q", name, got.header.Get("WWW-Authenticate"))
		}
	}
}

func TestServeDispatch_RevokedCredentialAndMissingScope(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Tokens = holder{b.Tokens.(holder).claims, &httpapi.Problem{Status: http.StatusForbidden, Code: "insufficient_scope"}}
	b.post(b.body(nil)).want(t, http.StatusForbidden, "insufficient_scope")
	b.must(b.auth.RevokeCredential(t.Context(), b.clientID))
	b.post(b.body(nil)).want(t, http.StatusUnauthorized, "invalid_token")
}

func TestDryRun_AllViolations(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const url = "/api/v1/external/campaigns/dispatch?dryRun=true"
	id := newUUID()
	good := b.body(fields{"campaignId": id, "messages": append(messages(11987654321, 1), fields{"phone": "x", "uid": "u"})})

	got := b.postTo(url, good)
	if got.status != http.StatusOK || !got.Valid || !got.DryRun || got.Accepted != 1 || got.Rejected != 1 {
		t.Errorf("a valid call: %d %s", got.status, got.body)
	}
	b.post(good).accepted(t) // the dry run wrote nothing

	got = b.postTo(url, b.body(fields{"campaignId": id, "templateId": newUUID(), "schedule": "x", "messages": messages(11987654321, 1)}))
	var codes []string
	for _, e := range got.Errors {
		codes = append(codes, e.Code)
	}
	want := []string{"invalid_schedule", "template_not_found", "batch_required", "number_already_dispatched", "campaign_name_mismatch"}
	if diff := cmp.Diff(want, codes); diff != "" || got.status != http.StatusOK || got.Valid {
		t.Errorf("an invalid call: %d (-want +got):\n%s", got.status, diff)
	}
	if got = b.postTo(url, "{"); got.status != http.StatusOK || got.Valid || got.Errors[0].Code != "malformed_json" {
		t.Errorf("a malformed call: %d %s", got.status, got.body)
	}
	if len(b.handoffs.batches) != 1 {
		t.Errorf("%d batches scheduled, want the accepted one", len(b.handoffs.batches))
	}
}

func TestServeDispatch_RepeatedIdempotencyKey(t *testing.T) {
	t.Parallel()
	for name, count := range map[string]int{"short": 1, "long, on S3": 200} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			bad := messages(1, count)
			body := b.body(fields{"messages": bad})
			first := b.post(body, "Idempotency-Key", "k1")
			first.accepted(t)
			again := b.post(body, "Idempotency-Key", "k1")
			again.accepted(t)
			if diff := cmp.Diff(first.body, again.body); diff != "" {
				t.Errorf("second answer (-first +second):\n%s", diff)
			}
			b.post(b.body(nil), "Idempotency-Key", "k1").want(t, 422, "idempotency_key_reused")
			b.post("{", "Idempotency-Key", "k1").want(t, 422, "idempotency_key_reused")
			b.post(body, "Idempotency-Key", "k2").want(t, 400, "batch_required")
			b.post(body, "Idempotency-Key", "").want(t, 400, "invalid_idempotency_key")
			b.now = b.now.Add(24*time.Hour + time.Second)
			b.Now = func() time.Time { return b.now }
			b.store.Set(func(tables *dynamo.Tables) { tables.Now = b.Now })
			b.post(body, "Idempotency-Key", "k1").want(t, 400, "batch_required")
		})
	}
}

// A client that uses or guesses another client's key does not get its answer.
func TestServeDispatch_IdempotencyKeyOfAnotherClient(t *testing.T) {
	t.Parallel()
	b, stranger := newBench(t), newBench(t)
	body := b.body(fields{"messages": messages(1, 1)})
	b.post(body, "Idempotency-Key", "k").accepted(t)
	stranger.post(body, "Idempotency-Key", "k").want(t, 403, "template_of_another_tenant")
	own := stranger.post(stranger.body(nil), "Idempotency-Key", "k")
	own.accepted(t)
	if own.Accepted != 1 || own.Rejected != 0 {
		t.Errorf("the other client received %s", own.body)
	}
}

func TestServeDispatch_IdempotencyKeyOfRefusedCall(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post(b.body(fields{"name": ""}), "Idempotency-Key", "k").want(t, 400, "blank")
	b.post(b.body(nil), "Idempotency-Key", "k").accepted(t)
}

func TestServeDispatch_TemplateChanged(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post(b.body(nil)).accepted(t)
	b.putTemplate(b.tenant, b.plain, "Olá {{nome}}!")
	b.post(b.body(nil)).want(t, 400, "missing_variable")
	if got := b.handoffs.batches[0].TemplateVersion; got != 1 {
		t.Errorf("template version %d, want 1", got)
	}
}

// A batch can prove taps if its template has suggestions.
func TestServeDispatch_TapKey(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.post(b.body(nil)).accepted(t)
	_, err := b.store.PutTemplate(t.Context(), campaign.Template{
		ID: b.plain, Tenant: b.tenant, Name: "t", Content: content.Content{Text: "Oi", Suggestions: content.Replies("Sim")},
	})
	b.must(err)
	b.post(b.body(nil)).accepted(t)
	b.post(b.body(nil)).accepted(t)
	keys := b.handoffs.batches
	if len(keys[0].TapKey) != 0 || len(keys[1].TapKey) != reaction.TapKeySize || bytes.Equal(keys[1].TapKey, keys[2].TapKey) {
		t.Error("want no key without suggestions, and another key for each batch with some")
	}
}

func TestServeDispatch_TemplateAndScheduleOfBatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := newUUID()
	b.post(b.body(fields{"campaignId": id, "name": "n"})).accepted(t)
	b.post(b.body(fields{
		"campaignId": id, "name": "n", "batch": "2", "templateId": b.template, "schedule": "2037-11-22T10:00:00Z",
		"messages": []fields{{"phone": "21987654321", "uid": "u", "vars": fields{"nome": "A", "pedido": 1}}},
	})).accepted(t)
	first, second := b.handoffs.batches[0], b.handoffs.batches[1]
	if first.Scheduled || !second.Scheduled || second.TemplateID != b.template || first.State != campaign.BatchPending {
		t.Errorf("batches: %+v, %+v", first, second)
	}
}
