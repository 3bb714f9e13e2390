package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"campaign-dispatch/internal/signer"
	"campaign-dispatch/internal/webui"
	"campaign-dispatch/localstack/stackenv"
)

// pageLimits are what a page may take: processor time in milliseconds, its calls of
// AWS included, and bytes of HTML, which leaves a hundred thousand bytes room for
// the style and the scripts.
const (
	pageMillis = 5
	pageBytes  = 40_000
)

// benchCSRF goes with what the bench sends.
const benchCSRF = "bench"

// Two campaigns are shown: one of many messages, and one of as many batches as a
// million takes.
const (
	pageMessages = 2_000
	pageBatches  = 500
)

// quiet is how long nothing happens to a campaign that has come to rest.
const quiet = 5 * time.Second

// fewCalls and manyCalls of a page tell what one more takes. The least of some
// rounds counts: what the machine does besides only ever adds.
const fewCalls, manyCalls, pageRounds = 10, 40, 3

// pageFigures measures what the dashboard's function needs for each of its pages,
// on the tables of the stack.
func pageFigures(ctx context.Context, _ benchKey, random *mathrand.Rand) ([]figure, error) {
	env, err := stackenv.Read(os.Getenv(stackenv.Variable))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStack, err)
	}
	token, err := stackToken(ctx, env)
	if err != nil {
		return nil, err
	}
	large, err := dispatchAll(ctx, env, token, mobiles(random, pageBatches), 1)
	if err != nil {
		return nil, err
	}
	numbers := mobiles(random, pageMessages)
	shown, err := dispatchAll(ctx, env, token, numbers, pageMessages)
	if err != nil {
		return nil, err
	}
	if err := settle(ctx, env, token, large, shown); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "campaign-dispatch-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	b := browser{env: env}
	if b.binary, err = build(ctx, dir, "./functions/dashboard"); err != nil {
		return nil, err
	}
	if b.variables, err = variables(ctx, env); err != nil {
		return nil, err
	}
	if b.cookie, err = sessionCookie(ctx, env); err != nil {
		return nil, err
	}
	paths, err := b.paths(ctx)
	if err != nil {
		return nil, err
	}
	pages := make([]page, len(paths))
	for i, path := range paths {
		pages[i] = page{kindOf(path), path}
	}
	const campaigns = webui.Root + "/campaigns/"
	return b.figures(ctx, append(pages,
		page{campaigns + "… of 500 batches", campaigns + large},
		page{campaigns + "…/messages by uid", campaigns + shown + "/messages?uid=" + strconv.Itoa(pageMessages-1)},
		page{campaigns + "…/messages by number", campaigns + shown + "/messages?phone=" + strconv.FormatUint(numbers[0], 10)},
	))
}

// settle waits until nothing more happens to the campaigns: pages are measured on
// a stack that has nothing else to do.
func settle(ctx context.Context, env stackenv.Env, token string, campaigns ...string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for _, id := range campaigns {
		for before, since := "", time.Now(); time.Since(since) < quiet; {
			now, err := getText(ctx, env["BASE_URL"]+"/api/v1/external/campaigns/"+id+"?limit=1", token)
			if err != nil {
				return fmt.Errorf("look at a campaign: %w", err)
			}
			if now != before {
				before, since = now, time.Now()
			}
			time.Sleep(quiet / 10)
		}
	}
	return nil
}

func getText(ctx context.Context, address, token string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody) //nolint:gosec // the local stack
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r) //nolint:gosec // the local stack
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("it answers %d", answer.StatusCode)
	}
	return string(body), err
}

// page is one that is measured.
type page struct{ name, path string }

func (b browser) figures(ctx context.Context, pages []page) (figures []figure, err error) {
	largest := 0
	for _, p := range pages {
		spent, bytes, err := b.measure(ctx, p.path)
		if errors.Is(err, errOver) { // by now
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", p.path, err)
		}
		figures = append(figures, measured("page "+p.name, float64(spent)/float64(time.Millisecond), "ms CPU", pageMillis,
			"the function's own process, its calls of AWS included"))
		largest = max(largest, bytes)
	}
	return append(figures, measured("largest page", float64(largest), "bytes", pageBytes, "HTML, without the style and the scripts")), nil
}

// browser opens pages of the dashboard's function, run here as Lambda runs it.
type browser struct {
	env       stackenv.Env
	binary    string
	variables []string // of the function's environment
	cookie    string
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
	sessions := webui.Sessions{Signer: signer.New(kms.NewFromConfig(env.AWS()), env["SESSION_KEY_ID"]), Now: time.Now}
	cookie, err := sessions.Cookie(ctx, env["BASE_URL"], webui.Session{
		Tenant: env["TENANT"], Email: env["DASHBOARD_EMAIL"], Role: webui.RoleAdmin, CSRF: benchCSRF, Expires: time.Now().Add(time.Hour),
	})
	if err != nil {
		return "", err
	}
	return cookie.Name + "=" + cookie.Value, nil
}

// errOver says that a page is of something that has passed, such as how to cancel
// a campaign that is completed.
var errOver = errors.New("it is over")

// link finds the pages that a page leads to.
var link = regexp.MustCompile(`href="(/dashboard/[^"?#]*)"`)

// paths returns the pages that there are: those of the dashboard's parts, and one
// of each kind that they lead to.
func (b browser) paths(ctx context.Context) ([]string, error) {
	found, kinds := []string{}, map[string]bool{}
	review, err := b.review(ctx)
	if err != nil {
		return nil, err
	}
	next := []string{webui.Root + "/campaigns", webui.Root + "/templates", webui.Root + "/settings/credentials", review}
	for ; len(next) > 0; next = next[1:] {
		kind := kindOf(next[0])
		if kinds[kind] || strings.Contains(kind, "/assets/") || strings.Contains(kind, "/language/") || strings.Contains(kind, "/sign") {
			continue
		}
		kinds[kind] = true
		page, _, err := b.open(ctx, next[0], 1)
		if errors.Is(err, errOver) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", next[0], err)
		}
		found = append(found, next[0])
		if kind == webui.Root+"/campaigns/…" { // its form leads there, not a link
			next = append(next, next[0]+"/messages?batch=1")
		}
		for _, match := range link.FindAllStringSubmatch(page, -1) {
			next = append(next, match[1])
		}
	}
	return found, nil
}

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
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.env["BASE_URL"]+webui.Root+"/campaigns/new", &body)
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
	if answer.StatusCode != http.StatusSeeOther || !strings.Contains(to, "upload=") {
		return "", fmt.Errorf("upload a file: it answers %d, to %q", answer.StatusCode, to)
	}
	return to, nil
}

// id is what differs between pages of one kind.
var id = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|rcs_[A-Za-z0-9_-]+`)

func kindOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	if operation, ok := strings.CutPrefix(path, webui.Root+"/docs/"); ok && strings.ToLower(operation) != operation {
		return webui.Root + "/docs/…"
	}
	return id.ReplaceAllString(path, "…")
}

// measure returns the processor time of a page, and its bytes of HTML.
func (b browser) measure(ctx context.Context, path string) (spent time.Duration, bytes int, err error) {
	for round := range pageRounds {
		_, few, err := b.open(ctx, path, fewCalls)
		if err != nil {
			return 0, 0, err
		}
		page, many, err := b.open(ctx, path, manyCalls)
		if err != nil {
			return 0, 0, err
		}
		one := (many - few) / (manyCalls - fewCalls)
		if round == 0 || one < spent {
			spent, bytes = one, len(page)
		}
	}
	return spent, bytes, nil
}

// open starts the function, opens a page several times, and returns the page and
// the processor time of all.
func (b browser) open(ctx context.Context, path string, times int) (page string, spent time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r := runtimeAPI{event: b.event(path), left: times, done: make(chan struct{})}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", 0, err
	}
	server := &http.Server{ReadHeaderTimeout: time.Second, Handler: &r}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	cmd := exec.CommandContext(ctx, b.binary) //nolint:gosec // we built it
	cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + listener.Addr().String()}, b.variables...)
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if err := ctx.Err(); err != nil {
		return "", 0, err
	}
	var answer struct {
		StatusCode int    `json:"statusCode"`
		Body       string `json:"body"`
	}
	if err := json.Unmarshal(r.answer, &answer); err != nil {
		return "", 0, err
	}
	if answer.StatusCode == http.StatusConflict {
		return "", 0, errOver
	}
	if answer.StatusCode != http.StatusOK {
		return "", 0, fmt.Errorf("it answers %d", answer.StatusCode)
	}
	return answer.Body, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), nil
}

func (b browser) event(path string) []byte {
	at, err := neturl.Parse(b.env["BASE_URL"])
	if err != nil {
		panic(err) // the runner wrote it
	}
	path, query, _ := strings.Cut(path, "?")
	event, err := json.Marshal(map[string]any{
		"version": "2.0", "rawPath": path, "rawQueryString": query, "headers": map[string]string{"accept-language": "pt-BR", "host": at.Host},
		"cookies": []string{b.cookie}, "isBase64Encoded": false,
		"requestContext": map[string]any{
			"domainName": at.Host, "http": map[string]string{"method": "GET", "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
		},
	})
	if err != nil {
		panic(err) // texts alone
	}
	return event
}

// runtimeAPI is what a function asks for its events: it gives one several times.
type runtimeAPI struct {
	event  []byte
	left   int
	answer []byte
	done   chan struct{}
}

func (a *runtimeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		body, err := io.ReadAll(r.Body)
		if a.answer = body; err != nil || strings.HasSuffix(r.URL.Path, "/error") {
			a.answer, _ = json.Marshal(errors.New("the function failed").Error())
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if a.left == 0 { // it has answered the last one
		close(a.done)
		<-r.Context().Done()
		return
	}
	a.left--
	w.Header().Set("Lambda-Runtime-Aws-Request-Id", "bench")
	w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10))
	_, _ = w.Write(a.event)
}
