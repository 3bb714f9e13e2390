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
	repliesFor   = campaign.EventsRepeated
	repliesShown = 50     // on a page
	maxReplies   = 10_000 // to the tenant that a page reads
)

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

func countsReplies(r campaign.Results) bool { return begunWithin(r, campaign.EventLife) }

func (s *Pages) replies(p *web.Page) error {
	c, err := readCampaign(p, s.overview)
	if err != nil {
		return err
	}
	l := repliesPage{Campaign: c, Later: p.Query("after") != ""}
	if countsReplies(c.Results(s.Now())) {
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

const (
	// optOutsWithin is how long after its first message the opt-outs of a campaign's recipients
	// are shown. The times of opt-outs are kept as long.
	optOutsWithin = campaign.EventsRepeated
	optOutsShown  = 100 // opt-outs on the page
)

type optOutsPage struct {
	campaign.Campaign
	Known         bool // they can be counted
	N             int
	Delivered     int
	OptedOutSince []campaign.OptChange // the newest
}

func countsOptOuts(r campaign.Results) bool { return begunWithin(r, optOutsWithin) }

// begunWithin reports whether a campaign was sent within a time before its results were read.
func begunWithin(r campaign.Results, most time.Duration) bool {
	return !r.First.IsZero() && !r.First.After(r.At) && r.At.Sub(r.First) < most
}

func (s *Pages) optOuts(p *web.Page) error {
	c, err := readCampaign(p, s.overview)
	if err != nil {
		return err
	}
	sent := c.Results(s.Now())
	l := optOutsPage{Campaign: c, Delivered: sent.Delivered}
	if countsOptOuts(sent) {
		if err := s.addOptOuts(p, &l); err != nil {
			return err
		}
	}
	if p.Partial() {
		return p.Fragment("campaigns_opt_outs_count.html", l)
	}
	return p.Render("campaigns.opt_outs", "campaigns_opt_outs.html", l)
}

func (s *Pages) addOptOuts(p *web.Page, l *optOutsPage) (err error) {
	var recent, since []campaign.OptChange
	recent, l.Known, err = s.OptOuts.Recent(p.R.Context(), l.Tenant)
	if err != nil || !l.Known {
		return err
	}
	since, err = s.Messages.OptedOutSince(p.R.Context(), l.ID, l.Results(s.Now()).First, recent)
	l.N, l.OptedOutSince = len(since), since[:min(len(since), optOutsShown)]
	return err
}
