package people

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/query/search"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/reach/lists"
)

const (
	// messagesShown is the number of messages after which a page ends.
	messagesShown = 10
	// campaignsAtOnce is the number of campaigns searched concurrently.
	campaignsAtOnce = 8
	// maxCampaigns is the maximum number of campaigns that a page searches.
	maxCampaigns = 200
	// repliesShown is the maximum number of replies on the page.
	repliesShown = 100
	// searchTime is the time after which a page searches no further campaigns.
	searchTime = 8 * time.Second
	// maxCursor is the maximum size of a cursor in bytes. DynamoDB refuses sort keys of more
	// than 1,024.
	maxCursor = 100
)

type history struct {
	Phone    string // E.164, or the digits of a text that is no number
	OptedOut bool
	Since    time.Time        // zero if unknown
	Origin   campaign.Origin  // of the opt-out
	Lists    []keepingList    // that keep messages from the number
	Messages []message        // newest campaign first
	Replies  []reaction.Reply // newest first, on the first page
	Next     string           // cursor of older campaigns
	Later    bool             // newer campaigns were shown before
}

type message struct {
	search.Message
	CampaignID, Campaign, Template string
	Changes                        []change
	Waits                          waits // of a message that was not sent yet
}

// waits is what a message waits for. It is zero for a message that is on its way or being stopped.
type waits struct {
	reach.Waiting

	Withheld bool // it will not be sent to this person
	Resume   bool // it waits until its campaign is resumed
}

type change struct {
	At           time.Time
	Status, Code string
}

func (s *Pages) find(p *web.Page) error {
	sought, found := phone.Seek(p.Field("phone"))
	if !found {
		return s.refused(p, faults{Find: "people.fault.phone"})
	}
	cursor := p.Field("cursor")
	if len(cursor) > maxCursor {
		return campaign.ErrNotFound
	}
	if err := p.Audit("people.find", masked(sought.String())); err != nil { // of each page: the browser sends the cursor
		return err
	}
	h, err := s.optOutOf(p, sought)
	if err != nil {
		return err
	}
	if h.Lists, err = s.listsOf(p, sought); err != nil {
		return err
	}
	if h.Later = cursor != ""; !h.Later {
		if h.Replies, err = s.Store.RepliesOf(p.R.Context(), p.Session.Tenant, sought.E164()); err != nil {
			return err
		}
		h.Replies = h.Replies[:min(len(h.Replies), repliesShown)]
	}
	if h.Messages, h.Next, err = s.search(p.R.Context(), p.Session.Tenant, sought.String(), cursor); err != nil {
		return err
	}
	return p.Render("people.history", "people_history.html", h)
}

// optOutOf returns a history with the opt-out of a number.
func (s *Pages) optOutOf(p *web.Page, sought phone.Sought) (h history, err error) {
	ctx, tenant := p.R.Context(), p.Session.Tenant
	out, since, err := s.OptOuts.FirstOut(ctx, tenant, sought.E164())
	h = history{Phone: cmp.Or(out, sought.String()), OptedOut: out != "", Since: since}
	if err == nil && h.OptedOut {
		h.Origin, err = s.OptOuts.Origin(ctx, tenant, out)
	}
	return h, err
}

// keepingList is a list that keeps messages of some purposes from a number.
type keepingList struct {
	lists.List

	Purposes []campaign.Traffic
}

// KeepsAll reports whether the list keeps all messages from the number.
func (l keepingList) KeepsAll() bool { return len(l.Purposes) == len(lists.Traffics) }

// listsOf returns the lists that keep messages from a number.
func (s *Pages) listsOf(p *web.Page, sought phone.Sought) (keeping []keepingList, err error) {
	if sought.Valid == 0 { // no message is accepted for it
		return nil, nil
	}
	ctx, tenant := p.R.Context(), p.Session.Tenant
	kept, err := s.Reach.OnLists(ctx, tenant, sought.Valid, lists.Traffics, s.Now())
	if err != nil || len(kept) == 0 {
		return nil, err
	}
	all, err := s.Store.Lists(ctx, tenant)
	for _, l := range all {
		if purposes := kept[l.Number]; len(purposes) > 0 {
			keeping = append(keeping, keepingList{l, purposes})
		}
	}
	return keeping, err
}

// Reached reports whether the number gets messages of all purposes.
func (h history) Reached() bool { return !h.OptedOut && len(h.Lists) == 0 }

// masked returns the last digits of a number, for the audit log.
func masked(number string) string { return "•••• " + number[max(0, len(number)-shownDigits):] }

const shownDigits = 4

// search returns messages to a number in campaigns after a cursor, and the cursor of the
// next campaigns, "" after the last one.
func (s *Pages) search(ctx context.Context, tenant, phone, cursor string) (found []message, next string, err error) {
	until := s.Now().Add(searchTime)
	for looked := 0; looked < maxCampaigns && len(found) < messagesShown && s.Now().Before(until); looked += campaignsAtOnce {
		listed, err := s.Store.ListCampaigns(ctx, tenant, cursor, campaignsAtOnce)
		if err != nil {
			return nil, "", err
		}
		messages, err := s.searchAll(ctx, listed, phone)
		if err != nil {
			return nil, "", err
		}
		found = append(found, messages...)
		if len(listed) < campaignsAtOnce {
			return found, "", nil
		}
		cursor = listed[len(listed)-1].Cursor
	}
	return found, cursor, nil
}

// searchAll searches campaigns concurrently. The messages are in the order of the campaigns.
func (s *Pages) searchAll(ctx context.Context, listed []campaign.Listed, phone string) ([]message, error) {
	found, err := web.ReadEach(ctx, campaignsAtOnce, listed, func(ctx context.Context, l campaign.Listed) ([]message, error) {
		return s.searchOne(ctx, l, phone)
	})
	return slices.Concat(found...), err
}

// searchOne returns the messages of a campaign to a number. A campaign that was deleted
// has none.
func (s *Pages) searchOne(ctx context.Context, l campaign.Listed, phone string) (all []message, err error) {
	c, err := s.Store.Dispatched(ctx, l.ID)
	if err != nil {
		return nil, campaign.IgnoreNotFound(err)
	}
	asked := search.Query{Phone: &phone, AllBatches: true, Limit: messagesShown}
	for {
		found, err := s.Store.Find(ctx, c, asked)
		if httpapi.IsGone(err) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("search campaign %s: %w", l.CampaignID, err)
		}
		for _, f := range found.Messages {
			m, err := s.explain(ctx, c, f)
			if err != nil {
				return nil, err
			}
			all = append(all, m)
		}
		if asked.Cursor = found.Next; asked.Cursor == "" {
			return all, nil
		}
	}
}

// explain adds the changes of a message, and the name of its template, which may be missing.
func (s *Pages) explain(ctx context.Context, c campaign.Campaign, f search.Message) (message, error) {
	m := message{Message: f, CampaignID: c.CampaignID, Campaign: c.Name}
	template, err := s.Store.TemplateVersion(ctx, f.Batch.TemplateID, f.Batch.TemplateVersion)
	if err := campaign.IgnoreNotFound(err); err != nil {
		return m, err
	}
	m.Template = template.Name
	changes, err := s.Store.Changes(ctx, f.Batch, 0, campaign.MaxChanges)
	for _, c := range changes {
		if c.Index == f.Index {
			code, _ := c.Why()
			m.Changes = append(m.Changes, change{At: c.At, Status: string(c.Outcome), Code: code})
		}
	}
	if err == nil && m.Latest.Outcome == "" && c.CancelledAt.IsZero() {
		m.Waits, err = s.waitsOf(ctx, c, f, template.Traffic)
	}
	return m, err
}

// waitsOf returns what a message of a campaign waits for that was not sent yet.
func (s *Pages) waitsOf(ctx context.Context, c campaign.Campaign, f search.Message, t campaign.Traffic) (w waits, err error) {
	withheld, err := s.Reach.Withheld(ctx, c.Tenant, t, time.Time{})
	if err != nil {
		return w, err
	}
	if w.Withheld = !withheld(f.Phone).None(); w.Withheld {
		return w, nil
	}
	w.Waiting, err = reach.WaitOf(ctx, s.Store, c, f.Batch, f.Phone, s.Now())
	w.Resume = !c.PausedAt.IsZero()
	return w, err
}
