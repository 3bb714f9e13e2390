package e2e_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/reach/optout"
)

// facts are what every page, file and interface must say of a campaign.
type facts struct {
	counts   map[string]int // messages by status, as the API counts them
	optedOut int            // of the failed ones
	status   string         // of the API
	state    string         // on pages, in words
	test     bool
}

func (f facts) people() (n int) {
	for _, of := range f.counts {
		n += of
	}
	return n
}

func (f facts) delivered() int { return f.counts["read"] + f.counts["delivered"] }
func (f facts) sent() int      { return f.delivered() + f.counts["sent"] }
func (f facts) lost() int      { return f.counts["failed"] - f.optedOut }
func (f facts) notSent() int   { return f.counts["stopped"] + f.optedOut }

// share returns a percentage, or otherwise if the base is 0. The bases of this test divide 1,000.
func share(n, of int, otherwise string) string {
	if of == 0 {
		return otherwise
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(100*n)/float64(of)), ".0") + "%"
}

// figure returns a figure with its rate and the name of its base.
func figure(name string, n, of int, base string) string {
	if of == 0 {
		return fmt.Sprint(name, " ", n)
	}
	return fmt.Sprint(name, " ", n, " ", share(n, of, ""), " of ", base)
}

// rates are the figures that the campaign's page and the overview have in common.
func (f facts) rates() []string {
	return []string{
		figure("Delivered", f.delivered(), f.sent(), "those sent"),
		figure("Read", f.counts["read"], f.delivered(), "those delivered"),
	}
}

func (f facts) onPage() []string {
	says := append(f.rates(), f.state, figure("Recipients", f.people(), f.people(), "the people"), figure("Sent", f.sent(), f.people(), "the people"))
	if f.notSent() > 0 {
		says = append(says, fmt.Sprint("Not sent ", f.notSent(), " "))
	}
	if f.sent() > 0 {
		says = append(says, fmt.Sprintf("Not delivered: %d.", f.lost()))
	}
	return says
}

func (f facts) inOverview() []string {
	return append(f.rates(), fmt.Sprint("Sent ", f.sent(), " "), fmt.Sprint("Not delivered ", f.lost(), " "), fmt.Sprint("Not sent ", f.notSent(), " "))
}

func (f facts) inRow() []string {
	row := fmt.Sprintf(" %d %s %s – %d", f.people(), share(f.delivered(), f.sent(), "–"), share(f.counts["read"], f.delivered(), "–"), f.lost())
	if f.notSent() > 0 {
		row += fmt.Sprint(" Not sent: ", f.notSent())
	}
	return []string{f.state, row}
}

// inFile are the lines of the export by status, in Portuguese.
func (f facts) inFile() map[string]int {
	return without(map[string]int{
		"Lida": f.counts["read"], "Entregue": f.counts["delivered"], "Enviada": f.counts["sent"], "Falhou": f.lost(),
		"Não enviada (pediu para não receber)": f.optedOut, "Não enviada (cancelada)": f.counts["stopped"],
	})
}

// inWebhooks are the last webhooks of the messages by kind and code.
func (f facts) inWebhooks() map[string]int {
	return without(map[string]int{
		"message.read": f.counts["read"], "message.sent": f.counts["sent"], "message.failed unreachable": f.lost(),
		"message.failed opted_out": f.optedOut, "message.failed cancelled": f.counts["stopped"],
	})
}

func without(counts map[string]int) map[string]int {
	for key, n := range counts {
		if n == 0 {
			delete(counts, key)
		}
	}
	return counts
}

// lastByMessage returns the last webhooks of messages by kind and code.
func (r receiver) lastByMessage() map[string]int {
	r.c.t.Helper()
	last, n := map[string]webhookMessage{}, map[string]int{}
	for _, m := range r.accepted() {
		if was, known := last[m.Data.MessageID]; !known || was.Data.Sequence < m.Data.Sequence {
			last[m.Data.MessageID] = m
		}
	}
	for _, m := range last {
		n[strings.TrimSpace(m.Type+" "+m.Data.Code)]++
	}
	return n
}

// reader is a person of a tenant who looks at one campaign everywhere.
type reader struct {
	*client
	*visitor
	sink receiver
	call fields
}

func newReader(t *testing.T) *reader {
	t.Helper()
	c, v := newClient(t).ownTenant().receiveEvents(), newVisitor(t)
	v.env = c.env
	v.signIn("/dashboard/campaigns", v.person("admin").Email, v.env["DASHBOARD_PASSWORD"])
	return &reader{client: c, visitor: v, sink: c.receiver()}
}

// fate sets the fate of messages at the provider.
func (r *reader) fate(messages []fields, fate string) {
	r.client.t.Helper()
	r.control(http.MethodPut, r.client.env["RCS_URL"]+"/_sim/fates", withFate(messages, fate), nil)
}

func (r *reader) begin(messages []fields, schedule time.Duration) {
	r.client.t.Helper()
	r.call = r.client.call(messages)
	if schedule > 0 {
		r.call["schedule"] = time.Now().Add(schedule).UTC().Format(time.RFC3339)
	}
	r.accept(r.call)
}

// reach waits until the API counts the messages.
func (r *reader) reach(counts map[string]int) {
	r.client.t.Helper()
	r.eventually(5*time.Minute, fmt.Sprint("counts ", counts), func() bool {
		if cmp.Equal(counts, r.client.read(r.call).Counts) {
			return true
		}
		r.sweepNow(r.ref(r.call))
		return false
	})
}

func (r *reader) cancel() {
	r.client.t.Helper()
	if got := r.command(campaignPath(r.call)+"/cancel", nil); got.status != http.StatusAccepted {
		r.client.t.Fatalf("cancel: status %d: %s", got.status, got.body)
	}
}

// missing returns what a page does not say.
func (r *reader) missing(address string, says []string) (missing []string) {
	r.client.t.Helper()
	got := r.visitor.open(r.client.env["BASE_URL"] + address)
	text := webtest.Answer{Body: got.body}.Text() + " "
	for _, want := range says {
		if !strings.Contains(text, want) {
			missing = append(missing, fmt.Sprintf("%s (%d) does not say %q:\n%s", address, got.status, want, text))
		}
	}
	return missing
}

// look compares what all pages, the file, the API and the webhooks say with the facts.
func (r *reader) look(f facts) {
	t, page := r.client.t, "/dashboard/campaigns/"+r.call["campaignId"].(string)
	t.Helper()
	pages := map[string][]string{page: f.onPage(), page + "/row": f.inRow(), "/dashboard/overview": f.inOverview()}
	if f.test {
		pages["/dashboard/overview"] = []string{"Overview"}
	}
	for address, says := range pages {
		var missing []string
		t.Cleanup(func() {
			if t.Failed() && len(missing) > 0 {
				t.Log(strings.Join(missing, "\n"))
			}
		})
		r.eventually(2*time.Minute, address, func() bool { missing = r.missing(address, says); return len(missing) == 0 })
	}
	if got := r.visitor.open(r.client.env["BASE_URL"] + "/dashboard/overview"); f.test && strings.Contains(got.body, `id="figure-sent"`) {
		t.Error("the overview counts a test")
	}
	api := r.read(r.call)
	if diff := cmp.Diff(f.counts, api.Counts); diff != "" || api.Status != f.status || api.Accepted != f.people() {
		t.Errorf("API: %s, %d accepted (-want +got):\n%s", api.Status, api.Accepted, diff)
	}
	if diff := cmp.Diff(f.inFile(), r.file()); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	r.sink.awaitAll(3*time.Minute, r.call)
	if diff := cmp.Diff(f.inWebhooks(), r.sink.lastByMessage()); diff != "" {
		t.Errorf("webhooks (-want +got):\n%s", diff)
	}
}

// file returns the lines of the campaign's export by status.
func (r *reader) file() map[string]int {
	t := r.client.t
	t.Helper()
	answer := r.follow(r.exported(r.call["campaignId"].(string), `{"language": "pt-BR"}`))
	defer func() { _ = answer.Body.Close() }()
	rows, err := csv.NewReader(answer.Body).ReadAll()
	must(t, err)
	status, n := slices.Index(rows[0], "Situação"), map[string]int{}
	for _, row := range rows[1:] {
		n[row[status]]++
	}
	return n
}

// Of six campaigns, the overview, the list, the campaign's page, the export, the API and the webhooks
// say the same figures in the same words.
func TestCampaigns_SameFacts(t *testing.T) {
	t.Parallel()
	for name, live := range map[string]func(r *reader) facts{
		"finished": func(r *reader) facts {
			r.begin(messages(4), 0)
			return facts{counts: map[string]int{"read": 4}, status: "completed", state: "Completed"}
		},
		"one unanswered": func(r *reader) facts {
			all := messages(5)
			r.fate(all[:1], "undelivered")
			r.begin(all, 0)
			r.eventually(5*time.Minute, "sent", func() bool { return r.finished(r.ref(r.call)) })
			return facts{counts: map[string]int{"read": 4, "sent": 1}, status: "sending", state: "Sent; 1 not confirmed yet, until "}
		},
		"cancelled before": func(r *reader) facts {
			r.begin(messages(4), time.Hour)
			r.cancel()
			return facts{counts: map[string]int{"stopped": 4}, status: "cancelled", state: "Cancelled"}
		},
		"cancelled half-way": func(r *reader) facts {
			first, second := messages(4), messages(4)
			r.begin(first, 0)
			r.reach(map[string]int{"read": 4})
			r.fate(second, "down")
			id := r.call["campaignId"]
			r.call = fields{"campaignId": id, "name": r.call["name"], "templateId": r.call["templateId"], "batch": "second", "messages": second}
			r.accept(r.call)
			r.eventually(5*time.Minute, "released", func() bool { return r.batch(r.ref(r.call)).State == campaign.BatchSending })
			r.cancel()
			return facts{counts: map[string]int{"read": 4, "stopped": 4}, status: "cancelled", state: "Cancelled"}
		},
		"partly failed": func(r *reader) facts {
			all := messages(5)
			r.fate(all[:1], "unreachable")
			book := &optout.Book{Store: r.store(), Now: time.Now}
			must(r.client.t, book.Record(r.client.t.Context(), r.client.env["TENANT"], []campaign.OptChange{
				{Phone: all[1]["phone"].(string), Out: true, At: time.Now(), Origin: campaign.OriginFile},
			}))
			r.begin(all, 0)
			return facts{counts: map[string]int{"read": 3, "failed": 2}, optedOut: 1, status: "completed", state: "Completed"}
		},
		"test": func(r *reader) facts {
			r.test()
			return facts{counts: map[string]int{"read": 1}, status: "completed", state: "Completed", test: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReader(t)
			f := live(r)
			r.reach(f.counts)
			r.look(f)
		})
	}
}

var onceField = regexp.MustCompile(`name="once" value="([^"]+)"`)

// test sends a test message from the template's page.
func (r *reader) test() {
	t := r.client.t
	t.Helper()
	address := r.client.env["BASE_URL"] + "/dashboard/templates/" + r.client.env["TEMPLATE_ID"]
	form := r.visitor.open(address)
	once := onceField.FindStringSubmatch(form.body)
	if once == nil {
		t.Fatalf("the page has no form of a test:\n%s", form.body)
	}
	got := r.visitor.post(address+"/test", url.Values{
		"csrf": {csrfField.FindStringSubmatch(form.body)[1]}, "once": {once[1]}, "phone": {messages(1)[0]["phone"].(string)},
		"var.nome": {"Ana"}, "var.pedido": {"1"},
	})
	if path.Dir(got.url.Path) != "/dashboard/campaigns" {
		t.Fatalf("the test leads to %s with status %d:\n%s", got.url, got.status, got.body)
	}
	r.call = fields{"campaignId": path.Base(got.url.Path), "batch": "Test"}
}
