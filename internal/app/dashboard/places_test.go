package dashboard_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/dashboard/billing"
	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/webhook/delivery"
)

// look looks at the campaign everywhere.
func (s *six) look() {
	s.t.Helper()
	s.provider()
	s.api()
	s.apiMessages()
	s.page()
	s.list()
	s.filter()
	s.overview()
	s.persons()
	s.export()
	s.posted()
	s.budget()
}

// count returns the number of people with one of the fates now.
func (s *six) count(of ...string) (n int) {
	for _, f := range s.is {
		if slices.Contains(of, f) {
			n++
		}
	}
	return n
}

func (s *six) at(place string) string { return s.stage.name + ", " + place }

// provider checks that each person has got one message, or none.
func (s *six) provider() {
	s.t.Helper()
	for i, phone := range s.phones {
		want := 1
		if slices.Contains([]string{"pending", "stopped", "opted_out", "suppressed"}, s.is[i]) {
			want = 0
		}
		s.same(s.at("messages to "+phone), s.taken[phone], want)
	}
}

func (s *six) api() {
	s.t.Helper()
	var got struct {
		answer
		Waiting []opening
	}
	s.get(s.id, &got)
	if got.Status != s.stage.status {
		s.t.Errorf("%s: it is %s, want %s", s.at("API"), got.Status, s.stage.status)
	}
	s.same(s.at("API, accepted"), got.Accepted, len(s.phones))
	want := map[campaign.Outcome]int{}
	for _, f := range s.is {
		want[campaign.Outcome(fates[f].status)]++
	}
	for status, n := range got.Counts {
		s.same(s.at("API, "+string(status)), n, want[status])
	}
	if diff := gocmp.Diff(s.stage.waiting, texts(got.Waiting)); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", s.at("API, waiting"), diff)
	}
}

// apiMessages checks each message in the API.
func (s *six) apiMessages() {
	s.t.Helper()
	var got struct {
		Messages []struct{ Phone, Status, Code, List string }
	}
	s.call(http.MethodGet, "/"+s.id.CampaignID+"/messages", nil, &got)
	is := map[string]string{}
	for _, m := range got.Messages {
		is[m.Phone] = strings.Join([]string{m.Status, m.Code, m.List}, " ")
	}
	for i, phone := range s.phones {
		if want := s.fateOf(i); is[phone] != want {
			s.t.Errorf("%s: %s is %q, want %q", s.at("API, messages"), phone, is[phone], want)
		}
	}
}

// fateOf returns the status, code and list of a person's message in the API.
func (s *six) fateOf(i int) string {
	f := fates[s.is[i]]
	list := ""
	if f.code == campaign.CodeSuppressed {
		list = theList
	}
	return strings.Join([]string{f.status, f.code, list}, " ")
}

func (s *six) sent() int      { return s.count("sent", "delivered", "read") }
func (s *six) delivered() int { return s.count("delivered", "read") }
func (s *six) notSent() int   { return s.count("opted_out", "suppressed", "stopped") }

func (s *six) page() {
	s.t.Helper()
	where, page := s.at("page"), s.author.Get(s.path())
	s.figures(where, page, s.name+" "+s.stage.words+" Created",
		"Recipients "+shown(len(s.phones)), "Sent "+shown(s.sent()), "Delivered "+shown(s.delivered()), "Read "+shown(s.count("read")))
	s.figures(where, page, s.stage.notices...)
	const nothing = "Nothing is sent to those who opted out or are on a suppression list."
	if n := len(s.phones) - s.toSend; n > 1 && strings.Contains(page.Text(), nothing) {
		s.figures(where, page, nothing+" When the file was checked, they were "+shown(n)+" of its people.")
	}
	if n := s.notSent(); n > 0 {
		s.figures(where, page, "Not sent "+shown(n))
	}
	for fate, text := range map[string]string{
		"stopped": " Cancelled before sending", "opted_out": " Had opted out", "suppressed": " Were on the suppression list " + theList,
	} {
		if n := s.count(fate); n > 0 {
			s.figures(where, page, shown(n)+text)
		} else {
			s.quiet(where, page, text)
		}
	}
	s.bill()
}

// bill checks the money of the campaign's page.
func (s *six) bill() {
	s.t.Helper()
	where, page := s.at("page"), s.author.Get(s.path())
	s.figures(where, page, "Recipients basic: "+shown(len(s.phones)), "Cost of the delivered ones "+money(10*s.delivered()))
	if used := s.stage.used[s.bookedOn]; used > 10*s.delivered() { // the rest is of batches that are not completed
		s.figures(where, page, money(used)+" in the budget of "+s.booked)
	}
}

func (s *six) list() {
	s.t.Helper()
	row, list := s.author.Get(s.path()+"/row"), s.author.Get(web.Root+"/campaigns")
	for where, page := range map[string]func(label string) string{
		"list": func(label string) string { return cell(list, label) }, "row": func(label string) string { return cell(row, label) },
	} {
		for label, want := range map[string]string{"Status": s.stage.words, "People": shown(len(s.phones))} {
			if got := page(label); got != want {
				s.t.Errorf("%s: %s %q, want %q", s.at(where), label, got, want)
			}
		}
	}
	if got, n := cell(row, "Not delivered"), s.notSent(); n > 0 && got != "0 Not sent: "+shown(n) {
		s.t.Errorf("%s: not delivered %q, want none and %d that were not sent", s.at("row"), got, n)
	}
}

// filter checks the messages that the filter of each fate finds.
func (s *six) filter() {
	s.t.Helper()
	for fate, is := range fates {
		status := cmp.Or(map[string]string{"opted_out": "opted_out", "suppressed": "suppressed"}[fate], is.status)
		page := s.author.Get(s.path() + "/messages?status=" + status)
		for i, phone := range s.phones {
			if found := strings.Contains(page.Text(), phone); found != (s.is[i] == fate) {
				s.t.Errorf("%s finds %s: %t, and it is %s", s.at("filter "+status), phone, found, s.is[i])
			}
		}
	}
}

func (s *six) overview() {
	s.t.Helper()
	where, page := s.at("overview"), s.author.Get(web.Root+"/overview?days=30")
	s.figures(where, page, "Sent "+shown(s.sent()), "Delivered "+shown(s.delivered()), "Read "+shown(s.count("read")),
		"Not delivered 0", "Not sent "+shown(s.notSent()))
	next := "No campaign is scheduled."
	if s.stage.next != "" {
		next = s.name + " " + s.stage.next
	}
	s.figures(where, page, next, cmp.Or(s.stage.alert, "Nothing needs attention."))
}

// persons checks the page of the first person with each fate.
func (s *six) persons() {
	s.t.Helper()
	seen := map[string]bool{}
	for i, fate := range s.is {
		key := fate + s.withheldFrom[i]
		if seen[key] {
			continue
		}
		seen[key] = true
		where := s.at("person " + fate + ", withheld: " + s.withheldFrom[i])
		page := s.author.Post(people.Path+"/find", url.Values{"phone": {s.phones[i]}})
		s.figures(where, page, fmt.Sprintf("%s u%d T %s%s", s.name, i, fates[fate].words, s.waits(i)))
		s.figures(where, page, map[string]string{
			"-": "This number gets messages.", "opted_out": "This number opted out on", "suppressed": "This number is on the suppression list " + theList,
		}[s.withheldFrom[i]])
	}
}

// waits returns what a person's page says about a message that was not sent yet.
func (s *six) waits(i int) string {
	switch {
	case s.is[i] != "pending":
		return ""
	case s.withheldFrom[i] != "-":
		return " Pending: it will not be sent to this number"
	case s.stage.words == "Paused":
		return " Pending: the campaign is paused"
	case s.stage.next != "":
		return " Pending: it goes out on"
	}
	return " Pending"
}

func (s *six) export() {
	s.t.Helper()
	path := s.path() + "/exports"
	page := s.author.Get(path)
	if a := s.author.Post(path, url.Values{"once": {page.Value("once")}, "kind": {"outcomes"}, "format": {"plain"}}); a.Status != http.StatusSeeOther {
		s.t.Fatalf("%s: %d\n%s", s.at("export"), a.Status, a.Text())
	}
	is, e := map[string]string{}, s.made(page.Value("once"))
	s.figures(s.at("export"), s.author.Get(path), shown(len(s.phones))+" lines")
	for _, row := range s.read(e)[1:] {
		is[row[0]] = row[2]
		if withheld := strings.TrimSpace(row[3]) != ""; withheld != (fates[s.is[slices.Index(s.phones, row[0])]].code != "") {
			s.t.Errorf("%s: the reason of %v is %q", s.at("export"), row, row[3])
		}
	}
	want := map[string]string{}
	for i, phone := range s.phones {
		want[phone] = fates[s.is[i]].status
	}
	if diff := gocmp.Diff(want, is); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", s.at("export"), diff)
	}
}

// posted checks the last webhook of each person, and those of the campaign.
func (s *six) posted() {
	s.t.Helper()
	all := s.webhooks()
	for i, phone := range s.phones {
		want := ""
		if f := fates[s.is[i]]; f.status != "pending" {
			want = string(delivery.KindOf(campaign.Outcome(f.status))) + strings.TrimPrefix(s.fateOf(i), f.status)
		}
		posts, is := all[phone], ""
		if len(posts) > 0 {
			last := posts[len(posts)-1]
			is = strings.Join([]string{string(last.Type), last.Data.Code, last.Data.List}, " ")
		}
		if is != want {
			s.t.Errorf("%s: the last one of %s is %q, want %q", s.at("webhooks"), phone, is, want)
		}
	}
	var about []string
	for _, p := range all[""] {
		about = append(about, string(p.Type))
	}
	slices.Sort(about)
	if got := strings.Join(about, " "); got != s.stage.posts {
		s.t.Errorf("%s: those about the campaign are %q, want %q", s.at("webhooks"), got, s.stage.posts)
	}
}

// budget checks what is reserved by date, and the page of the budget.
func (s *six) budget() {
	s.t.Helper()
	for _, date := range slices.Sorted(maps.Keys(s.stage.used)) {
		got, err := s.store.Spending(s.t.Context(), s.tenant, date)
		s.must(err)
		s.same(s.at("budget of "+date), int(got.Day), int(cents(s.stage.used[date])))
	}
	today, month := localtime.Day(s.now), 0
	for date, used := range s.stage.used {
		if campaign.MonthOf(date) == campaign.MonthOf(today) {
			month += used
		}
	}
	where, page := s.at("budget"), s.author.Get(billing.Path)
	s.figures(where, page, "Today "+money(s.stage.used[today])+" of R$ 100.00", "This month "+money(month)+" of R$ 1,000.00")
	if s.bookedOn > today {
		s.figures(where, page, "Next days "+money(s.stage.used[s.bookedOn])+" in the budget of "+s.booked)
	}
}
