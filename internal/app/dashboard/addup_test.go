package dashboard_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/localstack/testsize"
)

// pending is the state of messages without an outcome.
const pending campaign.Outcome = "pending"

// sum is what is known of a file and its people without any page.
type sum struct {
	lines, invalid, faulty, repeated, people, optedOut int // of the file

	erased    int // before their part was accepted
	others    int // whom a batch of the API had before their part was accepted
	states    map[campaign.Outcome]int
	lost      int  // of the failed messages, those to people who opted out
	over      bool // no part is accepted any more
	discarded bool // over, because the rest was discarded: the campaign was not cancelled
	rejects   int  // invalid numbers of the accepted parts
}

func (s sum) accepted() (n int) {
	for _, of := range s.states {
		n += of
	}
	return n
}

func (s sum) notAccepted() int { return s.people - s.erased - s.accepted() }

func (s sum) delivered() int {
	return s.states[campaign.OutcomeRead] + s.states[campaign.OutcomeDelivered]
}

func (s sum) sent() int {
	return s.delivered() + s.states[campaign.OutcomeSent] + s.states[campaign.OutcomeExpired] + s.states[campaign.OutcomeRevoked]
}

// ended returns the messages that were not delivered, and will not be.
func (s sum) ended() int {
	return s.states[campaign.OutcomeFailed] + s.states[campaign.OutcomeExpired] + s.states[campaign.OutcomeRevoked] + s.states[campaign.OutcomeStopped]
}

// notSent returns the people to whom nothing was sent, and will not be.
func (s sum) notSent() int { return s.states[campaign.OutcomeStopped] + s.lost + s.never() }

// undelivered returns the messages that were not delivered, without those that were not sent.
func (s sum) undelivered() int { return s.ended() - s.states[campaign.OutcomeStopped] - s.lost }

// never returns the people whose parts are not accepted any more.
func (s sum) never() int {
	if s.over {
		return s.notAccepted()
	}
	return 0
}

var english = message.NewPrinter(language.English)

func shown(n int) string { return english.Sprint(number.Decimal(n)) }

func percent(n, of int) string {
	return english.Sprint(number.Percent(float64(n)/float64(of), number.MaxFractionDigits(1)))
}

// life is a campaign with a file, and what its people and pages must be.
type life struct {
	*company
	author, approver  webtest.Person
	name              string
	id                campaign.ID
	begun             time.Time
	sum               sum
	people            map[string]string // numbers by uid
	out               map[string]bool   // uids of those who opted out
	gone              map[string]bool   // uids of those who were erased
	states            map[string]campaign.Outcome
	counted, released int        // of the accepted batches
	exported          [][]string // lines of the last file of results
}

// rows returns a file with as many lines, and counts what they are.
func (l *life) rows(lines int) []byte {
	var file strings.Builder
	file.WriteString("phone;uid;nome\n")
	l.sum.lines = lines
	for n := range lines {
		phone, uid, name := strconv.Itoa(11988000000+n), fmt.Sprint("u", n), fmt.Sprint("Pessoa ", n)
		switch n % 500 {
		case 7:
			phone = fmt.Sprint("12", n%10)
			l.sum.invalid++
		case 113:
			name = ""
			l.sum.faulty++
		case 217:
			phone = strconv.Itoa(11988000000 + n - 100)
			l.sum.repeated++
		case 323:
			l.out[uid] = true
			fallthrough
		default:
			l.people[uid] = "+55" + phone
		}
		file.WriteString(phone + ";" + uid + ";" + name + "\n")
	}
	l.sum.people, l.sum.optedOut = len(l.people), len(l.out)
	return []byte(file.String())
}

// review uploads the file and asks for approval. It compares what the author and the approver see.
func (l *life) review(lines int) (path string) {
	l.t.Helper()
	file := l.rows(lines)
	var out []campaign.OptChange
	for uid := range l.out {
		out = append(out, campaign.OptChange{Phone: l.people[uid], Out: true, At: l.now})
	}
	l.must(l.book.Record(l.t.Context(), l.tenant, out))
	l.must(l.store.SaveApprovalFrom(l.t.Context(), l.tenant, 0, 2))
	path = l.upload(l.author, l.name, file)
	l.id = campaign.ID{Tenant: l.tenant, CampaignID: strings.TrimPrefix(path, sending.SubmissionsPath+"/")}
	mine := l.author.Get(path)
	l.reviewed("review", mine)
	if a := l.author.Post(path+"/confirm", url.Values{"hash": {mine.Value("hash")}}); a.Location != path {
		l.t.Fatalf("asked: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
	l.reviewed("review that waits", l.author.Get(path))
	l.figures("approvals", l.approver.Get(sending.ApprovalsPath), "Messages to send Requested by Liquidação Waiting for approval "+shown(l.sum.people-l.sum.optedOut))
	return path
}

func (l *life) reviewed(where string, page webtest.Answer) {
	l.t.Helper()
	s := l.sum
	l.figures(where, page, "Messages to send "+shown(s.people-s.optedOut), "Lines with a problem "+shown(s.faulty), "Invalid numbers "+shown(s.invalid),
		"Opted out (nothing is sent) "+shown(s.optedOut), "Repeated numbers "+shown(s.repeated), "lista.csv · "+shown(s.lines)+" lines",
		"basic: "+shown(s.people-s.optedOut))
}

// approve approves what the approver sees.
func (l *life) approve(path string) {
	l.t.Helper()
	page := l.approver.Get(path)
	l.reviewed("approval", page)
	want := "Approve and send now to " + shown(l.sum.people-l.sum.optedOut) + " people"
	if l.worker.WavesFrom > 0 {
		want = "Approve 2 waves, and send the first one now to"
	}
	l.figures("approval", page, want)
	if a := l.approver.Post(path+"/decide", url.Values{"decision": {"approve"}, "hash": {page.Value("hash")}}); a.Status != http.StatusSeeOther {
		l.t.Fatalf("approved: %d to %q\n%s", a.Status, a.Location, a.Text())
	}
}

// accept accepts parts until they have a share of the people.
func (l *life) accept(share float64) {
	l.t.Helper()
	for float64(l.sum.accepted()) < share*float64(l.sum.people) {
		if len(l.tasks.tasks) == 0 {
			l.t.Fatalf("%d people are accepted, and no task is left", l.sum.accepted())
		}
		task := l.tasks.tasks[0]
		l.tasks.tasks = nil
		ctx, cancel := context.WithTimeout(l.t.Context(), 20*time.Second) // ends when one part was sent
		l.must(l.worker.Handle(ctx, []submission.Task{task})[0])
		cancel()
		l.count()
	}
}

// count counts the accepted messages, and checks that each is to a person of the file who has no other
// message.
func (l *life) count() {
	l.t.Helper()
	for _, b := range l.accepted[l.counted:] {
		for _, m := range l.messages(b) {
			if _, twice := l.states[m.UID]; twice || l.people[m.UID] != m.Phone.String() {
				l.t.Fatalf("%s has a message to %s, and had one: %t", m.UID, m.Phone, twice)
			}
			l.states[m.UID] = pending
		}
		l.sum.rejects += b.Rejected
		l.counted++
	}
	l.sum.states = map[campaign.Outcome]int{}
	l.sum.lost = 0
	for uid, state := range l.states {
		l.sum.states[state]++
		if state == campaign.OutcomeFailed && l.out[uid] {
			l.sum.lost++
		}
	}
}

// send releases the accepted batches but the last, and gives their messages all the states that
// messages get.
func (l *life) send() {
	l.t.Helper()
	l.sendUntil(len(l.accepted) - 1)
}

// sendUntil is send of a number of batches.
func (l *life) sendUntil(batches int) {
	l.t.Helper()
	reached := []campaign.Outcome{
		campaign.OutcomeRead, campaign.OutcomeRead, campaign.OutcomeRead, campaign.OutcomeDelivered, campaign.OutcomeDelivered,
		campaign.OutcomeSent, campaign.OutcomeFailed, campaign.OutcomeExpired, campaign.OutcomeRevoked, pending,
	}
	for ; l.released < batches; l.released++ {
		b := l.accepted[l.released]
		_, err := l.store.StartRelease(l.t.Context(), b.BatchRef, "agent", l.now, l.now.Add(time.Hour))
		l.must(err)
		_, err = l.store.EndRelease(l.t.Context(), b, l.now.Add(time.Hour), true)
		l.must(err)
		l.record(b, func(index int, uid string) (campaign.Outcome, string) {
			if l.out[uid] {
				return campaign.OutcomeFailed, campaign.CodeOptedOut
			}
			return reached[index%len(reached)], ""
		})
	}
	l.count()
}

// record records what became of the messages of a batch. A function that returns their own state
// changes nothing.
func (l *life) record(b campaign.Batch, next func(index int, uid string) (campaign.Outcome, string)) {
	l.t.Helper()
	b, err := l.store.Batch(l.t.Context(), b.BatchRef)
	l.must(err)
	var changes []campaign.Change
	for index, m := range l.messages(b) {
		if m.UID == "" { // erased
			continue
		}
		state, code := next(index, m.UID)
		if state != l.states[m.UID] {
			changes = append(changes, campaign.Change{Index: index, Outcome: state, Code: code, At: l.now})
			l.states[m.UID] = state
		}
	}
	if len(changes) > 0 {
		l.must(l.recorder.Record(l.t.Context(), b, changes))
	}
}

// cancel cancels the campaign on its page. What was not sent is stopped, by the cancellation or by the
// functions that send.
func (l *life) cancel() {
	l.t.Helper()
	path := web.Root + "/campaigns/" + l.id.CampaignID + "/cancel"
	l.figures("cancellation", l.author.Get(path),
		fmt.Sprintf("which will not be sent: %s.", shown(l.waiting())),
		fmt.Sprintf("which will be stopped: %s.", shown(l.sum.states[pending]-l.waiting())),
		fmt.Sprintf("not accepted yet and will not be: %s.", shown(l.sum.notAccepted())),
		fmt.Sprintf("sent and not delivered yet: %s.", shown(l.sum.states[campaign.OutcomeSent])),
		fmt.Sprintf("for which nothing changes: %s.", shown(l.sum.ended()+l.sum.delivered())))
	if a := l.author.Post(path, url.Values{"revoke": {"false"}}); a.Status != http.StatusSeeOther {
		l.t.Fatalf("cancelled: %d\n%s", a.Status, a.Text())
	}
	run(l.company, &l.revokes, l.canceller.Handle)
	run(l.company, &l.tasks, l.worker.Handle)
	for _, b := range l.accepted[l.released:] {
		for _, m := range l.messages(b) {
			l.states[m.UID] = campaign.OutcomeStopped
		}
	}
	for _, b := range l.accepted[:l.released] {
		l.record(b, func(_ int, uid string) (campaign.Outcome, string) {
			if l.states[uid] == pending {
				return campaign.OutcomeStopped, campaign.CodeCancelled
			}
			return l.states[uid], ""
		})
	}
	l.sum.over = true
	l.count()
}

// waiting returns the messages of the accepted batches that are not released.
func (l *life) waiting() (n int) {
	for _, b := range l.accepted[l.released:] {
		n += b.Accepted
	}
	return n
}

// figures checks that a page says texts that end with a number.
func (c *company) figures(where string, page webtest.Answer, texts ...string) {
	c.t.Helper()
	if page.Status != http.StatusOK {
		c.t.Fatalf("%s: answers %d\n%s", where, page.Status, page.Text())
	}
	for _, text := range texts {
		if !regexp.MustCompile(`(?:^|\W)` + regexp.QuoteMeta(text) + `(?:[.,]?[^\d.,]|[.,]?$)`).MatchString(page.Text()) {
			c.t.Errorf("%s does not say %q:\n%s", where, text, page.Text())
		}
	}
}

// quiet checks that a page does not say texts.
func (c *company) quiet(where string, page webtest.Answer, texts ...string) {
	c.t.Helper()
	for _, text := range texts {
		if strings.Contains(page.Text(), text) {
			c.t.Errorf("%s says %q:\n%s", where, text, page.Text())
		}
	}
}

// same checks a figure that is no text of a page.
func (c *company) same(what string, got, want int) {
	c.t.Helper()
	if got != want {
		c.t.Errorf("%s: %d, want %d", what, got, want)
	}
}

// look looks at the campaign everywhere.
func (l *life) look(when string) {
	l.t.Helper()
	if l.sum.notAccepted()+l.sum.accepted()+l.sum.erased != l.sum.people || l.sum.invalid+l.sum.faulty+l.sum.repeated+l.sum.people != l.sum.lines {
		l.t.Fatalf("the test's own sum is wrong: %+v", l.sum)
	}
	l.t.Logf("%s: %+v, not accepted %d", when, l.sum, l.sum.notAccepted())
	l.api(when)
	l.campaign(when)
	l.list(when)
	l.overview(when)
	l.export(when)
	l.followUp(when)
}

// answer is what the API says about a campaign.
type answer struct {
	Status             campaign.Status
	Accepted, Rejected int
	Counts             map[campaign.Outcome]int
	Submission         map[string]int
	Batches            []struct {
		Accepted int
		Counts   map[campaign.Outcome]int
	}
}

func (l *life) api(when string) {
	l.t.Helper()
	var a answer
	l.get(l.id, &a)
	s := l.sum
	for state, n := range a.Counts {
		l.same(when+", API, "+string(state), n, s.states[state])
	}
	batches := 0
	for _, b := range a.Batches {
		batches += b.Accepted
		of := 0
		for _, n := range b.Counts {
			of += n
		}
		l.same(when+", API, states of a batch", of, b.Accepted)
	}
	l.same(when+", API, accepted", a.Accepted, s.accepted())
	l.same(when+", API, accepted by batch", batches, s.accepted())
	l.same(when+", API, rejected", a.Rejected, s.rejects)
	for name, want := range map[string]int{
		"lines": s.lines, "invalid": s.invalid, "faulty": s.faulty, "repeated": s.repeated, "people": s.people, "erased": s.erased,
		"inOtherBatches": s.others, "accepted": s.accepted() - s.others, "notAccepted": s.notAccepted(),
	} {
		l.same(when+", API, submission."+name, a.Submission[name], want)
	}
	want := map[bool]campaign.Status{false: campaign.StatusSending, true: campaign.StatusCancelled}[s.over]
	if s.discarded {
		want = campaign.StatusCompleted
	}
	if a.Status != want {
		l.t.Errorf("%s, API: it is %s, want %s", when, a.Status, want)
	}
}

func (l *life) path() string { return web.Root + "/campaigns/" + l.id.CampaignID }

func (l *life) campaign(when string) {
	l.t.Helper()
	where, page, s := when+", campaign", l.author.Get(l.path()), l.sum
	of := s.accepted() + s.notAccepted()
	read := s.states[campaign.OutcomeRead]
	l.figures(where, page, "Recipients "+shown(s.accepted())+" "+percent(s.accepted(), of)+" of the people",
		"Sent "+shown(s.sent())+" "+percent(s.sent(), of)+" of the people",
		"Delivered "+shown(s.delivered())+" "+percent(s.delivered(), s.sent())+" of those sent",
		"Read "+shown(read)+" "+percent(read, s.delivered())+" of those delivered")
	l.figures(where, page, shown(s.states[campaign.OutcomeFailed]-s.lost)+" Failed", shown(s.states[campaign.OutcomeExpired])+" Expired")
	l.figures(where, page, fmt.Sprintf("Lines of the file: %s. People: %s", shown(s.lines), shown(s.people)))
	for what, n := range map[string]int{"Invalid numbers: ": s.invalid, "Lines with a problem: ": s.faulty, "Repeated numbers: ": s.repeated} {
		if n == 0 {
			l.quiet(where, page, what)
		} else {
			l.figures(where, page, what+shown(n))
		}
	}
	if s.erased > 0 {
		l.figures(where, page, "The data of "+shown(s.erased)+" person was erased before the person was accepted")
	}
	if s.others > 0 {
		l.figures(where, page, shown(s.others)+" people were already in another batch of this campaign")
	} else {
		l.quiet(where, page, "another batch")
	}
	if !s.over {
		l.figures(where, page, shown(s.states[pending])+" messages wait", shown(s.notAccepted())+" people of the file are still to be accepted")
		if s.lost > 0 { // the first wave can have nobody who opted out
			l.figures(where, page, "Not sent "+shown(s.lost)+" "+shown(s.lost)+" Had opted out")
		}
		l.quiet(where, page, "Not accepted", "Cancelled before")
		return
	}
	l.quiet(where, page, "wait to be sent", "still to be accepted")
	if s.discarded {
		l.figures(where, page, "Not sent "+shown(s.notSent())+" "+shown(s.never())+" Were in discarded waves.")
		l.quiet(where, page, "Cancelled before", "Stopped before")
		return
	}
	stopped := s.states[campaign.OutcomeStopped]
	l.figures(where, page, "Sent already: "+shown(s.sent())+". Stopped before sending: "+shown(stopped)+". People of the file who are not accepted any more: "+shown(s.never())+".")
	l.figures(where, page, "Not sent "+shown(s.notSent())+" "+shown(stopped)+" Cancelled before sending. "+shown(s.never())+" Not accepted any more.")
	if s.lost > 0 {
		l.figures(where, page, "Not accepted any more. "+shown(s.lost)+" Had opted out")
	}
}

// cell returns the text of a row's cell.
func cell(row webtest.Answer, label string) string {
	found := regexp.MustCompile(`data-label="` + regexp.QuoteMeta(label) + `">(.*)</td>`).FindStringSubmatch(row.Body)
	if found == nil {
		return ""
	}
	return webtest.Answer{Body: found[1]}.Text()
}

func (l *life) list(when string) {
	l.t.Helper()
	list, s := l.author.Get(web.Root+"/campaigns"), l.sum
	of := s.accepted() + s.notAccepted()
	want := map[string]string{
		"People": shown(of), "Delivered": percent(s.delivered(), s.sent()),
		"Read": percent(s.states[campaign.OutcomeRead], s.delivered()), "Not delivered": shown(s.undelivered()),
	}
	if s.notSent() > 0 {
		want["Not delivered"] += " Not sent: " + shown(s.notSent())
	}
	if got := cell(list, "People"); got != want["People"] {
		l.t.Errorf("%s, list: People %q, want %q", when, got, want["People"])
	}
	row := l.author.Get(l.path() + "/row")
	for label, text := range want {
		if got := cell(row, label); got != text {
			l.t.Errorf("%s, row of the list: %s %q, want %q", when, label, got, text)
		}
	}
}

func (l *life) overview(when string) {
	l.t.Helper()
	if l.now.Sub(l.begun) > 59*24*time.Hour {
		return
	}
	page, s := l.author.Get(web.Root+"/overview?days=30"), l.sum
	want := []string{"Sent " + shown(s.sent()), "Delivered " + shown(s.delivered()), "Read " + shown(s.states[campaign.OutcomeRead]), "Not delivered " + shown(s.undelivered()), "Not sent " + shown(s.notSent())}
	if l.now.Sub(l.begun) < 30*24*time.Hour {
		l.figures(when+", overview", page, want...)
		return
	}
	for _, text := range want {
		l.figures(when+", overview", page, "Previous period: "+text[strings.LastIndex(text, " ")+1:])
	}
}

// export makes the file of the results, in which each person of the campaign is once. Who was erased has
// an empty number, or no line if no message was accepted.
func (l *life) export(when string) {
	l.t.Helper()
	where, s := when+", export", l.sum
	path := l.path() + "/exports"
	page := l.author.Get(path)
	if s.rejects > 0 {
		l.figures(where, page, "Results of the messages ("+shown(s.accepted()+s.never()), "Invalid numbers ("+shown(s.rejects))
	} else { // those of a file in waves are in its last wave
		l.quiet(where, page, "Invalid numbers")
	}
	if a := l.author.Post(path, url.Values{"once": {page.Value("once")}, "kind": {"outcomes"}, "format": {"plain"}}); a.Status != http.StatusSeeOther {
		l.t.Fatalf("%s: %d\n%s", where, a.Status, a.Text())
	}
	e := l.made(page.Value("once"))
	rows := l.read(e)[1:]
	l.exported = rows
	l.figures(where, l.author.Get(path), shown(len(rows))+" lines.")
	states, seen := map[campaign.Outcome]int{}, map[string]bool{}
	for _, row := range rows {
		states[campaign.Outcome(row[2])]++
		if uid := row[1]; uid != "" && (seen[uid] || l.people[uid] != row[0]) {
			l.t.Fatalf("%s: %v is wrong, or there twice: %t", where, row, seen[uid])
		}
		seen[row[1]] = true
	}
	want := maps.Clone(s.states)
	if s.over {
		want["not_accepted"] = s.never() - l.erasedOfNotAccepted()
	}
	if diff := cmp.Diff(want, states, cmpopts.IgnoreMapEntries(func(_ campaign.Outcome, n int) bool { return n == 0 })); diff != "" {
		l.t.Errorf("%s (-want +got):\n%s", where, diff)
	}
	for uid := range l.people {
		if s.over && !seen[uid] && !l.gone[uid] {
			l.t.Fatalf("%s: %s is missing", where, uid)
		}
	}
}

// erasedOfNotAccepted returns the number of people who were erased from a part that is not accepted any more.
func (l *life) erasedOfNotAccepted() (n int) {
	for uid := range l.gone {
		if l.states[uid] == "" {
			n++
		}
	}
	return n - l.sum.erased
}

// made makes the file of an export.
func (c *company) made(exportID string) export.Export {
	c.t.Helper()
	run(c, &c.files, c.maker.Handle)
	e, err := c.store.Export(c.t.Context(), exportID)
	c.must(err)
	if e.State != export.Completed {
		c.t.Fatalf("the export is %s", e.State)
	}
	return e
}

func (c *company) read(e export.Export) [][]string {
	c.t.Helper()
	body, err := c.blobs.Get(c.t.Context(), e.Blob())
	c.must(err)
	rows, err := csv.NewReader(strings.NewReader(string(body))).ReadAll()
	c.must(err)
	return rows
}

func (l *life) followUp(when string) {
	l.t.Helper()
	where, s := when+", follow-up", l.sum
	path := l.path() + "/follow-up"
	page := l.author.Get(path)
	missed := s.ended() - s.lost + s.never()
	l.figures(where, page, "Those who got it and did not read it "+shown(s.states[campaign.OutcomeDelivered]), "Those who did not get it "+shown(missed))
	a := l.author.Post(path, url.Values{"once": {page.Value("once")}, "audience": {"missed"}})
	if a.Status != http.StatusSeeOther {
		l.t.Fatalf("%s: %d\n%s", where, a.Status, a.Text())
	}
	e := l.made(page.Value("once"))
	want := map[string]bool{}
	for uid, phone := range l.people {
		lost := l.states[uid] != pending && !slices.Contains([]campaign.Outcome{campaign.OutcomeRead, campaign.OutcomeDelivered, campaign.OutcomeSent}, l.states[uid])
		if l.states[uid] == "" && !s.over || l.states[uid] == campaign.OutcomeFailed && l.out[uid] || l.gone[uid] {
			lost = false
		}
		if lost {
			want[phone] = true
		}
	}
	rows := l.read(e)[1:]
	for _, row := range rows {
		if !want[row[0]] || row[2] == "" {
			l.t.Fatalf("%s: %v is not of the audience, or twice", where, row)
		}
		delete(want, row[0])
	}
	l.same(where+", people who are missing", len(want), 0)
	l.figures(where, l.author.Get(a.Location), fmt.Sprintf("The list is ready: %s people", shown(len(rows))))
}

// lives are the lives of objects, by prefix, as template.yaml has them.
var lives = map[string]time.Duration{
	"payloads/": campaign.Retention, submission.WorkPrefix: submission.DraftLife, submission.PartsPrefix: campaign.Retention,
}

// Of a large file that is approved, cancelled while its parts are accepted, and looked at long after, all
// figures everywhere follow from one sum, and nobody is missing.
func TestPeopleAddUp(t *testing.T) {
	t.Parallel()
	lines := testsize.Of(6_000, 200_000)
	l := &life{company: newCompany(t, lines/100, 0), name: "Liquidação", people: map[string]string{}, out: map[string]bool{}, gone: map[string]bool{}, states: map[string]campaign.Outcome{}}
	l.author, l.approver, l.begun = l.SignIn(l.tenant, web.RoleAuthor), l.SignIn(l.tenant, web.RoleApprover), l.now
	path := l.review(lines)
	l.approve(path)
	l.accept(0.35)
	l.send()
	l.look("at 35 %")
	l.figures("progress", l.author.Get(path), "People of the file accepted so far: "+shown(l.sum.accepted())+" of "+shown(l.sum.people))
	early := l.erase(lines*2/5 + 1)
	others := l.reachElsewhere(lines*2/5+2, lines*2/5+3)
	l.accept(0.45)
	l.sum.erased, l.sum.others = early, others
	l.count()
	l.look("at 45 %")
	l.cancel()
	l.look("after the cancellation")
	l.figures("the discarded file", l.author.Get(path), "stay in the campaign, its export")
	l.erase(lines/10+1, lines-10)
	l.look("after an erasure")
	for _, day := range []int{31, 400} {
		l.pass(l.begun.Add(time.Duration(day)*24*time.Hour), l.begun, lives)
		for _, b := range l.accepted {
			l.must(l.blobs.Delete(t.Context(), campaign.ErrorFileKey(b.ErrorFile)))
		}
		l.expireSent()
		l.author = l.SignIn(l.tenant, web.RoleAuthor)
		if gone, err := l.expirer.ExpireIfDue(t.Context(), l.id); err != nil || gone {
			t.Fatalf("day %d: the campaign is deleted: %t, error %v", day, gone, err)
		}
		l.look(fmt.Sprint("day ", day))
	}
}

// reachElsewhere sends people their message in another batch, by the numbers of their lines, and returns how many.
func (l *life) reachElsewhere(lines ...int) int {
	l.t.Helper()
	call := dispatch.Call{ID: l.id, Name: l.name, TemplateID: l.template, Batch: "api"}
	for _, n := range lines {
		uid := fmt.Sprint("u", n)
		call.Messages = append(call.Messages, dispatch.Message{Phone: l.people[uid], UID: uid, Vars: map[string]string{"nome": "Ana"}})
	}
	_, err := l.dispatch.Accept(l.t.Context(), call)
	l.must(err)
	return len(lines)
}

// erase erases people by the numbers of their lines, and returns how many.
func (l *life) erase(lines ...int) int {
	l.t.Helper()
	for _, n := range lines {
		uid := fmt.Sprint("u", n)
		if l.people[uid] == "" {
			l.t.Fatalf("line %d is no person", n)
		}
		_, err := l.privacy.Erase(l.t.Context(), l.tenant, l.people[uid])
		l.must(err)
		l.gone[uid] = true
	}
	return len(lines)
}

// expireSent lets the provider give up what was sent and not delivered.
func (l *life) expireSent() {
	l.t.Helper()
	for _, b := range l.accepted[:l.released] {
		l.record(b, func(_ int, uid string) (campaign.Outcome, string) {
			if l.states[uid] == campaign.OutcomeSent {
				return campaign.OutcomeExpired, ""
			}
			return l.states[uid], ""
		})
	}
	l.count()
}
