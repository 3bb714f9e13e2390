package dispatch_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/dispatch/acceptance"
)

// asked returns a valid call of a page with the changes applied.
func (b *bench) asked(change func(c *dispatch.Call)) dispatch.Call {
	c := dispatch.Call{
		ID: campaign.ID{Tenant: b.tenant, CampaignID: newUUID()}, Name: "campaign " + newUUID(), TemplateID: b.plain, Batch: "1",
		Messages: people(11987654321, 1),
	}
	if change != nil {
		change(&c)
	}
	return c
}

// people returns n messages to consecutive numbers from first.
func people(first, n int) []dispatch.Message {
	all := make([]dispatch.Message, n)
	for i := range all {
		all[i] = dispatch.Message{Phone: strconv.Itoa(first + i), UID: "u" + strconv.Itoa(i)}
	}
	return all
}

// asJSON returns the same call as a client sends it.
func asJSON(t *testing.T, c dispatch.Call) string {
	t.Helper()
	all := fields{"campaignId": c.CampaignID, "messages": []fields{}}
	for name, value := range map[string]string{
		"name": c.Name, "templateId": c.TemplateID, "batch": c.Batch, "schedule": c.Schedule, "notAfter": c.NotAfter,
	} {
		if value != "" {
			all[name] = value
		}
	}
	for _, m := range c.Messages {
		all["messages"] = append(all["messages"].([]fields), fields{"phone": m.Phone, "uid": m.UID, "vars": m.Vars})
	}
	return encode(t, all)
}

// refused returns the codes of a refusal.
func refused(t *testing.T, err error) (codes []string) {
	t.Helper()
	r, ok := errors.AsType[*dispatch.Refusal](err)
	if !ok {
		t.Fatalf("%v, want a refusal", err)
	}
	return codesOf(r.Faults)
}

func codesOf(all []dispatch.Fault) (codes []string) {
	for _, f := range all {
		codes = append(codes, f.Code)
	}
	return codes
}

func TestAccept_NoCredential(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must(b.auth.RevokeCredential(t.Context(), b.clientID))
	call := b.asked(func(c *dispatch.Call) { c.Messages = append(people(11987654321, 2), people(1, 6)...) })

	v, err := b.Check(t.Context(), call)
	if err != nil || v.Accepted != 2 || len(v.Rejected) != 6 || v.Rejected[0].Message != 2 || v.Rejected[0].Code == "" || len(v.Faults) > 0 {
		t.Errorf("check: %+v, %v", v, err)
	}
	r, err := b.Accept(t.Context(), call)
	if err != nil || r != (dispatch.Receipt{Accepted: 2, Rejected: 6}) {
		t.Errorf("accepted %+v, %v", r, err)
	}
	batch, err := b.store.Batch(t.Context(), b.handoffs.batches[0].BatchRef)
	if err != nil || batch.ErrorFile == "" || batch.Accepted != 2 {
		t.Errorf("%d messages with the error file %q (%v)", batch.Accepted, batch.ErrorFile, err)
	}
	_, err = b.Accept(t.Context(), call)
	if got := refused(t, err)[0]; got != "batch_already_used" {
		t.Errorf("a repeated call: %s", got)
	}
}

func TestAccept_ErrorFileLines(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Accept(t.Context(), b.asked(func(c *dispatch.Call) {
		c.Messages = append(people(11987654321, 1), people(1, 2)...)
		for i, line := range []int{2, 7, 9} {
			c.Messages[i].Line = line
		}
	}))
	b.must(err)
	file, err := b.Blobs.Get(t.Context(), campaign.ErrorFileKey(b.handoffs.batches[0].ErrorFile))
	b.must(err)
	var lines []string
	for line := range strings.Lines(string(file)) {
		number, _, _ := strings.Cut(line, ",")
		lines = append(lines, number)
	}
	if diff := cmp.Diff([]string{`"line"`, `"7"`, `"9"`}, lines); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// A campaign of a client is no test, whatever its name and its fields are. Further batches of a
// test are tests too, and those of another campaign are none.
func TestAccept_Test(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	own, name := newUUID(), "Teste: liquidação 10:00:00"
	b.post(b.body(fields{"campaignId": own, "name": name, "test": true})).accepted(t)
	_, err := b.Accept(t.Context(), b.asked(func(c *dispatch.Call) {
		c.CampaignID, c.Name, c.Test, c.Messages = own, name, true, people(11987654322, 1)
	}))
	b.must(err)
	test := b.asked(func(c *dispatch.Call) { c.Name, c.Test = "Prova da vitrine", true })
	_, err = b.Accept(t.Context(), test)
	b.must(err)
	b.post(b.body(fields{"campaignId": test.CampaignID, "name": test.Name, "batch": "2", "messages": messages(11987654322, 1)})).accepted(t)

	if got := b.listedTests(); !cmp.Equal(got, []string{"Prova da vitrine"}) {
		t.Errorf("%q are listed as tests", got)
	}
	if n := len(b.handoffs.batches); n != 4 {
		t.Fatalf("%d batches, want 4", n)
	}
	for _, accepted := range b.handoffs.batches {
		batch, err := b.store.Batch(t.Context(), accepted.BatchRef)
		if want := batch.CampaignID == test.CampaignID; err != nil || batch.Test != want {
			t.Errorf("batch %q of campaign %s is a test: %t, want %t (%v)", batch.Name, batch.CampaignID, batch.Test, want, err)
		}
	}
}

// listedTests returns the names of the tenant's campaigns that are listed as tests.
func (b *bench) listedTests() (names []string) {
	b.t.Helper()
	listed, err := b.store.ListCampaigns(b.t.Context(), b.tenant, "", 10)
	b.must(err)
	for _, c := range listed {
		if c.Test {
			names = append(names, c.Name)
		}
	}
	return names
}

// A page gets the faults that a client gets, in the same order.
func TestAccept_SameRulesAsClients(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.billing("0.05", "")
	first := b.asked(func(c *dispatch.Call) { c.Messages = people(31987654321, 1) })
	_, err := b.Accept(t.Context(), first)
	b.must(err)
	for name, change := range map[string]func(c *dispatch.Call){
		"no fault":          func(c *dispatch.Call) { c.Schedule, c.NotAfter = "2037-11-22T15:00:00Z", "2037-11-22T16:00:00Z" },
		"no name":           func(c *dispatch.Call) { c.Name = "" },
		"a long name":       func(c *dispatch.Call) { c.Name = strings.Repeat("é", 1001) },
		"no template":       func(c *dispatch.Call) { c.TemplateID = newUUID() },
		"no UUID":           func(c *dispatch.Call) { c.CampaignID = "7" },
		"no messages":       func(c *dispatch.Call) { c.Messages = nil },
		"2,001 messages":    func(c *dispatch.Call) { c.Messages = people(11987650000, 2001) },
		"missing variables": func(c *dispatch.Call) { c.TemplateID = b.template },
		"some uids": func(c *dispatch.Call) {
			c.Messages = []dispatch.Message{{Phone: "1"}, {UID: strings.Repeat("u", 1001)}, {UID: " "}}
		},
		"too soon a time":    func(c *dispatch.Call) { c.Schedule = "2037-11-21T15:01:00Z" },
		"an early not-after": func(c *dispatch.Call) { c.NotAfter = "2037-11-21T14:00:00Z" },
		"the budget":         func(c *dispatch.Call) { c.Messages = people(11987654321, 2) },
		"a used batch":       func(c *dispatch.Call) { c.ID, c.Name, c.Messages = first.ID, "other", first.Messages },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call := b.asked(change)
			dry := b.dryRun(asJSON(t, call))
			v, err := b.Check(t.Context(), call)
			b.must(err)
			var want []string
			for _, e := range dry.Errors {
				want = append(want, e.Code)
			}
			if diff := cmp.Diff(want, codesOf(v.Faults)); diff != "" || dry.Accepted != v.Accepted || dry.Rejected != len(v.Rejected) {
				t.Errorf("accepted %d, %d; faults (-client +page):\n%s", dry.Accepted, v.Accepted, diff)
			}
			if name == "no fault" {
				return
			}
			_, err = b.Accept(t.Context(), call)
			if client, page := b.post(asJSON(t, call)), refused(t, err); client.Code != page[0] || len(client.Errors) > len(page) {
				t.Errorf("a client gets %s, a page %v", client.Code, page)
			}
		})
	}
}

func TestAccept_ForeignTemplate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.Accept(t.Context(), b.asked(func(c *dispatch.Call) { c.Tenant = "another-tenant" }))
	if diff := cmp.Diff([]string{"template_of_another_tenant"}, refused(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}

// A page's call is accepted with the template's version that the person has seen, or refused.
func TestAccept_TemplateVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	changed, err := b.store.PutTemplate(t.Context(), campaign.Template{
		ID: b.plain, Tenant: b.tenant, Name: "T", Content: content.Content{Text: "Tchau!"},
	})
	b.must(err)
	call := b.asked(func(c *dispatch.Call) { c.TemplateVersion = changed.Version - 1 })
	_, err = b.Accept(t.Context(), call)
	if diff := cmp.Diff([]string{"template_changed"}, refused(t, err)); diff != "" || len(b.handoffs.batches) > 0 {
		t.Fatalf("an earlier version: %d batches (-want +got):\n%s", len(b.handoffs.batches), diff)
	}
	call.TemplateVersion = changed.Version
	_, err = b.Accept(t.Context(), call)
	b.must(err)
	if got := b.handoffs.batches[0].TemplateVersion; got != changed.Version {
		t.Errorf("accepted with version %d, want %d", got, changed.Version)
	}
}

// A part is accepted with the version that was confirmed: its variables, price, hours and suggestions. A check finds that
// there is a newer one.
func TestAccept_PartTemplateVersion(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.billing("1.00", "")
	b.putRule() // for promotion
	_, err := b.store.PutTemplate(t.Context(), campaign.Template{
		ID: b.plain, Tenant: b.tenant, Name: "T", Traffic: campaign.Transaction,
		Content: content.Content{Text: "Oi {{nome}}", Suggestions: content.Replies("Sim")},
	})
	b.must(err)
	call := b.asked(func(c *dispatch.Call) { c.Part, c.TemplateVersion = "check 1, part 1", 1 })
	v, err := b.Check(t.Context(), call)
	if diff := cmp.Diff([]string{"template_changed"}, codesOf(v.Faults)); err != nil || diff != "" {
		t.Errorf("checked (-want +got):\n%s%v", diff, err)
	}
	_, err = b.Accept(t.Context(), call)
	b.must(err)
	got, err := b.store.Batch(t.Context(), b.handoffs.batches[0].BatchRef)
	b.must(err)
	if got.TemplateVersion != 1 || got.Classes.Basic != 1 || len(got.TapKey) > 0 || len(got.Zones) != 1 {
		t.Errorf("accepted with version %d, %d basic, %d zones, suggestions %t", got.TemplateVersion, got.Classes.Basic, len(got.Zones), len(got.TapKey) > 0)
	}
}

// A part without a version of its tenant's template is refused, as before.
func TestAccept_PartTemplateMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for code, change := range map[string]func(c *dispatch.Call){
		"template_not_found":         func(c *dispatch.Call) { c.TemplateVersion = 2 },
		"template_of_another_tenant": func(c *dispatch.Call) { c.Tenant = "another-tenant" },
	} {
		call := b.asked(func(c *dispatch.Call) { c.Part, c.TemplateVersion = "check 1, part 1", 1 })
		change(&call)
		_, err := b.Accept(t.Context(), call)
		if diff := cmp.Diff([]string{code}, refused(t, err)); diff != "" {
			t.Errorf("faults (-want +got):\n%s", diff)
		}
	}
}

// All faults are found by message, not only those that an answer has room for.
func TestCheck_ManyFaults(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	v, err := b.Check(t.Context(), b.asked(func(c *dispatch.Call) {
		c.TemplateID, c.Messages = b.template, people(11987650000, campaign.MaxMessages)
	}))
	b.must(err)
	if len(v.Faults) != 2*campaign.MaxMessages {
		t.Fatalf("%d faults, want %d", len(v.Faults), 2*campaign.MaxMessages)
	}
	for i, f := range v.Faults {
		if want := (dispatch.Fault{Message: i / 2, Field: []string{"nome", "pedido"}[i%2], Code: "missing_variable", Detail: f.Detail}); f != want {
			t.Fatalf("fault %d is %+v, want %+v", i, f, want)
		}
	}
}

func TestCheck_Price(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.putTemplate(b.tenant, b.template, "{{v}}")
	call := b.asked(func(c *dispatch.Call) {
		c.TemplateID = b.template
		for n, size := range []int{160, 161, 0} {
			c.Messages = append(c.Messages[:n], dispatch.Message{Phone: strconv.Itoa(11987654321 + n), UID: "u", Vars: map[string]string{"v": strings.Repeat("a", size)}})
		}
	})
	v, err := b.Check(t.Context(), call)
	b.must(err)
	if v.Classes != (campaign.ClassCounts{Basic: 2, Single: 1}) || v.Priced || v.Budget != nil {
		t.Errorf("without prices: %+v", v)
	}
	b.billing("0.19", "")
	v, err = b.Check(t.Context(), call)
	b.must(err)
	if !v.Priced || v.Price.String() != "0.20" || v.Budget == nil || !v.Budget.Exceeded() {
		t.Errorf("with prices: %+v", v)
	}
	_, err = b.Accept(t.Context(), call)
	if r, ok := errors.AsType[*dispatch.Refusal](err); !ok || r.Faults[0].Code != "budget_exceeded" || r.Budget == nil || r.Budget.Cost.String() != "0.20" {
		t.Errorf("over the budget: %v", err)
	}
}

// A part that was accepted is accepted again, whatever has changed in between.
func TestAccept_PartAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench, c *dispatch.Call){
		"nothing":             func(*bench, *dispatch.Call) {},
		"one person erased":   func(_ *bench, c *dispatch.Call) { c.Messages = c.Messages[1:] },
		"all erased":          func(_ *bench, c *dispatch.Call) { c.Messages = nil },
		"another time":        func(_ *bench, c *dispatch.Call) { c.Schedule = "2037-11-23T15:00:00Z" },
		"a time that is over": func(b *bench, _ *dispatch.Call) { b.at(b.now.Add(25 * time.Hour)) },
		"the template":        func(b *bench, _ *dispatch.Call) { b.putTemplate(b.tenant, b.plain, "{{x}}") },
		"a cancellation":      func(b *bench, c *dispatch.Call) { b.must(b.store.CancelCampaign(b.t.Context(), c.ID, b.now, false)) },
		"a new process":       func(b *bench, _ *dispatch.Call) { b.SeenNumbers = &dispatch.SeenNumbers{Limit: 1 << 20} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			call := b.asked(func(c *dispatch.Call) {
				c.Part, c.TemplateVersion, c.Schedule = "check 1, part 1", 1, "2037-11-22T15:00:00Z"
				c.Messages = append(people(11987654321, 3), people(1, 1)...)
			})
			first, err := b.Accept(t.Context(), call)
			b.must(err)
			change(b, &call)
			again, err := b.Accept(t.Context(), call)
			if want := (dispatch.Receipt{Accepted: 3, Rejected: 1}); err != nil || first != want || again != want || len(b.handoffs.batches) != 1 {
				t.Errorf("accepted %+v, then %+v (%v), handed on %d", first, again, err, len(b.handoffs.batches))
			}
			if v, err := b.Check(t.Context(), call); err != nil || v.Accepted != 3 || len(v.Faults) > 0 {
				t.Errorf("checked: %+v, %v", v, err)
			}
		})
	}
}

// A part is not that of another call which has used its name.
func TestAccept_BatchTaken(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{"a call without a part": "", "a part of an earlier check": "check 0, part 1"} {
		b := newBench(t)
		call := b.asked(func(c *dispatch.Call) { c.Part = part })
		_, err := b.Accept(t.Context(), call)
		b.must(err)
		call.Part, call.Messages = "check 1, part 1", people(21987654321, 1)
		_, err = b.Accept(t.Context(), call)
		if diff := cmp.Diff([]string{"batch_taken"}, refused(t, err)); diff != "" || len(b.handoffs.batches) != 1 {
			t.Errorf("%s: handed on %d, faults (-want +got):\n%s", name, len(b.handoffs.batches), diff)
		}
	}
}

// A form can contain anything. What is stored is UTF-8, as what a client sends, and lost letters are in no message.
func TestAccept_InvalidUTF8(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.putTemplate(b.tenant, b.template, "{{v}}")
	call := b.asked(func(c *dispatch.Call) {
		c.TemplateID, c.Name = b.template, c.Name+"\xff"
		c.Messages = []dispatch.Message{{Phone: "11987654321", UID: "u\xff", Vars: map[string]string{"v": "a\xffb", "x\xff": "\xff"}}}
	})
	_, err := b.Accept(t.Context(), call)
	if diff := cmp.Diff([]string{"invalid_utf8"}, refused(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	call.Messages[0].Vars["v"] = "ab"
	_, err = b.Accept(t.Context(), call)
	b.must(err)
	batch := b.handoffs.batches[0]
	body, err := b.Blobs.Get(t.Context(), batch.Payload)
	b.must(err)
	sent, err := payload.Decode(body[batch.Offsets[0]:batch.Offsets[1]])
	b.must(err)
	if sent[0].UID != "u\ufffd" || sent[0].Values[0] != "ab" {
		t.Errorf("stored %q", sent)
	}
}

// losing is a store in which another call is always faster.
type losing struct{ dispatch.Store }

func (losing) Accept(context.Context, acceptance.Command, string) error {
	return campaign.ErrLostRace
}

// A failure is not mistaken for a race that the caller has lost itself.
func TestAccept_AllRacesLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := hotService(&hotRow{}, 1)
		s.Store = losing{s.Store}
		_, err := s.Accept(t.Context(), dispatch.Call{
			ID: campaign.ID{Tenant: "t", CampaignID: newUUID()}, Name: "n", TemplateID: hotTemplate, Messages: people(11987654321, 1),
		})
		if _, isRefusal := errors.AsType[*dispatch.Refusal](err); err == nil || isRefusal || errors.Is(err, campaign.ErrLostRace) {
			t.Errorf("%v, want a failure", err)
		}
	})
}

// changing is a store in which something happens between the read and the first write of a call. The error of between
// is that of the write.
type changing struct {
	dispatch.Store
	between func() error
}

func (c *changing) Accept(ctx context.Context, a acceptance.Command, token string) error {
	if between := c.between; between != nil {
		c.between = nil
		if err := between(); err != nil {
			return err
		}
	}
	return c.Store.Accept(ctx, a, token)
}

// moveTo reschedules a campaign.
func (b *bench) moveTo(id campaign.ID, due time.Time) {
	b.t.Helper()
	c, err := b.store.Dispatched(b.t.Context(), id)
	b.must(err)
	_, moved, err := b.store.RescheduleCampaign(b.t.Context(), c, due, due)
	if b.must(err); !moved {
		b.t.Fatal("the campaign was not rescheduled")
	}
}

// A part has the time of its campaign, also if the campaign is rescheduled while the part is
// being accepted. Other calls have a time of their own.
func TestAccept_RescheduledCampaign(t *testing.T) {
	t.Parallel()
	const first = "2037-11-22T15:00:00Z"
	for name, test := range map[string]struct{ part, schedule, due string }{
		"a part":                {"part 2", first, "2037-11-24T15:00:00Z"},
		"a part without a time": {"part 2", "", "2037-11-24T15:00:00Z"},
		"another call":          {"", first, first},
	} {
		for _, during := range []bool{false, true} {
			t.Run(name+", during the call: "+strconv.FormatBool(during), func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.billing("0.10", "") // room for both
				call := b.asked(func(c *dispatch.Call) { c.Part, c.Schedule = "part 1", first })
				_, err := b.Accept(t.Context(), call)
				b.must(err)
				move := func() error { b.moveTo(call.ID, b.now.AddDate(0, 0, 3)); return nil }
				if during {
					b.Store = &changing{b.store, move}
				} else {
					b.must(move())
				}
				call.Batch, call.Part, call.Schedule, call.Messages = "2", test.part, test.schedule, people(21987654321, 1)
				_, err = b.Accept(t.Context(), call)
				b.must(err)
				all, err := b.store.Dispatched(t.Context(), call.ID)
				b.must(err)
				second := all.Batches[1]
				if got := second.Due.Format(time.RFC3339); got != test.due || second.ReservedOn != got[:10] || !second.Scheduled {
					t.Errorf("due %s, reserved on %s, scheduled %t; want %s", got, second.ReservedOn, second.Scheduled, test.due)
				}
			})
		}
	}
}

// The rest of a rescheduled campaign is refused after its new time, unless it goes at once.
func TestAccept_RescheduledCampaignTooLate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := b.asked(func(c *dispatch.Call) { c.Part, c.Schedule = "part 1", "2037-11-24T15:00:00Z" })
	_, err := b.Accept(t.Context(), call)
	b.must(err)
	b.moveTo(call.ID, b.now.Add(time.Hour))
	b.at(b.now.Add(2 * time.Hour))
	call.Batch, call.Part, call.Messages = "2", "part 2", people(21987654321, 1)
	_, err = b.Accept(t.Context(), call)
	if diff := cmp.Diff([]string{"schedule_too_soon"}, refused(t, err)); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	call.Schedule = ""
	_, err = b.Accept(t.Context(), call)
	b.must(err)
	if got := b.handoffs.batches[1]; got.Scheduled || !got.Due.Equal(b.Now()) {
		t.Errorf("due %v, scheduled %t; want at once", got.Due, got.Scheduled)
	}
}
