package bench

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"mime/multipart"
	"net/http"
	neturl "net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/aws/kms"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/localstack/stackenv"
)

// pageLimit is how many times the processor time of localstack/lab/bench/plainpage a
// page may take, its calls of AWS included.
const pageLimit = 4.5

// benchCSRF goes with what the bench sends.
const benchCSRF = "bench"

// Three campaigns are shown: one of many messages, one of as many batches as a
// million takes, and one that waits for its time.
const (
	pageMessages = 2_000
	pageBatches  = 500
)

// sample is how often a page is opened. Few and many calls show what one more takes. Rounds of
// the page and of the baseline take turns, and the median of their ratios counts.
type sample struct{ few, many, rounds int }

var pageSample = sample{10, 40, 5}

// BenchmarkPages measures what the dashboard's function needs for each of its pages, on
// the tables of the stack.
func BenchmarkPages(b *testing.B) {
	env, ctx := stackenv.Load(b), b.Context()
	shown, err := dispatchShown(ctx, env, newRandom())
	check(b, err)
	r := newBrowser(b, env)
	pages, err := r.pages(ctx)
	check(b, err)
	largest := 0
	for _, p := range append(pages, shown.pages()...) {
		spent, bytes, err := r.measure(ctx, p, pageSample)
		if err != nil {
			b.Fatalf("open %s: %v", p.path, err)
		}
		record(b, compared("page "+p.name, spent, pageLimit,
			"CPU of the function's own process, its calls of AWS included, against a plain page of 100 rows"))
		largest = max(largest, bytes)
	}
	record(b, measured("largest page", float64(largest), "bytes", web.HTMLLimit, "HTML, without the style and the scripts"))
	recordRead(b, env, shown.large)
}

// shown are the ids of the campaigns that are shown, and a number of one.
type shown struct {
	large, long string
	phone       string
}

func dispatchShown(ctx context.Context, env stackenv.Env, random *mathrand.Rand) (s shown, err error) {
	token, err := env.Token(ctx)
	if err != nil {
		return s, err
	}
	numbers := mobiles(random, pageMessages)
	s.phone = strconv.FormatUint(numbers[0], 10)
	if s.large, err = (dispatched{numbers: mobiles(random, pageBatches), perBatch: 1}).dispatch(ctx, env, token); err != nil {
		return s, err
	}
	if s.long, err = (dispatched{numbers: numbers, perBatch: pageMessages}).dispatch(ctx, env, token); err != nil {
		return s, err
	}
	if err := settle(ctx, env, token, s.large, s.long); err != nil {
		return s, err
	}
	// The newest, so that it is the one that the list leads to first.
	_, err = dispatched{numbers: numbers, perBatch: pageMessages, schedule: time.Now().Add(24 * time.Hour)}.dispatch(ctx, env, token)
	return s, err
}

// pages are those of the campaigns that no link leads to, or to another campaign's
// first.
func (s shown) pages() []page {
	const list = web.Root + "/campaigns"
	long, large := list+"/"+s.long, list+"/"+s.large
	return []page{
		{name: list + "/… of 2,000 messages", path: long},
		{name: list + "/… of 2,000 messages, its update", path: long, update: true},
		{name: list + "/…/messages of a batch", path: long + "/messages?batch=1"},
		{name: list + "/…/messages by uid", path: long + "/messages?uid=" + strconv.Itoa(pageMessages-1)},
		{name: list + "/…/messages by number", path: long + "/messages?phone=" + s.phone},
		{name: list + "/… of 500 batches, shown again", path: large},
		{name: list + "?q=", path: list + "?q=bench"},
		{name: web.Root + "/templates/preview", path: web.Root + "/templates/preview", update: true, form: neturl.Values{
			"name": {"Natal"}, "kind": {"text"}, "text": {strings.Repeat("Olá {{nome}}, seu pedido {{pedido}} saiu. ", 70)},
		}},
	}
}

// recordRead measures what showing a campaign of many batches takes once in a while
// besides: see largeFor in internal/dashboard/campaigns.
func recordRead(b *testing.B, env stackenv.Env, campaignID string) {
	b.Helper()
	const calls = 10
	store := dynamotest.New(dynamo.FromEnv(dynamodb.NewFromConfig(env.AWS()), env.Get, time.Now))
	spent := spend(func() {
		_, err := store.Overview(b.Context(), campaign.ID{Tenant: env["TENANT"], CampaignID: campaignID})
		check(b, err)
	}, calls)
	record(b, measured("reading a campaign of 500 batches anew", float64(spent)/float64(time.Millisecond), "ms CPU", 0,
		"every 10 s at most, besides showing it"))
}

// page is one that is measured.
type page struct {
	name, path string
	update     bool          // it is a part that htmx asks for
	form       neturl.Values // that is sent to it, or nil
}

// browser opens pages of the dashboard's function, as an admin of the demo tenant.
type browser struct {
	env      stackenv.Env
	function function
	plain    function // whose page is the baseline
	cookie   string
}

func newBrowser(b *testing.B, env stackenv.Env) browser {
	b.Helper()
	dir := b.TempDir()
	r := browser{env: env, function: function{binary: build(b, dir, "./functions/dashboard")}, plain: function{binary: build(b, dir, "./localstack/lab/bench/plainpage")}}
	var err error
	r.function.variables, err = variables(b.Context(), env)
	check(b, err)
	r.cookie, err = sessionCookie(b.Context(), env)
	check(b, err)
	return r
}

// variables are those that the function has on the stack.
func variables(ctx context.Context, env stackenv.Env) ([]string, error) {
	name := env["DASHBOARD_FUNCTION"]
	found, err := lambda.NewFromConfig(env.AWS()).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &name})
	if err != nil {
		return nil, fmt.Errorf("look up the dashboard's function: %w", err)
	}
	list := []string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024"}
	for key, value := range found.Environment.Variables {
		list = append(list, key+"="+value)
	}
	for _, key := range []string{"AWS_ENDPOINT_URL", "AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		list = append(list, key+"="+env[key])
	}
	return list, nil
}

// sessionCookie signs an admin of the demo tenant in.
func sessionCookie(ctx context.Context, env stackenv.Env) (string, error) {
	sessions := web.Sessions{Signer: kms.New(env.AWS(), env["SESSION_KEY_ID"], "", time.Time{}, time.Now), Now: time.Now}
	cookie, err := sessions.Cookie(ctx, env["BASE_URL"], web.Session{
		Tenant: env["TENANT"], Email: env["DASHBOARD_EMAIL"], Role: web.RoleAdmin, CSRF: benchCSRF, Expires: time.Now().Add(time.Hour),
	})
	if err != nil {
		return "", err
	}
	return cookie.Name + "=" + cookie.Value, nil
}

// link finds the pages that a page leads to.
var link = regexp.MustCompile(`href="(/dashboard/[^"#]*)"`)

// required are kinds of pages that must be among those that are found.
func required() []string {
	of := func(area string, pages ...string) (kinds []string) {
		for _, p := range pages {
			kinds = append(kinds, web.Root+area+p)
		}
		return kinds
	}
	return slices.Concat(
		of("/overview", ""),
		of("/campaigns", "", "/…", "/…/cancel", "/…/pause", "/…/reschedule", "/new"), of("/submissions", "/…"),
		of("/lists", ""),
		of("/templates", "", "/…", "/…/edit", "/new"),
		of("/settings/credentials", "", "/new", "/…/rotate", "/…/revoke"),
		of("/settings/webhooks", "", "/new", "/…", "/…/kinds", "/…/rotate", "/…/off"),
		of("/settings/billing", ""),
		of("/settings/hours", ""),
		of("/settings/brand", ""),
		of("/settings/audit", ""),
		of("/docs", "", "/…", "/webhooks", "/states", "/errors"),
	)
}

// pages returns a page of each kind that the dashboard's own links lead to.
func (b browser) pages(ctx context.Context) ([]page, error) {
	review, err := b.review(ctx)
	if err != nil {
		return nil, err
	}
	var found []page
	kinds := map[string]bool{}
	next := []string{web.Root + "/campaigns", web.Root + "/templates", web.Root + "/settings/credentials", review}
	for ; len(next) > 0; next = next[1:] {
		p := page{name: kindOf(next[0]), path: next[0]}
		if kinds[p.name] || unmeasured.MatchString(p.name) {
			continue
		}
		kinds[p.name] = true
		found = append(found, p)
		html, _, err := open(ctx, b.function, b.event(p), 1)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", p.path, err)
		}
		for _, match := range link.FindAllStringSubmatch(html, -1) {
			next = append(next, strings.ReplaceAll(match[1], "&amp;", "&"))
		}
	}
	for _, kind := range required() {
		if !kinds[kind] {
			return nil, fmt.Errorf("no link leads to %s any more", kind)
		}
	}
	return found, nil
}

// unmeasured are no pages, but files, or lead to another page.
var unmeasured = regexp.MustCompile(`/assets/|/language/|/sign|/example|/left-out|(/settings$)`)

// review uploads a file of some thousand lines, and returns the page that shows what
// sending it would do.
func (b browser) review(ctx context.Context) (string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	fields := map[string]string{"csrf": benchCSRF, "name": "Bench " + rand.Text(), "template": b.env["TEMPLATE_ID_PLAIN"]}
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			return "", err
		}
	}
	file, err := form.CreateFormFile("file", "bench.csv")
	if err != nil {
		return "", err
	}
	_, _ = io.WriteString(file, "phone,uid\n")
	for i := range pageMessages {
		_, _ = fmt.Fprintf(file, "1198%07d,%d\n", i, i)
	}
	_ = form.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.env["BASE_URL"]+web.Root+"/campaigns/new", &body)
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	r.Header.Set("Cookie", b.cookie)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("upload a file: %w", err)
	}
	_ = answer.Body.Close()
	to := answer.Header.Get("Location")
	if answer.StatusCode != http.StatusSeeOther || !strings.HasPrefix(to, web.Root+"/submissions/") {
		return "", fmt.Errorf("upload a file: it answers %d, to %q", answer.StatusCode, to)
	}
	return to, nil
}

// id is what differs between pages of one kind.
var id = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|rcs_[A-Za-z0-9_-]+|\d{13}-msg_[A-Za-z0-9_-]+`)

func kindOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if operation, ok := strings.CutPrefix(path, web.Root+"/docs/"); ok && strings.ToLower(operation) != operation {
		return web.Root + "/docs/…"
	}
	return id.ReplaceAllString(path, "…")
}

// measure returns the processor time of a page beside the baseline's, and its
// bytes of HTML.
func (b browser) measure(ctx context.Context, p page, of sample) (spent pair, bytes int, err error) {
	var subjects, baselines []time.Duration
	for range of.rounds {
		subject, html, err := of.spend(ctx, b.function, b.event(p))
		if err != nil {
			return pair{}, 0, err
		}
		baseline, _, err := of.spend(ctx, b.plain, b.event(p))
		if err != nil {
			return pair{}, 0, err
		}
		bytes = len(html)
		subjects, baselines = append(subjects, subject), append(baselines, baseline)
	}
	return newPair(subjects, baselines), bytes, nil
}

// spend returns the processor time that one more call of a page takes.
func (s sample) spend(ctx context.Context, f function, event []byte) (spent time.Duration, html string, err error) {
	_, few, err := open(ctx, f, event, s.few)
	if err != nil {
		return 0, "", err
	}
	html, many, err := open(ctx, f, event, s.many)
	return (many - few) / time.Duration(s.many-s.few), html, err
}

// open opens a page several times, in a process of its own, and returns the page
// and the processor time of all.
func open(ctx context.Context, f function, event []byte, times int) (html string, spent time.Duration, err error) {
	raw, spent, err := f.run(ctx, event, times)
	if err != nil {
		return "", 0, err
	}
	var answer struct {
		StatusCode int    `json:"statusCode"`
		Body       string `json:"body"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return "", 0, err
	}
	if answer.StatusCode != http.StatusOK {
		return "", 0, fmt.Errorf("it answers %d", answer.StatusCode)
	}
	return answer.Body, spent, nil
}

// event is a request for the page, as the gateway passes it on.
func (b browser) event(p page) []byte {
	at, err := neturl.Parse(b.env["BASE_URL"])
	if err != nil {
		panic(err) // the runner wrote it
	}
	path, query, _ := strings.Cut(p.path, "?")
	method, body, headers := http.MethodGet, "", map[string]string{"accept-language": "pt-BR", "host": at.Host}
	if p.update {
		headers["hx-request"] = "true"
	}
	if p.form != nil {
		method, body = http.MethodPost, p.form.Encode()+"&csrf="+benchCSRF
		headers["content-type"], headers["sec-fetch-site"], headers["origin"] = "application/x-www-form-urlencoded", "same-origin", b.env["BASE_URL"]
	}
	event, err := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": path, "rawQueryString": query, "headers": headers, "body": body,
		"cookies": []string{b.cookie}, "isBase64Encoded": false,
		"requestContext": map[string]any{
			"domainName": at.Host, "http": map[string]string{"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
		},
	})
	if err != nil {
		panic(err) // texts alone
	}
	return event
}
