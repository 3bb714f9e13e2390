package e2e_test

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/dashboard"
)

// withoutChange lists the forms that change nothing, and those that scripts send in parts.
// The tests of uploads repeat those.
var withoutChange = []string{
	"/dashboard/campaigns/new/columns", "/dashboard/templates/preview", "/dashboard/templates/{id}/preview", "/dashboard/settings/team/person",
	"/dashboard/people", "/dashboard/people/find", "/dashboard/people/opt-outs/export", "/dashboard/people/opt-outs/removal",
	"/dashboard/settings/webhooks/{id}/test",
	"/dashboard/imports", "/dashboard/imports/part", "/dashboard/imports/finish",
	"/dashboard/media/uploads", "/dashboard/media/uploads/part", "/dashboard/media/uploads/finish",
}

// Every form of the dashboard is sent by a double click, again after going back, and from a
// second tab: nothing happens twice, nothing is silently overwritten, and nothing entered is
// lost. The lost session is in TestForms_SessionOver.
func TestForms_SentAgain(t *testing.T) {
	t.Parallel()
	w := newFormWalk(t)
	var sent []string
	for _, step := range [][]sentForm{templateForms, settingForms, peopleForms, campaignForms} {
		for _, f := range step {
			t.Run(f.form, func(t *testing.T) {
				w.t, w.c.t, w.visitor.t = t, t, t
				w.send(f)
			})
			sent = append(sent, f.form)
		}
	}
	ui, _ := dashboard.Site(app.Config{AWS: w.env.AWS(), BaseURL: w.env["BASE_URL"]})
	for _, form := range ui.Forms() {
		if !slices.Contains(sent, form) && !slices.Contains(withoutChange, form) {
			t.Errorf("the form %s is not sent", form)
		}
	}
}

var templateForms = []sentForm{
	{
		form: "/dashboard/templates", page: "/dashboard/templates/new", makes: "TEMPLATE#", own: true, keep: "template",
		first: url.Values{"name": {"Um"}, "kind": {"text"}, "body": {"Oi {{nome}}"}}, second: url.Values{"name": {"Dois"}, "kind": {"text"}, "body": {"Oi {{nome}}"}},
	},
	{
		form: "/dashboard/templates/{id}", page: "/dashboard/templates/{template}/edit", makes: "V#",
		first: url.Values{"body": {"Oi {{nome}}, um"}}, second: url.Values{"body": {"Oi {{nome}}, dois"}},
	},
	{form: "/dashboard/templates/{id}/duplicate", page: "/dashboard/templates/{template}", makes: "TEMPLATE#", own: true},
	{
		form: "/dashboard/templates/{id}/test", page: "/dashboard/templates/{template}", makes: "META", own: true,
		first: url.Values{"phone": {"21987650001"}, "var.nome": {"Ana"}},
	},
	{
		form: "/dashboard/templates/test-numbers", page: "/dashboard/templates/test-numbers",
		first: url.Values{"name": {"Ana"}, "phone": {"21987650002"}}, second: url.Values{"name": {"Bia"}, "phone": {"21987650002"}},
	},
	{form: "/dashboard/templates/test-numbers/delete", page: "/dashboard/templates/test-numbers"},
	{form: "/dashboard/templates/{id}/archive", page: "/dashboard/templates/{template}", makes: "ARCHIVED#"},
	{form: "/dashboard/templates/{id}/restore", page: "/dashboard/templates/{template}"},
	{form: "/dashboard/media/urls", page: "/dashboard/media", makes: "MEDIA#", first: url.Values{"address": {"https://media.example/oferta.png"}}},
	{form: "/dashboard/media/{hash}/delete", page: "/dashboard/media/{media}/delete"},
}

var settingForms = []sentForm{
	{
		form: "/dashboard/settings/credentials", page: "/dashboard/settings/credentials/new", makes: "CREDENTIAL#", own: true,
		first: url.Values{"name": {"CRM"}}, second: url.Values{"name": {"ERP"}},
	},
	{form: "/dashboard/settings/credentials/{id}/rotate", page: "/dashboard/settings/credentials/{credential}/rotate", second: url.Values{"keep": {"1h"}}},
	{form: "/dashboard/settings/credentials/{id}/revoke", page: "/dashboard/settings/credentials/{credential}/revoke"},
	{
		form: "/dashboard/settings/webhooks", page: "/dashboard/settings/webhooks/new", makes: "ENDPOINT#", own: true,
		first: url.Values{"url": {"https://crm.example/a"}}, second: url.Values{"url": {"https://crm.example/b"}},
	},
	{
		form: "/dashboard/settings/webhooks/{id}/kinds", page: "/dashboard/settings/webhooks/{endpoint}/kinds",
		first: url.Values{"kind": {"message.read"}}, second: url.Values{"kind": {"message.failed"}},
	},
	{form: "/dashboard/settings/webhooks/{id}/rotate", page: "/dashboard/settings/webhooks/{endpoint}/rotate", second: url.Values{"keep": {"1h"}}},
	{form: "/dashboard/settings/webhooks/{id}/resend", page: "/dashboard/settings/webhooks/{endpoint}"},
	{form: "/dashboard/settings/webhooks/{id}/resend-failed", page: "/dashboard/settings/webhooks/{endpoint}"},
	{form: "/dashboard/settings/webhooks/{id}/off", page: "/dashboard/settings/webhooks/{endpoint}/off"},
	{form: "/dashboard/settings/webhooks/{id}/on", page: "/dashboard/settings/webhooks/{endpoint}"},
	{form: "/dashboard/settings/brand", page: "/dashboard/settings/brand", first: url.Values{"sender": {"Loja Um"}}, second: url.Values{"sender": {"Loja Dois"}}},
	{form: "/dashboard/settings/billing", page: "/dashboard/settings/billing", first: url.Values{"basic": {"0,05"}}, second: url.Values{"basic": {"0,07"}}},
	{
		form: "/dashboard/settings/team", page: "/dashboard/settings/team", own: true,
		first: url.Values{"email": {"{new}-a@loja.example"}, "role": {"viewer"}}, second: url.Values{"email": {"{new}-b@loja.example"}, "role": {"viewer"}},
	},
}

var peopleForms = []sentForm{
	{form: "/dashboard/people/opt-outs/add", page: "/dashboard/people", first: url.Values{"phone": {"21987650003"}}, makes: "OPT#"},
	{form: "/dashboard/people/opt-outs/import", page: "/dashboard/people", file: "phone\n21987650004\n"},
}

var campaignForms = []sentForm{
	{
		form: "/dashboard/campaigns/new/draft", page: "/dashboard/campaigns/new", file: "phone;uid;nome\n21987650005;a;Ana\n", makes: "DRAFT#", own: true, keep: "draft",
		first: url.Values{"name": {"Rascunho um"}, "template": {"{template}"}}, second: url.Values{"name": {"Rascunho dois"}, "template": {"{template}"}},
	},
	{form: "/dashboard/drafts/{id}/delete", page: "/dashboard/drafts"},
	{
		form: "/dashboard/campaigns/new", page: "/dashboard/campaigns/new", file: "phone;uid;nome\n21987650005;a;Ana\n", own: true,
		first: url.Values{"name": {"Campanha"}, "template": {"{template}"}, "schedule": {inSaoPaulo(48 * time.Hour)}},
	},
	{form: "/dashboard/campaigns/new/confirm", makes: "META", keep: "campaign"},
	{
		form: "/dashboard/campaigns/{campaignId}/reschedule", page: "/dashboard/campaigns/{campaign}/reschedule",
		first: url.Values{"schedule": {inSaoPaulo(50 * time.Hour)}}, second: url.Values{"schedule": {inSaoPaulo(52 * time.Hour)}},
	},
	{form: "/dashboard/campaigns/{campaignId}/cancel", page: "/dashboard/campaigns/{campaign}/cancel"},
}

// inSaoPaulo returns a time from now as a form has it.
func inSaoPaulo(after time.Duration) string {
	return time.Now().Add(after).In(time.FixedZone("", -3*60*60)).Format("2006-01-02T15:04")
}
