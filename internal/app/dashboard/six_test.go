package dashboard_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists"
)

// planned is a campaign before it is sent, and what is promised then. A message costs 10 cents.
type planned struct {
	name     string
	at       time.Time         // when everything before the sending happens
	hours    reach.TenantHours // of the company
	part     int               // people of a part of the file
	people   string            // their area codes
	withheld string            // the fate of who gets no message, "-" for the others

	starts   string   // when the first message goes, as pages have it, "" for at once
	openings []string // of the review
	closed   string   // the holidays of the review, "" for none
	window   []string // of the dry run
	bookedOn string   // the date in whose budget the price is
	booked   string   // the same, as pages have it
	stages   []stage
}

// stage is what has become of a campaign, and what is shown then.
type stage struct {
	name    string
	do      func(s *six)
	fates   string          // of each person
	status  campaign.Status // of the API
	words   string          // for it, on all pages
	notices []string        // of the campaign's page
	waiting []string        // of the API
	next    string          // on the overview: when and to how many people it goes, "" if it is not among the next ones
	alert   string          // of the overview, "" for none
	used    map[string]int  // cents of the budget, by date
	posts   string          // the webhooks about the campaign so far
}

// fate is what becomes of a message: its status and code in the API, and its words on pages.
type fate struct{ status, code, words string }

var fates = map[string]fate{
	"pending":    {"pending", "", "Pending"},
	"sent":       {"sent", "", "Sent"},
	"delivered":  {"delivered", "", "Delivered"},
	"read":       {"read", "", "Read"},
	"opted_out":  {"failed", campaign.CodeOptedOut, "Not sent (opted out)"},
	"suppressed": {"failed", campaign.CodeSuppressed, "Not sent (on a suppression list)"},
	"stopped":    {"stopped", campaign.CodeCancelled, "Not sent (cancelled)"},
}

// theList is the list of people who get no message.
const theList = "procon"

// hours are those of promotions, with a local holiday.
var hours = reach.TenantHours{
	Rules:    map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()},
	Holidays: []string{"2037-12-01"}, HolidayNames: map[string]string{"2037-12-01": "Aniversário da cidade"},
}

// noon is a Monday's, in São Paulo.
var noon = time.Date(2037, 11, 23, 15, 0, 0, 0, time.UTC)

var sixCampaigns = []planned{
	{
		name: "Listas e saídas", at: noon, part: 100,
		people:   "11 11 11 11 11 11 11 11",
		withheld: "- opted_out opted_out suppressed suppressed suppressed - -",
		bookedOn: "2037-11-23", booked: "23 Nov 2037",
		stages: []stage{
			{
				name: "accepted", do: func(*six) {}, fates: "pending pending pending pending pending pending pending pending",
				status: campaign.StatusSending, words: "Sending", used: map[string]int{"2037-11-23": 80},
			},
			{
				name: "sent", do: func(s *six) { s.release() }, fates: "sent opted_out opted_out suppressed suppressed suppressed sent sent",
				status: campaign.StatusSending, words: "Sent; 3 not confirmed yet, until 24 Nov 2037, 14:04", used: map[string]int{"2037-11-23": 80},
			},
			{
				name: "answered", do: func(s *six) { s.reply("read - - - - - delivered read") },
				fates:  "read opted_out opted_out suppressed suppressed suppressed delivered read",
				status: campaign.StatusCompleted, words: "Completed", posts: "campaign.completed", used: map[string]int{"2037-11-23": 30},
			},
		},
	},
	{
		name: "Virada do mês", at: time.Date(2037, 12, 1, 2, 30, 0, 0, time.UTC), hours: hours, part: 100, // the evening of 30 November
		people:   "11 11 11 92 92 68 68",
		withheld: "- opted_out - suppressed - - -",
		starts:   "2 Dec 2037, 09:00",
		openings: []string{
			"The South, the Southeast, Goiás and DF: 2, at 09:00", "Manaus: 1, at 09:00 local time", "Acre: 2, at 09:00 local time",
		},
		closed: "1 Dec (Aniversário da cidade)",
		window: []string{
			"America/Sao_Paulo 3 2037-12-02T12:00:00Z", "America/Manaus 2 2037-12-02T13:00:00Z", "America/Rio_Branco 2 2037-12-02T14:00:00Z",
		},
		bookedOn: "2037-12-02", booked: "2 Dec 2037",
		stages: []stage{
			{
				name: "accepted", do: func(*six) {}, fates: "pending pending pending pending pending pending pending",
				status: campaign.StatusSending, words: "Waits for its hours · goes out 2 Dec 09:00",
				notices: []string{
					"The South, the Southeast, Goiás and DF: 3, at 09:00", "Manaus: 2, at 09:00 local time", "Acre: 2, at 09:00 local time",
					"Nothing is sent on holidays: 1 Dec (Aniversário da cidade).",
				},
				next: "7 people 2 Dec 2037, 09:00", used: map[string]int{"2037-11-30": 0, "2037-12-02": 70},
			},
			{
				name: "released", do: func(s *six) { s.release() }, fates: "pending pending pending pending pending pending pending",
				status: campaign.StatusSending, words: "Waits for its hours · goes out 2 Dec 09:00",
				notices: []string{
					"The South, the Southeast, Goiás and DF: 3, at 09:00", "Manaus: 2, at 09:00 local time", "Acre: 2, at 09:00 local time",
					"Nothing is sent on holidays: 1 Dec (Aniversário da cidade).",
				},
				waiting: []string{
					"send_window America/Sao_Paulo 3 2037-12-02T12:00:00Z", "send_window America/Manaus 2 2037-12-02T13:00:00Z",
					"send_window America/Rio_Branco 2 2037-12-02T14:00:00Z",
				},
				next: "7 people 2 Dec 2037, 09:00", used: map[string]int{"2037-11-30": 0, "2037-12-02": 70},
			},
			{
				name: "São Paulo", do: func(s *six) { s.wait(time.Date(2037, 12, 2, 12, 1, 0, 0, time.UTC)) },
				fates:  "sent opted_out sent suppressed pending pending pending",
				status: campaign.StatusSending, words: "Waits for its hours · the rest goes out 2 Dec 10:00",
				notices: []string{"Manaus: 1, at 09:00 local time", "Acre: 2, at 09:00 local time"},
				waiting: []string{"send_window America/Manaus 1 2037-12-02T13:00:00Z", "send_window America/Rio_Branco 2 2037-12-02T14:00:00Z"},
				next:    "3 people 2 Dec 2037, 10:00", used: map[string]int{"2037-11-30": 0, "2037-12-02": 70},
			},
			{
				name: "Manaus and Acre", do: func(s *six) {
					s.wait(time.Date(2037, 12, 2, 13, 1, 0, 0, time.UTC))
					s.wait(time.Date(2037, 12, 2, 14, 1, 0, 0, time.UTC))
					s.reply("read - delivered - read delivered delivered")
				},
				fates:  "read opted_out delivered suppressed read delivered delivered",
				status: campaign.StatusCompleted, words: "Completed", posts: "campaign.completed", used: map[string]int{"2037-11-30": 0, "2037-12-02": 50},
			},
		},
	},
	{
		name: "Espera", at: time.Date(2037, 11, 24, 0, 30, 0, 0, time.UTC), hours: hours, part: 100, // half past nine in the evening
		people:   "11 11 11 11 92 92",
		withheld: "opted_out - - - - -",
		openings: []string{"Manaus: 2, at once", "The South, the Southeast, Goiás and DF: 3, on 24 Nov at 09:00"},
		window:   []string{"America/Sao_Paulo 4 2037-11-24T12:00:00Z", "America/Manaus 2 2037-11-24T00:30:00Z"},
		bookedOn: "2037-11-23", booked: "23 Nov 2037",
		stages: []stage{
			{
				name: "Manaus", do: func(s *six) { s.release() }, fates: "opted_out pending pending pending sent sent",
				status: campaign.StatusSending, words: "Waits for its hours · the rest goes out 24 Nov 09:00",
				notices: []string{"The South, the Southeast, Goiás and DF: 3, at 09:00"},
				waiting: []string{"send_window America/Sao_Paulo 3 2037-11-24T12:00:00Z"},
				next:    "3 people 24 Nov 2037, 09:00", used: map[string]int{"2037-11-23": 60, "2037-11-24": 0},
			},
			{
				name: "São Paulo", do: func(s *six) {
					s.reply("- - - - read read")
					s.wait(time.Date(2037, 11, 24, 12, 1, 0, 0, time.UTC))
				},
				fates:  "opted_out sent sent sent read read",
				status: campaign.StatusSending, words: "Sent; 3 not confirmed yet, until 25 Nov 2037, 11:01", used: map[string]int{"2037-11-23": 60, "2037-11-24": 0},
			},
		},
	},
	{
		name: "Pausada", at: noon, part: 3, people: "11 11 11 11 11 11", withheld: "- opted_out - - suppressed -",
		bookedOn: "2037-11-23", booked: "23 Nov 2037",
		stages: []stage{
			{
				name: "paused", do: func(s *six) {
					s.release()
					s.pause()
					s.now = s.now.Add(time.Minute)
					s.release()
				},
				fates:  "sent opted_out sent pending pending pending",
				status: campaign.StatusSending, words: "Paused", waiting: []string{"paused 3"},
				notices: []string{"Paused on 23 Nov 2037, 12:02. 3 people wait until somebody resumes the sending."},
				alert:   "A campaign’s sending is paused: Pausada", used: map[string]int{"2037-11-23": 60}, posts: "campaign.paused",
			},
			{
				name: "resumed", do: func(s *six) {
					s.change("resume", url.Values{})
					s.wait(s.now.Add(2 * time.Minute))
				},
				fates:  "sent opted_out sent sent suppressed sent",
				status: campaign.StatusSending, words: "Sent; 4 not confirmed yet, until 24 Nov 2037, 14:07", used: map[string]int{"2037-11-23": 60}, posts: "campaign.paused campaign.resumed",
			},
		},
	},
	{
		name: "Cancelada", at: noon, part: 3, people: "11 11 11 11 11 11", withheld: "- opted_out - - suppressed -",
		bookedOn: "2037-11-23", booked: "23 Nov 2037",
		stages: []stage{
			{
				name: "cancelled", do: func(s *six) {
					s.release()
					s.change("cancel", url.Values{"revoke": {"false"}})
					s.work()
				},
				fates:  "sent opted_out sent stopped stopped stopped",
				status: campaign.StatusCancelled, words: "Cancelled",
				notices: []string{"Cancelled on 23 Nov 2037, 12:02. Sent already: 2. Stopped before sending: 3."},
				used:    map[string]int{"2037-11-23": 30},
			},
			{
				name: "answered", do: func(s *six) { s.reply("read - delivered - - -") },
				fates:  "read opted_out delivered stopped stopped stopped",
				status: campaign.StatusCancelled, words: "Cancelled",
				notices: []string{"Cancelled on 23 Nov 2037, 12:02. Sent already: 2. Stopped before sending: 3."},
				used:    map[string]int{"2037-11-23": 20},
			},
		},
	},
	{
		name: "Concluída em pausa", at: noon, part: 100, people: "11 11 11 11", withheld: "- opted_out - -",
		bookedOn: "2037-11-23", booked: "23 Nov 2037",
		stages: []stage{
			{
				name: "paused too late", do: func(s *six) {
					s.onSend = s.pause
					s.release()
				},
				fates:  "sent opted_out sent sent",
				status: campaign.StatusSending, words: "Sent; 3 not confirmed yet, until 24 Nov 2037, 14:02",
				notices: []string{"Paused on 23 Nov 2037, 12:02. Everything has gone out: nothing waits for the end of the pause."},
				used:    map[string]int{"2037-11-23": 40}, posts: "campaign.paused",
			},
			{
				name: "answered", do: func(s *six) { s.reply("read - delivered read") }, fates: "read opted_out delivered read",
				status: campaign.StatusCompleted, words: "Completed", posts: "campaign.completed campaign.paused", used: map[string]int{"2037-11-23": 30},
			},
		},
	},
}

// six is one of the campaigns, with its people.
type six struct {
	*shop
	planned

	author, approver webtest.Person
	id               campaign.ID
	phones           []string // by person
	withheldFrom     []string
	toSend           int // people from whom nothing is withheld
	stage            stage
	is               []string // the fates of the people now
}

// What people are told before a campaign is sent is what happens: the same people, money and words on the
// dry run, the review, the approval, the price, the budget, the list, the campaign's page, the overview, the
// page of a person, the export, the API and the webhooks.
func TestSixCampaigns(t *testing.T) {
	t.Parallel()
	for _, p := range sixCampaigns {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			s := newSix(t, p)
			s.dryRun()
			s.approve(s.review())
			for _, next := range p.stages {
				s.now = s.now.Add(2 * time.Minute) // pages keep some results for a minute
				next.do(s)
				s.author, s.approver = s.SignIn(s.tenant, web.RoleAuthor), s.SignIn(s.tenant, web.RoleApprover)
				s.stage, s.is = next, strings.Fields(next.fates)
				s.look()
			}
		})
	}
}

// newSix makes the company of a campaign, with its people, prices, hours and list.
func newSix(t *testing.T, p planned) *six {
	t.Helper()
	s := &six{shop: newShop(t, p.part, p.at), planned: p, withheldFrom: strings.Fields(p.withheld)}
	var out []campaign.OptChange
	var listed []uint64
	for i, area := range strings.Fields(p.people) {
		s.phones = append(s.phones, "+55"+area+strconv.Itoa(988000000+i))
		switch s.withheldFrom[i] {
		case "opted_out":
			out = append(out, campaign.OptChange{Phone: s.phones[i], Out: true, At: s.now})
		case "suppressed":
			number, err := strconv.ParseUint(s.phones[i][1:], 10, 64)
			s.must(err)
			listed = append(listed, number)
		default:
			s.toSend++
		}
	}
	s.must(s.book.Record(t.Context(), s.tenant, out))
	_, err := s.lists.Change(t.Context(), s.tenant, theList, lists.Change{
		Settings: &lists.Settings{Reason: "they asked the state for it"}, Add: numberset.New(listed),
	}, account.AuditEntry{})
	s.must(err)
	s.must(s.store.SetBilling(t.Context(), s.tenant, campaign.Billing{
		Prices: campaign.Prices{Basic: cents(10), Single: cents(20)}, Limits: campaign.Spending{Day: cents(10_000), Month: cents(100_000)},
	}))
	if len(p.hours.Rules) > 0 {
		s.must(s.store.SaveTenantHours(t.Context(), s.tenant, p.hours))
	}
	s.must(s.store.SaveApprovalFrom(t.Context(), s.tenant, 0, 2))
	s.author, s.approver = s.SignIn(s.tenant, web.RoleAuthor), s.SignIn(s.tenant, web.RoleApprover)
	return s
}

func cents(n int) campaign.Money { return campaign.Money(n) * 10_000 }

// money is an amount of pages.
func money(amount int) string { return fmt.Sprintf("R$ %d.%02d", amount/100, amount%100) }

// countPeople returns a number of people, as pages have it.
func countPeople(n int) string {
	if n == 1 {
		return "1 person"
	}
	return shown(n) + " people"
}

// of returns the number of people from whom the message is withheld with a fate.
func (s *six) of(fate string) (n int) {
	for _, f := range s.withheldFrom {
		if f == fate {
			n++
		}
	}
	return n
}

// review uploads the file and asks for approval. It returns the path of its page.
func (s *six) review() (path string) {
	s.t.Helper()
	file := []byte("phone;uid;nome\n")
	for i, phone := range s.phones {
		file = fmt.Appendf(file, "%s;u%d;Ana\n", phone, i)
	}
	path = s.post(s.author, s.name, file).Location
	run(s.company, &s.tasks, s.worker.Handle)
	s.id = campaign.ID{Tenant: s.tenant, CampaignID: strings.TrimPrefix(path, sending.SubmissionsPath+"/")}
	page := s.author.Get(path)
	s.promised("review", page)
	a := s.author.Post(path+"/confirm", url.Values{"hash": {page.Value("hash")}, "starts": {page.Value("starts")}})
	if a.Location != path {
		s.t.Fatalf("asked: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	return path
}

// promised checks what a page promises before the sending.
func (s *six) promised(where string, page webtest.Answer) {
	s.t.Helper()
	all, out, listed := len(s.phones), s.of("opted_out"), s.of("suppressed")
	s.figures(where, page, "Messages to send "+shown(s.toSend), "basic: "+shown(s.toSend), "Price "+money(10*s.toSend),
		"Reserved from the budget "+money(10*all), money(10*all)+" in the budget of "+s.booked)
	if out > 0 {
		s.figures(where, page, "Opted out (nothing is sent) "+shown(out), "Of people who opted out: "+money(10*out))
	}
	if listed > 0 {
		s.figures(where, page, fmt.Sprintf("On suppression lists (nothing is sent) %d %s: %d", listed, theList, listed),
			"Of people on suppression lists: "+money(10*listed))
	}
	s.figures(where, page, "Start "+cmp.Or(s.starts, "As soon as it is approved"))
	s.figures(where, page, s.openings...)
	if s.closed != "" {
		s.figures(where, page, "Nothing is sent on holidays: "+s.closed)
	}
}

// approve approves what the approver sees.
func (s *six) approve(path string) {
	s.t.Helper()
	s.figures("approvals", s.approver.Get(sending.ApprovalsPath), s.name+" Waiting for approval "+shown(s.toSend))
	page := s.approver.Get(path)
	s.promised("approval", page)
	button, done := "Approve and send now to ", "has begun"
	if s.starts != "" {
		button, done = "Approve and schedule for ", "is scheduled for "+s.starts
	}
	s.figures("approval", page, button+countPeople(s.toSend))
	a := s.approver.Post(path+"/decide", url.Values{"decision": {"approve"}, "hash": {page.Value("hash")}, "starts": {page.Value("starts")}})
	if a.Status != http.StatusSeeOther {
		s.t.Fatalf("approved: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	run(s.company, &s.tasks, s.worker.Handle)
	a.Location = s.approver.Follow(a).Location // of the campaign, which is sent now
	s.figures("approved", s.approver.Follow(a), done)
}

func (s *six) path() string { return web.Root + "/campaigns/" + s.id.CampaignID }

// change changes the campaign on its page.
func (s *six) change(action string, form url.Values) {
	s.t.Helper()
	if a := s.author.Post(s.path()+"/"+action, form); a.Status != http.StatusSeeOther {
		s.t.Fatalf("%s: %d\n%s", action, a.Status, a.Text())
	}
}

func (s *six) pause() {
	s.t.Helper()
	s.change("pause", url.Values{})
}

// reply records the outcomes of the people's messages, "-" for none.
func (s *six) reply(outcomes string) {
	s.t.Helper()
	next := map[string]campaign.Outcome{}
	for i, o := range strings.Fields(outcomes) {
		if o != "-" {
			next[s.phones[i]] = campaign.Outcome(o)
		}
	}
	s.record(func(phone string) campaign.Outcome { return next[phone] })
}

// dry is the answer to a dry run.
type dry struct {
	Accepted int
	Valid    bool
	Price    struct{ Total, Expected campaign.Money }
	Budget   campaign.BudgetFigures
	Withheld []struct {
		Code, List string
		Messages   int
		Price      campaign.Money
	}
	Window []opening
}

type opening struct {
	Reason   string
	Zone     string
	Messages int
	OpensAt  time.Time
}

// texts returns openings as text.
func texts(all []opening) (lines []string) {
	for _, o := range all {
		line := strings.TrimSpace(o.Reason+" "+o.Zone) + " " + strconv.Itoa(o.Messages)
		if !o.OpensAt.IsZero() {
			line += " " + o.OpensAt.Format(time.RFC3339)
		}
		lines = append(lines, line)
	}
	return lines
}

// dryRun asks the API what would become of the campaign.
func (s *six) dryRun() {
	s.t.Helper()
	var messages []map[string]any
	for i, phone := range s.phones {
		messages = append(messages, map[string]any{"phone": phone, "uid": fmt.Sprint("u", i), "vars": map[string]string{"nome": "Ana"}})
	}
	var got dry
	s.call(http.MethodPost, "/dispatch?dryRun=true", map[string]any{
		"campaignId": "0198d3a0-0000-4000-8000-000000000000", "name": s.name, "templateId": s.template, "messages": messages,
	}, &got)
	s.same("dry run, accepted", got.Accepted, len(s.phones))
	for what, amounts := range map[string][2]campaign.Money{
		"total": {got.Price.Total, cents(10 * len(s.phones))}, "expected": {got.Price.Expected, cents(10 * s.toSend)},
		"cost": {got.Budget.Cost, cents(10 * len(s.phones))},
	} {
		s.same("dry run, "+what, int(amounts[0]), int(amounts[1]))
	}
	withheld := map[string]int{}
	for _, w := range got.Withheld {
		withheld[w.Code+w.List] = w.Messages
		s.same("dry run, price of "+w.Code, int(w.Price), int(cents(10*w.Messages)))
	}
	s.same("dry run, opted out", withheld["opted_out"], s.of("opted_out"))
	s.same("dry run, on the list", withheld["suppressed"+theList], s.of("suppressed"))
	if got.Budget.Day == nil || got.Budget.Day.Date != s.bookedOn {
		s.t.Errorf("dry run, the budget is %+v, want that of %s", got.Budget, s.bookedOn)
	}
	if diff := gocmp.Diff(s.window, texts(got.Window)); diff != "" {
		s.t.Errorf("dry run, window (-want +got):\n%s", diff)
	}
}
