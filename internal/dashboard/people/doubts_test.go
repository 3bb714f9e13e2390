package people_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/web"
)

const doubts = people.Path + "/replies"

// doubted are the replies to acme that may be opt-outs, the newest first.
type doubted struct {
	replies   []reaction.Reply
	older     map[string]string // numbers by the ID of a reply, after which they wrote another
	settleErr error
}

func (d *doubted) DoubtfulReplies(_ context.Context, tenant, before string, limit int) (found []reaction.Reply, err error) {
	for _, r := range d.replies {
		if tenant == "acme" && (before == "" || r.ID < before) && len(found) < limit {
			found = append(found, r)
		}
	}
	return found, nil
}

func (d *doubted) DoubtfulReply(_ context.Context, tenant, id string) (reaction.Reply, error) {
	i := slices.IndexFunc(d.replies, func(r reaction.Reply) bool { return r.ID == id || d.older[id] == r.Phone })
	if tenant != "acme" || i < 0 {
		return reaction.Reply{}, campaign.ErrNotFound
	}
	return d.replies[i], nil
}

func (d *doubted) SettleReplies(_ context.Context, tenant string, until map[string]time.Time) error {
	if tenant == "acme" && d.settleErr == nil {
		d.replies = slices.DeleteFunc(d.replies, func(r reaction.Reply) bool {
			end, decided := until[r.Phone]
			return decided && (end.IsZero() || !r.At.After(end))
		})
	}
	return d.settleErr
}

// write stores a reply that may be an opt-out, before the others.
func (d *doubted) write(phone, text string, ago time.Duration) reaction.Reply {
	r := reaction.NewReply(noon.Add(-ago), phone+text, phone, text)
	r.Doubtful = true
	d.replies = append(d.replies, r)
	return r
}

// One click opts the person of a reply out, or says that it was no opt-out. It is in the audit log.
func TestDoubts_Decide(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	const bia = "+5511987650000"
	b.doubts.write(ana, "quero <sair> daqui a pouco", time.Hour)
	b.doubts.write(bia, "cancelar", 2*time.Hour)
	admin, viewer := b.SignIn("acme", web.RoleAdmin), b.SignIn("acme", web.RoleViewer)
	page := admin.Get(doubts)
	if text := page.Text(); !strings.Contains(text, "quero <sair> daqui a pouco May be an opt-out") || strings.Count(text, "Not an opt-out") != 2 {
		t.Errorf("the page is:\n%s", text)
	}
	if text := viewer.Get(doubts).Text(); !strings.Contains(text, "May be an opt-out") || strings.Contains(text, "Not an opt-out") {
		t.Errorf("a viewer sees:\n%s", text)
	}
	if a := viewer.Post(doubts, url.Values{"reply": {page.Value("reply")}, "decision": {"out"}}); a.Status != http.StatusForbidden {
		t.Errorf("a viewer decides: %d", a.Status)
	}
	out := url.Values{"reply": {page.Value("reply")}, "decision": {"out"}}
	if a := admin.Follow(admin.Post(doubts, out)); !b.optedOut() || strings.Contains(a.Text(), ana) || !strings.Contains(a.Text(), "will get no more messages") {
		t.Errorf("after the decision:\n%s", a.Text())
	}
	if origin, err := b.lists.Origin(t.Context(), "acme", ana); err != nil || origin != campaign.OriginMessage {
		t.Errorf("the origin is %q, error %v", origin, err)
	}
	if a := admin.Follow(admin.Post(doubts, out)); !strings.Contains(a.Text(), "no longer needs a decision") {
		t.Errorf("the second time:\n%s", a.Text())
	}
	keep := url.Values{"reply": {admin.Get(doubts).Value("reply")}, "decision": {"keep"}}
	if a := admin.Follow(admin.Post(doubts, keep)); !strings.Contains(a.Text(), "keeps getting messages") || !strings.Contains(a.Text(), "No replies to decide on") {
		t.Errorf("after the last decision:\n%s", a.Text())
	}
	if since, _, err := b.lists.Since(t.Context(), "acme", bia); err != nil || since {
		t.Errorf("a reply that is no opt-out opts out: %v, error %v", since, err)
	}
	if log := strings.Join(b.Audited(), "\n"); len(b.Audited()) != 2 || !strings.Contains(log, "people.reply_out "+masked) || !strings.Contains(log, "people.reply_kept •••• 0000") {
		t.Errorf("the audit log is %q", log)
	}
}

// A person writes again while somebody decides: the opt-out is recorded all the same, and only the newest reply can be no
// opt-out.
func TestDoubts_WrittenAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	first := reaction.NewReply(noon.Add(-time.Hour), "first", ana, "já pedi para sair da lista")
	b.doubts.older = map[string]string{first.ID: ana}
	b.doubts.write(ana, "cancelar", time.Minute)
	admin := b.SignIn("acme", web.RoleAdmin)
	if a := admin.Follow(admin.Post(doubts, url.Values{"reply": {first.ID}, "decision": {"keep"}})); !strings.Contains(a.Text(), "written again") || len(b.doubts.replies) != 1 {
		t.Errorf("after an older reply is no opt-out:\n%s", a.Text())
	}
	if admin.Post(doubts, url.Values{"reply": {first.ID}, "decision": {"out"}}); !b.optedOut() {
		t.Error("the number is not opted out")
	}
}

// An opt-out by hand or by a file, and a removal, decide too.
func TestDoubts_OtherDecisions(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(b bench){
		"by hand": func(b bench) {
			b.SignIn("acme", web.RoleAdmin).Post(people.Path+"/opt-outs/add", url.Values{"phone": {ana}})
		},
		"by a file": func(b bench) { upload(t, b.SignIn("acme", web.RoleAdmin), ana+"\n") },
	} {
		b := newBench(t, 0)
		b.doubts.write(ana, "cancelar", time.Hour)
		b.doubts.write("+5511987650000", "cancelar", 2*time.Hour)
		if decide(b); !b.optedOut() || len(b.doubts.replies) != 1 {
			t.Errorf("%s: opted out %v, %d replies to decide on", name, b.optedOut(), len(b.doubts.replies))
		}
	}
}

// An opt-out by hand is done even if the doubtful reply of its number cannot be settled.
func TestDoubts_SettlingFails(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	b.doubts.settleErr = errors.New("throttled")
	got := b.SignIn("acme", web.RoleAdmin).Post(people.Path+"/opt-outs/add", url.Values{"phone": {ana}})
	if got.Status != http.StatusSeeOther || !b.optedOut() {
		t.Errorf("answered %d, opted out: %v", got.Status, b.optedOut())
	}
}

// Another tenant's admin cannot decide, and no text of the form reaches the store unchecked.
func TestDoubts_Refused(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	r := b.doubts.write(ana, "cancelar", time.Hour)
	b.SignIn("other", web.RoleAdmin).Post(doubts, url.Values{"reply": {r.ID}, "decision": {"out"}})
	for _, id := range []string{"", strings.Repeat("9", 2000)} {
		b.SignIn("acme", web.RoleAdmin).Post(doubts, url.Values{"reply": {id}, "decision": {"out"}})
	}
	for _, decision := range []string{"", "in"} { // no button of the page sends these
		if a := b.SignIn("acme", web.RoleAdmin).Post(doubts, url.Values{"reply": {r.ID}, "decision": {decision}}); a.Status != http.StatusBadRequest {
			t.Errorf("the decision %q answers %d", decision, a.Status)
		}
	}
	if b.optedOut() || len(b.doubts.replies) != 1 || len(b.Audited()) > 0 {
		t.Errorf("opted out %v, %d replies, audit log %q", b.optedOut(), len(b.doubts.replies), b.Audited())
	}
	if a := b.SignIn("acme", web.RoleAdmin).Get(doubts + "?after=" + strings.Repeat("9", 2000)); a.Status != http.StatusNotFound {
		t.Errorf("a long cursor answers %d", a.Status)
	}
}

// The list has 50 replies on a page.
func TestDoubts_Pages(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	for i := range 51 {
		b.doubts.write(ana, "cancelar", time.Duration(i)*time.Minute)
	}
	admin := b.SignIn("acme", web.RoleAdmin)
	first := admin.Get(doubts)
	last := admin.Get(doubts + "?after=" + url.QueryEscape(b.doubts.replies[49].ID))
	if n, m := strings.Count(first.Body, `value="keep"`), strings.Count(last.Body, `value="keep"`); n != 50 || m != 1 || !strings.Contains(first.Body, `rel="next"`) {
		t.Errorf("%d replies on the first page, %d on the second", n, m)
	}
}
