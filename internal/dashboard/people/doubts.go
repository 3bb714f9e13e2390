package people

import (
	"errors"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dashboard/web"
)

// doubtsPath is the page of the replies that may be opt-outs. Its form decides on one.
const doubtsPath = Path + "/replies"

type doubtsPage struct {
	Replies []reaction.Reply
	Next    string // cursor of the next page
	Later   bool   // there is a previous page
}

func (s *Pages) doubts(p *web.Page) error {
	after := p.Query("after")
	if len(after) > maxCursor {
		return campaign.ErrNotFound
	}
	found, err := s.Store.DoubtfulReplies(p.R.Context(), p.Session.Tenant, after, pageLength+1)
	if err != nil {
		return err
	}
	l := doubtsPage{Replies: found, Later: after != ""}
	if len(found) > pageLength {
		l.Replies, l.Next = found[:pageLength], found[pageLength-1].ID
	}
	return p.Render("people.doubts", "people_doubts.html", l)
}

// decide decides on a doubtful reply: its number opts out, or it was no opt-out.
func (s *Pages) decide(p *web.Page) error {
	reply, err := s.doubt(p)
	if errors.Is(err, campaign.ErrNotFound) {
		return p.Done(beforeDecision(p), "people.done.decided")
	}
	if err != nil {
		return err
	}
	switch p.Field("decision") {
	case "out":
		return s.optOut(p, reply) // whatever the person wrote since
	case "keep":
		return s.keep(p, reply)
	}
	return web.BadForm()
}

// doubt returns the doubtful reply of the form, or a newer one of its number. The error wraps campaign.ErrNotFound if it
// is settled.
func (s *Pages) doubt(p *web.Page) (reaction.Reply, error) {
	id := p.Field("reply")
	if id == "" || len(id) > maxCursor {
		return reaction.Reply{}, campaign.ErrNotFound
	}
	return s.Store.DoubtfulReply(p.R.Context(), p.Session.Tenant, id)
}

// optOut records the opt-out that the person of a reply asked for.
func (s *Pages) optOut(p *web.Page, reply reaction.Reply) error {
	out := campaign.OptChange{Phone: reply.Phone, Out: true, Origin: campaign.OriginMessage}
	if err := s.change(p, "people.reply_out", out); err != nil {
		return err
	}
	return p.Done(beforeDecision(p), "people.done.added")
}

// keep settles a reply that was no opt-out, unless the person wrote again.
func (s *Pages) keep(p *web.Page, reply reaction.Reply) error {
	if asked := (reaction.Reply{ID: p.Field("reply")}); asked.Event() != reply.Event() {
		return p.Done(beforeDecision(p), "people.done.newer")
	}
	if err := p.Audit("people.reply_kept", masked(reply.Phone)); err != nil {
		return err
	}
	until := map[string]time.Time{reply.Phone: reply.At}
	if err := s.Store.SettleReplies(p.R.Context(), p.Session.Tenant, until); err != nil {
		return err
	}
	return p.Done(beforeDecision(p), "people.done.kept")
}

// beforeDecision returns the page with the form, or the list.
func beforeDecision(p *web.Page) string {
	if before := p.Before(); before != web.Root {
		return before
	}
	return doubtsPath
}
