package campaigns

import (
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/insight"
)

const (
	// repliesFor is how long after its last message replies count as replies to a campaign.
	repliesFor   = campaign.EventsRepeated
	repliesShown = 50     // on a page
	maxReplies   = 10_000 // to the tenant that a page reads
)

type repliesPage struct {
	campaign.Campaign
	Known   bool // the replies are kept
	People  int
	N       int
	Doubts  int  // those that may be opt-outs
	More    bool // there may be more than N
	Replies []reaction.Reply
	Next    string // cursor of the next page
	Later   bool   // there is a previous page
}

func countsReplies(r insight.Results) bool { return begunWithin(r, r.At, campaign.EventLife) }

// begunWithin reports whether a campaign was sent within a time before now.
func begunWithin(r insight.Results, now time.Time, most time.Duration) bool {
	return !r.First.IsZero() && !r.First.After(now) && now.Sub(r.First) < most
}

func (s *Pages) replies(p *web.Page, c campaign.Campaign) error {
	l := repliesPage{Campaign: c, Later: p.Query("after") != ""}
	if countsReplies(insight.ResultsOf(c, s.Now())) {
		if err := s.addReplies(p, &l); err != nil {
			return err
		}
	}
	return p.RenderOr("campaigns_replies_count.html", "campaigns.replies", "campaigns_replies.html", l)
}

func (s *Pages) addReplies(p *web.Page, l *repliesPage) error {
	ctx, sent := p.R.Context(), insight.ResultsOf(l.Campaign, s.Now())
	all, err := s.Store.Replies(ctx, l.Tenant, sent.First, sent.Last.Add(repliesFor), maxReplies)
	if err != nil {
		return err
	}
	found, err := s.Messages.RepliesOfRecipients(ctx, l.ID, all)
	l.Known, l.More, l.N, l.People = true, len(all) == maxReplies, len(found), peopleOf(found)
	l.Doubts = doubtsOf(found)
	l.page(found, p.Query("after"))
	return err
}

func doubtsOf(replies []reaction.Reply) (n int) {
	for _, r := range replies {
		if r.Doubtful {
			n++
		}
	}
	return n
}

func peopleOf(replies []reaction.Reply) int {
	people := map[string]bool{}
	for _, r := range replies {
		people[r.Phone] = true
	}
	return len(people)
}

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
