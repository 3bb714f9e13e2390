package campaigns

import (
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/outcome/reaction"
)

const (
	// repliesFor is how long after its last message replies count as replies to a campaign.
	repliesFor = 8 * 24 * time.Hour
	// repliesShown is the number of replies per page.
	repliesShown = 50
	// maxReplies is the maximum number of replies to the tenant that a page reads.
	maxReplies = 10_000
)

// repliesPage lists what the recipients of a campaign wrote after it was sent.
type repliesPage struct {
	campaign.Campaign
	Known   bool // the replies are kept
	People  int
	N       int
	More    bool // there may be more than N
	Replies []reaction.Reply
	Next    string // cursor of the next page
	Later   bool   // there is a previous page
}

// countsReplies reports whether all replies since the campaign was sent are kept.
func countsReplies(r campaign.Results, now time.Time) bool {
	return !r.First.IsZero() && !r.First.After(now) && now.Sub(r.First) < campaign.EventLife
}

func (s *Pages) replies(p *web.Page) error {
	c, err := of(p, s.overview)
	if err != nil {
		return err
	}
	l := repliesPage{Campaign: c, Later: p.Query("after") != ""}
	if countsReplies(c.Results(s.Now()), s.Now()) {
		if err := s.addReplies(p, &l); err != nil {
			return err
		}
	}
	if p.Partial() {
		return p.Fragment("campaigns_replies_count.html", l)
	}
	return p.Render("campaigns.replies", "campaigns_replies.html", l)
}

func (s *Pages) addReplies(p *web.Page, l *repliesPage) error {
	ctx, sent := p.R.Context(), l.Results(s.Now())
	all, err := s.Store.Replies(ctx, l.Tenant, sent.First, sent.Last.Add(repliesFor), maxReplies)
	if err != nil {
		return err
	}
	found, err := s.Messages.RepliesOfRecipients(ctx, l.ID, all)
	l.Known, l.More, l.N, l.People = true, len(all) == maxReplies, len(found), peopleOf(found)
	l.page(found, p.Query("after"))
	return err
}

func peopleOf(replies []reaction.Reply) int {
	people := map[string]bool{}
	for _, r := range replies {
		people[r.Phone] = true
	}
	return len(people)
}

// page sets the replies that are older than a cursor.
func (l *repliesPage) page(found []reaction.Reply, after string) {
	first := 0
	if after != "" {
		first = slices.IndexFunc(found, func(r reaction.Reply) bool { return r.ID < after })
	}
	if first < 0 {
		return
	}
	if l.Replies = found[first:]; len(l.Replies) > repliesShown {
		l.Replies = l.Replies[:repliesShown]
		l.Next = l.Replies[repliesShown-1].ID
	}
}
