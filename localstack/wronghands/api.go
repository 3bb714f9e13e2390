package wronghands

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"campaign-dispatch/internal/httpapi/openapi"
)

// operation is a request that the OpenAPI document has an example of.
type operation struct {
	id, method, path string
	query            string
	protected, basic bool
	body             map[string]any // nil for none
}

// public are the operations that anybody may call.
var public = []string{"getDocument", "getErrorFile", "getKeys", "getServerMetadata", "getToken"}

// operations reads the document.
func operations() (all []operation, err error) {
	text, err := openapi.Document("http://127.0.0.1")
	if err != nil {
		return nil, err
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	for path, item := range document.Paths.Map() {
		for method, o := range item.Operations() {
			one := operation{id: o.OperationID, method: method, path: path, protected: o.Security != nil && !open(*o.Security)}
			one.basic = o.Security != nil && slices.ContainsFunc(*o.Security, func(r openapi3.SecurityRequirement) bool { return r["client"] != nil })
			if o.Parameters.GetByInAndName("query", "dryRun") != nil {
				one.query = "?dryRun=true"
			}
			all = append(all, withExamples(one, o)...)
		}
	}
	// What ends a campaign comes last.
	slices.SortFunc(all, func(a, b operation) int { return strings.Compare(rank(a)+a.id, rank(b)+b.id) })
	return all, nil
}

func rank(o operation) string {
	if o.id == "cancelCampaign" {
		return "~"
	}
	return ""
}

// open reports whether a request without any security is allowed.
func open(all openapi3.SecurityRequirements) bool {
	return len(all) == 0 || slices.ContainsFunc(all, func(r openapi3.SecurityRequirement) bool { return len(r) == 0 })
}

func withExamples(one operation, o *openapi3.Operation) (all []operation) {
	if o.RequestBody == nil {
		return []operation{one}
	}
	examples := o.RequestBody.Value.Content.Get("application/json").Examples
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		one.body, _ = examples[name].Value.Value.(map[string]any)
		all = append(all, one)
	}
	return all
}

// about returns the operation's path and body for some things.
func (o operation) about(t things) (path string, body any, err error) {
	path = strings.NewReplacer("{campaignId}", t.campaign, "{batch}", t.batch, "{name}", t.upload+".csv").Replace(o.path) + o.query
	if strings.Contains(path, "{") {
		return "", nil, fmt.Errorf("%s has a parameter that is not known here: teach it", o.path)
	}
	if o.body == nil {
		return path, nil, nil
	}
	all := maps.Clone(o.body)
	known := map[string]any{
		"campaignId": t.campaign, "templateId": t.template, "name": t.name, "batch": t.batch,
		"schedule": time.Now().Add(48 * time.Hour).UTC().Format("2006-01-02T15:04Z"),
		"notAfter": time.Now().Add(72 * time.Hour).UTC().Format("2006-01-02T15:04Z"),
	}
	for name := range all {
		if value, ok := known[name]; ok {
			all[name] = value
		}
	}
	if _, ok := all["grant_type"]; ok {
		all["client_id"] = "rcs_" + rand.Text() // each has a limit of its own
	}
	return path, all, nil
}

// API tries every operation of the OpenAPI document.
func (w *World) API(ctx context.Context) (r Report, err error) {
	keys, err := lureWithKeys(ctx)
	if err != nil {
		return r, err
	}
	defer keys.close()
	all, err := operations()
	if err != nil {
		return r, err
	}
	hands, err := w.hands(ctx, keys.address)
	if err != nil {
		return r, err
	}
	before, err := w.seen(ctx, all)
	if err != nil {
		return r, err
	}
	var open []string
	for _, o := range all {
		if !o.protected {
			open = append(open, o.id)
		}
		if err := w.tryHands(ctx, &r, o, hands); err != nil {
			return r, err
		}
		if err := w.tryThief(ctx, &r, o); err != nil {
			return r, err
		}
	}
	if open = slices.Compact(open); !slices.Equal(open, public) {
		r.wrong("public are %q, not %q", open, public)
	}
	if n := keys.asked.Load(); n > 0 {
		r.wrong("the service asked for the forger's keys %d times", n)
	}
	after, err := w.seen(ctx, all)
	if err != nil {
		return r, err
	}
	if !maps.Equal(before, after) {
		r.wrong("the victim's campaign is another one")
	}
	r.Routes, r.Hands = len(paths(all)), len(hands)+1
	err = w.rightHand(ctx, &r, all)
	return r, err
}

func paths(all []operation) map[string]bool {
	found := map[string]bool{}
	for _, o := range all {
		found[o.method+" "+o.path] = true
	}
	return found
}

// seen returns what the victim reads of its things.
func (w *World) seen(ctx context.Context, all []operation) (map[string]string, error) {
	found := map[string]string{}
	for _, o := range all {
		if !o.protected || o.method != http.MethodGet {
			continue
		}
		path, _, err := o.about(w.victim.things)
		if err != nil {
			return nil, err
		}
		a, err := w.call(ctx, o.method, path, nil, "Bearer "+w.access)
		if err != nil {
			return nil, err
		}
		found[path] = a.body
	}
	return found, nil
}

// tryHands has everybody who has no right at all call an operation.
func (w *World) tryHands(ctx context.Context, r *Report, o operation, hands []hand) error {
	var first answer
	for i, h := range hands {
		if o.basic && strings.HasPrefix(h.header, "Basic") {
			continue // it belongs there
		}
		about := w.victim.things
		if !o.protected {
			about = nothing() // an error file's name is all its protection
		}
		path, body, err := o.about(about)
		if err != nil {
			return err
		}
		if err := w.forgetFailures(ctx); err != nil {
			return err
		}
		a, err := w.call(ctx, o.method, path, body, h.header)
		if err != nil {
			return err
		}
		r.Tries++
		if i == 0 {
			first = a.about(about)
		}
		where := o.method + " " + o.path + " with " + h.name
		switch {
		case !o.protected && a.about(about) != first:
			r.wrong("%s: %d, without a token %d", where, a.status, first.status)
		case o.protected && (a.status != h.status || a.contentType != "application/problem+json" || a.challenge == ""):
			r.wrong("%s: %d %s, want %d and a challenge", where, a.status, a.contentType, h.status)
		}
		if found := w.leaks(a, sent(path, body)); found != nil {
			r.wrong("%s shows %q", where, found)
		}
	}
	return nil
}

func sent(path string, body any) string {
	text, err := json.Marshal(body)
	if err != nil {
		return path
	}
	return path + string(text)
}

// asToldByTheInterface makes of the one answer about another tenant's things that the
// interface promises, a 403 for a template, the one about a template that does not
// exist. Nothing else of the two may differ.
var asToldByTheInterface = strings.NewReplacer(
	`"status":403,"pointer":"/templateId"`, `"status":404,"pointer":"/templateId"`,
	`"template_of_another_tenant","detail":"the template belongs to another tenant"`,
	`"template_not_found","detail":"the template does not exist"`,
)

// tryThief has another tenant call an operation for the victim's things, and for
// things that do not exist: no answer may tell which.
func (w *World) tryThief(ctx context.Context, r *Report, o operation) error {
	token, err := w.issue(ctx, time.Now(), w.env["BASE_URL"], w.thief.claims())
	if err != nil {
		return err
	}
	own, theirs, none := w.thief.template, w.victim.things, nothing()
	theirsByOwn, noneByOwn := theirs, none
	theirsByOwn.template, noneByOwn.template = own, own
	for _, pair := range [][2]things{{theirs, none}, {theirsByOwn, noneByOwn}} {
		var answers [2]answer
		for i, about := range pair {
			path, body, err := o.about(about)
			if err != nil {
				return err
			}
			a, err := w.call(ctx, o.method, path, body, "Bearer "+token)
			if err != nil {
				return err
			}
			if found := w.leaks(a, sent(path, body)); found != nil {
				r.wrong("%s %s with another tenant's token shows %q", o.method, o.path, found)
			}
			answers[i] = a.about(about)
		}
		answers[0].body = asToldByTheInterface.Replace(answers[0].body)
		r.Tries += 2
		if answers[0] != answers[1] {
			r.wrong("%s %s with another tenant's token: %d of what exists, %d of what does not", o.method, o.path, answers[0].status, answers[1].status)
		}
	}
	return nil
}

// rightHand has the victim call every protected operation: were they refused too, the
// tries above would show nothing.
func (w *World) rightHand(ctx context.Context, r *Report, all []operation) error {
	for _, o := range all {
		if !o.protected {
			continue
		}
		path, body, err := o.about(w.victim.things)
		if err != nil {
			return err
		}
		a, err := w.call(ctx, o.method, path, body, "Bearer "+w.access)
		if err != nil {
			return err
		}
		if a.status/100 != 2 {
			r.wrong("%s %s with the right token: %d %s", o.method, o.path, a.status, a.body)
		}
	}
	return nil
}
