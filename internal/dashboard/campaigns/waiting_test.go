package campaigns_test

import (
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/reach"
)

// A campaign says who waits for the sending hours, and until when.
func TestCampaign_SendingHours(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.must(d.store.SaveSendPolicy(t.Context(), d.tenant, reach.Policy{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}))
	d.later = 12 * time.Hour // Saturday night
	b := d.accept(uuid(), "Natal", 1, 4, func(b *campaign.Batch) {
		b.Zones = []window.Count{{Zone: window.SaoPaulo, Messages: 3}, {Zone: window.RioBranco, Messages: 1}}
		b.Waits.Zones = window.Set(0).With(window.SaoPaulo).With(window.RioBranco)
	})
	d.record(b, campaign.OutcomeSent, "", 0, 0, noon)
	reader := d.admin()
	reader.Language = "pt-BR"
	const want = "Aguardando o horário de envio: 2 pessoas até 23/11/2037 09:00; 1 pessoa até 23/11/2037 11:00."
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, want) {
		t.Errorf("the page lacks %q:\n%s", want, text)
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
	d.must(d.store.SaveSendPolicy(t.Context(), d.tenant, reach.Policy{Rules: map[campaign.Traffic]reach.Rule{campaign.Promotion: reach.Usual()}}))
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
