package sim_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestPhone_ShowsWhatARecipientSees(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	for i, content := range []string{
		`"text":"Olá <b>Ana</b>","suggestions":[{"reply":{"text":"Sim","postbackData":"x"}}]`,
		carouselOf(`{"title":"Tênis","media":{"height":"SHORT","contentInfo":{"fileUrl":"https://loja.example/t.png"}},"suggestions":[` + action(`"openUrlAction":{"url":"https://loja.example/","application":"BROWSER"}`) + `]},{"description":"Bolsa"}`),
		`"contentInfo":{"fileUrl":"https://loja.example/nota.pdf"}`,
	} {
		if w := p.send(t, phone, numbered(i), `{"contentMessage":{`+content+`}}`); w.Code != http.StatusOK {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
	}

	page := string(p.control(t, "GET", "/_sim/phone?phone=5511987654321", ""))

	for _, want := range []string{
		"Olá &lt;b&gt;Ana&lt;/b&gt;", "💬 Sim", "<strong>Tênis</strong>", "Bolsa",
		`src="https://loja.example/t.png"`, `title="https://loja.example/">🔗 Ver</button>`,
		`<a href="https://loja.example/nota.pdf">`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if other := string(p.control(t, "GET", "/_sim/phone?phone=5511900000000", "")); strings.Contains(other, "Bolsa") {
		t.Error("the page shows another number's message")
	}
}

func TestPhone_ShowsTheNewestMessages(t *testing.T) {
	t.Parallel()
	p := newProvider(t)
	for i := range 101 {
		p.send(t, phone, numbered(i), fmt.Sprintf(`{"contentMessage":{"text":"number %d."}}`, i))
	}
	page := string(p.control(t, "GET", "/_sim/phone", ""))
	first, last := strings.Index(page, "number 1."), strings.Index(page, "number 100.")
	if strings.Contains(page, "number 0.") || first < 0 || last < 0 || last > first {
		t.Errorf("want the messages 100 to 1 in this order; found 1 at %d, 100 at %d", first, last)
	}
}

func TestPhone_Tap(t *testing.T) {
	t.Parallel()
	p := newEventProvider(t)
	body := `{"contentMessage":{"text":"Oi","suggestions":[{"reply":{"text":"Sim","postbackData":"yes"}},{"reply":{"text":"Não","postbackData":"no"}}]}}`
	p.send(t, phone, numbered(1), body)
	p.runWithin(time.Hour)
	p.hook.events = nil
	form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}

	w := p.request(t, "POST", "/_sim/phone", "messageId="+numbered(1)+"&postback=no", form)
	p.runWithin(time.Hour)

	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/_sim/phone#"+numbered(1) {
		t.Errorf("got %d to %s", w.Code, w.Header().Get("Location"))
	}
	if len(p.hook.events) != 1 || p.hook.events[0].SuggestionResponse.Text != "Não" {
		t.Errorf("the agent got %+v, want one tap on Não", p.hook.events)
	}
	if w := p.request(t, "POST", "/_sim/phone", "messageId="+numbered(1)+"&postback=other", form); w.Code != http.StatusNotFound {
		t.Errorf("an unknown suggestion gets %d, want 404", w.Code)
	}
}

func numbered(i int) string { return fmt.Sprintf("6f0c9f0e-1b2c-4d3e-8f40-%012d", i) }
