package e2e_test

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"html"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook/delivery"
)

// sentForm is a form that is sent in the ways that people send one by mistake: by a double
// click, again after going back, and from a second tab that was opened before.
type sentForm struct {
	form   string // its registered path
	page   string // the page with the form, or "POST " and a form that leads to it; {name} is a kept identifier
	first  url.Values
	second url.Values // of the second tab; nil for the same values
	file   string     // content of its file
	makes  string     // kind of the row that one submission makes
	// own means that the second tab's submission is another one. Else it changes nothing, and
	// entered values are shown again.
	own     bool
	keep    string // name under which the identifier in the new row or the next address is kept
	by      string // role of who sends it; an admin if empty
	prepare func(w *formWalk)
	finish  func(w *formWalk) // waits for what functions do after it
}

// formWalk sends the forms of a tenant of its own.
type formWalk struct {
	*visitor
	c      *client
	people map[string]*visitor // by role
	kept   map[string]string
	last   page
	seen   map[string]string // the rows at the last look
}

func newFormWalk(t *testing.T) *formWalk {
	t.Helper()
	c := newClient(t).ownTenant()
	template, err := c.service().SaveTemplate(t.Context(), settings.TemplateForm{Tenant: c.env["TENANT"], Text: "Oi {{nome}}"})
	must(t, err)
	w := &formWalk{c: c, people: map[string]*visitor{}, kept: map[string]string{
		"tenant": c.env["TENANT"], "template": template.ID, "credential": c.env["CLIENT_ID"], "endpoint": rand.Text(),
	}}
	for _, role := range []string{"approver", "admin"} {
		v := newVisitor(t)
		v.env = c.env
		v.signIn("/dashboard/campaigns", v.person(role).Email, v.env["DASHBOARD_PASSWORD"])
		w.people[role], w.visitor = v, v
	}
	w.kept["person"] = w.person("viewer").Email
	must(t, c.store().SaveEndpoint(t.Context(), delivery.Endpoint{
		ID: w.kept["endpoint"], Tenant: w.kept["tenant"], URL: "http://127.0.0.1:9/webhooks", Secret: "whsec_" + strings.Repeat("a", 44), Kinds: []string{string(delivery.KindSent)},
	}))
	return w
}

// fill replaces the names of kept identifiers.
func (w *formWalk) fill(text string) string {
	return regexp.MustCompile(`{(\w+)}`).ReplaceAllStringFunc(text, func(name string) string {
		if kept, ok := w.kept[strings.Trim(name, "{}")]; ok {
			return kept
		}
		return name
	})
}

var (
	uuids     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)
	inputTag  = regexp.MustCompile(`<(?:input|button)[^>]*>`)
	attribute = regexp.MustCompile(` (name|value|type|checked)(?:="([^"]*)")?`)
)

// tab opens a page and returns the values of its form for a path.
func (w *formWalk) tab(f sentForm, values url.Values) url.Values {
	w.t.Helper()
	var found string
	w.c.eventually(time.Minute, "the page has the form for "+w.path(f.form), func() bool {
		found = formIn(w.visit(f.page).body, w.path(f.form))
		return found != ""
	})
	form := url.Values{}
	for _, tag := range inputTag.FindAllString(found, -1) {
		a := map[string]string{}
		for _, pair := range attribute.FindAllStringSubmatch(tag, -1) {
			a[pair[1]] = html.UnescapeString(pair[2])
		}
		_, checked := a["checked"]
		if choice := a["type"] == "radio" || a["type"] == "checkbox"; a["name"] == "" || strings.HasPrefix(tag, "<button") || choice && !checked {
			continue
		}
		form.Add(a["name"], a["value"])
	}
	for name, value := range values {
		form[name] = []string{w.fill(value[0])}
	}
	return form
}

// visit opens a page: by its path, by a form that leads to it, or the last one.
func (w *formWalk) visit(address string) page {
	w.t.Helper()
	address = w.fill(address)
	if address == "" {
		return w.last
	}
	path, ok := strings.CutPrefix(address, "POST ")
	if !ok {
		return w.open(w.env["BASE_URL"] + address)
	}
	path, query, _ := strings.Cut(path, "?")
	form, err := url.ParseQuery(query)
	must(w.t, err)
	form.Set("csrf", csrfField.FindStringSubmatch(w.open(w.env["BASE_URL"] + "/dashboard/campaigns").body)[1])
	return w.post(w.env["BASE_URL"]+path, form)
}

// formIn returns the form of a page that is sent to a path, also by a button of its own.
func formIn(page, path string) string {
	action := `action="` + regexp.QuoteMeta(path)
	for _, form := range regexp.MustCompile(`(?s)<form.*?</form>`).FindAllString(page, -1) {
		if regexp.MustCompile(action + `["#]`).MatchString(form) {
			return form
		}
	}
	return ""
}

func (w *formWalk) path(form string) string {
	return strings.NewReplacer(
		"/templates/{id}", "/templates/"+w.kept["template"], "/credentials/{id}", "/credentials/"+w.kept["credential"],
		"/webhooks/{id}", "/webhooks/"+w.kept["endpoint"], "/drafts/{id}", "/drafts/"+w.kept["draft"],
		"{campaignId}", w.kept["campaign"], "{hash}", w.kept["media"], "{message}", w.kept["message"], "/lists/{name}", "/lists/nao-um", "{file}", w.kept["file"],
	).Replace(form)
}

// submit sends a form with its file.
func (w *formWalk) submit(f sentForm, values url.Values) page {
	w.t.Helper()
	return w.do(w.request(f, values))
}

// request returns the request that submits a form with its file.
func (w *formWalk) request(f sentForm, values url.Values) *http.Request {
	w.t.Helper()
	address := w.env["BASE_URL"] + w.path(f.form)
	if f.file == "" {
		return w.posting(address, values)
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range values {
		if name != "file" {
			must(w.t, form.WriteField(name, value[0]))
		}
	}
	part, err := form.CreateFormFile("file", "lista.csv")
	must(w.t, err)
	_, err = part.Write([]byte(f.file))
	must(w.t, err)
	must(w.t, form.Close())
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, address, &body)
	must(w.t, err)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return r
}

// doubleClick submits a form twice at the same time. The first of the answers is one that
// is no refusal, if there is one.
func (w *formWalk) doubleClick(f sentForm, values url.Values) (answers [2]page) {
	w.t.Helper()
	var clicks errgroup.Group
	for i := range answers {
		r := w.request(f, values)
		clicks.Go(func() (err error) {
			answers[i], err = w.load(r)
			return err
		})
	}
	must(w.t, clicks.Wait())
	if answers[0].status >= http.StatusBadRequest {
		slices.Reverse(answers[:])
	}
	return answers
}

// send sends a form in all ways.
func (w *formWalk) send(f sentForm) {
	w.t.Helper()
	w.visitor = w.people[cmp.Or(f.by, "admin")]
	if f.prepare != nil {
		f.prepare(w)
	}
	first := w.tab(f, f.first)
	values := f.second
	if values == nil {
		values = f.first
	}
	second := w.tab(f, values)
	before, clicked := w.settled(), time.Now()
	answers := w.doubleClick(f, first)
	one, two := answers[0], answers[1]
	if one.status >= http.StatusBadRequest || two.status >= http.StatusInternalServerError {
		w.t.Errorf("a double click answers %d and %d: %s", one.status, two.status, shown(one))
		return
	}
	if f.finish != nil {
		f.finish(w)
	}
	after := w.settled()
	for kind, want := range map[string]int{"AUDIT": 1, f.makes: 1} {
		if n := added(before, after, kind); kind != "" && (n > want || kind == f.makes && n != want) {
			w.t.Errorf("a double click makes %d rows of %s", n, kind)
		}
	}
	afterDoubleClick(clicked)
	if again := w.submit(f, first); again.status >= http.StatusInternalServerError {
		w.t.Errorf("the form answers %d when it is sent again", again.status)
	}
	afterDoubleClick(time.Now()) // functions may change something meanwhile
	again := w.settled()
	if rows := changed(after, again); rows != nil {
		w.t.Errorf("the form changes %s when it is sent again after going back", rows)
	}
	w.sendSecond(f, second, again)
	w.last = one
	if f.keep != "" {
		w.kept[f.keep] = uuids.FindString(one.url.Path[strings.LastIndexByte(one.url.Path, '/'):])
	}
	for key := range after {
		if _, old := before[key]; f.keep != "" && f.makes != "" && !old && strings.Contains(key, f.makes) {
			w.kept[f.keep] = uuids.FindString(key)
		}
	}
}

// afterDoubleClick waits until an entry of the audit log is no longer one of a double click.
func afterDoubleClick(clicked time.Time) {
	const doubleClick = 2 * time.Second
	<-time.After(time.Until(clicked.Add(doubleClick + time.Millisecond)))
}

// sendSecond sends the form of the second tab.
func (w *formWalk) sendSecond(f sentForm, second url.Values, before map[string]string) {
	w.t.Helper()
	stale := w.submit(f, second)
	w.seen = nil // right after the answer, one look alone does not show that nothing changes
	if f.own {
		if stale.status >= http.StatusBadRequest {
			w.t.Errorf("the second tab answers %d: %s", stale.status, shown(stale))
		}
		w.settled()
		return
	}
	if rows := changed(before, w.settled()); rows != nil {
		w.t.Errorf("the second tab changes %s", rows)
	}
	if f.second == nil {
		return
	}
	if stale.status != http.StatusConflict && stale.status != http.StatusUnprocessableEntity {
		w.t.Errorf("the second tab answers %d, want a refusal: %s", stale.status, shown(stale))
	}
	for name, value := range f.second {
		if name != "decision" && !strings.Contains(html.UnescapeString(stale.body), w.fill(value[0])) {
			w.t.Errorf("the second tab loses %s, which was entered: %s", name, shown(stale))
		}
	}
}

// shown returns the text of a page's main part.
func shown(p page) string {
	_, text, _ := strings.Cut(p.body, "<main")
	return strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(text, " ")), " ")
}

// added returns the number of new rows of a kind.
func added(before, after map[string]string, kind string) (n int) {
	for key := range after {
		if _, ok := before[key]; !ok && strings.Contains(key, kind) {
			n++
		}
	}
	return n
}

// changed returns the keys of the rows that differ.
func changed(before, after map[string]string) (keys []string) {
	all := maps.Clone(before)
	maps.Copy(all, after)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		was, had := before[key]
		if is, has := after[key]; had != has || was != is {
			keys = append(keys, key)
		}
	}
	return keys
}

// settled returns the rows of the tenant once functions no longer change them: when they are as at the last look.
func (w *formWalk) settled() map[string]string {
	w.t.Helper()
	w.c.eventually(time.Minute, "the rows no longer change", func() bool {
		last := w.seen
		w.seen = w.rows()
		return maps.Equal(last, w.seen)
	})
	return w.seen
}

// wavesInRow matches the plan of a submission, and its opened waves.
var wavesInRow = regexp.MustCompile(`"waves":\[[^\]]*\](,"soak":\d+)?`)

// rows returns the rows of the tenant that show what its forms did.
func (w *formWalk) rows() map[string]string {
	w.t.Helper()
	tenant, rows := w.env["TENANT"], map[string]string{}
	for _, pk := range []string{"TEN#", "TEMPLATES#", "OPT#", "SUBMISSIONS#", "LISTS#"} {
		w.read(rows, pk+tenant, true)
	}
	for _, pk := range []string{"AUDIT#", "EXPORTS#"} {
		w.read(rows, pk+tenant, false)
	}
	for key, value := range rows { // functions write those that are no drafts, but not their waves
		if strings.Contains(key, " SUBMISSION#") && !strings.Contains(value, `"state":"draft"`) {
			rows[key] = strings.Join(wavesInRow.FindAllString(value, -1), " ")
		}
	}
	for key := range maps.Clone(rows) {
		if _, id, ok := strings.Cut(key, " TEMPLATE#"); ok {
			w.read(rows, "T#"+id, true)
		}
	}
	campaigns, err := w.c.store().ListCampaigns(w.t.Context(), tenant, "", 100)
	must(w.t, err)
	for _, one := range campaigns {
		w.read(rows, "C#"+tenant+"#"+one.CampaignID, false)
	}
	auth, err := w.c.auth().Credential(w.t.Context(), w.kept["credential"])
	must(w.t, err)
	rows["CRED"] = fmt.Sprint(auth)
	maps.DeleteFunc(rows, func(key, _ string) bool { // functions write these while messages are sent
		return strings.Contains(key, " PROGRESS") || strings.Contains(key, " RESULTS") || strings.Contains(key, " CIRCUIT#")
	})
	return rows
}

// read adds the rows of a partition, with or without their values.
func (w *formWalk) read(rows map[string]string, pk string, values bool) {
	w.t.Helper()
	store := w.c.store()
	pages := awsdynamodb.NewQueryPaginator(store.Tables().Client, &awsdynamodb.QueryInput{
		TableName: aws.String(store.Tables().Campaigns), KeyConditionExpression: aws.String("pk = :pk"), ConsistentRead: aws.Bool(true),
		ExpressionAttributeValues: dynamo.Item{":pk": &types.AttributeValueMemberS{Value: pk}},
	})
	for pages.HasMorePages() {
		found, err := pages.NextPage(w.t.Context())
		must(w.t, err)
		for _, row := range found.Items {
			key := pk
			if sk, ok := row["sk"].(*types.AttributeValueMemberS); ok {
				key += " " + sk.Value
			}
			rows[key] = ""
			if values {
				rows[key] = text(row)
			}
		}
	}
}

// text returns the attributes of a row, in order.
func text(row dynamo.Item) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(row)) {
		fmt.Fprintf(&b, "%s=%s ", name, valueOf(row[name]))
	}
	return b.String()
}

func valueOf(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberM:
		return "{" + text(v.Value) + "}"
	case *types.AttributeValueMemberL:
		var b strings.Builder
		for _, each := range v.Value {
			b.WriteString(valueOf(each) + ",")
		}
		return b.String()
	default:
		return fmt.Sprintf("%v", v)
	}
}
