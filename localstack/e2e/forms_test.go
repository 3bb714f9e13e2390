package e2e_test

import (
	"bytes"
	"fmt"
	"html"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/aws/dynamo"
)

// sentForm is a form that is sent in the ways that people send one by mistake: by a double
// click, again after going back, and from a second tab that was opened before.
type sentForm struct {
	form   string // its registered path
	page   string // the page with the form; {name} is a kept identifier
	first  url.Values
	second url.Values // of the second tab; nil for the same values
	file   string     // content of its file
	makes  string     // kind of the row that one submission makes
	// own means that the second tab's submission is another one. Else it changes nothing, and
	// entered values are shown again.
	own  bool
	keep string // name under which the identifier of the next page is kept
}

// formWalk sends the forms of a tenant of its own.
type formWalk struct {
	*visitor
	c    *client
	kept map[string]string
	last page
}

func newFormWalk(t *testing.T) *formWalk {
	t.Helper()
	c := newClient(t).ownTenant().receiveEvents()
	v := newVisitor(t)
	v.env = c.env
	w := &formWalk{v, c, map[string]string{"template": c.env["TEMPLATE_ID"], "person": v.person("viewer").Email}, page{}}
	w.signIn("/dashboard/campaigns", v.person("admin").Email, v.env["DASHBOARD_PASSWORD"])
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
	inputTag  = regexp.MustCompile(`<(?:input|button)[^>]*>`)
	attribute = regexp.MustCompile(` (name|value|type|checked)(?:="([^"]*)")?`)
)

// tab opens a page and returns the values of its form for a path.
func (w *formWalk) tab(f sentForm, values url.Values) url.Values {
	w.t.Helper()
	p := w.last
	if f.page != "" {
		p = w.open(w.env["BASE_URL"] + w.fill(f.page))
	}
	action := `action="` + regexp.QuoteMeta(w.path(f.form))
	found := regexp.MustCompile(`(?s)<form[^>]*` + action + `(?:#[^"]*)?".*?</form>`).FindString(p.body)
	if found == "" { // a button with its own path
		found = regexp.MustCompile(`(?s)<form[^>]*>(?:[^/]|/[^f])*?form` + action + `".*?</form>`).FindString(p.body)
	}
	if found == "" {
		w.t.Fatalf("%s answers %d without a form for %s: %s", p.url, p.status, w.path(f.form), shown(p))
	}
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

func (w *formWalk) path(form string) string {
	return strings.NewReplacer(
		"/templates/{id}", "/templates/"+w.kept["template"], "/credentials/{id}", "/credentials/"+w.kept["credential"],
		"/webhooks/{id}", "/webhooks/"+w.kept["endpoint"], "/drafts/{id}", "/drafts/"+w.kept["draft"],
		"{campaignId}", w.kept["campaign"], "{exportId}", w.kept["export"], "{hash}", w.kept["media"],
	).Replace(form)
}

// submit sends a form with its file.
func (w *formWalk) submit(f sentForm, values url.Values) page {
	w.t.Helper()
	address := w.env["BASE_URL"] + w.path(f.form)
	if f.file == "" {
		return w.post(address, values)
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
	return w.do(r)
}

// send sends a form in all ways.
func (w *formWalk) send(f sentForm) {
	w.t.Helper()
	first := w.tab(f, f.first)
	second := w.tab(f, cmpOr(f.second, f.first))
	before := w.settled()
	answers := make(chan page, 2)
	for range 2 {
		go func() { answers <- w.submit(f, first) }()
	}
	one, two := <-answers, <-answers
	if one.status >= http.StatusBadRequest {
		one, two = two, one
	}
	if one.status >= http.StatusBadRequest || two.status >= http.StatusInternalServerError {
		w.t.Errorf("a double click answers %d and %d: %s", one.status, two.status, shown(one))
		return
	}
	after := w.settled()
	for kind, want := range map[string]int{"AUDIT": 1, f.makes: 1} {
		if n := added(before, after, kind); kind != "" && (n > want || kind == f.makes && n != want) {
			w.t.Errorf("a double click makes %d rows of %s", n, kind)
		}
	}
	if again := w.submit(f, first); again.status >= http.StatusInternalServerError {
		w.t.Errorf("the form answers %d when it is sent again", again.status)
	}
	again := w.settled()
	if rows := changed(after, again); rows != nil {
		w.t.Errorf("the form changes %s when it is sent again after going back", rows)
	}
	w.sendSecond(f, second, again)
	w.last = one
	if f.keep != "" {
		w.kept[f.keep] = path.Base(one.url.Path)
	}
}

// sendSecond sends the form of the second tab.
func (w *formWalk) sendSecond(f sentForm, second url.Values, before map[string]string) {
	w.t.Helper()
	stale := w.submit(f, second)
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
		if !strings.Contains(html.UnescapeString(stale.body), value[0]) {
			w.t.Errorf("the second tab loses %s, which was entered: %s", name, shown(stale))
		}
	}
}

func cmpOr(a, b url.Values) url.Values {
	if a == nil {
		return b
	}
	return a
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

// settled returns the rows of the tenant once functions no longer change them.
func (w *formWalk) settled() (rows map[string]string) {
	w.t.Helper()
	rows = w.rows()
	w.c.eventually(time.Minute, "the rows no longer change", func() bool {
		last := rows
		rows = w.rows()
		return maps.Equal(last, rows)
	})
	return rows
}

// rows returns the rows of the tenant that show what its forms did.
func (w *formWalk) rows() map[string]string {
	w.t.Helper()
	tenant, rows := w.env["TENANT"], map[string]string{}
	for _, pk := range []string{"TEN#", "OPT#", "DRAFTS#"} {
		w.read(rows, pk+tenant, true)
	}
	for _, pk := range []string{"AUDIT#", "IMPORTS#", "EXPORTS#"} {
		w.read(rows, pk+tenant, false)
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
	maps.DeleteFunc(rows, func(key, _ string) bool { // functions write these while messages are sent
		return strings.Contains(key, " PROGRESS") || strings.Contains(key, " RESULTS")
	})
	return rows
}

// read adds the rows of a partition, with or without their values.
func (w *formWalk) read(rows map[string]string, pk string, values bool) {
	w.t.Helper()
	store := w.c.store()
	pages := awsdynamodb.NewQueryPaginator(store.Client, &awsdynamodb.QueryInput{
		TableName: &store.Campaigns, KeyConditionExpression: aws.String("pk = :pk"), ConsistentRead: aws.Bool(true),
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
	default:
		return fmt.Sprintf("%v", v)
	}
}
