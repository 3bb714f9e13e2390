package e2e_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/kms/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/oauth/accesstoken"
	"campaign-dispatch/localstack/lab/ephemeralstack"
)

// rotation is a stack of the test's own, whose signing keys are replaced.
type rotation struct {
	*client

	stack *ephemeralstack.Stack
}

func newRotation(t *testing.T) *rotation {
	t.Helper()
	c := newClient(t)
	stack, err := ephemeralstack.New(t.Context(), "campaign-dispatch-rotation", ".local/rotation")
	must(t, err)
	stack.Root = "../.."
	t.Cleanup(func() { must(t, stack.Down(context.Background())) }) // the test's own context has ended by then
	env, err := stack.Up(t.Context())
	must(t, err)
	return &rotation{&client{t, env, c.http, c.began}, stack}
}

func (r *rotation) deploy(use string, switchAt time.Time) {
	r.t.Helper()
	env, err := r.stack.Redeploy(r.t.Context(), "--built", "--parameter", "SigningKeys="+use, "--parameter", "SigningKeysSwitchAt="+switchAt.UTC().Format(time.RFC3339))
	must(r.t, err)
	r.env = env
}

// published are the IDs of the keys that clients verify tokens by.
func (r *rotation) published() (ids []string) {
	r.t.Helper()
	var set struct{ Keys []accesstoken.JWK }
	r.get("/.well-known/jwks.json", &set)
	for _, key := range set.Keys {
		ids = append(ids, key.ID)
	}
	return ids
}

// newToken gets a token that has to be signed by a published key.
func (r *rotation) newToken(signedBy string) string {
	r.t.Helper()
	got := r.ownCredential().grant()
	if got.status != http.StatusOK || keyOf(r.t, got.AccessToken) != signedBy {
		r.t.Fatalf("answered %d, want a token of the key %s", got.status, signedBy)
	}
	return got.AccessToken
}

// keyOf is the ID of the key that signed a token.
func keyOf(t *testing.T, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	must(t, err)
	var header struct{ Kid string }
	must(t, json.Unmarshal(text, &header))
	return header.Kid
}

// signed returns a token that is signed with a KMS key.
func (r *rotation) signed(keyID string, issued time.Time) string {
	r.t.Helper()
	i := accesstoken.Issuer{
		Signer: kms.New(r.env.AWS(), keyID, "", time.Time{}, time.Now),
		Now:    func() time.Time { return issued },
	}
	token, err := i.Issue(r.t.Context(), r.env["BASE_URL"], accesstoken.Claims{
		Tenant: r.env["TENANT"], ClientID: r.env["CLIENT_ID"], Scope: account.ScopeDispatch,
	})
	must(r.t, err)
	return token
}

// valid checks whether the functions accept a token.
func (r *rotation) valid(name, token string, want bool) {
	r.t.Helper()
	dispatch, read := r.dryRun(token), r.do(http.MethodGet, "/api/v1/external/campaigns/"+random.UUID(), nil, "Authorization", "Bearer "+token).status
	if want && (dispatch != http.StatusOK || read != http.StatusNotFound) || !want && (dispatch != http.StatusUnauthorized || read != http.StatusUnauthorized) {
		r.t.Errorf("%s: dispatch answered %d, reading a campaign %d, want it valid: %v", name, dispatch, read, want)
	}
}

// person signs in to the dashboard of the stack.
func (r *rotation) person() *visitor {
	r.t.Helper()
	v := newVisitor(r.t)
	v.env = r.env
	if got := v.signIn("/dashboard/settings/audit", v.env["DASHBOARD_EMAIL"], v.env["DASHBOARD_PASSWORD"]); got.status != http.StatusOK {
		r.t.Fatalf("signed in, saw %d at %s", got.status, got.url)
	}
	return v
}

func (v *visitor) sessionKey() string {
	v.t.Helper()
	base, err := url.Parse(v.env["BASE_URL"])
	must(v.t, err)
	for _, cookie := range v.client.Jar.Cookies(base) {
		if cookie.Name == "session" {
			return keyOf(v.t, cookie.Value)
		}
	}
	v.t.Fatal("there is no session")
	return ""
}

// signedIn checks whether the person's session opens a page. Without a valid session the
// page redirects to a new sign-in.
func (r *rotation) signedIn(name string, v *visitor, want bool) {
	r.t.Helper()
	redirected := false
	v.client.CheckRedirect = func(*http.Request, []*http.Request) error {
		redirected = true
		return nil
	}
	got := v.open(r.env["BASE_URL"] + "/dashboard/settings/audit")
	if got.status != http.StatusOK || redirected == want {
		r.t.Errorf("%s: status %d at %s, redirected %v, want still signed in %v", name, got.status, got.url, redirected, want)
	}
}

// version calls a version of a function as API Gateway does, and returns the answer's
// status.
func (r *rotation) version(function, version, path, query, body string, headers map[string]string) (status int, answer string) {
	r.t.Helper()
	base, err := url.Parse(r.env["BASE_URL"])
	must(r.t, err)
	headers["host"], headers["x-forwarded-proto"] = base.Host, base.Scheme
	event, err := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": path, "rawQueryString": query, "headers": headers, "body": body,
		"requestContext": map[string]any{"http": map[string]string{"method": http.MethodPost, "path": path, "sourceIp": "203.0.113.10"}},
	})
	must(r.t, err)
	out, err := lambda.NewFromConfig(r.env.AWS()).Invoke(r.t.Context(), &lambda.InvokeInput{FunctionName: &function, Qualifier: &version, Payload: event})
	must(r.t, err)
	var got struct {
		StatusCode int
		Body       string
	}
	must(r.t, json.Unmarshal(out.Payload, &got))
	return got.StatusCode, got.Body
}

// versionOf is the version that calls of a function reach.
func (r *rotation) versionOf(function string) string {
	r.t.Helper()
	is, err := lambda.NewFromConfig(r.env.AWS()).GetAlias(r.t.Context(), &lambda.GetAliasInput{FunctionName: &function, Name: aws.String("live")})
	must(r.t, err)
	return *is.FunctionVersion
}

// grantBy gets a token from a version of the token function.
func (r *rotation) grantBy(version string) (status int, token string) {
	r.t.Helper()
	own := r.ownCredential()
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {own.env["CLIENT_ID"]}, "client_secret": {own.env["CLIENT_SECRET"]}}
	status, body := r.version(r.env["TOKEN_FUNCTION"], version, tokenPath, "", form.Encode(), map[string]string{"content-type": "application/x-www-form-urlencoded"})
	var got reply
	must(r.t, json.Unmarshal([]byte(body), &got))
	return status, got.AccessToken
}

// dryRunBy is dryRun at a version of the dispatch function.
func (r *rotation) dryRunBy(version, token string) int {
	r.t.Helper()
	body, err := json.Marshal(r.call(messages(1)))
	must(r.t, err)
	status, _ := r.version(r.env["DISPATCH_FUNCTION"], version, dispatchPath, "dryRun=true", string(body),
		map[string]string{"content-type": "application/json", "authorization": "Bearer " + token})
	return status
}

func (r *rotation) stateOf(key string) types.KeyState {
	r.t.Helper()
	is, err := awskms.NewFromConfig(r.env.AWS()).DescribeKey(r.t.Context(), &awskms.DescribeKeyInput{KeyId: &key})
	must(r.t, err)
	return is.KeyMetadata.KeyState
}

// Every deployment is one of the real template; functions call KMS by their roles.
func TestSigningKeys_Rotation(t *testing.T) {
	t.Parallel()
	r := newRotation(t)
	keyA, sessionKeyA := r.env["SIGNING_KEY_ID"], r.env["SESSION_KEY_ID"]
	first := r.published()
	if len(first) != 1 {
		t.Fatalf("published %v, want one key", first)
	}
	a, ofA, ana := first[0], r.newToken(first[0]), r.person()
	tokenBefore, dispatchBefore := r.versionOf(r.env["TOKEN_FUNCTION"]), r.versionOf(r.env["DISPATCH_FUNCTION"])

	r.deploy("AtoB", time.Now().Add(time.Hour))
	b := r.isPublished(a)
	r.valid("a token of before, once the new key is published", ofA, true)
	r.valid("a new token", r.newToken(a), true)
	status, ofBefore := r.grantBy(tokenBefore)
	if status != http.StatusOK {
		t.Errorf("the version before answers %d once the new key is published", status)
	}
	r.valid("a token of the version before", ofBefore, true)
	if status := r.dryRunBy(dispatchBefore, r.newToken(a)); status != http.StatusOK {
		t.Errorf("the version before answers a token of the new version with %d", status)
	}

	// Functions switch by themselves a minute before the instant.
	dispatchKnowing := r.versionOf(r.env["DISPATCH_FUNCTION"])
	r.deploy("AtoB", time.Now().Add(70*time.Second))
	r.eventually(5*time.Minute, "signed by the new key", func() bool { return slices.Equal(r.published(), []string{b, a}) })
	ofB, bia := r.newToken(b), r.person()
	r.valid("a token of the new key", ofB, true)
	r.valid("a token of before, once the new key signs", ofA, true)
	if status := r.dryRunBy(dispatchKnowing, ofB); status != http.StatusOK {
		t.Errorf("the version before answers a token of the new key with %d", status)
	}
	r.signedIn("a session of before", ana, true)
	r.signedIn("a session of the new key", bia, true)
	if ana.sessionKey() == bia.sessionKey() {
		t.Error("sessions are signed by the key of before")
	}

	switchAt := time.Now().Add(-30 * time.Minute)
	r.deploy("AtoB", switchAt)
	r.valid("a token that the previous key signs after its replacement", r.signed(keyA, time.Now()), false)
	datedBack := r.signed(keyA, switchAt.Add(-time.Minute))
	r.valid("one that it signed before", datedBack, true)
	r.valid("a token of the new key, later", ofB, true)
	if status, _ := r.grantBy(tokenBefore); status != http.StatusServiceUnavailable {
		t.Errorf("the token function still signs with the previous key: answered %d", status)
	}

	r.deploy("B", time.Time{})
	if diff := cmp.Diff([]string{b}, r.published()); diff != "" {
		t.Errorf("published at the end (-want +got):\n%s", diff)
	}
	r.valid("a token of the previous key, at the end", datedBack, false)
	r.valid("a token of an unlisted key", r.signed(r.unlisted(), time.Now()), false)
	r.valid("a token of the new key, at the end", ofB, true)
	r.valid("a new token, at the end", r.newToken(b), true)
	r.signedIn("a session of the new key, at the end", bia, true)
	r.signedIn("a session of the previous key, at the end", ana, false)
	for name, key := range map[string]string{"access tokens": keyA, "sessions": sessionKeyA} {
		if state := r.stateOf(key); state != types.KeyStatePendingDeletion {
			t.Errorf("the previous key of %s is %s, want it pending deletion", name, state)
		}
	}
}

// isPublished returns the new key, which is published beside the one that signs.
func (r *rotation) isPublished(signs string) string {
	r.t.Helper()
	both := r.published()
	if len(both) != 2 || both[0] != signs {
		r.t.Fatalf("published %v, want %s and a new one", both, signs)
	}
	return both[1]
}

// unlisted is a key of the same account that the service does not know.
func (r *rotation) unlisted() string {
	r.t.Helper()
	out, err := awskms.NewFromConfig(r.env.AWS()).CreateKey(r.t.Context(), &awskms.CreateKeyInput{
		KeySpec: types.KeySpecEccNistP256, KeyUsage: types.KeyUsageTypeSignVerify,
	})
	must(r.t, err)
	return *out.KeyMetadata.KeyId
}
