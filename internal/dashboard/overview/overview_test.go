package overview_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/overview"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/webhook/delivery"
	"campaign-dispatch/localstack/stackenv"
)

// now is the first day of March in UTC, and the last one of February in São Paulo.
var now = time.Date(2037, 3, 1, 1, 0, 0, 0, time.UTC)

// shop is a new tenant in the stack's tables with a user and the page.
type shop struct {
	*webtest.Dashboard
	store  *dynamotest.Store
	tenant string
	admin  webtest.Person
	t      *testing.T
}

// noCredentials are the rows of a tenant without credentials.
type noCredentials struct{ *dynamotest.Store }

func (noCredentials) Credentials(context.Context, string) ([]account.Credential, error) {
	return nil, nil
}

func newShop(t *testing.T) shop {
	t.Helper()
	env, clock := stackenv.Load(t), func() time.Time { return now }
	store := dynamotest.New(dynamo.Tables{
		Client: dynamodb.NewFromConfig(env.AWS()), Auth: env["AUTH_TABLE"], Campaigns: env["CAMPAIGNS_TABLE"], Outcomes: env["OUTCOMES_TABLE"], Now: clock,
	})
	pages := &overview.Pages{Store: noCredentials{store}, Now: clock}
	s := shop{Dashboard: webtest.New(t, overview.Area(), pages, clock), store: store, tenant: strings.ToLower(rand.Text()), t: t}
	s.must(store.SaveAgent(t.Context(), campaign.Agent{ID: "agent-" + s.tenant}))
	s.must(store.SaveTenant(t.Context(), campaign.Tenant{ID: s.tenant, AgentID: "agent-" + s.tenant}, nil))
	s.admin = s.SignIn(s.tenant, web.RoleAdmin)
	return s
}

func (s shop) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// accept stores a campaign of 3 messages.
func (s shop) accept(name string, change func(b *campaign.Batch)) {
	s.t.Helper()
	b := campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: s.tenant, CampaignID: "0198d3a0-0000-4000-8000-" + rand.Text()[:12]}, BatchID: campaign.BatchID("1")},
		Ordinal:  1, Accepted: 3, AcceptedAt: now, Due: now, State: campaign.BatchSending, NextCheck: now.Add(time.Hour),
	}
	_, _ = rand.Read(b.Key[:])
	change(&b)
	s.must(s.store.Accept(s.t.Context(), acceptance.Command{Batch: b, Campaign: name, Ordinal: 1, Packed: []byte{0}}, rand.Text()))
}

// figure returns the text of a figure.
func figure(a webtest.Answer, key string) string {
	_, rest, _ := strings.Cut(a.Body, `id="figure-`+key+`"`)
	rest, _, _ = strings.Cut(rest, "</div>")
	return webtest.Answer{Body: "<p" + rest}.Text()
}

// A period is compared with the one before. Days outside of both are left out.
func TestShow_Figures(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.accept("Natal", func(*campaign.Batch) {})
	for date, sent := range map[string]int{"2037-02-28": 100, "2037-02-22": 50, "2037-02-21": 70, "2037-02-15": 30, "2037-02-14": 1000, "2037-03-01": 5000} {
		s.must(s.store.AddDay(t.Context(), s.tenant, date, campaign.DayCounts{Sent: sent, Delivered: sent / 2, Read: sent / 4, NotSent: 8, OptedOut: 1}))
	}
	a := webtest.Light(t, s.admin, overview.Path)
	for key, want := range map[string][]string{
		"sent": {"150", "Período anterior: 100", "+50%"}, "delivered": {"75", "50% das enviadas", "+50%"}, "not_sent": {"16"}, "opted_out": {"2", "Período anterior: 2"},
	} {
		for _, w := range want {
			if got := figure(a, key); !strings.Contains(got, w) {
				t.Errorf("%s shows %q, want %q", key, got, w)
			}
		}
	}
	if got := figure(s.admin.Get(overview.Path+"?days=30"), "sent"); !strings.Contains(got, "1,250") && !strings.Contains(got, "1.250") {
		t.Errorf("30 days show %q sent, want 1,250", got)
	}
	if got := webtest.Light(t, s.admin, overview.Path+"?chart=table").Text(); !strings.Contains(got, "28/02") || strings.Contains(got, "01/03") {
		t.Errorf("the table shows other days than the last ones in São Paulo: %s", got)
	}
}

// A tenant without campaigns sees the first steps, also after a test message. No name makes a
// campaign a test.
func TestShow_FirstSteps(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.accept("Prova da vitrine", func(b *campaign.Batch) { b.Test = true })
	if a := s.admin.Get(overview.Path); !strings.Contains(a.Body, `id="start-template"`) || strings.Contains(a.Body, "figure-sent") {
		t.Errorf("a new tenant sees %s", a.Text())
	}
	s.accept("Teste: liquidação 10:00:00", func(*campaign.Batch) {})
	if a := s.admin.Get(overview.Path); strings.Contains(a.Body, `id="start-template"`) || !strings.Contains(a.Body, "figure-sent") {
		t.Errorf("a tenant with a campaign sees %s", a.Text())
	}
}

// Scheduled campaigns are listed by time, also those named like a test. Tests and those
// that were cancelled or have gone out are not.
func TestShow_NextCampaigns(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	waits := func(after time.Duration) func(b *campaign.Batch) {
		return func(b *campaign.Batch) {
			b.State, b.Scheduled, b.Due = campaign.BatchPending, true, now.Add(after)
		}
	}
	s.accept("Later", waits(48*time.Hour))
	s.accept("Sooner", waits(time.Hour))
	s.accept("Teste: liquidação 10:00:00", waits(24*time.Hour))
	s.accept("Prova da vitrine", func(b *campaign.Batch) {
		waits(2 * time.Hour)(b)
		b.Test = true
	})
	s.accept("Gone", func(b *campaign.Batch) { b.Scheduled = true })
	a := s.admin.Get(overview.Path)
	sooner, named, later := strings.Index(a.Body, "Sooner"), strings.Index(a.Body, "Teste: liquidação"), strings.Index(a.Body, "Later")
	if sooner < 0 || named < sooner || later < named || strings.Contains(a.Body, "Gone") || strings.Contains(a.Body, "Prova") {
		t.Errorf("the next campaigns are %s", a.Text())
	}
	if !strings.Contains(a.Text(), "3 people") {
		t.Errorf("a campaign of 3 people is shown as %s", a.Text())
	}
}

// A campaign that waits for its sending hours is a next one, with the time at which it goes. So is what waits of one
// that is being sent, and a scheduled one whose hours begin later.
func TestShow_NextWithinHours(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.must(s.store.SaveTenantHours(t.Context(), s.tenant, reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}))
	held := func(zones ...window.Count) func(b *campaign.Batch) {
		return func(b *campaign.Batch) {
			b.Zones = zones
			for _, c := range zones {
				b.Waits.Zones = b.Waits.Zones.With(c.Zone)
			}
		}
	}
	s.accept("Held", held(window.Count{Zone: window.SaoPaulo, Messages: 2}, window.Count{Zone: window.RioBranco, Messages: 1}))
	s.accept("Acre", held(window.Count{Zone: window.RioBranco, Messages: 3}))
	s.accept("Scheduled", func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due, b.Zones = campaign.BatchPending, true, now.Add(24*time.Hour), []window.Count{{Zone: window.CampoGrande, Messages: 3}}
	})
	s.accept("Sending", func(*campaign.Batch) {})
	text := s.admin.Get(overview.Path).Text()
	const want = "Held 3 people 2 Mar 2037, 09:00 Scheduled 3 people 2 Mar 2037, 10:00 Acre 3 people 2 Mar 2037, 11:00"
	if !strings.Contains(text, want) || strings.Contains(text, "Sending 3 people") {
		t.Errorf("the next campaigns lack %q: %s", want, text)
	}
}

// The next campaign is shown, however many others are scheduled for later or have gone.
func TestShow_NextAmongMany(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for i := range 30 {
		at := time.Duration(i+2) * time.Hour
		s.accept(fmt.Sprint("Far ", i), func(b *campaign.Batch) { b.State, b.Scheduled, b.Due = campaign.BatchPending, true, now.Add(100*at) })
		s.accept(fmt.Sprint("Past ", i), func(b *campaign.Batch) { b.AcceptedAt, b.Due = now.Add(-at), now.Add(-at) })
	}
	s.accept("Soonest", func(b *campaign.Batch) { b.State, b.Scheduled, b.Due = campaign.BatchPending, true, now.Add(time.Hour) })
	if a := s.admin.Get(overview.Path); !strings.Contains(a.Text(), "Soonest") {
		t.Errorf("the next campaigns are %s", a.Text())
	}
}

// The page shows what needs attention, and that nothing does otherwise.
func TestShow_Attention(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.accept("Natal", func(*campaign.Batch) {})
	see := func(want ...string) {
		t.Helper()
		text := s.admin.Get(overview.Path).Text()
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("the page does not say %q: %s", w, text)
			}
		}
	}
	see("Nothing needs attention")
	s.must(s.store.Pause(t.Context(), "tenant#"+s.tenant))
	s.must(s.store.SaveEndpoint(t.Context(), delivery.Endpoint{ID: "ep_" + rand.Text(), Tenant: s.tenant, URL: "https://off.example/?key=secret", OffReason: "failing"}))
	s.must(s.store.SetBilling(t.Context(), s.tenant, campaign.Billing{Prices: campaign.Prices{Basic: 1, Single: 1}, Limits: campaign.Spending{Day: 10, Month: 1000}}))
	failing := "ep_" + rand.Text()
	s.must(s.store.SaveEndpoint(t.Context(), delivery.Endpoint{ID: failing, Tenant: s.tenant, URL: "https://failing.example/hook"}))
	_, err := s.store.SaveCircuit(t.Context(), delivery.Circuit{Tenant: s.tenant, EndpointID: failing, Since: now, Next: now.Add(time.Hour)})
	s.must(err)
	s.accept("Failing", func(b *campaign.Batch) { b.FailingTime = campaign.FailingTime{At: now} })
	var easter campaign.ID
	s.accept("Easter", func(b *campaign.Batch) { easter = b.ID })
	_, err = s.store.PauseCampaign(t.Context(), easter, now)
	s.must(err)
	see("Sending is paused", "off.example", "failing.example/hook", "does not progress", "Failing", "A campaign’s sending is paused: Easter")
	if body := s.admin.Get(overview.Path).Body; strings.Contains(body, "Nothing needs attention") || strings.Index(body, `id="attention"`) > strings.Index(body, `id="results"`) {
		t.Errorf("what needs attention is not above the results:\n%s", body)
	}
}

// People without sending hours are shown with their end, also of a campaign that is not among the last ones.
func TestShow_NoHoursLeft(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	var old campaign.Batch
	s.accept("Saturdays", func(b *campaign.Batch) {
		b.AcceptedAt, b.Due = now.Add(-48*time.Hour), now.Add(-48*time.Hour)
		b.Zones, b.Waits.Zones = []window.Count{{Zone: window.Manaus, Messages: 3}}, window.Set(0).With(window.Manaus)
		b.NeverOpen = campaign.NeverOpen{Zones: b.Waits.Zones, Since: now.Add(-24 * time.Hour)}
		old = *b
	})
	_, err := s.store.PostponeCheck(t.Context(), old, now.Add(48*time.Hour))
	s.must(err)
	for i := range 16 {
		s.accept(fmt.Sprint("Later ", i), func(*campaign.Batch) {})
	}
	a := s.admin.Get(overview.Path)
	if want := "3 people have no sending hours left. Unless the hours change, their messages expire on 2 Mar 2037, 22:00: Saturdays"; !strings.Contains(a.Text(), want) {
		t.Errorf("the page does not say %q: %s", want, a.Text())
	}
	_, err = s.store.PauseCampaign(t.Context(), old.ID, now)
	s.must(err)
	if a := s.admin.Get(overview.Path); strings.Contains(a.Text(), "no sending hours left") {
		t.Errorf("the campaign is paused, and the page says %s", a.Text())
	}
}

// People without sending hours are shown, however many campaigns wait, are scheduled or were sent later.
func TestShow_NoHoursLeftAmongMany(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	wait := func(name, id string, never bool) {
		var held campaign.Batch
		s.accept(name, func(b *campaign.Batch) {
			b.CampaignID, b.AcceptedAt, b.Due = id, now.Add(-48*time.Hour), now.Add(-48*time.Hour)
			b.Zones, b.Waits.Zones = []window.Count{{Zone: window.Manaus, Messages: 3}}, window.Set(0).With(window.Manaus)
			if never {
				b.NeverOpen = campaign.NeverOpen{Zones: b.Waits.Zones, Since: now.Add(-24 * time.Hour)}
			}
			held = *b
		})
		_, err := s.store.PostponeCheck(t.Context(), held, now.Add(48*time.Hour))
		s.must(err)
	}
	anHourAgo := func(b *campaign.Batch) { b.AcceptedAt, b.Due = now.Add(-time.Hour), now.Add(-time.Hour) }
	wait("Saturdays", "0198d3a0-0000-4000-8000-ffffffffffff", true)
	for i := range 7 {
		wait(fmt.Sprint("Waits ", i), fmt.Sprint("0198d3a0-0000-4000-8000-00000000000", i), false)
		s.accept(fmt.Sprint("Later ", i), anHourAgo)
		s.accept(fmt.Sprint("Later again ", i), anHourAgo)
		s.accept(fmt.Sprint("Tomorrow ", i), func(b *campaign.Batch) {
			b.State, b.Scheduled, b.Due = campaign.BatchPending, true, now.Add(24*time.Hour)
		})
	}
	if a := s.admin.Get(overview.Path); !strings.Contains(a.Text(), "3 people have no sending hours left.") {
		t.Errorf("the page does not show people without sending hours: %s", a.Text())
	}
}

// A campaign that was rescheduled is shown with its new time at once.
func TestShow_RescheduledCampaign(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.accept("Natal", func(b *campaign.Batch) { b.State, b.Scheduled, b.Due = campaign.BatchPending, true, now.Add(time.Hour) })
	first := s.admin.Get(overview.Path)
	next, err := s.store.NextCampaigns(t.Context(), s.tenant, now, 1)
	s.must(err)
	c, err := s.store.Campaign(t.Context(), next[0].ID)
	s.must(err)
	_, moved, err := s.store.RescheduleCampaign(t.Context(), c, now.Add(48*time.Hour), now.Add(49*time.Hour))
	s.must(err)
	again := s.admin.Get(overview.Path)
	if at := `datetime="` + now.Add(time.Hour).Format(time.RFC3339); !moved || !strings.Contains(first.Body, at) || strings.Contains(again.Body, at) {
		t.Errorf("moved %t, shown before: %s\nafter: %s", moved, first.Text(), again.Text())
	}
	if !strings.Contains(again.Body, `datetime="`+now.Add(48*time.Hour).Format(time.RFC3339)) {
		t.Errorf("the new time is not shown: %s", again.Text())
	}
}

// The page shows the company's initials. It reads the name with the rest.
func TestShow_Company(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.must(s.store.SaveTenant(t.Context(), campaign.Tenant{ID: s.tenant, Name: "Loja Azul", AgentID: "agent-" + s.tenant}, nil))
	if text := s.admin.Get(overview.Path).Text(); !strings.Contains(text, " LA ") {
		t.Errorf("the page does not show the company: %s", text)
	}
}

// An approver sees how many campaigns of others wait, and an author does not.
func TestShow_Approvals(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.accept("Natal", func(*campaign.Batch) {})
	ask := func(by string, state submission.State) {
		_, err := s.store.SaveSubmission(t.Context(), submission.Submission{
			ID: campaign.ID{Tenant: s.tenant, CampaignID: rand.Text()}, State: state, CreatedAt: now, Approval: submission.Approval{AskedBy: by, AskedAt: now},
		})
		s.must(err)
	}
	ask("author@example.com", submission.StateApproval)
	approver, author := s.SignIn(s.tenant, web.RoleApprover), s.SignIn(s.tenant, web.RoleAuthor)
	if text := approver.Get(overview.Path).Text(); !strings.Contains(text, "1 campaign waits for your approval. Review and approve") {
		t.Errorf("the approver sees %s", text)
	}
	ask("author@example.com", submission.StateApproval)
	ask("approver@example.com", submission.StateApproval)
	ask("author@example.com", submission.StateRefused)
	ask("author@example.com", submission.StateSent)
	a := approver.Get(overview.Path)
	if !strings.Contains(a.Text(), "2 campaigns wait for your approval.") || !strings.Contains(a.Body, `href="/dashboard/approvals"`) {
		t.Errorf("the approver sees %s", a.Text())
	}
	a = author.Get(overview.Path)
	if strings.Contains(a.Text(), "for your approval") || !strings.Contains(a.Body, `class="button" href="/dashboard/campaigns/new"`) {
		t.Errorf("the author sees %s", a.Text())
	}
}

// Everybody sees how many replies may be opt-outs, until an admin decides.
func TestShow_DoubtfulReplies(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.accept("Natal", func(*campaign.Batch) {})
	write := func(tenant, phone string, doubtful bool) {
		r := reaction.NewReply(now, phone, phone, "cancelar")
		r.Doubtful = doubtful
		s.must(s.store.SaveReply(t.Context(), tenant, r))
	}
	see := func(want string) {
		t.Helper()
		if a := s.SignIn(s.tenant, web.RoleViewer).Get(overview.Path); !strings.Contains(a.Text(), want) {
			t.Errorf("the page does not say %q: %s", want, a.Text())
		}
	}
	write(s.tenant, "+5511900000001", false)
	write(s.tenant+"x", "+5511900000002", true)
	see("Nothing needs attention")
	write(s.tenant, "+5511900000003", true)
	see("1 reply may be an opt-out. Read and decide")
	write(s.tenant, "+5511900000004", true)
	see("2 replies may be opt-outs. Read and decide")
	if a := s.admin.Get(overview.Path); !strings.Contains(a.Body, `href="/dashboard/people/replies"`) {
		t.Errorf("no link leads to them: %s", a.Body)
	}
	decided := map[string]time.Time{"+5511900000004": {}}
	for i := range 100 {
		phone := fmt.Sprint("+", 5511900000100+i)
		write(s.tenant, phone, true)
		decided[phone] = now
	}
	see("More than 99 replies may be opt-outs. Read and decide")
	s.must(s.store.SettleReplies(t.Context(), s.tenant, decided))
	see("1 reply may be an opt-out.")
}
