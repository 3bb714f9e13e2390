package browser_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/cognitoidentityprovider"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	awsssm "github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/app/settingsstore"
	"campaign-dispatch/internal/aws/cognito"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/ssm"
	"campaign-dispatch/internal/aws/ssm/ssmwriter"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/seed"
	"campaign-dispatch/localstack/testsize"
)

// technical matches words that a marketing person does not use.
var technical = regexp.MustCompile(`(?i)\b(lotes?|payload|json|http|uuid|dry run|webhook|backend|timeout|token|null|undefined|batch|queue|[0-9a-f]{8}-[0-9a-f]{4}-)`)

// journey is a walk of a marketing person by keyboard alone.
type journey struct {
	*browser

	width int64 // of the window
}

// A marketing person whose company has nothing yet writes a template, sends a campaign, reads
// its results, exports them, and writes again to those who did not read.
func TestJourney(t *testing.T) {
	t.Parallel()
	phone := windows[1]
	j := journey{open(t, "pt-BR"), phone.width}
	j.signIn(j.newTenant())
	j.run("set the window", chromedp.EmulateViewport(phone.width, tall, phone.as...))
	j.visit("/dashboard")
	j.plain("nothing yet")
	j.template()
	j.campaign()
	j.results(people - len(unread))
	j.export()
	j.followUp()
}

// newTenant creates a tenant with an agent and an admin, and returns the admin's address.
func (j journey) newTenant() string {
	j.t.Helper()
	ctx, id := j.t.Context(), "journey-"+strings.ToLower(rand.Text())
	reader := ssm.New(j.env.AWS(), time.Now)
	document, err := reader.KeyDocument(ctx, "/campaign-dispatch/"+j.env["STACK_NAME"]+"/agents/"+j.env["DEMO_AGENT_ID"])
	j.must(err)
	service := &settings.Service{
		Store: settingsstore.New(dynamo.New(dynamo.FromEnv(dynamodb.NewFromConfig(j.env.AWS()), j.env.Get, time.Now))),
		Keys:  ssmwriter.Writer{Client: awsssm.NewFromConfig(j.env.AWS())}, Now: time.Now, Stack: j.env["STACK_NAME"],
	}
	_, err = service.SaveTenant(ctx, settings.TenantForm{
		ID: id, Name: "Loja Nova", Agent: settings.AgentForm{ID: id, KeyDocument: []byte(strings.ReplaceAll(string(document), j.env["DEMO_AGENT_ID"], id))},
	})
	j.must(err)
	j.must(seed.Seeder{Env: j.env, Now: time.Now}.RegisterWebhook(ctx, id))
	return j.invite(id, "admin")
}

// invite adds a person to a tenant, and returns the person's address.
func (j journey) invite(tenant, role string) string {
	j.t.Helper()
	pool, email := cognito.Pool{Client: cognitoidentityprovider.NewFromConfig(j.env.AWS()), ID: j.env["USER_POOL_ID"]}, role+"@"+tenant+".example.com"
	_, err := pool.Invite(j.t.Context(), account.Person{Email: email, Tenant: tenant, Role: role}, j.env["DASHBOARD_PASSWORD"])
	j.must(err)
	j.must(pool.SetPassword(j.t.Context(), email, j.env["DASHBOARD_PASSWORD"]))
	return email
}

func (j journey) must(err error) {
	j.t.Helper()
	if err != nil {
		j.t.Fatal(err)
	}
}

// follow presses Enter on an element that Tab reaches, and waits for another one.
func (j journey) follow(selector, then string) {
	j.t.Helper()
	j.tabTo(selector)
	j.run("press "+selector, shows(then, chromedp.KeyEvent(kb.Enter)))
	j.plain(selector)
}

// plain fails the test if the page shows technical words or is wider than the window.
func (j journey) plain(after string) {
	j.t.Helper()
	if found := technical.FindAllString(j.text("main"), -1); found != nil {
		j.t.Errorf("the page after %s shows %q", after, found)
	}
	if wide := read(j.browser, "measure the page", chromedp.Evaluate[int64](`document.documentElement.scrollWidth`)); wide > j.width {
		j.t.Errorf("the page after %s is %d pixels wide", after, wide)
	}
}

// template saves the example of the first step, and sends a test of it.
func (j journey) template() {
	j.t.Helper()
	j.follow(`#start-template a`, `#name`)
	j.follow(`.actions button:not(.no-script)`, `#test`)
	j.typeIn(`#test-phone`, "21976540000")
	j.typeIn(`#test-var-0`, "Ana")
	j.follow(`#test-form .actions button`, `#live`)
}

// people is the number of recipients.
var people = testsize.Of(150, 10_000)

// shown returns a number as the pages show it.
func shown(n int) string { return message.NewPrinter(language.BrazilianPortuguese).Sprintf("%d", n) }

func (j journey) campaign() {
	j.t.Helper()
	path := filepath.Join(j.t.TempDir(), "clientes.csv")
	var file strings.Builder
	file.WriteString("Celular;Código;Nome\n")
	for i := range people {
		fmt.Fprintf(&file, "21987%06d;c%d;Ana\n", i, i)
	}
	j.fate(unread, "unread")
	j.must(os.WriteFile(path, []byte(file.String()), 0o600))
	j.visit("/dashboard")
	j.follow(`#start-campaign a`, `#file`)
	j.typeIn(`#name`, "Cupom de sexta")
	j.run("choose the file", chromedp.SetUploadFiles(`#file`, []string{path}))
	j.follow(`form[enctype] .actions button:not(.no-script)`, `form[action$="/confirm"] button`)
	if review := j.text("main"); !strings.Contains(review, shown(people)) {
		j.t.Errorf("the review does not show the number of people: %.300s", review)
	}
	j.follow(`form[action$="/confirm"] button`, `#live`)
}

// results waits until the page shows the campaign as completed by its own updates, and then
// until it shows a number of readings.
func (j journey) results(readings int) {
	j.t.Helper()
	j.completed()
	want := "Lidas\n" + shown(readings) + "\n"
	for !strings.Contains(j.text(`.funnel`), want) {
		j.run("wait for outcomes", chromedp.Evaluate[chromedp.Void](`new Promise(done => setTimeout(() => done(undefined), 3000))`, chromedp.EvalAwaitPromise))
		j.visit(j.path())
	}
	j.plain("the results are there")
}

func (j journey) completed() {
	j.t.Helper()
	const most = 15 * time.Minute
	for end := time.Now().Add(most); time.Now().Before(end); {
		if read(j.browser, "read the status", chromedp.Evaluate[bool](`!!document.querySelector("#head .tag.good")`)) {
			return
		}
		j.run("wait for an update", chromedp.Evaluate[chromedp.Void](
			`new Promise(done => { document.body.addEventListener("htmx:afterSettle", () => done(undefined), {once: true}); setTimeout(() => done(undefined), 20000) })`,
			chromedp.EvalAwaitPromise))
	}
	j.t.Fatalf("the campaign is not completed after %v", most)
}

// unread are the numbers of those who do not read the message.
var unread = []string{"+5521987000007", "+5521987000121", fmt.Sprintf("+5521987%06d", people-1)}

// fate sets what the provider simulator does with messages to the numbers.
func (j journey) fate(numbers []string, name string) {
	j.t.Helper()
	fates := map[string]string{}
	for _, n := range numbers {
		fates[n] = name
	}
	body, err := json.Marshal(fates)
	j.must(err)
	r, err := http.NewRequestWithContext(j.t.Context(), http.MethodPut, j.env["RCS_URL"]+"/_sim/fates", bytes.NewReader(body))
	j.must(err)
	answer, err := http.DefaultClient.Do(r)
	j.must(err)
	j.must(answer.Body.Close())
	if answer.StatusCode >= http.StatusBadRequest {
		j.t.Fatalf("the simulator answers %d", answer.StatusCode)
	}
}

// followUp sends a second campaign to those who did not read the first one.
func (j journey) followUp() {
	j.t.Helper()
	j.follow(`.trail a:last-child`, `#follow-up`)
	j.follow(`#follow-up`, `input[name="audience"]`)
	j.follow(`main form button`, `.notice.good, #list a.button`)
	if list := j.text(`.notice.good, #list`); !strings.Contains(list, "3 pessoas") {
		j.t.Errorf("the list is said to have %s", list)
	}
	if !strings.Contains(j.path(), "?") { // the list was ready before the page that waits for it
		j.follow(`#list a.button`, `#file`)
	}
	j.fate(unread, "delivered")
	j.typeIn(`#name`, "Último dia do cupom")
	j.follow(`form[enctype] .actions button:not(.no-script)`, `form[action$="/confirm"] button`)
	j.follow(`form[action$="/confirm"] button`, `#live`)
	j.results(len(unread))
}

func (j journey) export() {
	j.t.Helper()
	j.follow(`#export`, `form[action$="/exports"]`)
	j.follow(`form[action$="/exports"] button`, `a[id^="file-"]`)
	if files := j.text(`#exports`); !strings.Contains(files, shown(people)) {
		j.t.Errorf("the list of files shows %s", files)
	}
}
