package prove

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/getkin/kin-openapi/openapi3"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi/openapi"
)

// operation is a request that is an example of the OpenAPI document.
type operation struct {
	id, method, path, query string
	protected, basic        bool
	body                    map[string]any // nil for none
}

func (o operation) String() string { return o.method + " " + o.path }

// publicOperations need no token.
var publicOperations = []string{"getDocument", "getErrorFile", "getExportFile", "getKeys", "getServerMetadata", "getToken"}

// operations reads the document. The operation that ends a campaign comes last.
func operations(t *testing.T) (all []operation) {
	t.Helper()
	text, err := openapi.Document("http://127.0.0.1")
	check(t, err)
	document, err := openapi3.NewLoader().LoadFromData(text)
	check(t, err)
	for path, item := range document.Paths.Map() {
		for method, o := range item.Operations() {
			one := operation{id: o.OperationID, method: method, path: path}
			if o.Security != nil {
				one.protected = len(*o.Security) > 0 && !slices.ContainsFunc(*o.Security, func(r openapi3.SecurityRequirement) bool { return len(r) == 0 })
				one.basic = slices.ContainsFunc(*o.Security, func(r openapi3.SecurityRequirement) bool { return r["client"] != nil })
			}
			if o.Parameters.GetByInAndName("query", "dryRun") != nil {
				one.query = "?dryRun=true"
			}
			if o.RequestBody == nil {
				all = append(all, one)
				continue
			}
			examples := o.RequestBody.Value.Content.Get("application/json").Examples
			for _, name := range slices.Sorted(maps.Keys(examples)) {
				one.body, _ = examples[name].Value.Value.(map[string]any)
				all = append(all, one)
			}
		}
	}
	order := strings.NewReplacer("cancelCampaign", "~", "deleteList", "n") // between listLists and putList, which creates it again
	rank := func(o operation) string { return order.Replace(o.id) }
	slices.SortStableFunc(all, func(a, b operation) int { return strings.Compare(rank(a), rank(b)) })
	return all
}

// withIDs returns the operation's path and body for some resources.
func (o operation) withIDs(t *testing.T, about resourceIDs) (path string, body any) {
	t.Helper()
	path = strings.NewReplacer("{campaignId}", about.campaign, "{batch}", about.batch, "/lists/{name}", "/lists/"+about.suppression, "{name}", about.upload+".csv", "{file}", about.upload,
		"{exportId}", about.export,
		"{templateId}", about.template, "{version}", "1").Replace(o.path) + o.query
	if strings.Contains(path, "{") {
		t.Fatalf("%s has an unknown parameter: add it here", o.path)
	}
	if o.body == nil {
		return path, nil
	}
	all := maps.Clone(o.body)
	for name, value := range map[string]any{
		"campaignId": about.campaign, "templateId": about.template, "name": about.name, "batch": about.batch,
		"schedule":  time.Now().Add(48 * time.Hour).UTC().Format("2006-01-02T15:04Z"),
		"notAfter":  time.Now().Add(72 * time.Hour).UTC().Format("2006-01-02T15:04Z"),
		"client_id": "rcs_" + rand.Text(), // each has a limit of its own
	} {
		if name == "name" && all["campaignId"] == nil {
			continue // of a template: a repeated call has the same one
		}
		if _, ok := all[name]; ok || name == "client_id" && all["grant_type"] != nil {
			all[name] = value
		}
	}
	return path, all
}

// tryAPI calls every operation of the OpenAPI document with every wrong credential.
func (w *authzFixture) tryAPI(ctx context.Context, t *testing.T) {
	t.Helper()
	r := &authzReport{except: " but that a template is another tenant's: dispatch's 403"}
	all, jwks := operations(t), serveFakeJWKS(t)
	wrong, before := w.wrongCredentials(ctx, t, jwks.URL), w.ownersAnswers(ctx, t, all)
	var public []string
	routes := map[string]bool{}
	for _, o := range all {
		routes[o.String()] = true
		if !o.protected {
			public = append(public, o.id)
		}
		w.tryCredentials(ctx, t, r, o, wrong)
		w.tryAttacker(ctx, t, r, o)
	}
	if public = slices.Compact(public); !slices.Equal(public, publicOperations) {
		r.failf("public are %q, not %q", public, publicOperations)
	}
	if n := jwks.requests.Load(); n > 0 {
		r.failf("the service requested the attacker's keys %d times", n)
	}
	if !maps.Equal(before, w.ownersAnswers(ctx, t, all)) {
		r.failf("the owner's campaign has changed")
	}
	for _, o := range all { // were the owner refused too, the tries would show nothing
		path, body := o.withIDs(t, w.owner.resourceIDs)
		if a := w.callInTime(ctx, t, o.method, path, body); o.protected && a.status/100 != 2 {
			r.failf("%s with the right token: %d %s", o, a.status, a.body)
		}
	}
	r.record(t, fmt.Sprintf("%d routes of the OpenAPI document with %d wrong credentials", len(routes), len(wrong)+1))
}

// callInTime calls with the owner's token, and waits while too many exports are in progress.
func (w *authzFixture) callInTime(ctx context.Context, t *testing.T, method, path string, body any) (a answer) {
	t.Helper()
	check(t, eventually(ctx, time.Minute, func() (bool, error) {
		a = w.call(ctx, t, method, path, body, "Bearer "+w.ownersToken)
		return a.status != http.StatusTooManyRequests, nil
	}))
	return a
}

// ownersAnswers are the answers to the owner's reads.
func (w *authzFixture) ownersAnswers(ctx context.Context, t *testing.T, all []operation) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, o := range all {
		if o.protected && o.method == http.MethodGet {
			path, _ := o.withIDs(t, w.owner.resourceIDs)
			found[path] = w.call(ctx, t, o.method, path, nil, "Bearer "+w.ownersToken).body
		}
	}
	return found
}

// tryCredentials calls an operation with every wrong credential. An operation that needs
// none answers as it does without one.
func (w *authzFixture) tryCredentials(ctx context.Context, t *testing.T, r *authzReport, o operation, wrong []credential) {
	t.Helper()
	var first answer
	for i, c := range wrong {
		if o.basic && strings.HasPrefix(c.header, "Basic") {
			continue // the operation takes it
		}
		about := w.owner.resourceIDs
		if !o.protected {
			about = missing() // the name of an error file is its protection
		}
		path, body := o.withIDs(t, about)
		w.forgetFailures(ctx, t)
		a := w.call(ctx, t, o.method, path, body, c.header)
		if r.tries++; i == 0 {
			first = a.redacted(about)
		}
		where := fmt.Sprintf("%s with %s", o, c.name)
		switch {
		case !o.protected && a.redacted(about) != first:
			r.failf("%s: %d, without a token %d", where, a.status, first.status)
		case o.protected && (a.status != c.status || a.contentType != "application/problem+json" || a.challenge == ""):
			r.failf("%s: %d %s, want %d and a challenge", where, a.status, a.contentType, c.status)
		}
		w.searchAnswer(r, where, a, sentText(path, body))
	}
}

func sentText(path string, body any) string {
	text, _ := json.Marshal(body)
	return path + string(text)
}

// documented403 turns the one answer about another tenant's resourceIDs that the API
// documents, a 403 for a template, into the answer about a template that does not exist.
var documented403 = strings.NewReplacer(
	`"status":403,"pointer":"/templateId"`, `"status":404,"pointer":"/templateId"`,
	`"template_of_another_tenant","detail":"the template belongs to another tenant"`,
	`"template_not_found","detail":"the template does not exist"`,
)

// tryAttacker calls an operation with another tenant's token for the owner's resourceIDs, and
// for resourceIDs that do not exist: the answers have to be the same.
func (w *authzFixture) tryAttacker(ctx context.Context, t *testing.T, r *authzReport, o operation) {
	t.Helper()
	token := w.issue(ctx, t, time.Now(), w.env["BASE_URL"], w.attacker.claims())
	theirs, none := w.owner.resourceIDs, missing()
	byOwnTemplate, noneByOwn := theirs, none
	byOwnTemplate.template, noneByOwn.template = w.attacker.template, w.attacker.template
	for _, pair := range [][2]resourceIDs{{theirs, none}, {byOwnTemplate, noneByOwn}} {
		var answers [2]answer
		for i, about := range &pair {
			path, body := o.withIDs(t, about)
			a := w.call(ctx, t, o.method, path, body, "Bearer "+token)
			w.searchAnswer(r, o.String()+" with another tenant's token", a, sentText(path, body))
			answers[i] = a.redacted(about)
		}
		r.tries += 2
		if answers[0].body = documented403.Replace(answers[0].body); answers[0] != answers[1] {
			r.failf("%s with another tenant's token: %d of what exists, %d of what does not", o, answers[0].status, answers[1].status)
		}
	}
}

// forgetFailures deletes the count of failed token requests of this machine. The
// emulator gives all callers one address, and a 429 would hide differences.
func (w *authzFixture) forgetFailures(ctx context.Context, t *testing.T) {
	t.Helper()
	const address = "failures 127.0.0.1" // see package oauth
	_, err := dynamodb.NewFromConfig(w.env.AWS()).DeleteItem(ctx, &dynamodb.DeleteItemInput{
		TableName: aws.String(w.env["AUTH_TABLE"]),
		Key:       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "RATE#" + campaign.Digest(address)}},
	})
	check(t, err)
}
