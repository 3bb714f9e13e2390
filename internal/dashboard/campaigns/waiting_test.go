package campaigns_test

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/insight"
	"campaign-dispatch/internal/reach"
)

// A campaign says who waits for the sending hours, and until when.
func TestCampaign_SendingHours(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.must(d.store.SaveTenantHours(t.Context(), d.tenant, reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}))
	d.later = 12 * time.Hour // Saturday night
	b := d.accept(uuid(), "Natal", 1, 4, func(b *campaign.Batch) {
		b.Zones = []window.Count{{Zone: window.SaoPaulo, Messages: 3}, {Zone: window.RioBranco, Messages: 1}}
		b.Waits.Zones = window.Set(0).With(window.SaoPaulo).With(window.RioBranco)
	})
	d.record(b, campaign.OutcomeSent, "", 0, 0, noon)
	reader := d.admin()
	reader.Language = "pt-BR"
	a := reader.Get(pathOf(b))
	says(t, "the page", a.Text(), "Aguardando o horário de envio: Sul, Sudeste, Goiás e DF: 2, às 09:00 Acre: 1, às 09:00 de lá",
		"Natal Aguarda o horário · o resto sai 23/11 09:00", "lote 1 Aceita em 21/11/2037 10:00 Aguarda o horário · o resto sai 23/11 09:00")
	says(t, "the page", a.Body, `hx-trigger="every 10s"`, "was=awaits_hours_rest", "<title>Natal – Aguarda o horário")
}

// A campaign of which nothing can go says so with the time, on its page, in its updates and in the list. Its time
// can be a holiday's, which has a name.
func TestCampaign_AwaitsHours(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.must(d.store.SaveTenantHours(t.Context(), d.tenant, reach.TenantHours{
		Rules:    map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()},
		Holidays: []string{"2037-11-23", "2037-11-24"}, HolidayNames: map[string]string{"2037-11-23": "Aniversário da cidade"},
	}))
	d.later = 12 * time.Hour // Saturday night
	zones := []window.Count{{Zone: window.SaoPaulo, Messages: 3}, {Zone: window.RioBranco, Messages: 1}}
	held := d.accept(uuid(), "Natal", 1, 4, func(b *campaign.Batch) {
		b.Zones, b.Waits.Zones = zones, window.Set(0).With(window.SaoPaulo).With(window.RioBranco)
	})
	unreleased := d.accept(uuid(), "Páscoa", 1, 4, func(b *campaign.Batch) { b.Zones, b.State = zones, campaign.BatchPending })
	reader, part := d.admin(), d.admin()
	reader.Language, part.Language = "pt-BR", "pt-BR"
	part.Header.Set("HX-Request", "true")
	const state = "Aguarda o horário · sai 25/11 09:00"
	for _, b := range []campaign.Batch{held, unreleased} {
		for name, page := range map[string]string{"the page": reader.Get(pathOf(b)).Text(), "its update": part.Get(pathOf(b)).Text()} {
			says(t, name, page, state, "DF: 3, às 09:00 Acre: 1, às 09:00 de lá Sem envio em feriado: 23/11 (Aniversário da cidade), 24/11 (feriado local).")
			if strings.Contains(page, "Em envio") {
				t.Errorf("%s is sending:\n%s", name, page)
			}
		}
		row := part.Get(pathOf(b) + "/row")
		says(t, "the row", row.Text(), "25/11/2037 09:00 "+state+" 4 –")
	}
	says(t, "the list", reader.Get(campaigns.Path).Body, `hx-trigger="every 60s"`)
	says(t, "the list", reader.Get(campaigns.Path).Text(), "Natal 25/11/2037 09:00 "+state, "Páscoa 25/11/2037 09:00 "+state)
	for status, want := range map[string]int{"awaits_hours": 2, "sending": 0, "scheduled": 0} {
		if names := namesOf(reader.Get(campaigns.Path + "?status=" + status).Body); len(names) != want {
			t.Errorf("%q are %s, want %d", names, status, want)
		}
	}
}

// A scheduled campaign goes when its hours begin, and says so, also after its time was changed.
func TestCampaign_ScheduledOutsideHours(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.must(d.store.SaveTenantHours(t.Context(), d.tenant, reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}))
	b := d.accept(uuid(), "Natal", 1, 4, func(b *campaign.Batch) {
		b.State, b.Scheduled, b.Due = campaign.BatchPending, true, noon.Add(24*time.Hour) // on a Sunday
		b.Zones = []window.Count{{Zone: window.SaoPaulo, Messages: 3}, {Zone: window.RioBranco, Messages: 1}}
	})
	reader := d.admin()
	reader.Language = "pt-BR"
	says(t, "the page", reader.Get(pathOf(b)).Text(), "Agendada", "Sai em 23/11/2037 09:00. Pessoas: 4.", "DF: 3, às 09:00 Acre: 1, às 09:00 de lá")
	says(t, "the list", reader.Get(campaigns.Path).Text(), "Natal 23/11/2037 09:00 Agendada 4")
	form := reader.Get(pathOf(b) + "/reschedule")
	says(t, "the form", form.Text(), "Horário atual 22/11/2037 12:00")
	done := reader.Post(pathOf(b)+"/reschedule", url.Values{"plan": {form.Value("plan")}, "schedule": {"2037-11-28T20:00"}}) // on a Saturday evening
	says(t, "the page", reader.Follow(done).Text(), "A campanha “Natal” agora sai em 30/11/2037 09:00.")
}

// closedShop has campaigns of one small batch each, and counts what the list reads.
type closedShop struct {
	manyCampaigns

	hours               bool // their messages are held
	mu                  sync.Mutex
	overviews, policies int
	stored              map[string]insight.Results
}

func newClosedShop(hours bool) *closedShop {
	s := &closedShop{hours: hours, stored: map[string]insight.Results{}}
	for i := range 20 {
		id := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		s.list = append(s.list, campaign.Listed{ID: campaign.ID{Tenant: "acme", CampaignID: id}, Name: "Natal", Cursor: campaign.CursorAt(noon.Add(-time.Duration(i)*time.Minute)) + id})
	}
	return s
}

func (s *closedShop) Standings(_ context.Context, _ string, ids []string) (map[string]campaign.Summary, error) {
	standings := map[string]campaign.Summary{}
	for _, id := range ids {
		standings[id] = campaign.Summary{Batches: 1, Accepted: 3}
	}
	return standings, nil
}

func (s *closedShop) Results(context.Context, string, []string) (map[string]insight.Results, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.stored), nil
}

func (s *closedShop) KeepResults(_ context.Context, id campaign.ID, r insight.Results) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stored[id.CampaignID] = r
	return nil
}

func (s *closedShop) TenantHours(context.Context, string) (reach.TenantHours, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.policies++
	return reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}, nil
}

func (*closedShop) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	return campaign.Template{}, campaign.ErrNotFound
}

func (s *closedShop) Overview(_ context.Context, id campaign.ID) (campaign.Campaign, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.overviews++
	b := campaign.BatchProgress{Batch: campaign.Batch{State: campaign.BatchSending, Accepted: 3, AcceptedAt: noon, Due: noon}}
	if s.hours {
		b.ClosedZones = []window.Count{{Zone: window.SaoPaulo, Messages: 3}}
	}
	return campaign.Campaign{ID: id, BatchCount: 1, Batches: []campaign.BatchProgress{b}}, nil
}

// The list reads 8 campaigns at most, and the hours of those to which some apply. Rows that were read once say that
// they wait until the hours begin, also when the list does not read them again.
func TestList_AwaitsHours(t *testing.T) {
	t.Parallel()
	for _, hours := range []bool{false, true} {
		s := newClosedShop(hours)
		at := noon.Add(12 * time.Hour) // Saturday night
		now := func() time.Time { return at }
		site := webtest.New(t, campaigns.Area(), &campaigns.Pages{Store: s, Now: now}, now)
		list := func(query string) webtest.Answer {
			t.Helper()
			reader := site.SignIn("acme", web.RoleViewer) // a session lasts an hour
			reader.Language = "pt-BR"
			a := reader.Get(campaigns.Path + query)
			says(t, "the list", a.Text(), "Campanhas", "Situação")
			return a
		}
		list("")
		policies := 0
		if hours {
			policies = 8
		}
		if s.overviews != 8 || s.policies != policies {
			t.Errorf("%d campaigns and %d policies are read, want 8 and %d", s.overviews, s.policies, policies)
		}
		if !hours {
			continue
		}
		const state = "Aguarda o horário · sai 23/11 09:00"
		if n := strings.Count(list("").Text(), state); n != 16 || s.overviews != 16 {
			t.Errorf("%d rows wait after %d readings, want 16", n, s.overviews)
		}
		list("")
		at = at.Add(time.Hour)
		if n := strings.Count(list("").Text(), state); n != 20 {
			t.Errorf("an hour later, %d rows wait, want 20", n)
		}
		if n := len(namesOf(list("?status=sending").Body)); n != 0 {
			t.Errorf("%d of them are sending", n)
		}
		at = noon.Add(45 * time.Hour) // on Monday at nine
		if text := list("").Text(); strings.Contains(text, "o horário · sai") {
			t.Errorf("the hours have begun, and the list says:\n%s", text)
		}
	}
}

// A campaign whose messages are all sent says how many have no answer, and when it ends.
func TestCampaign_WithoutAnswer(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 3, nil)
	reader := d.admin()
	reader.Language = "pt-BR"
	d.record(b, campaign.OutcomeSent, "", 0, 1, noon)
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "Em envio") || strings.Contains(text, "sem confirmação") {
		t.Errorf("one message is not sent yet, and the page says:\n%s", text)
	}
	d.record(b, campaign.OutcomeSent, "", 2, 2, noon)
	d.record(b, campaign.OutcomeDelivered, "", 0, 0, noon)
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "Enviada; 2 ainda sem confirmação Criada") {
		t.Errorf("the end is unknown, and the page says:\n%s", text)
	}
	_, err := d.store.MarkSent(t.Context(), b.BatchRef, noon.Add(26*time.Hour))
	d.must(err)
	d.record(b, campaign.OutcomeRead, "", 1, 1, noon)
	const want = "Enviada; 1 ainda sem confirmação, até 22/11/2037 14:00"
	for _, path := range []string{pathOf(b), campaigns.Path, pathOf(b) + "/row"} {
		if text := reader.Get(path).Text(); !strings.Contains(text, want) || strings.Contains(strings.ReplaceAll(text, "Situação Todas Em envio", ""), "Em envio") {
			t.Errorf("one message has no answer, and %s says:\n%s", path, text)
		}
	}
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "Retirar as não entregues") || strings.Contains(text, "Cancelar campanha") {
		t.Errorf("nothing is left to be sent, and the page offers:\n%s", text)
	}
	if a := reader.Get(pathOf(b) + "/cancel"); !strings.Contains(a.Body, `type="hidden" name="revoke" value="true"`) || strings.Contains(a.Text(), "Cancelar a campanha") {
		t.Errorf("nothing is left to be sent, and the question is:\n%s", a.Text())
	}
	d.record(b, campaign.OutcomeRead, "", 0, 2, noon)
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "Concluída") || strings.Contains(text, "sem confirmação") {
		t.Errorf("all messages are read, and the page says:\n%s", text)
	}
}

// A campaign says who has no sending hours left, and when their messages end.
func TestCampaign_NoHoursLeft(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.must(d.store.SaveTenantHours(t.Context(), d.tenant, reach.TenantHours{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}))
	d.later = 12 * time.Hour // Saturday night
	zone := window.Set(0).With(window.SaoPaulo)
	b := d.accept(uuid(), "Natal", 1, 4, func(b *campaign.Batch) {
		b.SendWindow = &window.Week{time.Sunday: {From: 9 * 60, Until: 12 * 60}}
		b.Zones, b.Waits.Zones = []window.Count{{Zone: window.SaoPaulo, Messages: 4}}, zone
		b.NeverOpen = campaign.NeverOpen{Zones: zone, Since: noon}
	})
	fresh := d.accept(uuid(), "Páscoa", 1, 1, func(b *campaign.Batch) {
		b.SendWindow = &window.Week{time.Sunday: {From: 9 * 60, Until: 12 * 60}}
		b.Zones, b.Waits.Zones = []window.Count{{Zone: window.SaoPaulo, Messages: 1}}, zone
	})
	reader := d.admin()
	reader.Language = "pt-BR"
	for path, want := range map[string]string{
		pathOf(b):     "4 pessoas não têm mais horário de envio. Sem outros horários, a mensagem delas expira em " + noon.Add(69*time.Hour).Format("02/01/2006 15:04"),
		pathOf(fresh): "Os horários de envio mudaram, e 1 pessoa não tem mais nenhum.",
	} {
		if text := reader.Get(path).Text(); !strings.Contains(text, want) || strings.Contains(text, "Aguardando o horário de envio") {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}
