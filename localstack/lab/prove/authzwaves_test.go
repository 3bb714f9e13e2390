package prove

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/aws/s3"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/internal/rollout/bucket"
)

// inWaves gives the owner a checked campaign whose waves can be changed, and one whose second wave waits for a person.
func (w *authzFixture) inWaves(ctx context.Context, t *testing.T) {
	t.Helper()
	v := &w.owner
	w.saveInWaves(ctx, t, v.planned)
	w.saveInWaves(ctx, t, v.holding)
	form := url.Values{"hash": {w.submission(ctx, t, v.holding).Shown()}}
	if a := w.post(ctx, t, "/submissions/"+v.holding+"/confirm", form, w.author(ctx, t)); a.status != http.StatusSeeOther {
		t.Fatalf("the confirmation answered %d %s", a.status, a.body)
	}
	w.holds(ctx, t, 1)
	w.settles(ctx, t, v.holding, 0)
}

// saveInWaves saves a checked campaign in three waves of one person each. So small a file is not divided otherwise.
func (w *authzFixture) saveInWaves(ctx context.Context, t *testing.T, campaignID string) {
	t.Helper()
	v, files, now := &w.owner, s3.New(w.env.AWS(), w.env["BUCKET"], true), time.Now()
	cells := []int{0, rollout.CellOf(bucket.Count/10 - 1), rollout.Cells() - 1}
	one := campaign.ClassCounts{Basic: 1}
	sub := submission.Submission{
		ID: campaign.ID{Tenant: v.id, CampaignID: campaignID}, Name: "w" + rand.Text(), TemplateID: v.template, TemplateVersion: 1,
		State: submission.StateReady, By: "somebody@authz.example", CreatedAt: now, File: submission.File{Name: "f.csv", Size: 1, Tag: "tag"},
		Columns: submission.Columns{Header: []string{"phone", "uid", "nome", "pedido"}, Chosen: submission.Chosen{
			Phone: 0, UID: 1, Values: []submission.Column{{Name: "nome", Column: 2}, {Name: "pedido", Column: 3}},
		}},
		Check: submission.Check{
			Number: 1, Rows: len(cells), Parts: len(cells), Hash: campaign.Digest(campaignID), At: now,
			Cells: make([]submission.Cell, rollout.Cells()),
		},
		Plan: rollout.Plan{Soak: 4 * time.Hour},
	}
	sub.Check.Findings = submission.Findings{Accepted: len(cells), Zones: map[window.Zone]int{window.SaoPaulo: len(cells)}}
	v.private = append([]string{sub.Name}, v.private...)
	for n, number := range cells {
		cell := submission.Cell{Parts: 1, Lines: 1, Accepted: 1}
		cell.AddPart(window.Set(0).With(window.SaoPaulo), one, one, map[window.Zone]int{window.SaoPaulo: 1})
		sub.Check.Cells[number] = cell
		sub.Check.Findings.Classes.Add(one)
		sub.Plan.Waves = append(sub.Plan.Waves, rollout.Wave{Until: rollout.Until(number)})
		phone, uid := fmt.Sprintf("+5561997%06d", (time.Now().UnixMicro()+int64(n))%1_000_000), "u"+rand.Text()
		v.private = append([]string{phone, uid}, v.private...)
		m := submission.Message{Line: n + 2, Phone: phone, UID: uid, Vars: map[string]string{"nome": "Ana", "pedido": "1"}}
		check(t, files.Put(ctx, sub.CellPartKey(number, 1), submission.EncodePart([]submission.Message{m}, 1), "application/octet-stream"))
	}
	_, err := storeOf(w.env).SaveSubmission(ctx, sub)
	check(t, err)
}

func (w *authzFixture) author(ctx context.Context, t *testing.T) visitor {
	t.Helper()
	return w.session(ctx, t, time.Now(), w.env["BASE_URL"], w.owner.id, web.RoleAuthor)
}

// submission returns a submission of the owner as it is stored.
func (w *authzFixture) submission(ctx context.Context, t *testing.T, campaignID string) submission.Submission {
	t.Helper()
	sub, err := storeOf(w.env).Submission(ctx, campaign.ID{Tenant: w.owner.id, CampaignID: campaignID})
	check(t, err)
	return sub
}

// holds waits until a wave of the owner's campaign is dispatched and the next one waits.
func (w *authzFixture) holds(ctx context.Context, t *testing.T, wave int) {
	t.Helper()
	check(t, eventually(ctx, time.Minute, func() (bool, error) {
		sub := w.submission(ctx, t, w.owner.holding)
		return sub.State == submission.StateHolding && sub.Sending.Wave() == wave, nil
	}))
}

// post sends a form of the dashboard.
func (w *authzFixture) post(ctx context.Context, t *testing.T, path string, fields url.Values, v visitor) answer {
	t.Helper()
	form := maps.Clone(fields)
	form.Set("csrf", v.csrf)
	return w.visit(ctx, t, http.MethodPost, web.Root+path, form.Encode(), v)
}

// forgedPlans are changes of a right form of the waves that make it wrong.
var forgedPlans = []url.Values{
	{"first": {"51"}},
	{"first": {"-1"}},
	{"first": {""}},
	{"first": {"10000"}},
	{"first": {"5e1"}},
	{"first": {strings.Repeat("5", 5000)}},
	{"pause": {"5m0s"}},
	{"pause": {"-4h0m0s"}},
	{"pause": {"1000h0m0s"}},
	{"pause": {""}},
	{"plan": {"some"}},
	{"plan": {""}},
	{"notBefore-1000": {"2001-01-01T00:00"}},
	{"notBefore-10000": {"2037-02-30T10:00"}},
	{"notBefore-2500": {"2099-01-01T00:00"}},
	{"until-2500": {"yes"}},
	{"until-5000": {"yes"}},
	{"hash": {"older"}},
	{"hash": {""}},
	{"plan": {"once"}, "hash": {"older"}},
}

// forgedWaves are wrong forms that open a wave.
var forgedWaves = []url.Values{
	{"wave": {"0"}, "reason": {"r"}, "early": {"yes"}},
	{"wave": {"1"}, "reason": {"r"}, "early": {"yes"}},
	{"wave": {"3"}, "reason": {"r"}, "early": {"yes"}},
	{"wave": {"-2"}, "reason": {"r"}, "early": {"yes"}},
	{"wave": {"99"}, "reason": {"r"}, "early": {"yes"}},
	{"wave": {"2 3"}, "reason": {"r"}, "early": {"yes"}},
	{"wave": {""}, "reason": {"r"}, "early": {"yes"}},
	{"wave": {"2"}, "reason": {" "}, "early": {"yes"}},
	{"wave": {"2"}, "reason": {"r"}},
	{"wave": {"2"}, "reason": {"r"}, "early": {"no"}},
}

// wavesCaller is who sends forms of waves, with the answers that it may get.
type wavesCaller struct {
	visitor
	statuses []int
	right    bool // its right forms would be taken
}

// wavesCallers are those who may not change the waves, and at the end one who may.
func (w *authzFixture) wavesCallers(ctx context.Context, t *testing.T) (all []wavesCaller) {
	t.Helper()
	base, now, author := w.env["BASE_URL"], time.Now(), w.author(ctx, t)
	attacker := w.session(ctx, t, now, base, w.attacker.id, web.RoleAdmin)
	attacker.name = "another tenant's admin"
	all = append(all, wavesCaller{attacker, []int{http.StatusNotFound}, false})
	for _, role := range []web.Role{web.RoleViewer, web.RoleApprover, "owner"} {
		all = append(all, wavesCaller{w.session(ctx, t, now, base, w.owner.id, role), []int{http.StatusForbidden}, false})
	}
	for _, v := range []visitor{
		{"no form's token", author.cookie, "", ""},
		{"another session's form", author.cookie, attacker.csrf, ""},
		{"a form of another site", author.cookie, author.csrf, "cross-site"},
	} {
		all = append(all, wavesCaller{v, []int{http.StatusForbidden}, false})
	}
	expired := w.session(ctx, t, now.Add(-web.SessionLife-time.Minute), base, w.owner.id, web.RoleAuthor)
	all = append(all, wavesCaller{expired, []int{http.StatusUnauthorized}, false})
	return append(all, wavesCaller{author, []int{http.StatusBadRequest, http.StatusConflict, http.StatusUnprocessableEntity}, true})
}

// tryWaves sends forged forms of waves, and right ones with wrong hands: no plan changes, no wave is opened or discarded.
// Then the author's forms are taken once, and their repetitions change nothing.
func (w *authzFixture) tryWaves(ctx context.Context, t *testing.T) {
	t.Helper()
	r, callers := &authzReport{}, w.wavesCallers(ctx, t)
	planned, holding := w.submission(ctx, t, w.owner.planned), w.submission(ctx, t, w.owner.holding)
	plan := url.Values{"hash": {planned.Shown()}, "plan": {"waves"}, "first": {"50"}, "until-1000": {"yes"}, "pause": {"24h0m0s"}}
	open, none := url.Values{"wave": {"2"}, "reason": {"few failures"}, "early": {"yes"}}, url.Values{}
	for _, c := range callers {
		plans, waves, stops := forgedPlans, forgedWaves, []url.Values(nil)
		if !c.right {
			plans, waves, stops = append(slices.Clone(plans), none, url.Values{"plan": {"once"}}), append(slices.Clone(waves), open), []url.Values{none}
			w.trySeeing(ctx, t, r, c)
		}
		for path, forms := range map[string][]url.Values{
			"/submissions/" + planned.CampaignID + "/waves": plans, "/campaigns/" + holding.CampaignID + "/waves": waves,
			"/submissions/" + holding.CampaignID + "/cancel": stops, "/submissions/" + planned.CampaignID + "/cancel": stops,
		} {
			for _, change := range forms {
				form := maps.Clone(change)
				if strings.HasSuffix(path, planned.CampaignID+"/waves") {
					form = maps.Clone(plan)
					maps.Copy(form, change)
				}
				w.tryWavesForm(ctx, t, r, c, path, form)
			}
		}
	}
	for _, was := range []submission.Submission{planned, holding} {
		if now := w.submission(ctx, t, was.CampaignID); now.Version != was.Version {
			r.failf("a submission has changed: %s in wave %d, was %s in wave %d", now.State, now.Sending.Wave(), was.State, was.Sending.Wave())
		}
	}
	w.takeWaves(ctx, t, r, plan, open)
	r.record(t, fmt.Sprintf("%d wrong plans and %d wrong waves by %d callers, and repeated forms", len(forgedPlans), len(forgedWaves), len(callers)))
}

func (w *authzFixture) tryWavesForm(ctx context.Context, t *testing.T, r *authzReport, c wavesCaller, path string, form url.Values) {
	t.Helper()
	a := w.post(ctx, t, path, form, c.visitor)
	if r.tries++; !slices.Contains(c.statuses, a.status) {
		r.failf("%s of %s with %s: %d", form.Encode(), path, c.name, a.status)
	}
	if !c.right {
		a.body = strings.ReplaceAll(a.body, w.owner.id, "") // the tenant of a role is their own
		w.searchAnswer(r, path+" with "+c.name, a, path+form.Encode())
	}
}

// trySeeing requests the pages of the owner's campaigns in waves with another tenant's session.
func (w *authzFixture) trySeeing(ctx context.Context, t *testing.T, r *authzReport, c wavesCaller) {
	t.Helper()
	if !slices.Contains(c.statuses, http.StatusNotFound) {
		return
	}
	holding := "/campaigns/" + w.owner.holding
	for _, path := range []string{holding, holding + "/row", holding + "/waves", holding + "/waves/stop", "/submissions/" + w.owner.planned} {
		a := w.visit(ctx, t, http.MethodGet, web.Root+path, "", c.visitor)
		if r.tries++; a.status != http.StatusNotFound {
			r.failf("%s with %s: %d", path, c.name, a.status)
		}
		w.searchAnswer(r, path+" with "+c.name, a, path)
	}
}

// takeWaves sends the forms that were refused as the author, who may, and repeats them. Were they refused too, the tries
// would show nothing.
func (w *authzFixture) takeWaves(ctx context.Context, t *testing.T, r *authzReport, plan, open url.Values) {
	t.Helper()
	author, planned, holding := w.author(ctx, t), "/submissions/"+w.owner.planned, "/campaigns/"+w.owner.holding
	try := func(path string, form url.Values, want int) {
		t.Helper()
		if r.tries++; w.post(ctx, t, path, form, author).status != want {
			r.failf("the author's %s of %s is not answered with %d", form.Encode(), path, want)
		}
	}
	try(planned+"/waves", plan, http.StatusSeeOther)
	saved := w.submission(ctx, t, w.owner.planned)
	if saved.Plan.Soak != 24*time.Hour || len(saved.Plan.Waves) != 3 {
		r.failf("the author's plan is %+v", saved.Plan)
	}
	older := url.Values{"hash": plan["hash"], "plan": {"once"}}
	try(planned+"/waves", plan, http.StatusSeeOther) // again: it is saved
	try(planned+"/waves", older, http.StatusConflict)
	try(planned+"/confirm", url.Values{"hash": plan["hash"]}, http.StatusConflict)
	if now := w.submission(ctx, t, w.owner.planned); now.Version != saved.Version {
		r.failf("a repeated form changes the plan or its campaign: %s, %+v", now.State, now.Plan)
	}
	for range 3 {
		try(holding+"/waves", open, http.StatusSeeOther)
	}
	w.holds(ctx, t, 2)
	opened := w.submission(ctx, t, w.owner.holding)
	try(holding+"/waves", open, http.StatusSeeOther)
	if now := w.submission(ctx, t, w.owner.holding); now.Version != opened.Version || now.Sending.Parts != 2 {
		r.failf("a repeated form opens a wave: wave %d, %d parts", now.Sending.Wave(), now.Sending.Parts)
	}
	try("/submissions/"+w.owner.holding+"/cancel", url.Values{}, http.StatusSeeOther)
	try(holding+"/waves", url.Values{"wave": {"3"}, "reason": {"late"}, "early": {"yes"}}, http.StatusConflict)
	if now := w.submission(ctx, t, w.owner.holding); now.State != submission.StateDiscarded || now.Sending.Parts != 2 {
		r.failf("the discarded rest: %s, %d parts", now.State, now.Sending.Parts)
	}
}
