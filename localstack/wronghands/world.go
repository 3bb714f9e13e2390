// Package wronghands tries every route of the service with tokens and sessions that
// give no right to it: nothing may pass, and nothing of others may show.
package wronghands

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"

	"campaign-dispatch/internal/admin"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/localstack/stackenv"
	"campaign-dispatch/localstack/uuid"
)

// Report is what came of some tries.
type Report struct {
	Routes, Hands, Tries int
	Wrong                []string // what passed, or showed, or changed
}

func (r *Report) wrong(format string, args ...any) {
	r.Wrong = append(r.Wrong, fmt.Sprintf(format, args...))
}

// things are what requests name.
type things struct {
	campaign, name, batch, template, credential, endpoint, upload string
}

// nothing returns things that nobody has.
func nothing() things {
	return things{
		campaign: uuid.New(), name: "n" + rand.Text(), batch: "b" + rand.Text(), template: uuid.New(), credential: "rcs_" + rand.Text(),
		endpoint: uuid.New(), upload: strings.ToLower(rand.Text()),
	}
}

// hide replaces the names of things by what they are, so that answers about
// different things can be compared.
func (t things) hide(text string) string {
	return strings.NewReplacer(t.campaign, "CAMPAIGN", t.name, "NAME", t.batch, "BATCH", t.template, "TEMPLATE",
		t.credential, "CREDENTIAL", t.endpoint, "ENDPOINT", t.upload, "UPLOAD").Replace(text)
}

// party is a tenant with what it has.
type party struct {
	things
	tenant, secret string
	private        []string // what nobody else may see, beside its things
}

// World is two tenants of a running stack: one has things, the other one wants them.
type World struct {
	env             stackenv.Env
	http            *http.Client
	tokens          *kms.Signer
	sessions        *web.Sessions
	sessionKeys     *kms.Signer
	victim, thief   party
	revoked, access string // a credential that was revoked; the victim's token
}

// New makes the tenants on the stack.
func New(ctx context.Context, env stackenv.Env) (*World, error) {
	keys := awskms.NewFromConfig(env.AWS())
	w := &World{
		env: env, tokens: &kms.Signer{Client: keys, KeyID: env["SIGNING_KEY_ID"]}, sessionKeys: &kms.Signer{Client: keys, KeyID: env["SESSION_KEY_ID"]},
		http: &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	w.sessions = &web.Sessions{Signer: w.sessionKeys, Now: time.Now}
	for _, p := range []*party{&w.victim, &w.thief} {
		if err := w.settle(ctx, p); err != nil {
			return nil, fmt.Errorf("make a tenant: %w", err)
		}
	}
	revoked, err := w.service().CreateCredential(ctx, w.victim.tenant, "revoked", "")
	if err != nil {
		return nil, err
	}
	w.revoked = revoked.ClientID
	if err := w.service().RevokeCredential(ctx, w.revoked); err != nil {
		return nil, err
	}
	if w.access, err = w.issue(ctx, time.Now(), env["BASE_URL"], w.victim.claims()); err != nil {
		return nil, err
	}
	if err := w.fill(ctx); err != nil {
		return nil, fmt.Errorf("make the victim's campaign: %w", err)
	}
	return w, nil
}

func (w *World) service() *admin.Service {
	tables := dynamo.FromEnv(dynamodb.NewFromConfig(w.env.AWS()), w.env.Get, time.Now)
	return &admin.Service{
		Store: dynamo.NewCampaignStore(tables), Auth: dynamo.NewAuthStore(tables),
		Keys: ssmwriter.Writer{Client: awsssm.NewFromConfig(w.env.AWS())}, Now: time.Now,
		Stack: w.env["STACK_NAME"], LocalWebhooks: true,
	}
}

// keyDocument is a key for the agent: the simulator knows all agents by the demo
// agent's.
func (w *World) keyDocument(ctx context.Context, agent string) ([]byte, error) {
	demo := w.env["DEMO_AGENT_ID"]
	document, err := ssm.Reader{Config: w.env.AWS(), Now: time.Now}.KeyDocument(ctx, "/campaign-dispatch/"+w.env["STACK_NAME"]+"/agents/"+demo)
	return bytes.ReplaceAll(document, []byte(demo), []byte(agent)), err
}

// settle makes a tenant with a template, an agent, a credential and a webhook endpoint.
func (w *World) settle(ctx context.Context, p *party) error {
	service, mark := w.service(), strings.ToLower(rand.Text())
	p.tenant, p.things = "hands-"+mark, nothing()
	key, err := w.keyDocument(ctx, p.tenant)
	if err != nil {
		return err
	}
	if _, err := service.SaveTenant(ctx, admin.TenantForm{ID: p.tenant, Agent: admin.AgentForm{ID: p.tenant, KeyDocument: key}}); err != nil {
		return err
	}
	template, err := service.SaveTemplate(ctx, admin.TemplateForm{Tenant: p.tenant, Name: "t" + mark, Text: "x" + mark + " {{nome}} {{pedido}}"})
	if err != nil {
		return err
	}
	credential, err := service.CreateCredential(ctx, p.tenant, "c"+mark, "")
	if err != nil {
		return err
	}
	endpoint, err := service.CreateEndpoint(ctx, p.tenant, w.env["WEBHOOK_SINK_URL"]+"/w"+mark, nil)
	if err != nil {
		return err
	}
	p.template, p.credential, p.secret, p.endpoint = template.ID, credential.ClientID, credential.Secret, endpoint.ID
	p.private = []string{mark, credential.Secret, endpoint.Secret}
	return nil
}

func (p party) claims() accesstoken.Claims {
	return accesstoken.Claims{Tenant: p.tenant, ClientID: p.credential, Scope: campaign.ScopeDispatch}
}

// issue signs a token as the service does, whatever it says.
func (w *World) issue(ctx context.Context, at time.Time, base string, c accesstoken.Claims) (string, error) {
	i := accesstoken.Issuer{Signer: w.tokens, Now: func() time.Time { return at }}
	return i.Issue(ctx, base, c)
}

// fill gives the victim a campaign, of which a batch was sent and two are to be, and
// a file that waits to become one.
func (w *World) fill(ctx context.Context) error {
	v := &w.victim
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	for i, batch := range []map[string]any{{"schedule": tomorrow}, {"schedule": tomorrow, "batch": v.batch}, {"batch": "sent"}} {
		uid, phone := "u"+rand.Text(), fmt.Sprintf("+5561998%06d", time.Now().UnixMicro()%1_000_000)
		v.private = append(v.private, uid, phone)
		body := map[string]any{"campaignId": v.campaign, "name": v.name, "templateId": v.template, "messages": []any{
			map[string]any{"phone": phone, "uid": uid, "vars": map[string]any{"nome": "Ana", "pedido": i}},
		}}
		maps.Copy(body, batch)
		a, err := w.call(ctx, http.MethodPost, "/api/v1/external/campaigns/dispatch", body, "Bearer "+w.access)
		if err != nil {
			return err
		}
		if a.status != http.StatusAccepted {
			return fmt.Errorf("dispatch answered %d %s", a.status, a.body)
		}
	}
	if err := w.rest(ctx); err != nil {
		return err
	}
	return w.upload(ctx)
}

// rest waits until nothing changes any more by itself.
func (w *World) rest(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for last, same := "", 0; same < 4; {
		a, err := w.call(ctx, http.MethodGet, "/api/v1/external/campaigns/"+w.victim.campaign, nil, "Bearer "+w.access)
		if err != nil {
			return err
		}
		var c struct{ Counts map[string]int }
		if err := json.Unmarshal([]byte(a.body), &c); err != nil {
			return fmt.Errorf("read the campaign: %d %w", a.status, err)
		}
		if same++; a.body != last || c.Counts["pending"] > 2 {
			last, same = a.body, 0
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	return nil
}

var uploadID = regexp.MustCompile(`[?&]upload=([^&]+)`)

// upload gives the victim's admin a file to review.
func (w *World) upload(ctx context.Context) error {
	owner, err := w.session(ctx, w.victim.tenant, web.RoleAdmin)
	if err != nil {
		return err
	}
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	file, err := parts.CreateFormFile("file", "f.csv")
	if err == nil {
		_, err = io.WriteString(file, "phone,uid,nome,pedido\n"+w.victim.private[len(w.victim.private)-1]+",u,Ana,1\n")
	}
	err = errors.Join(err, parts.WriteField("csrf", owner.csrf), parts.WriteField("name", "f"+rand.Text()),
		parts.WriteField("template", w.victim.template), parts.Close())
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.env["BASE_URL"]+web.Root+"/campaigns/new", &form)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", parts.FormDataContentType())
	r.AddCookie(owner.cookie)
	a, err := w.do(r)
	if err != nil {
		return err
	}
	found := uploadID.FindStringSubmatch(a.location)
	if found == nil {
		return fmt.Errorf("the upload answered %d, and leads to %q", a.status, a.location)
	}
	w.victim.upload, err = url.QueryUnescape(found[1])
	return err
}

// answer is what came back.
type answer struct {
	status                                 int
	contentType, challenge, location, body string
}

// about returns the answer without the names of things.
func (a answer) about(t things) answer {
	a.body, a.location = t.hide(a.body), t.hide(a.location)
	return a
}

func (w *World) call(ctx context.Context, method, path string, body any, authorization string) (answer, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return answer{}, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, w.env["BASE_URL"]+path, bytes.NewReader(text))
	if err != nil {
		return answer{}, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return w.do(r)
}

// once is what a form holds so that it is not sent twice: it is drawn for each page.
var once = regexp.MustCompile(`name="once" value="[^"]*"`)

func (w *World) do(r *http.Request) (answer, error) {
	r.Header.Set("Accept-Language", "en")
	got, err := w.http.Do(r)
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(got.Body)
	return answer{
		status: got.StatusCode, contentType: got.Header.Get("Content-Type"), challenge: got.Header.Get("WWW-Authenticate"),
		location: got.Header.Get("Location"), body: once.ReplaceAllString(string(body), ""),
	}, errors.Join(err, got.Body.Close())
}

// leaks returns what the answer shows of the victim that the asker has not sent.
func (w *World) leaks(a answer, sent string) (found []string) {
	v := w.victim
	all := append([]string{v.campaign, v.name, v.batch, v.template, v.credential, v.endpoint, v.upload, v.tenant}, v.private...)
	for i, secret := range all {
		if !strings.Contains(sent, secret) && strings.Contains(a.body+a.location, secret) {
			found = append(found, fmt.Sprintf("private thing %d", i))
		}
	}
	return found
}
