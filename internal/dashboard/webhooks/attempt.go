package webhooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/webhook"
	"campaign-dispatch/internal/webhook/delivery"
)

// attempt is a stored attempt to post a webhook: a kept post, a failure, or both.
type attempt struct {
	delivery.KeptPost
	Kept   bool // with payload and answer
	Failed bool
	Task   delivery.NotifyTask // of a failure
}

func (a attempt) place() delivery.Place { return delivery.Place{At: a.At, WebhookID: a.WebhookID} }

// CanResend reports whether what is stored is enough to post the webhook again.
func (a attempt) CanResend() bool { return a.Failed || len(a.Entry) > 0 || a.Blob != "" }

// addFailure adds the failure of the attempt.
func (a *attempt) addFailure(f delivery.Failure) {
	if !a.Kept {
		a.KeptPost = delivery.KeptPost{
			Tenant: f.Tenant, EndpointID: f.EndpointID, WebhookID: f.WebhookID, Kind: f.Kind, MessageID: f.MessageID, Attempt: f.Attempt, At: f.At,
			Status: f.Status, Code: f.Code, Took: f.Took,
		}
	}
	a.Failed, a.Task, a.Entry, a.Blob = true, f.Task, f.Entry, f.Blob
}

// merged returns the attempts of kept posts and failures, newest first.
func merged(posts []delivery.KeptPost, failures []delivery.Failure) []attempt {
	at := map[delivery.Place]*attempt{}
	for _, post := range posts {
		a := attempt{KeptPost: post, Kept: true, Failed: !post.Delivered()}
		at[a.place()] = &a
	}
	for _, f := range failures {
		place := delivery.Place{At: f.At, WebhookID: f.WebhookID}
		if at[place] == nil {
			at[place] = &attempt{}
		}
		at[place].addFailure(f)
	}
	all := make([]attempt, 0, len(at))
	for _, a := range at {
		all = append(all, *a)
	}
	slices.SortFunc(all, func(a, b attempt) int {
		return cmp.Or(b.At.Compare(a.At), strings.Compare(b.WebhookID, a.WebhookID))
	})
	return all
}

// row is an attempt as the pages show it.
type row struct {
	attempt
	topic
	Reason  string // the answer, in the reader's language
	Number  int    // of the attempt, from 1
	Millis  int    // duration, 0 if unknown
	Instant string // time in full precision
	Path    string // of its page
	State   string // text key of what happens to the webhook, "" for nothing
	Until   time.Time
	Waits   bool // the webhook is to be posted again
}

// topic is the message or the campaign that a webhook is about. Fields that are unknown or erased are empty.
type topic struct {
	CampaignID, Campaign string // Campaign is its name
	UID                  string
	Message              string // its ID
}

// ShortUID returns the uid as the pages show it.
func (s topic) ShortUID() string { return web.Short(s.UID, uidWeight) }

const uidWeight = 120

// rows reads what the attempts are about, and what happens to their webhooks.
func (s *Pages) rows(p *web.Page, e delivery.Endpoint, attempts []attempt) ([]row, error) {
	topics, err := s.topics(p.R.Context(), e.Tenant, attempts)
	if err != nil {
		return nil, err
	}
	return s.rowsAbout(p, e, attempts, topics)
}

// rowsAbout reads what happens to the webhooks of attempts. topics are what these are about, by position.
func (s *Pages) rowsAbout(p *web.Page, e delivery.Endpoint, attempts []attempt, topics []topic) ([]row, error) {
	deliveries, err := s.deliveriesOf(p.R.Context(), e, attempts)
	if err != nil {
		return nil, err
	}
	rows := make([]row, len(attempts))
	for i, a := range attempts {
		rows[i] = row{
			attempt: a, topic: topics[i], Reason: reason(p, a.Status, a.Code), Number: a.Attempt + 1, Millis: int(a.Took.Milliseconds()),
			Instant: a.At.UTC().Format(time.RFC3339Nano), Path: pageOf(e) + "/posts/" + pathOfPlace(a.place()),
		}
		if d, ok := a.pendingOf(deliveries); ok {
			rows[i].addState(d, s.Now())
		}
	}
	return rows, nil
}

const readsAtOnce = 8

// addState adds what happens to the webhook after an attempt: the delivery that will post it again.
func (r *row) addState(d delivery.Delivery, now time.Time) {
	switch {
	case d.Dead:
		r.State = "dead"
	case d.Parked:
		r.State, r.Waits = "parked", true
	case d.Attempt > r.Attempt+1:
		r.State = "later"
	case d.Next.After(now):
		r.State, r.Until, r.Waits = "at", d.Next, true
	default:
		r.State, r.Waits = "soon", true
	}
}

// deliveriesOf reads the deliveries that may post the webhooks of attempts again, by ID.
func (s *Pages) deliveriesOf(ctx context.Context, e delivery.Endpoint, attempts []attempt) (map[string]delivery.Delivery, error) {
	var ids []string
	for _, a := range attempts {
		ids = append(ids, a.deliveryIDs()...)
	}
	return s.Store.Deliveries(ctx, e.Tenant, e.ID, ids)
}

// deliveryIDs returns the IDs of the deliveries that may post the webhook of an attempt again: that of its failure, and
// that of only this webhook.
func (a attempt) deliveryIDs() (ids []string) {
	if a.CanResend() && a.Task.DeliveryID != "" {
		ids = append(ids, a.Task.DeliveryID)
	}
	if alone := a.alone(); a.CanResend() && alone != "" {
		ids = append(ids, alone)
	}
	return ids
}

// alone returns the ID of a delivery of only the attempt's webhook.
func (a attempt) alone() string {
	f := delivery.Failure{Tenant: a.Tenant, EndpointID: a.EndpointID, Kind: a.Kind, Entry: a.Entry, Blob: a.Blob}
	return f.Alone().ID
}

// pendingOf returns the delivery that will post the webhook of an attempt again, and false if there is none.
func (a attempt) pendingOf(deliveries map[string]delivery.Delivery) (d delivery.Delivery, ok bool) {
	for _, id := range a.deliveryIDs() {
		if d, ok = deliveries[id]; ok && (id == a.alone() || webhook.Awaits(d, a.Entry, a.Blob)) {
			return d, true
		}
	}
	return delivery.Delivery{}, false
}

// topics returns what attempts are about, by position: from the payload, or from the message of a failure.
func (s *Pages) topics(ctx context.Context, tenant string, attempts []attempt) ([]topic, error) {
	of := make([]topic, len(attempts))
	unread := map[campaign.BatchKey][]int{} // positions
	for i, a := range attempts {
		of[i] = posted(a.Payload)
		of[i].Message = cmp.Or(of[i].Message, a.MessageID)
		if key, _, ok := campaign.ParseMessageID(of[i].Message); ok && of[i].CampaignID == "" {
			unread[key] = append(unread[key], i)
		}
	}
	keys := slices.Collect(maps.Keys(unread))
	read, err := web.ReadEach(ctx, readsAtOnce, keys, func(ctx context.Context, key campaign.BatchKey) ([]topic, error) {
		return s.topicsIn(ctx, tenant, key, messagesAt(of, unread[key]))
	})
	if err != nil {
		return nil, err
	}
	for k, key := range keys {
		for n, i := range unread[key] {
			of[i].CampaignID, of[i].UID = read[k][n].CampaignID, read[k][n].UID
		}
	}
	return of, s.nameCampaigns(ctx, tenant, of)
}

// posted returns what a payload is about.
func posted(payload []byte) topic {
	var doc struct {
		Data webhook.Data `json:"data"`
	}
	_ = json.Unmarshal(payload, &doc) // an unreadable payload is about nothing
	return topic{CampaignID: doc.Data.CampaignID, UID: doc.Data.UID, Message: doc.Data.MessageID}
}

func messagesAt(of []topic, positions []int) (indexes []int) {
	for _, i := range positions {
		_, index, _ := campaign.ParseMessageID(of[i].Message)
		indexes = append(indexes, index)
	}
	return indexes
}

// topicsIn returns the campaign of a tenant's batch with the uids of its messages, in the order of indexes. They are empty
// if they are deleted, or if the batch is another tenant's.
func (s *Pages) topicsIn(ctx context.Context, tenant string, key campaign.BatchKey, indexes []int) ([]topic, error) {
	of := make([]topic, len(indexes))
	b, err := s.Store.FindBatch(ctx, key)
	if errors.Is(err, campaign.ErrDamaged) || err == nil && b.Tenant != tenant {
		return of, nil
	}
	if err != nil {
		return of, campaign.IgnoreNotFound(err)
	}
	messages, err := s.Messages.Contents(ctx, b, indexes)
	for n, i := range indexes {
		of[n] = topic{CampaignID: b.CampaignID, UID: messages[i].UID}
	}
	return of, ignoreExpired(err)
}

// ignoreExpired returns nil if the contents of a batch were deleted at the end of their retention.
func ignoreExpired(err error) error {
	if httpapi.IsGone(err) {
		return nil
	}
	return err
}

const maxStandings = 50

func (s *Pages) nameCampaigns(ctx context.Context, tenant string, of []topic) error {
	var ids []string
	for _, o := range of {
		if _, ok := campaign.ParseUUID(o.CampaignID); ok {
			ids = append(ids, o.CampaignID)
		}
	}
	slices.Sort(ids)
	names := map[string]string{}
	for some := range slices.Chunk(slices.Compact(ids), maxStandings) {
		standings, err := s.Store.Standings(ctx, tenant, some)
		if err != nil {
			return err
		}
		for id, c := range standings {
			names[id] = c.Name
		}
	}
	for i := range of {
		of[i].Campaign = web.Short(cmp.Or(names[of[i].CampaignID], of[i].CampaignID), nameWeight)
	}
	return nil
}
