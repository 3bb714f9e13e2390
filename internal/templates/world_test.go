package templates_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/httpapi/openapi/openapitest"
	"campaign-dispatch/internal/media"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/templates"
	"campaign-dispatch/localstack/stackenv"
)

var noon = time.Date(2037, 11, 21, 12, 0, 0, 0, time.UTC)

// tenant is a tenant of its own on the stack's table, with a server of the API.
type tenant struct {
	t        *testing.T
	store    *dynamotest.Store
	id       string
	clientID string
	server   *httptest.Server
	client   *http.Client
}

func (d *tenant) Authorize(_ *http.Request, _, scope string) (accesstoken.Claims, error) {
	if scope != account.ScopeTemplates {
		d.t.Errorf("the scope %q is required", scope)
	}
	return accesstoken.Claims{Tenant: d.id, ClientID: d.clientID, Scope: scope}, nil
}

// mediaURL is the address of uploaded files.
const mediaURL = "https://media.example"

func newTenant(t *testing.T) *tenant {
	t.Helper()
	env := stackenv.Load(t)
	clock := func() time.Time { return noon }
	d := &tenant{
		t: t, id: "t-" + rand.Text(), clientID: "rcs_" + rand.Text(), client: &http.Client{Transport: openapitest.New(t, http.DefaultTransport)},
		store: dynamotest.New(dynamo.Tables{Client: dynamodb.NewFromConfig(env.AWS()), Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], MediaURL: mediaURL, Now: clock}),
	}
	mux := http.NewServeMux()
	(&templates.Service{Tokens: d, Media: media.Checker{Prober: media.NewProber(true), URL: mediaURL}, Store: d.store, Now: clock}).Register(mux)
	d.server = httptest.NewServer(mux)
	t.Cleanup(d.server.Close)
	return d
}

// reply is an answer of the API.
type reply struct {
	status int
	header http.Header
	body   []byte

	ID         string
	Version    int
	Name       string
	Traffic    string
	Text       string
	Variables  []string
	Templates  []struct{ ID, Name string }
	NextCursor string
	Code       string
	Class      string `json:"billingClass"`
	TextBytes  int
	Content    struct {
		Text string
		File struct{ URL string }
	}
	Errors []violation
}

type violation struct{ Pointer, Code string }

// send calls the API and checks the call and the answer against the OpenAPI document.
func (d *tenant) send(method, path, body string, headers ...string) reply {
	d.t.Helper()
	return d.sendWith(d.client, method, path, body, headers...)
}

// sendAny is send without the check.
func (d *tenant) sendAny(method, path, body string, headers ...string) reply {
	d.t.Helper()
	return d.sendWith(http.DefaultClient, method, path, body, headers...)
}

func (d *tenant) sendWith(client *http.Client, method, path, body string, headers ...string) reply {
	d.t.Helper()
	r, err := http.NewRequestWithContext(d.t.Context(), method, d.server.URL+templates.Path+path, bytes.NewReader([]byte(body)))
	if err != nil {
		d.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	got := reply{status: res.StatusCode, header: res.Header}
	if got.body, err = io.ReadAll(res.Body); err != nil {
		d.t.Fatal(err)
	}
	if err := json.Unmarshal(got.body, &got); err != nil {
		d.t.Fatalf("%s %s answered %.300s: %v", method, path, got.body, err)
	}
	return got
}

// create creates a template.
func (d *tenant) create(body string, headers ...string) reply {
	d.t.Helper()
	got := d.send(http.MethodPost, "", body, headers...)
	got.want(d.t, http.StatusCreated, "")
	return got
}

// want checks the status and the code of an answer.
func (r reply) want(t *testing.T, status int, code string) {
	t.Helper()
	if r.status != status || r.Code != code {
		t.Errorf("answered %d %s, want %d %s: %.500s", r.status, r.Code, status, code, r.body)
	}
}

// audited returns the tenant's audit log, oldest first.
func (d *tenant) audited() (all []string) {
	d.t.Helper()
	entries, _, err := d.store.AuditLog(d.t.Context(), d.id, "", 100)
	if err != nil {
		d.t.Fatal(err)
	}
	for _, e := range entries {
		all = append([]string{e.Who + " " + e.Action + " " + e.Subject}, all...)
	}
	return all
}
