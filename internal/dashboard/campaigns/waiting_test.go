package campaigns_test

import (
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
)

// A campaign whose messages are all sent says how many have no answer, and when it ends.
func TestCampaign_WithoutAnswer(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 3, nil)
	reader := d.admin()
	reader.Language = "pt-BR"
	d.record(b, campaign.OutcomeSent, "", 0, 1, noon)
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "Em envio") || strings.Contains(text, "sem resposta") {
		t.Errorf("one message is not sent yet, and the page says:\n%s", text)
	}
	d.record(b, campaign.OutcomeSent, "", 2, 2, noon)
	d.record(b, campaign.OutcomeDelivered, "", 0, 0, noon)
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "2 sem resposta Criada") {
		t.Errorf("the end is unknown, and the page says:\n%s", text)
	}
	_, err := d.store.MarkSent(t.Context(), b.BatchRef, noon.Add(26*time.Hour))
	d.must(err)
	d.record(b, campaign.OutcomeRead, "", 1, 1, noon)
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "1 sem resposta; termina até 22/11/2037 14:00") {
		t.Errorf("one message has no answer, and the page says:\n%s", text)
	}
	d.record(b, campaign.OutcomeRead, "", 0, 2, noon)
	if text := reader.Get(pathOf(b)).Text(); !strings.Contains(text, "Concluída") || strings.Contains(text, "sem resposta") {
		t.Errorf("all messages are read, and the page says:\n%s", text)
	}
}
