package webhooks

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/query/search"
	"campaign-dispatch/internal/settings"
	"campaign-dispatch/internal/webhook/delivery"
)

// The results by which the log is searched.
const (
	resultDelivered = "delivered"
	resultFailed    = "failed"
	resultRepeats   = "waiting" // failed, and waits for the next attempt
)

var results = []string{resultDelivered, resultFailed, resultRepeats}

const (
	pageLength = 20 // attempts
	chunk      = 50 // attempts read at once
	// maxLooked is the number of attempts that one request looks at. The next request continues after them.
	maxLooked = 300
	// maxResolved is maxLooked for a search that reads the message or the delivery of each attempt.
	maxResolved  = 100
	shownFound   = 5 // messages with the uid of a search
	maxUID       = 1000
	maxWebhookID = len("msg_") + 64
)

// logPage is a part of the log of the attempts to post webhooks to an endpoint, newest first.
type logPage struct {
	attemptTable
	UID, Campaign string
	Kind          delivery.Kind
	Kinds         []delivery.Kind
	Result        string
	Results       []string
	Next          string // the place where the next page starts, "" for none
	Later         bool   // there are newer attempts
	Found         *found // messages with the uid, nil for a search without uid and campaign
}

// attemptTable is what the table of attempts shows.
type attemptTable struct {
	Rows       []row
	EndpointID string
	Off        bool
	Once       string
}

// Searched reports whether the log is searched.
func (l logPage) Searched() bool { return l.UID+l.Campaign+string(l.Kind)+l.Result != "" }

func (l logPage) maxLooked() int {
	if l.UID != "" || l.Campaign != "" || l.Result == resultRepeats {
		return maxResolved
	}
	return maxLooked
}

// may reports whether an attempt may match, before its message is read.
func (l logPage) may(a attempt) bool {
	return (l.Kind == "" || a.Kind == l.Kind) && (l.Result == "" || a.Failed == (l.Result != resultDelivered))
}

func (l logPage) matches(r row) bool {
	return (l.UID == "" || r.UID == l.UID) && (l.Result != resultRepeats || r.Waits) && r.ofCampaign(l.Campaign)
}

// ofCampaign reports whether the row is of a campaign, given by its ID or a part of its name.
func (r row) ofCampaign(asked string) bool {
	named := r.CampaignID != "" && strings.Contains(sheet.Fold(r.Campaign), sheet.Fold(asked))
	return asked == "" || named || strings.EqualFold(r.CampaignID, asked)
}

// pathOfPlace and readPlace translate a place to and from a part of an address.
func pathOfPlace(at delivery.Place) string {
	return strconv.FormatInt(at.At.UnixMilli(), 10) + "-" + at.WebhookID
}

func readPlace(text string) (at delivery.Place, err error) {
	if text == "" {
		return at, nil
	}
	millis, id, _ := strings.Cut(text, "-")
	n, err := strconv.ParseInt(millis, 10, 64)
	if err != nil || len(id) > maxWebhookID {
		return at, campaign.ErrNotFound
	}
	return delivery.Place{At: time.UnixMilli(n), WebhookID: id}, nil
}

// log reads the page of an endpoint's log that the request asks for.
func (s *Pages) log(p *web.Page, e delivery.Endpoint) (l logPage, err error) {
	l = logPage{
		UID: strings.TrimSpace(p.Query("uid")), Campaign: strings.TrimSpace(p.Query("campaign")), Kind: delivery.Kind(p.Query("kind")),
		Result: p.Query("result"), Results: results, Later: p.Query("before") != "",
		attemptTable: attemptTable{EndpointID: e.ID, Off: e.Off()},
	}
	for _, kind := range settings.Kinds() {
		l.Kinds = append(l.Kinds, delivery.Kind(kind))
	}
	before, err := readPlace(p.Query("before"))
	known := (l.Kind == "" || slices.Contains(l.Kinds, l.Kind)) && (l.Result == "" || slices.Contains(results, l.Result))
	if err != nil || !known || len(l.UID) > maxUID || len(l.Campaign) > maxUID {
		return l, campaign.ErrNotFound
	}
	if !l.Later {
		if l.Found, err = s.findMessages(p, l); err != nil {
			return l, err
		}
	}
	err = s.fill(p, e, before, &l)
	return l, err
}

// fill reads attempts until the page is full, or maxLooked are read.
func (s *Pages) fill(p *web.Page, e delivery.Endpoint, before delivery.Place, l *logPage) error {
	size := pageLength + 1
	if l.Searched() {
		size = chunk
	}
	for looked := 0; looked < l.maxLooked(); looked += size {
		some, more, err := s.attemptsBefore(p.R.Context(), e, before, size)
		if err != nil {
			return err
		}
		if full, err := s.add(p, e, some, l); full || err != nil || !more {
			return err
		}
		before = some[len(some)-1].place()
	}
	l.Next = pathOfPlace(before)
	return nil
}

// add adds the attempts that match. It reports whether the page was full before the last of them.
func (s *Pages) add(p *web.Page, e delivery.Endpoint, some []attempt, l *logPage) (full bool, err error) {
	some = slices.DeleteFunc(slices.Clone(some), func(a attempt) bool { return !l.may(a) })
	for part := range slices.Chunk(some, pageLength+1) {
		rows, err := s.rows(p, e, part)
		if err != nil {
			return false, err
		}
		for _, r := range rows {
			if !l.matches(r) {
				continue
			}
			if len(l.Rows) == pageLength {
				l.Next = pathOfPlace(l.Rows[pageLength-1].place())
				return true, nil
			}
			l.Rows = append(l.Rows, r)
		}
	}
	return false, nil
}

// attemptsBefore reads up to size attempts before a place, newest first. more reports whether there may be older ones.
func (s *Pages) attemptsBefore(
	ctx context.Context, e delivery.Endpoint, before delivery.Place, size int,
) (all []attempt, more bool, err error) {
	posts, err := s.Store.KeptPostsBefore(ctx, e.Tenant, e.ID, before, size)
	if err != nil {
		return nil, false, err
	}
	failures, err := s.Store.FailuresBefore(ctx, e.Tenant, e.ID, before, size)
	all = merged(posts, failures)
	more = len(posts) == size || len(failures) == size
	if len(all) > size {
		all, more = all[:size], true
	}
	return all, more, err
}

// found are the messages of a campaign with a uid.
type found struct {
	CampaignID string
	IDs        []string
	More       bool // the search looked at a part of the campaign
}

// findMessages finds the messages of a search by a uid and the ID of a campaign. It returns nil for other searches.
func (s *Pages) findMessages(p *web.Page, l logPage) (*found, error) {
	if l.UID == "" || l.Campaign == "" {
		return nil, nil
	}
	c, err := web.OfCampaign(p, l.Campaign, s.Store.Dispatched)
	if err != nil {
		return nil, campaign.IgnoreNotFound(err)
	}
	page, err := s.Messages.Find(p.R.Context(), c, search.Query{UID: &l.UID, AllBatches: true, Limit: shownFound})
	if err != nil {
		return nil, ignoreExpired(err)
	}
	of := &found{CampaignID: c.CampaignID, More: page.Next != ""}
	for _, m := range page.Messages {
		of.IDs = append(of.IDs, m.Batch.Key.MessageID(m.Index))
	}
	return of, nil
}
