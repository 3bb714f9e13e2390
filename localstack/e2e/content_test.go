package e2e_test

import (
	"net/http"
	"testing"
	"time"

	"campaign-dispatch/internal/settings"
)

const carousel = `{
  "carousel": {"width": "small", "cards": [
    {"title": "Tênis {{pedido}}", "media": {"url": "https://loja.example/{{pedido}}.png", "height": "short"},
     "suggestions": [{"kind": "openUrl", "text": "Ver", "url": "https://loja.example/?cliente={{nome}}", "webview": "tall"}]},
    {"title": "Bolsa", "description": "Olá {{nome}}", "media": {"url": "https://loja.example/b.png", "height": "short"}}
  ]},
  "suggestions": ["Parar", {"kind": "dial", "text": "Ligar", "phone": "+551133334444"}]
}`

func TestDispatch_Carousel(t *testing.T) {
	t.Parallel()
	c := newClient(t).ownTenant()
	template, err := c.service().SaveTemplate(t.Context(), settings.TemplateForm{Tenant: c.env["TENANT"], Content: []byte(carousel), Traffic: "transaction"})
	must(t, err)
	all := messages(3)
	call := c.call(all)
	call["templateId"] = template.ID

	if got := c.dispatch(call); got.status != http.StatusAccepted || got.Accepted != 3 {
		t.Fatalf("answered %d %s", got.status, got.body)
	}

	c.eventually(3*time.Minute, "sent", func() bool { return c.sentOnce(all) })
	if got, want := c.atProvider(all)[all[2]["phone"].(string)][0].Text, "Tênis 2\nBolsa\nOlá Ana"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}
