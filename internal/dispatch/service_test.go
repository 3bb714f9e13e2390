package dispatch_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists/lookup"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/localstack/stackenv"
)

// bench is a dispatch service for a tenant of its own, on the stack's tables and
// bucket, with a fixed clock.
type bench struct {
	*dispatch.Service
	t        *testing.T
	store    *dynamotest.Store
	auth     *dynamo.AuthStore
	tenant   string
	clientID string
	now      time.Time
	template string // needs nome and pedido
	plain    string // needs nothing
	handoffs *handoffs
}

// handoffs records scheduled batches.
type handoffs struct {
	mu      sync.Mutex
	batches []campaign.Batch
	fail    error
}

func (h *handoffs) Schedule(_ context.Context, b campaign.Batch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.batches = append(h.batches, b)
	return h.fail
}

// holder replaces access token verification, which the tests of accesstoken cover.
type holder struct {
	claims accesstoken.Claims
	err    error
}

func (h holder) Authorize(*http.Request, string, string) (accesstoken.Claims, error) {
	return h.claims, h.err
}

func newBench(t *testing.T) *bench {
	t.Helper()
	env := stackenv.Load(t)
	now := time.Date(2037, 11, 21, 15, 0, 0, 0, time.UTC)
	cfg := env.AWS()
	tables := dynamo.Tables{
		Client: dynamodb.NewFromConfig(cfg), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"],
		Now: func() time.Time { return now },
	}
	store, auth := dynamotest.New(tables), dynamo.NewAuthStore(tables)
	b := &bench{
		t: t, store: store, auth: auth, now: now, tenant: "t-" + rand.Text(), clientID: "rcs_" + rand.Text(),
		template: newUUID(), plain: newUUID(), handoffs: &handoffs{},
	}
	lists := &lookup.Cache{Store: dynamo.New(tables), Now: store.Tables().Now}
	b.Service = &dispatch.Service{
		Tokens: holder{claims: accesstoken.Claims{Tenant: b.tenant, ClientID: b.clientID, Scope: account.ScopeDispatch}},
		Store:  store,
		Blobs: &s3.Store{
			Client: awss3.NewFromConfig(cfg, func(o *awss3.Options) { o.UsePathStyle = true }), Bucket: env["BUCKET"],
		},
		Reach: reach.Lookup{OptOuts: &optout.Book{Store: store, Now: store.Tables().Now}, Lists: lists}, ListNames: lists.Names, Releases: b.handoffs, SeenNumbers: &dispatch.SeenNumbers{Limit: 1 << 20}, Now: store.Tables().Now,
		BaseURL: "https://api.example.test", Lead: 5 * time.Minute, SweepDelay: 2 * time.Minute,
	}
	b.seed()
	return b
}

func (b *bench) seed() {
	b.t.Helper()
	ctx := b.t.Context()
	secret := sha256.Sum256([]byte("secret"))
	b.must(b.auth.CreateCredential(ctx, account.Credential{
		ClientID: b.clientID, Tenant: b.tenant, SecretHash: secret[:], Scope: account.ScopeDispatch, CreatedAt: b.now,
	}))
	b.putTemplate(b.tenant, b.template, "Olá {{nome}}, seu pedido {{pedido}} saiu para entrega.")
	b.putTemplate(b.tenant, b.plain, "Olá!")
}

func (b *bench) putTemplate(tenant, id, text string) {
	b.t.Helper()
	_, err := b.store.PutTemplate(b.t.Context(), campaign.Template{ID: id, Tenant: tenant, Name: "t", Content: content.Content{Text: text}})
	b.must(err)
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

// reply is an answer as a client receives it.
type reply struct {
	status int
	header http.Header
	body   string

	CampaignID string `json:"campaignId"`
	Status     any    `json:"status"`
	Accepted   int    `json:"accepted"`
	Rejected   int    `json:"rejected"`
	Feedback   struct {
		InvalidPhones []struct{ Phone, Reason, Code string } `json:"invalidPhones"`
		ErrorFileURL  string                                 `json:"errorFileUrl"`
	} `json:"feedback"`
	Code   string `json:"code"`
	Errors []struct {
		Pointer, Code string
		Status        int
	} `json:"errors"`
	DryRun bool `json:"dryRun"`
	Valid  bool `json:"valid"`

	RepeatedNumbers *int      `json:"repeatedNumbers"`
	TextTooLong     *findings `json:"textTooLong"`
	InvalidURL      *findings `json:"invalidUrl"`
	UnknownNames    *findings `json:"unknownNames"`
}

// findings is a finding in a dry run's answer.
type findings struct {
	Count    int
	Pointers []string
}

func (b *bench) post(body string, headers ...string) reply {
	b.t.Helper()
	return b.postTo("/api/v1/external/campaigns/dispatch", body, headers...)
}

func (b *bench) postTo(url, body string, headers ...string) reply {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, url, strings.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	httpapi.HandlerFunc(b.ServeDispatch).ServeHTTP(w, r)
	got := reply{status: w.Code, header: w.Result().Header, body: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		b.t.Fatalf("the answer is not JSON: %v\n%s", err, w.Body)
	}
	return got
}

// fields are the members of a dispatch call; a nil value leaves one out.
type fields map[string]any

// body returns a valid call with the changes applied.
func (b *bench) body(changes fields) string {
	b.t.Helper()
	all := fields{
		"campaignId": newUUID(), "name": "campaign " + rand.Text(), "templateId": b.plain, "messages": messages(11987654321, 1),
	}
	for name, value := range changes {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	return encode(b.t, all)
}

func encode(t *testing.T, v any) string {
	t.Helper()
	var buffer bytes.Buffer
	if err := json.NewEncoder(&buffer).Encode(v); err != nil {
		t.Fatal(err)
	}
	return buffer.String()
}

// messages returns n messages to consecutive numbers from first.
func messages(first, n int) []fields {
	all := make([]fields, n)
	for i := range all {
		all[i] = fields{"phone": strconv.Itoa(first + i), "uid": fmt.Sprintf("u%d", i)}
	}
	return all
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (r reply) want(t *testing.T, status int, code string) {
	t.Helper()
	if r.status != status || r.Code != code {
		t.Fatalf("answered %d %q, want %d %q\n%.600s", r.status, r.Code, status, code, r.body)
	}
}

func (r reply) accepted(t *testing.T) {
	t.Helper()
	if r.status != http.StatusAccepted {
		t.Fatalf("answered %d, want 202\n%.600s", r.status, r.body)
	}
}

// read decodes an answer.
func read[T any](t *testing.T, r reply) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
