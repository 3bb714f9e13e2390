package e2e_test

import (
	"crypto/rand"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/app"
	"campaign-dispatch/internal/app/dashboard"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/media/mediafile"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/localstack/stackenv"
)

// withoutChange lists the forms that change nothing, and those that scripts send in chunks.
// The tests of uploads repeat those.
var withoutChange = []string{
	"/dashboard/campaigns/new/columns", "/dashboard/campaigns/{campaignId}/messages", "/dashboard/templates/preview", "/dashboard/templates/{id}/preview", "/dashboard/settings/team/person",
	"/dashboard/people", "/dashboard/people/find", "/dashboard/people/opt-outs/export", "/dashboard/people/opt-outs/removal",
	"/dashboard/people/opt-outs/import", "/dashboard/people/opt-outs/files/{file}/reading", "/dashboard/lists/{name}/files/{file}/reading",
	"/dashboard/settings/webhooks/{id}/test",
	"/dashboard/lists/{name}/search", "/dashboard/lists/{name}/export", "/dashboard/lists/{name}/numbers",
	"/dashboard/lists/{name}/uploads", "/dashboard/lists/{name}/uploads/chunk", "/dashboard/lists/{name}/uploads/finish",
	"/dashboard/media/urls", // no public host answers here
	"/dashboard/submissions", "/dashboard/submissions/chunk", "/dashboard/submissions/finish",
	"/dashboard/media/uploads", "/dashboard/media/uploads/chunk", "/dashboard/media/uploads/finish",
}

// Every form of the dashboard is sent by a double click, again after going back, and from a
// second tab: nothing happens twice, nothing is silently overwritten, and nothing entered is
// lost. The lost session is in TestForms_SessionOver.
func TestForms_SentAgain(t *testing.T) {
	t.Parallel()
	var sent []string
	for name, forms := range map[string][]sentForm{
		"templates and webhooks": slices.Concat(templateForms, webhookForms), "settings": settingForms, "people": peopleForms, "lists": listForms,
		"campaigns": campaignForms, "submissions": submissionForms, "approvals": approvalForms, "waves": waveForms,
	} {
		for _, f := range forms {
			sent = append(sent, f.form)
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newFormWalk(t).run(forms)
		})
	}
	env := stackenv.Load(t)
	ui, _ := dashboard.Site(app.Config{AWS: env.AWS(), BaseURL: env["BASE_URL"]})
	for _, form := range ui.Forms() {
		if !slices.Contains(sent, form) && !slices.Contains(withoutChange, form) {
			t.Errorf("the form %s is not sent", form)
		}
	}
}

// run sends each form in a test of its own. A form builds on the former ones.
func (w *formWalk) run(forms []sentForm) {
	t := w.t
	t.Helper()
	for _, f := range forms {
		t.Run(f.form, func(t *testing.T) {
			w.c.t = t
			for _, v := range w.people {
				v.t = t
			}
			w.send(f)
		})
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
	{form: "/dashboard/media/{hash}/delete", page: "/dashboard/media/{media}/delete", prepare: (*formWalk).addMedia},
}

// hours is a rule for promotions on Mondays.
func hours(from string) url.Values {
	return url.Values{"promotion-on": {"yes"}, "promotion-from-1": {from}, "promotion-until-1": {"18:00"}, "zone": {"America/Sao_Paulo"}}
}

var settingForms = []sentForm{
	{
		form: "/dashboard/settings/credentials", page: "/dashboard/settings/credentials/new", makes: "CREDENTIAL#", own: true,
		first: url.Values{"name": {"CRM"}}, second: url.Values{"name": {"ERP"}},
	},
	{form: "/dashboard/settings/credentials/{id}/rotate", page: "/dashboard/settings/credentials/{credential}/rotate"},
	{form: "/dashboard/settings/credentials/{id}/revoke", page: "/dashboard/settings/credentials/{credential}/revoke"},
	{form: "/dashboard/settings/brand", page: "/dashboard/settings/brand", first: url.Values{"sender": {"Loja Um"}}, second: url.Values{"sender": {"Loja Dois"}}},
	{form: "/dashboard/settings/hours", page: "/dashboard/settings/hours", first: hours("09:00"), second: hours("10:00")},
	{form: "/dashboard/settings/billing", page: "/dashboard/settings/billing", first: url.Values{"basic": {"0,05"}, "single": {"0,10"}}, second: url.Values{"basic": {"0,07"}, "single": {"0,10"}}},
	{
		form: "/dashboard/settings/team", page: "/dashboard/settings/team", own: true,
		first: url.Values{"email": {"{tenant}-a@loja.example"}, "role": {"viewer"}}, second: url.Values{"email": {"{tenant}-b@loja.example"}, "role": {"viewer"}},
	},
	{
		form: "/dashboard/settings/team/role", page: "POST /dashboard/settings/team/person?email={person}",
		first: url.Values{"role": {"author"}}, second: url.Values{"role": {"approver"}},
	},
	{form: "/dashboard/settings/team/remove", page: "POST /dashboard/settings/team/person?email={person}"},
}

// The test send of a template fails to reach the endpoint, so that its webhooks can be resent.
var webhookForms = []sentForm{
	{
		form: "/dashboard/settings/webhooks", page: "/dashboard/settings/webhooks/new", makes: "ENDPOINT#", own: true,
		first: url.Values{"url": {"https://crm.example/a"}}, second: url.Values{"url": {"https://crm.example/b"}},
	},
	{
		form: "/dashboard/settings/webhooks/{id}/messages/{message}/resend", page: "/dashboard/settings/webhooks/{endpoint}/messages/{message}", own: true,
		prepare: (*formWalk).findMessage,
	},
	{
		form: "/dashboard/settings/webhooks/{id}/kinds", page: "/dashboard/settings/webhooks/{endpoint}/kinds",
		first: url.Values{"kind": {"message.read"}}, second: url.Values{"kind": {"message.failed"}},
	},
	{form: "/dashboard/settings/webhooks/{id}/rotate", page: "/dashboard/settings/webhooks/{endpoint}/rotate"},
	{form: "/dashboard/settings/webhooks/{id}/resend", page: "/dashboard/settings/webhooks/{endpoint}", own: true},
	{form: "/dashboard/settings/webhooks/{id}/resend-failed", page: "/dashboard/settings/webhooks/{endpoint}", own: true},
	{form: "/dashboard/settings/webhooks/{id}/off", page: "/dashboard/settings/webhooks/{endpoint}/off"},
	{form: "/dashboard/settings/webhooks/{id}/on", page: "/dashboard/settings/webhooks/{endpoint}"},
}

// findMessage keeps the ID of a message whose webhook failed.
func (w *formWalk) findMessage() {
	w.t.Helper()
	link := regexp.MustCompile(`/messages/([0-9a-f-]{36})"`)
	w.c.eventually(time.Minute, "the log has a message", func() bool {
		found := link.FindStringSubmatch(w.visit("/dashboard/settings/webhooks/{endpoint}").body)
		if found != nil {
			w.kept["message"] = found[1]
		}
		return found != nil
	})
}

var peopleForms = []sentForm{
	{form: "/dashboard/people/opt-outs/add", page: "/dashboard/people", first: url.Values{"phone": {"21987650003"}}, makes: "OPT#"},
	{form: "/dashboard/people/opt-outs/files/{file}", page: "/dashboard/people/opt-outs/files/{file}", prepare: (*formWalk).addImport},
	{
		form: "/dashboard/people/opt-outs/remove", page: "POST /dashboard/people/opt-outs/removal?phone=21987650003",
		first: url.Values{"asked": {"yes"}},
	},
	{form: "/dashboard/people/replies", page: "/dashboard/people/replies", first: url.Values{"decision": {"out"}}, prepare: (*formWalk).addDoubt},
}

// addDoubt stores a reply that may be an opt-out.
func (w *formWalk) addDoubt() {
	w.t.Helper()
	reply := reaction.NewReply(time.Now(), "events/"+rand.Text(), "+5521987650005", "cancelar")
	reply.Doubtful = true
	must(w.t, w.c.store().SaveReply(w.t.Context(), w.kept["tenant"], reply))
}

// addImport sends a file of opt-outs.
func (w *formWalk) addImport() {
	w.t.Helper()
	w.addFile(sentForm{form: "/dashboard/people/opt-outs/import", page: "/dashboard/people", file: "phone\n21987650004\n"})
}

// addFile sends the file of a form, and keeps its ID.
func (w *formWalk) addFile(f sentForm) {
	w.t.Helper()
	review := w.submit(f, w.tab(f, nil))
	w.kept["file"] = review.url.Path[strings.LastIndexByte(review.url.Path, '/')+1:]
}

// The list of the first form is the one of the others.
var listForms = []sentForm{
	{
		form: "/dashboard/lists", page: "/dashboard/lists", makes: "nao-um", own: true,
		first: url.Values{"name": {"nao-um"}, "reason": {"Motivo um"}}, second: url.Values{"name": {"nao-dois"}, "reason": {"Motivo dois"}},
	},
	{
		form: "/dashboard/lists/{name}/settings", page: "/dashboard/lists/nao-um",
		first: url.Values{"reason": {"Motivo novo"}}, second: url.Values{"reason": {"Outro motivo"}},
	},
	{form: "/dashboard/lists/{name}/files/{file}", page: "/dashboard/lists/nao-um/files/{file}", prepare: (*formWalk).addListFile, first: url.Values{"mode": {"add"}}},
	{form: "/dashboard/lists/{name}/delete", page: "/dashboard/lists/nao-um", first: url.Values{"confirm": {"1"}}},
}

// addListFile sends a file of numbers for the list.
func (w *formWalk) addListFile() {
	w.t.Helper()
	w.addFile(sentForm{form: "/dashboard/lists/{name}/numbers", page: "/dashboard/lists/nao-um", file: "telefone\n21987650007\n"})
}

var campaignForms = []sentForm{
	{
		form: "/dashboard/campaigns/new/draft", page: "/dashboard/campaigns/new", file: "phone;uid;nome\n21987650005;a;Ana\n", makes: "SUBMISSION#", own: true, keep: "draft",
		first: url.Values{"name": {"Rascunho um"}, "template": {"{template}"}}, second: url.Values{"name": {"Rascunho dois"}, "template": {"{template}"}},
	},
	{
		form: "/dashboard/campaigns/new/draft", page: "/dashboard/campaigns/new?from={draft}",
		first: url.Values{"name": {"Rascunho três"}, "template": {"{template}"}}, second: url.Values{"name": {"Rascunho quatro"}, "template": {"{template}"}},
	},
	{form: "/dashboard/drafts/{id}/delete", page: "/dashboard/drafts"},
	{
		form: "/dashboard/campaigns/new", page: "/dashboard/campaigns/new", file: "phone;uid;nome\n21987650005;a;Ana\n", makes: "SUBMISSION#", own: true, keep: "campaign",
		first: url.Values{"name": {"Campanha"}, "template": {"{template}"}, "schedule": {inSaoPaulo(48 * time.Hour)}},
	},
	{form: "/dashboard/submissions/{campaignId}/confirm", page: "/dashboard/submissions/{campaign}", makes: "META"},
	{
		form: "/dashboard/campaigns/{campaignId}/reschedule", page: "/dashboard/campaigns/{campaign}/reschedule",
		first: url.Values{"schedule": {inSaoPaulo(50 * time.Hour)}}, second: url.Values{"schedule": {inSaoPaulo(52 * time.Hour)}},
	},
	{form: "/dashboard/campaigns/{campaignId}/pause", page: "/dashboard/campaigns/{campaign}/pause"},
	{form: "/dashboard/campaigns/{campaignId}/resume", page: "/dashboard/campaigns/{campaign}/resume"},
	{form: "/dashboard/campaigns/{campaignId}/cancel", page: "/dashboard/campaigns/{campaign}/cancel"},
	{
		form: "/dashboard/campaigns/{campaignId}/exports", page: "/dashboard/campaigns/{campaign}/exports", own: true,
		first: url.Values{"kind": {"outcomes"}, "format": {"excel"}}, prepare: (*formWalk).delivered,
	},
	{
		form: "/dashboard/campaigns/{campaignId}/follow-up", page: "/dashboard/campaigns/{campaign}/follow-up", own: true,
		first: url.Values{"audience": {"unread"}},
	},
}

var submissionForms = []sentForm{
	{form: "/dashboard/submissions/{campaignId}/cancel", page: "/dashboard/submissions/{campaign}", prepare: (*formWalk).upload},
	{
		form: "/dashboard/submissions/{campaignId}/columns", page: "/dashboard/submissions/{campaign}", prepare: (*formWalk).upload,
		first: url.Values{"phone": {"0"}, "uid": {"1"}, "v0": {"2"}}, finish: func(w *formWalk) { w.reaches("What will be sent") },
	},
	{
		form: "/dashboard/submissions/{campaignId}/reading", page: "/dashboard/submissions/{campaign}",
		first: url.Values{"correct.3": {"21987650008"}}, finish: func(w *formWalk) { w.reaches("What will be sent") },
	},
	{
		form: "/dashboard/submissions/{campaignId}/confirm", page: "/dashboard/submissions/{campaign}", makes: "META",
		finish: func(w *formWalk) { w.reaches("Scheduled") },
	},
}

// With the rule, a second person approves campaigns.
var approvalForms = []sentForm{
	{form: "/dashboard/settings/approval", page: "/dashboard/settings/approval", first: url.Values{"from": {"1"}}, second: url.Values{"from": {"5"}}},
	{
		form: "/dashboard/campaigns/new", page: "/dashboard/campaigns/new", file: "phone;uid;nome\n21987650006;a;Ana\n", makes: "SUBMISSION#", own: true, keep: "campaign",
		first: url.Values{"name": {"Com aprovação"}, "template": {"{template}"}, "schedule": {inSaoPaulo(48 * time.Hour)}},
	},
	{form: "/dashboard/submissions/{campaignId}/confirm", page: "/dashboard/submissions/{campaign}"},
	{
		form: "/dashboard/submissions/{campaignId}/decide", page: "/dashboard/submissions/{campaign}", by: "approver", makes: "META",
		first: url.Values{"decision": {"approve"}}, finish: func(w *formWalk) { w.reaches("Scheduled") },
	},
	{
		form: "/dashboard/submissions/{campaignId}/columns", page: "/dashboard/submissions/{campaign}", prepare: (*formWalk).upload,
		first: url.Values{"phone": {"0"}, "uid": {"1"}, "v0": {"2"}}, finish: func(w *formWalk) { w.reaches("What will be sent") },
	},
	{form: "/dashboard/submissions/{campaignId}/confirm", page: "/dashboard/submissions/{campaign}"},
	{form: "/dashboard/submissions/{campaignId}/withdraw", page: "/dashboard/submissions/{campaign}"},
	{form: "/dashboard/submissions/{campaignId}/confirm", page: "/dashboard/submissions/{campaign}"},
	{
		form: "/dashboard/submissions/{campaignId}/decide", page: "/dashboard/submissions/{campaign}", by: "approver",
		first: url.Values{"decision": {"refuse"}, "reason": {"Errado"}},
	},
	{form: "/dashboard/submissions/{campaignId}/reopen", page: "/dashboard/submissions/{campaign}"},
	{form: "/dashboard/submissions/{campaignId}/confirm", page: "/dashboard/submissions/{campaign}"},
	{
		form: "/dashboard/submissions/{campaignId}/decide", page: "/dashboard/submissions/{campaign}", by: "approver", makes: "META",
		first: url.Values{"decision": {"approve"}}, second: url.Values{"decision": {"refuse"}, "reason": {"Errado"}},
		finish: func(w *formWalk) { w.reaches("Scheduled") },
	},
}

// waveSteps are the waves of a file that is divided: about 1,150 people, then a tenth, then the rest.
func waveSteps(pause string) url.Values {
	return url.Values{"plan": {"waves"}, "first": {"115"}, "until-1000": {"yes"}, "pause": {pause}}
}

var waveForms = []sentForm{
	{
		form: "/dashboard/submissions/{campaignId}/waves", page: "/dashboard/submissions/{campaign}", prepare: (*formWalk).uploadLarge,
		first: waveSteps("15m0s"), second: waveSteps("24h0m0s"),
	},
	{
		form: "/dashboard/submissions/{campaignId}/confirm", page: "/dashboard/submissions/{campaign}", makes: "META",
		finish: func(w *formWalk) { w.reaches("Waits for a decision: wave 2 of 3") },
	},
	{
		form: "/dashboard/campaigns/{campaignId}/waves", page: "/dashboard/campaigns/{campaign}", first: url.Values{"reason": {"Poucas falhas"}, "early": {"yes"}},
		finish: func(w *formWalk) { w.reaches("Waits for a decision: wave 3 of 3") },
	},
	{
		form: "/dashboard/submissions/{campaignId}/cancel", page: "/dashboard/campaigns/{campaign}/waves/stop",
		finish: func(w *formWalk) { w.reaches("Discarded") },
	},
}

// addMedia stores a file of another host.
func (w *formWalk) addMedia() {
	f := mediafile.File{Tenant: w.kept["tenant"], Name: "oferta.png", Type: "image/png", URL: "https://media.example/oferta.png", CreatedAt: time.Now()}
	f.Hash = mediafile.Hash(f.Tenant, f.URL)
	_, err := w.c.store().AddMedia(w.t.Context(), f)
	must(w.t, err)
	w.kept["media"] = f.Hash
}

// delivered writes a campaign that nobody has read.
func (w *formWalk) delivered() {
	w.kept["campaign"] = w.c.sentCampaign(3, campaign.OutcomeSent, campaign.OutcomeDelivered)
}

// upload begins a campaign from a file that is uploaded in chunks.
func (w *formWalk) upload() {
	w.uploadFile(time.Now().Add(48*time.Hour).UTC().Format(time.RFC3339), []byte("phone;uid;nome\n21987650007;a;Ana\n2187650008;b;Bia\n"))
}

// uploadLarge begins a campaign in waves. An operator pauses the tenant: none of its messages is sent.
func (w *formWalk) uploadLarge() {
	must(w.t, w.c.service().Pause(w.t.Context(), settings.Subject{Tenant: w.kept["tenant"]}))
	w.uploadFile("", recipientsFile(w.t, "csv", wavesFrom))
	w.reaches("What will be sent")
}

func (w *formWalk) uploadFile(schedule string, file []byte) {
	csrf := csrfField.FindStringSubmatch(w.open(w.env["BASE_URL"] + "/dashboard/campaigns").body)[1]
	w.env["TEMPLATE_ID"] = w.kept["template"]
	i := &submitter{w.visitor, w.c, csrf}
	w.kept["campaign"] = strings.TrimPrefix(i.uploadFile("submission "+rand.Text(), schedule, "lista.csv", file), "/")
}

// reaches waits until the page of the import, or of its campaign, has a text.
func (w *formWalk) reaches(text string) {
	w.c.eventually(2*time.Minute, text, func() bool {
		return strings.Contains(w.open(w.env["BASE_URL"]+"/dashboard/submissions/"+w.kept["campaign"]).body, text)
	})
}

// inSaoPaulo returns a time from now as a form has it.
func inSaoPaulo(after time.Duration) string {
	return time.Now().Add(after).In(time.FixedZone("", -3*60*60)).Format("2006-01-02T15:04")
}
