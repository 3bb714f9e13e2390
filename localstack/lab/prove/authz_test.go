package prove

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
	"regexp"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/media/mediafile"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// authorization calls every route with credentials that give no right to it: no call may
// succeed, and no answer may show another tenant's data.
func authorization(ctx context.Context, t *testing.T, env stackenv.Env) {
	t.Helper()
	w := newAuthzFixture(ctx, t, env)
	w.tryDashboard(ctx, t)
	w.tryAPI(ctx, t) // it ends with the cancelling of the campaign
	w.tryWaves(ctx, t)
	w.tryUnknownClients(ctx, t)
}

// resourceIDs are the IDs and names of a tenant's resources in requests.
type resourceIDs struct {
	campaign, name, batch, template, credential, endpoint, post, message, upload, export, list, draft, media, suppression, numbers, planned, holding string
}

// missing returns IDs that do not exist.
func missing() resourceIDs {
	return resourceIDs{
		campaign: random.UUID(), name: "n" + rand.Text(), batch: "b" + rand.Text(), template: random.UUID(), credential: "rcs_" + rand.Text(),
		endpoint: random.UUID(), post: "1-msg_" + rand.Text(), message: newKey().MessageID(0), upload: random.UUID(), export: random.UUID(), list: random.UUID(), draft: random.UUID(),
		media: mediafile.Hash("", rand.Text()), suppression: "s" + strings.ToLower(rand.Text()), numbers: port.NewObject(),
		planned: random.UUID(), holding: random.UUID(),
	}
}

// generated matches what differs in the answers about two new templates.
var generated = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|"(created|changed)At":"[^"]*"`)

// hide replaces the names of resourceIDs, so that answers about different resourceIDs can be compared.
func (t resourceIDs) hide(text string) string {
	return generated.ReplaceAllString(t.replace(text), "GENERATED")
}

func (t resourceIDs) replace(text string) string {
	return strings.NewReplacer(t.campaign, "CAMPAIGN", t.name, "NAME", t.batch, "BATCH", t.template, "TEMPLATE",
		t.credential, "CREDENTIAL", t.endpoint, "ENDPOINT", t.post, "POST", t.message, "MESSAGE", t.upload, "UPLOAD", t.export, "EXPORT", t.list, "LIST", t.draft, "DRAFT", t.media, "MEDIA", t.suppression, "SUPPRESSION", t.numbers, "NUMBERS", t.planned, "PLANNED", t.holding, "HOLDING").Replace(text)
}

// tenantFixture is a tenant with its resources.
type tenantFixture struct {
	resourceIDs

	id, secret string
	private    []string // data that nobody else may see, beside the IDs
}

func (p tenantFixture) claims() accesstoken.Claims {
	return accesstoken.Claims{Tenant: p.id, ClientID: p.credential, Scope: strings.Join(account.Scopes, " ")}
}

// authzFixture is two tenants of a running stack: the attacker requests the owner's resources.
type authzFixture struct {
	env                  stackenv.Env
	http                 *http.Client
	tokens, sessionKeys  *kms.Signer
	owner, attacker      tenantFixture
	revoked, ownersToken string // a credential that was revoked; a valid token
}

func newAuthzFixture(ctx context.Context, t *testing.T, env stackenv.Env) *authzFixture {
	t.Helper()
	w := &authzFixture{
		env: env, tokens: kms.New(env.AWS(), env["SIGNING_KEY_ID"], "", time.Time{}, time.Now), sessionKeys: kms.New(env.AWS(), env["SESSION_KEY_ID"], "", time.Time{}, time.Now),
		http: &http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
	for _, p := range []*tenantFixture{&w.owner, &w.attacker} {
		made, err := newTenant(ctx, env, "authz", "x {{nome}} {{pedido}}", env["WEBHOOK_SINK_URL"], nil)
		check(t, err)
		p.id, p.secret, p.resourceIDs = made.id, made.secret, missing()
		p.template, p.credential, p.endpoint = made.template, made.clientID, made.endpoint
		p.private = []string{made.mark, made.secret, made.endpointSecret}
	}
	revoked, err := adminOf(env).CreateCredential(ctx, w.owner.id, "revoked", "")
	check(t, err)
	check(t, adminOf(env).RevokeCredential(ctx, revoked.ClientID))
	w.revoked, w.ownersToken = revoked.ClientID, w.issue(ctx, t, time.Now(), env["BASE_URL"], w.owner.claims())
	w.fill(ctx, t)
	return w
}

// issue signs a token with the service's key.
func (w *authzFixture) issue(ctx context.Context, t *testing.T, at time.Time, base string, c accesstoken.Claims) string {
	t.Helper()
	i := accesstoken.Issuer{Signer: w.tokens, Now: func() time.Time { return at }}
	token, err := i.Issue(ctx, base, c)
	check(t, err)
	return token
}

// fill gives the owner a campaign with a batch that was sent and two scheduled ones, an
// uploaded file of recipients, and a file that messages show.
func (w *authzFixture) fill(ctx context.Context, t *testing.T) {
	t.Helper()
	v := &w.owner
	tomorrow := time.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339)
	for i, batch := range []map[string]any{{"schedule": tomorrow}, {"schedule": tomorrow, "batch": v.batch}, {"batch": "sent"}} {
		uid, phone := "u"+rand.Text(), fmt.Sprintf("+5561998%06d", time.Now().UnixMicro()%1_000_000)
		v.private = append(v.private, uid, phone)
		body := map[string]any{"campaignId": v.campaign, "name": v.name, "templateId": v.template, "messages": []any{
			map[string]any{"phone": phone, "uid": uid, "vars": map[string]any{"nome": "Ana", "pedido": i}},
		}}
		maps.Copy(body, batch)
		if a := w.call(ctx, t, http.MethodPost, campaignsPath+"dispatch", body, "Bearer "+w.ownersToken); a.status != http.StatusAccepted {
			t.Fatalf("dispatch answered %d %s", a.status, a.body)
		}
	}
	w.settles(ctx, t, v.campaign, 2)
	w.findMessage(ctx, t)
	_, _, err := storeOf(w.env).CreateExport(ctx, export.Export{
		ID: campaign.ID{Tenant: v.id, CampaignID: v.campaign}, ExportID: v.export, Secret: rand.Text(), State: export.Completed,
		CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour),
	}, nil)
	check(t, err)
	w.fillDashboard(ctx, t)
	name := "f" + rand.Text()
	v.private = append([]string{name}, v.private...) // upload sends the last one
	_, err = storeOf(w.env).AddMedia(ctx, mediafile.File{Tenant: v.id, Hash: v.media, Name: name, Type: "image/png", Size: 1, CreatedAt: time.Now()})
	check(t, err)
	w.keepPost(ctx, t)
	w.suppress(ctx, t)
	w.inWaves(ctx, t)
	w.upload(ctx, t)
}

// settles waits until a campaign of the owner does not change by itself any more. Some messages stay pending.
func (w *authzFixture) settles(ctx context.Context, t *testing.T, campaignID string, pending int) {
	t.Helper()
	last, same := "", 0
	check(t, eventually(ctx, 2*time.Minute, func() (bool, error) {
		a := w.call(ctx, t, http.MethodGet, campaignsPath+campaignID, nil, "Bearer "+w.ownersToken)
		var c standing
		err := json.Unmarshal([]byte(a.body), &c)
		if same++; a.body != last || c.Counts["pending"] > pending {
			last, same = a.body, 0
		}
		return same > 12, err
	}))
}

// findMessage finds the message of the owner's batch that was sent.
func (w *authzFixture) findMessage(ctx context.Context, t *testing.T) {
	t.Helper()
	a := w.call(ctx, t, http.MethodGet, campaignsPath+w.owner.campaign+"/messages?batch=sent", nil, "Bearer "+w.ownersToken)
	var found struct{ Messages []struct{ MessageID string } }
	check(t, json.Unmarshal([]byte(a.body), &found))
	if len(found.Messages) != 1 {
		t.Fatalf("the sent batch has %d messages: %s", len(found.Messages), a.body)
	}
	w.owner.message = found.Messages[0].MessageID
}

// newKey returns the key of no batch.
func newKey() (key campaign.BatchKey) {
	_, _ = rand.Read(key[:])
	return key
}

// keepPost keeps a post to the owner's endpoint, with its payload and its answer.
func (w *authzFixture) keepPost(ctx context.Context, t *testing.T) {
	t.Helper()
	v, payload, text := &w.owner, "p"+rand.Text(), "r"+rand.Text()
	v.private = append([]string{payload, text}, v.private...)
	kept := delivery.KeptPost{
		Tenant: v.id, EndpointID: v.endpoint, WebhookID: "msg_" + rand.Text(), Kind: delivery.KindDelivered, At: time.Now(), Status: http.StatusOK,
		Payload: []byte(`{"uid":"` + payload + `"}`), Answer: delivery.EndpointAnswer{Text: text},
	}
	check(t, storeOf(w.env).KeepPost(ctx, kept))
	v.post = fmt.Sprintf("%d-%s", kept.At.UnixMilli(), kept.WebhookID)
}

// fillDashboard gives the owner what only the dashboard makes: a list of recipients, a draft,
// an uploaded file and a request for approval.
func (w *authzFixture) fillDashboard(ctx context.Context, t *testing.T) {
	t.Helper()
	v, store, now := &w.owner, storeOf(w.env), time.Now()
	_, _, err := store.CreateExport(ctx, export.Export{
		ID: campaign.ID{Tenant: v.id, CampaignID: v.campaign}, ExportID: v.list, Kind: export.Recipients,
		Audience: export.AudienceUnread, State: export.Completed, CreatedAt: now, ExpiresAt: now.Add(time.Hour),
	}, nil)
	check(t, err)
	draft, large := "d"+rand.Text(), "l"+rand.Text()
	v.private = append([]string{draft, large}, v.private...)
	_, err = store.SaveSubmission(ctx, submission.Submission{
		ID: campaign.ID{Tenant: v.id, CampaignID: v.campaign}, Name: large, TemplateID: v.template, State: submission.StateColumns, CreatedAt: now,
	})
	check(t, err)
	_, err = store.SaveSubmission(ctx, submission.Submission{
		ID: campaign.ID{Tenant: v.id, CampaignID: v.draft}, Name: draft, TemplateID: v.template, State: submission.StateDraft, CreatedAt: now, SavedAt: now,
	})
	check(t, err)
}

// suppress gives the owner a suppression list, and a file of numbers that waits for its review.
func (w *authzFixture) suppress(ctx context.Context, t *testing.T) {
	t.Helper()
	v, reason := &w.owner, "s"+rand.Text()
	v.private = append([]string{reason}, v.private...)
	body := map[string]any{"reason": reason, "numbers": []string{"+5561998000001"}}
	if a := w.call(ctx, t, http.MethodPut, "/api/v1/external/lists/"+v.suppression, body, "Bearer "+w.ownersToken); a.status != http.StatusOK {
		t.Fatalf("the list answered %d %s", a.status, a.body)
	}
	files := s3.New(w.env.AWS(), w.env["BUCKET"], true)
	check(t, files.Put(ctx, submission.WorkPrefix+v.id+"/lists/"+v.numbers, []byte("telefone\n61998000002\n"), "application/octet-stream"))
}

var uploadID = regexp.MustCompile(`/submissions/([0-9a-f-]+)`)

// upload uploads a campaign file as the owner's admin.
func (w *authzFixture) upload(ctx context.Context, t *testing.T) {
	t.Helper()
	v := w.session(ctx, t, time.Now(), w.env["BASE_URL"], w.owner.id, web.RoleAdmin)
	var form bytes.Buffer
	parts := multipart.NewWriter(&form)
	file, err := parts.CreateFormFile("file", "f.csv")
	check(t, err)
	_, err = io.WriteString(file, "phone,uid,nome,pedido\n"+w.owner.private[len(w.owner.private)-1]+",u,Ana,1\n123,x,Bia,2\n") // one line is left out
	check(t, errors.Join(err, parts.WriteField("csrf", v.csrf), parts.WriteField("name", "f"+rand.Text()),
		parts.WriteField("template", w.owner.template), parts.Close()))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.env["BASE_URL"]+web.Root+"/campaigns/new", &form)
	check(t, err)
	r.Header.Set("Content-Type", parts.FormDataContentType())
	r.AddCookie(v.cookie)
	a := w.do(t, r)
	found := uploadID.FindStringSubmatch(a.location)
	if found == nil {
		t.Fatalf("the upload answered %d, and leads to %q", a.status, a.location)
	}
	w.owner.upload = found[1]
}

// answer is the answer to a call.
type answer struct {
	status                                 int
	contentType, challenge, location, body string
}

// redacted returns the answer without the IDs of the resources.
func (a answer) redacted(t resourceIDs) answer {
	a.body, a.location = t.hide(a.body), t.hide(a.location)
	return a
}

func (w *authzFixture) call(ctx context.Context, t *testing.T, method, path string, body any, authorization string) answer {
	t.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		check(t, err)
	}
	r, err := http.NewRequestWithContext(ctx, method, w.env["BASE_URL"]+path, bytes.NewReader(text))
	check(t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return w.do(t, r)
}

// submitToken is in each form of each page, drawn at random, as is the ID of a new campaign.
var submitToken = regexp.MustCompile(`name="(once|from)" value="[^"]*"`)

func (w *authzFixture) do(t *testing.T, r *http.Request) answer {
	t.Helper()
	r.Header.Set("Accept-Language", "en")
	got, err := w.http.Do(r)
	check(t, err)
	body, err := io.ReadAll(got.Body)
	check(t, errors.Join(err, got.Body.Close()))
	return answer{
		status: got.StatusCode, contentType: got.Header.Get("Content-Type"), challenge: got.Header.Get("WWW-Authenticate"),
		location: got.Header.Get("Location"), body: submitToken.ReplaceAllString(string(body), ""),
	}
}

// authzReport counts the tries of one kind of route.
type authzReport struct {
	tries  int
	wrong  []string
	except string
}

func (r *authzReport) failf(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

func (r *authzReport) record(t *testing.T, what string) {
	t.Helper()
	figure := fmt.Sprintf("%d tries, nothing passed, nothing showed%s", r.tries, r.except)
	if len(r.wrong) > 0 {
		figure = fmt.Sprintf("%d of %d tries\n%s", len(r.wrong), r.tries, strings.Join(r.wrong, "\n"))
	}
	record(t, len(r.wrong) == 0 && r.tries > 0, what, figure)
}

// searchAnswer reports the owner's data in an answer that was not in the request.
func (w *authzFixture) searchAnswer(r *authzReport, where string, a answer, sent string) {
	v := w.owner
	all := append([]string{v.campaign, v.name, v.batch, v.template, v.credential, v.endpoint, v.post, v.message, v.upload, v.planned, v.holding, v.id}, v.private...)
	for i, secret := range all {
		if !strings.Contains(sent, secret) && strings.Contains(a.body+a.location, secret) {
			r.failf("%s shows private data %d", where, i)
		}
	}
}
