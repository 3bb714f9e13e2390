package query_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/openapi/openapitest"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/phone/phonetest"
	"campaign-dispatch/internal/query"
	"campaign-dispatch/localstack/stackenv"
)

var noon = time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)

// service is a query service for a tenant of its own, with one campaign, on the stack's
// table and bucket.
type service struct {
	t      *testing.T
	store  *dynamotest.Store
	whole  atomic.Int64 // reads of a campaign with all its batches
	blobs  *s3.Store
	id     campaign.ID
	totals campaign.SubmissionTotals // of the file of the next batches
	holder *holder
	server *httptest.Server
}

// holder replaces access token verification, which the tests of accesstoken cover.
type holder struct {
	tenant string
	unfit  error
}

func (h *holder) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return accesstoken.Claims{Tenant: h.tenant, ClientID: "rcs_1", Scope: account.ScopeDispatch}, h.unfit
}

// reader is a store that counts reads of whole campaigns.
type reader struct {
	*dynamotest.Store
	whole *atomic.Int64
}

func (r reader) Campaign(ctx context.Context, id campaign.ID) (campaign.Campaign, error) {
	r.whole.Add(1)
	return r.Store.Campaign(ctx, id)
}

func newService(t *testing.T) *service {
	t.Helper()
	env := stackenv.Load(t)
	cfg := env.AWS()
	d := &service{
		t:  t,
		id: campaign.ID{Tenant: "t-" + rand.Text(), CampaignID: "0190b6a4-7a1c-4d51-b5a0-3c1f0a4b9f10"},
		store: dynamotest.New(dynamo.Tables{
			Client: dynamodb.NewFromConfig(cfg), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: func() time.Time { return noon },
		}),
		blobs: &s3.Store{
			Client: awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"],
		},
	}
	d.holder = &holder{tenant: d.id.Tenant}
	mux := http.NewServeMux()
	service := &query.Service{Tokens: d.holder, Store: reader{d.store, &d.whole}, Blobs: d.blobs, Now: time.Now}
	service.Register(mux)
	d.server = httptest.NewServer(mux)
	t.Cleanup(d.server.Close)
	return d
}

func (d *service) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// accept writes a batch with n messages, as dispatch does. The uids of each batch are
// u0, u1 and so on.
func (d *service) accept(ordinal int, name string, n int, change func(b *campaign.Batch)) campaign.Batch {
	d.t.Helper()
	numbers := make([]uint64, n)
	for i := range numbers {
		numbers[i] = number(ordinal, i)
	}
	return d.acceptNumbers(ordinal, name, numbers, change)
}

func (d *service) acceptNumbers(ordinal int, name string, numbers []uint64, change func(b *campaign.Batch)) campaign.Batch {
	d.t.Helper()
	n := len(numbers)
	var w payload.Writer
	for i := range numbers {
		w.Add(numbers[i], fmt.Appendf(nil, "u%d", i), nil)
	}
	body, offsets := w.Finish()
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: d.id, BatchID: campaign.BatchID(name)}, Name: name,
		TemplateID: "7d3f5a10-3c1f-4b9f-8a10-0190b6a47a1c", TemplateVersion: 1,
		Payload: "payloads/" + rand.Text(), Offsets: offsets, Accepted: n, Rejected: 1,
		AcceptedAt: noon, Due: noon, State: campaign.BatchSending, NextCheck: noon.Add(time.Hour),
	}
	_, _ = rand.Read(b.Key[:])
	if change != nil {
		change(&b)
	}
	d.must(d.blobs.Put(d.t.Context(), b.Payload, body, "application/octet-stream"))
	d.must(d.store.Accept(d.t.Context(), acceptance.Command{
		Batch: b, Campaign: "Entregas", Ordinal: ordinal, Packed: numberset.New(numbers).Pack(), CreatedAt: noon, Submission: d.totals,
	}, rand.Text()))
	return b
}

func number(ordinal, i int) uint64 { return uint64(5511_9_8000_0000 + 10_000*ordinal + i) }

// record records the outcome of the messages from first to last.
func (d *service) record(b campaign.Batch, to campaign.Outcome, code string, first, last int) {
	d.t.Helper()
	var changes []campaign.Change
	for i := first; i <= last; i++ {
		changes = append(changes, campaign.Change{Index: i, Outcome: to, Code: code, At: noon.Add(time.Minute)})
	}
	_, err := outcome.AppendLedger(d.t.Context(), d.store, b, changes)
	d.must(err)
}

type object = map[string]any

// get requests a path below the campaign, and checks the answer against the OpenAPI
// document.
func (d *service) get(path string) (status int, answer object) {
	d.t.Helper()
	address := d.server.URL + "/api/v1/external/campaigns/" + d.id.CampaignID + path
	r, err := http.NewRequestWithContext(d.t.Context(), http.MethodGet, address, http.NoBody)
	d.must(err)
	client := http.Client{Transport: openapitest.New(d.t, http.DefaultTransport)}
	res, err := client.Do(r)
	d.must(err)
	defer func() { _ = res.Body.Close() }()
	d.must(json.NewDecoder(res.Body).Decode(&answer))
	return res.StatusCode, answer
}

// pages follows the cursors of messages. It returns "batch uid status code" of each
// message, and the number of pages.
func (d *service) pages(query url.Values) (messages []string, pages int) {
	d.t.Helper()
	for {
		status, answer := d.get("/messages?" + query.Encode())
		if status != http.StatusOK {
			d.t.Fatalf("%d %v", status, answer)
		}
		pages++
		for _, m := range answer["messages"].([]any) {
			m := m.(object)
			line := fmt.Sprintln(m["batch"], m["uid"], m["status"], m["code"])
			messages = append(messages, strings.TrimSpace(strings.ReplaceAll(line, " <nil>", "")))
		}
		cursor, more := answer["nextCursor"].(string)
		if !more {
			return messages, pages
		}
		query.Set("cursor", cursor)
	}
}

func TestServeCampaign_Progress(t *testing.T) {
	t.Parallel()
	d := newService(t)
	first := d.accept(1, "manhã", 150, nil)
	d.accept(2, "tarde", 3, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(3*time.Hour)
	})
	d.record(first, campaign.OutcomeSent, "", 0, 120)
	d.record(first, campaign.OutcomeDelivered, "", 0, 99)
	d.record(first, campaign.OutcomeRead, "", 0, 9)
	d.record(first, campaign.OutcomeFailed, "unreachable", 121, 121)

	status, got := d.get("")

	counts := func(pending, sent, delivered, read, failed float64) object {
		return object{
			"pending": pending, "sent": sent, "delivered": delivered, "read": read, "failed": failed,
			"expired": 0.0, "revoked": 0.0, "stopped": 0.0,
		}
	}
	want := object{
		"campaignId": d.id.CampaignID, "name": "Entregas", "status": "sending", "createdAt": "2037-11-21T12:00:00Z",
		"accepted": 153.0, "rejected": 2.0, "counts": counts(31, 21, 90, 10, 1),
		"batches": []any{
			object{
				"batchId": first.BatchID, "batch": "manhã", "status": "sending", "templateId": first.TemplateID,
				"acceptedAt": "2037-11-21T12:00:00Z", "accepted": 150.0, "rejected": 1.0, "counts": counts(28, 21, 90, 10, 1),
			},
			object{
				"batchId": campaign.BatchID("tarde"), "batch": "tarde", "status": "scheduled", "templateId": first.TemplateID,
				"acceptedAt": "2037-11-21T12:00:00Z", "schedule": "2037-11-21T15:00:00Z",
				"accepted": 3.0, "rejected": 1.0, "counts": counts(3, 0, 0, 0, 0),
			},
		},
	}
	if diff := cmp.Diff(want, got); status != http.StatusOK || diff != "" {
		t.Errorf("%d %s", status, diff)
	}
}

// Every form that a dispatch call, a file or a form accepts finds the messages to its number. A refused one finds none.
func TestServeMessages_Forms(t *testing.T) {
	t.Parallel()
	d := newService(t)
	var numbers []uint64
	for _, f := range phonetest.Numbers(func(f phonetest.Form) string { return f.Typed }) {
		n, err := strconv.ParseUint(f[1:], 10, 64)
		d.must(err)
		numbers = append(numbers, n)
	}
	d.acceptNumbers(1, "", numbers, nil)
	for _, f := range phonetest.Forms() {
		status, got := d.get("/messages?" + url.Values{"phone": {f.Text}}.Encode())
		found := []string{}
		messages, _ := got["messages"].([]any)
		for _, m := range messages {
			found = append(found, m.(object)["phone"].(string))
		}
		if phonetest.Accepted(f.Typed) && !slices.Contains(found, f.Typed) {
			t.Errorf("%q answers %d and finds %v, want %s", f.Text, status, found, f.Typed)
		}
	}
}

func TestServeMessages_Search(t *testing.T) {
	t.Parallel()
	d := newService(t)
	first := d.accept(1, "", 120, nil)
	d.accept(2, "b/2", 130, nil)
	d.record(first, campaign.OutcomeSent, "", 0, 119)
	d.record(first, campaign.OutcomeFailed, "opted_out", 7, 7)
	d.record(first, campaign.OutcomeExpired, "", 101, 102)
	for name, c := range map[string]struct {
		query url.Values
		want  []string
	}{
		"by status":        {url.Values{"status": {"expired"}}, []string{"<nil> u101 expired ttl_passed", "<nil> u102 expired ttl_passed"}},
		"by code's status": {url.Values{"status": {"failed"}}, []string{"<nil> u7 failed opted_out"}},
		"by phone":         {url.Values{"phone": {"11980020009"}}, []string{"b/2 u9 pending"}},
		"by phone, E.164":  {url.Values{"phone": {fmt.Sprint("+", number(1, 3))}}, []string{"<nil> u3 sent"}},
		"unknown phone":    {url.Values{"phone": {"11980030009"}}, nil},
		"by uid":           {url.Values{"batch": {"b/2"}, "uid": {"u129"}}, []string{"b/2 u129 pending"}},
		"by batchId":       {url.Values{"batch": {campaign.BatchID("b/2")}, "uid": {"u5"}}, []string{"b/2 u5 pending"}},
		"nameless batch":   {url.Values{"batch": {""}, "uid": {"u5"}}, []string{"<nil> u5 sent"}},
		"both must hold":   {url.Values{"batch": {""}, "uid": {"u5"}, "status": {"read"}}, nil},
		"unknown uid":      {url.Values{"batch": {""}, "uid": {"u500"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := d.pages(c.query)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServeMessages_Pages(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "a", 120, nil)
	d.accept(2, "b", 130, nil)
	want := map[string]int{}
	for i := range 120 {
		want[fmt.Sprintf("a u%d pending", i)]++
	}
	for i := range 130 {
		want[fmt.Sprintf("b u%d pending", i)]++
	}
	for limit, pages := range map[string]int{"": 3, "7": 36, "500": 1} {
		query := url.Values{}
		if limit != "" {
			query.Set("limit", limit)
		}
		messages, n := d.pages(query)
		got := map[string]int{}
		for _, m := range messages {
			got[m]++
		}
		if diff := cmp.Diff(want, got); diff != "" || n < pages || n > pages+2 {
			t.Errorf("limit %q: %d pages, %s", limit, n, diff)
		}
	}
}

func TestServeEvents_Replay(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(1, "", 5, nil)
	d.accept(2, "manhã de sol", 1, nil)
	d.record(b, campaign.OutcomeSent, "", 0, 4)
	d.record(b, campaign.OutcomeDelivered, "", 1, 2)
	d.record(b, campaign.OutcomeStopped, "cancelled", 3, 3)
	var got []string
	after, more := 0.0, true
	for more {
		status, answer := d.get(fmt.Sprintf("/batches/%s/events?limit=3&after=%v", b.BatchID, after))
		if status != http.StatusOK {
			t.Fatalf("%d %v", status, answer)
		}
		for _, e := range answer["events"].([]any) {
			e := e.(object)
			got = append(got, fmt.Sprint(e["sequence"], e["type"], e["uid"], e["phone"], e["status"], e["code"]))
		}
		after, more = answer["nextAfter"].(float64), answer["more"].(bool)
	}
	line := func(sequence, index int, kind, status string, code any) string {
		return fmt.Sprint(float64(sequence), any(kind), any(fmt.Sprint("u", index)), any(fmt.Sprint("+", number(1, index))), any(status), code)
	}
	want := []string{
		line(1, 0, "message.sent", "sent", nil), line(2, 1, "message.sent", "sent", nil), line(3, 2, "message.sent", "sent", nil),
		line(4, 3, "message.sent", "sent", nil), line(5, 4, "message.sent", "sent", nil),
		line(6, 1, "message.delivered", "delivered", nil), line(7, 2, "message.delivered", "delivered", nil),
		line(8, 3, "message.failed", "stopped", "cancelled"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := d.whole.Load(); n > 0 {
		t.Errorf("%d reads of the whole campaign for one batch's events", n)
	}
	if status, answer := d.get("/batches/manh%C3%A3%20de%20sol/events?after=9"); status != http.StatusOK || len(answer["events"].([]any)) != 0 {
		t.Errorf("%d %v", status, answer)
	}
}

func TestServe_InvalidRequests(t *testing.T) {
	t.Parallel()
	d := newService(t)
	gone := d.accept(1, "gone", 1, nil)
	d.must(d.blobs.Delete(t.Context(), gone.Payload))
	d.record(gone, campaign.OutcomeSent, "", 0, 0)
	for path, want := range map[string]string{
		"/messages?status=lost": "400 invalid_status",
		"/messages?limit=0":     "400 invalid_limit",
		"/messages?limit=501":   "400 invalid_limit",
		"/messages?cursor=1":    "400 invalid_cursor",
		"/messages?cursor=1.-2": "400 invalid_cursor",
		"/messages?cursor=-1.0": "400 invalid_cursor",
		"/messages?uid=u1":      "400 batch_required",
		"/messages?phone=":      "400 invalid_phone",
		"/messages?phone=%2B":   "400 invalid_phone",
		"/messages?phone=Ana":   "400 invalid_phone",
		"/messages?batch=other": "404 batch_not_found",
		"/messages":             "410 contents_expired",
		"?cursor=x":             "400 invalid_cursor",
		"/batches/other/events": "404 batch_not_found",
		"/batches/" + strings.Repeat("x", 1100) + "/events": "404 batch_not_found",
		"/batches/gone/events?after=x":                      "400 invalid_after",
		"/batches/gone/events?after=-1":                     "400 invalid_after",
		"/batches/gone/events?limit=1e2":                    "400 invalid_limit",
		"/batches/gone/events":                              "410 contents_expired",
		"/batches/gone/events?after=1":                      "200 <nil>",
		"0/messages":                                        "404 campaign_not_found",
	} {
		status, answer := d.get(path)
		if got := fmt.Sprint(status, " ", answer["code"]); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	d.id.CampaignID = "ffffffff-7a1c-4d51-b5a0-3c1f0a4b9f10"
	if status, answer := d.get(""); status != http.StatusNotFound {
		t.Errorf("unknown campaign: %d %v", status, answer)
	}
}

func TestServe_InvalidParameters(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "a", 1, nil)
	for path, want := range map[string]string{
		"/messages?Status=sent":                 "400 invalid_status",
		"/messages?status=sent&status=sent":     "400 invalid_status",
		"/messages?limit=5&limit=6":             "400 invalid_limit",
		"/messages?LIMIT=5":                     "400 invalid_limit",
		"/messages?Phone=11987654321":           "400 invalid_phone",
		"/messages?batch=a&uid=a;b":             "400 invalid_uid",
		"/messages?batch=%zz":                   "400 invalid_batch",
		"/messages?batch=a&Batch=b":             "400 invalid_batch",
		"/messages?Cursor=1.0":                  "400 invalid_cursor",
		"/messages?x=1;cursor=1.0":              "400 invalid_cursor",
		"?Cursor=1":                             "400 invalid_cursor",
		"?cursor=1&cursor=1":                    "400 invalid_cursor",
		"/batches/a/events?After=1":             "400 invalid_after",
		"/batches/a/events?after=1&after=1":     "400 invalid_after",
		"/batches/a/events?after=0&Limit=1":     "400 invalid_limit",
		"/batches/a/events?limit=%":             "400 invalid_limit",
		"?limit=x&x=1&x=2&%zz":                  "200 <nil>", // which this path does not know
		"/batches/a/events?cursor=x&status=y":   "200 <nil>",
		"/messages?after=x&uid=u0&batch=a&y=;z": "200 <nil>",
	} {
		status, answer := d.get(path)
		if got := fmt.Sprint(status, " ", answer["code"]); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

func TestServe_OtherTenant(t *testing.T) {
	t.Parallel()
	d, other := newService(t), newService(t)
	d.accept(1, "a", 1, nil)
	for _, path := range []string{"", "/messages", "/batches/a/events"} {
		if status, answer := other.get(path); status != http.StatusNotFound || answer["code"] != "campaign_not_found" {
			t.Errorf("%s: %d %v", path, status, answer)
		}
	}
}

func TestServe_InvalidToken(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "a", 1, nil)
	for want, unfit := range map[string]error{
		"401 invalid_token": accesstoken.InvalidToken(),
		"403 insufficient_scope": &httpapi.Problem{
			Status: http.StatusForbidden, Code: "insufficient_scope", Detail: "The access token lacks the scope.",
			Header: http.Header{"Www-Authenticate": {"Bearer"}},
		},
	} {
		d.holder.unfit = unfit
		for _, path := range []string{"", "/messages", "/batches/a/events"} {
			status, answer := d.get(path)
			if got := fmt.Sprint(status, " ", answer["code"]); got != want {
				t.Errorf("%s: %s, want %s", path, got, want)
			}
		}
	}
}

// One request reads at most 25 batches; a number may occur in more.
func TestServeMessages_ManyBatches(t *testing.T) {
	t.Parallel()
	const batches = 57
	d := newService(t)
	var all, sent []string
	for ordinal := 1; ordinal <= batches; ordinal++ {
		name := fmt.Sprintf("b%02d", ordinal)
		b := d.acceptNumbers(ordinal, name, []uint64{number(1, 0), number(1, ordinal), number(1, 100)}, nil)
		all = append(all, name+" u0 pending", name+" u1 pending", name+" u2 pending")
		if ordinal%2 == 0 {
			d.record(b, campaign.OutcomeSent, "", 0, 1)
			sent = append(sent, name+" u0 sent", name+" u1 sent")
			all = append(all[:len(all)-3], name+" u0 sent", name+" u1 sent", name+" u2 pending")
		}
	}
	of := func(uid string, lines []string) (found []string) {
		for _, line := range lines {
			if strings.Contains(line, " "+uid+" ") {
				found = append(found, line)
			}
		}
		return found
	}
	phone := fmt.Sprint("+", number(1, 0))
	for name, c := range map[string]struct {
		query url.Values
		want  []string
		pages int
	}{
		"all":                        {url.Values{"limit": {"500"}}, all, 3},
		"by phone":                   {url.Values{"phone": {phone}, "limit": {"500"}}, of("u0", all), 3},
		"by phone, small pages":      {url.Values{"phone": {phone}, "limit": {"10"}}, of("u0", all), 6},
		"by status":                  {url.Values{"status": {"sent"}, "limit": {"500"}}, sent, 2},
		"by status, small pages":     {url.Values{"status": {"sent"}, "limit": {"5"}}, sent, 12},
		"by phone and status":        {url.Values{"phone": {phone}, "status": {"sent"}, "limit": {"7"}}, of("u0", sent), 4},
		"by phone of one batch":      {url.Values{"phone": {fmt.Sprint("+", number(1, 40))}}, []string{"b40 u1 sent"}, 1},
		"by phone, no such messages": {url.Values{"phone": {phone}, "status": {"read"}}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, pages := d.pages(c.query)
			if diff := cmp.Diff(c.want, got); diff != "" || pages != c.pages {
				t.Errorf("%d pages, want %d; %s", pages, c.pages, diff)
			}
		})
	}
}

// A campaign whose first batches have expired is still readable.
func TestServe_ExpiredBatch(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.accept(1, "old", 3, nil)
	d.accept(2, "new", 2, func(b *campaign.Batch) { b.AcceptedAt = noon.Add(time.Hour) })
	d.store.Set(func(tables *dynamo.Tables) { tables.Now = func() time.Time { return noon.Add(campaign.Retention) } })
	status, got := d.get("")
	if batches, _ := got["batches"].([]any); status != http.StatusOK || got["accepted"] != 2.0 || len(batches) != 1 {
		t.Errorf("the campaign: %d %v", status, got)
	}
	messages, _ := d.pages(url.Values{})
	if diff := cmp.Diff([]string{"new u0 pending", "new u1 pending"}, messages); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if messages, _ := d.pages(url.Values{"phone": {fmt.Sprint("+", number(1, 0))}}); len(messages) > 0 {
		t.Errorf("messages to a number of the expired batch: %v", messages)
	}
	for _, path := range []string{"/messages?batch=old", "/batches/old/events"} {
		if status, got := d.get(path); status != http.StatusNotFound || got["code"] != "batch_not_found" {
			t.Errorf("%s: %d %v", path, status, got)
		}
	}
}
