package query

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/query/search"
	"campaign-dispatch/internal/reach/lists"
)

// maxScan is the number of batches that one request reads. A page may therefore be
// short or empty without being the last.
const maxScan = 25

type messagesAnswer struct {
	CampaignID string          `json:"campaignId"`
	Messages   []messageAnswer `json:"messages"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

type messageAnswer struct {
	MessageID string    `json:"messageId"`
	BatchID   string    `json:"batchId"`
	Batch     string    `json:"batch,omitempty"`
	UID       string    `json:"uid"`
	Phone     string    `json:"phone"`
	Status    string    `json:"status"`
	UpdatedAt time.Time `json:"updatedAt,omitzero"`
	Code      string    `json:"code,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	List      string    `json:"list,omitempty"` // name of the list that the number is on
	Erased    bool      `json:"erased,omitempty"`

	Taps   []search.Tap `json:"taps,omitempty"`
	Clicks []search.Tap `json:"clicks,omitempty"`
}

type scanRequest struct {
	batches []campaign.BatchProgress // batches to read, in order
	status  string
	sought  *phone.Sought // nil for any number
	uid     *string
	from    place
	limit   int

	reaction search.Reaction
}

// place is the start of a page: the ordinal of a batch and an index in it.
type place struct{ ordinal, index int }

func (p place) String() string { return fmt.Sprintf("%d.%d", p.ordinal, p.index) }

var messagesParameters = httpapi.Parameters{
	"batch": "invalid_batch", "status": "invalid_status", "phone": "invalid_phone", "uid": "invalid_uid",
	"cursor": "invalid_cursor", "limit": "invalid_limit",
}

// ServeMessages returns a page of a campaign's messages.
func (s *Service) ServeMessages(w http.ResponseWriter, r *http.Request) error {
	c, query, err := s.open(r, messagesParameters)
	if err != nil {
		return err
	}
	limit, err := query.Limit()
	if err != nil {
		return err
	}
	found, err := s.Find(r.Context(), c, askedOf(query, limit))
	if err != nil {
		return err
	}
	a := messagesAnswer{CampaignID: r.PathValue("campaignId"), Messages: []messageAnswer{}, NextCursor: found.Next}
	latest := make([]campaign.Change, len(found.Messages))
	for i, m := range found.Messages {
		latest[i] = m.Latest
	}
	names, err := s.listNames(r.Context(), c.Tenant, latest)
	if err != nil {
		return err
	}
	for _, m := range found.Messages {
		answer := newMessageAnswer(m)
		answer.List = names[m.Latest.List]
		a.Messages = append(a.Messages, answer)
	}
	httpapi.WriteJSON(w, http.StatusOK, a)
	return nil
}

// listNames returns the names of the lists of changes, by number.
func (s *Service) listNames(ctx context.Context, tenant string, changes []campaign.Change) (map[int]string, error) {
	if !slices.ContainsFunc(changes, func(c campaign.Change) bool { return c.List > 0 }) {
		return nil, nil //nolint:nilnil // no names
	}
	return lists.Names(ctx, tenant, s.Store.Lists)
}

func askedOf(query httpapi.Query, limit int) search.Query {
	given := func(name string) *string {
		if !query.Has(name) {
			return nil
		}
		value := query.Get(name)
		return &value
	}
	return search.Query{
		Batch: given("batch"), Status: query.Get("status"), Phone: given("phone"), UID: given("uid"),
		Cursor: query.Get("cursor"), Limit: limit,
	}
}

// Find returns a page of a campaign's messages. An invalid search returns a
// *httpapi.Problem.
func (s *Service) Find(ctx context.Context, c campaign.Campaign, asked search.Query) (search.Page, error) {
	q, err := s.readSearch(ctx, c, asked)
	if err != nil {
		return search.Page{}, err
	}
	found, err := s.scan(ctx, q)
	if err != nil {
		return found, err
	}
	return found, s.addTaps(ctx, found.Messages)
}

func (s *Service) readSearch(ctx context.Context, c campaign.Campaign, asked search.Query) (scanRequest, error) {
	q := scanRequest{batches: c.Batches, status: asked.Status, reaction: asked.Reaction, uid: asked.UID, limit: asked.Limit}
	if statuses := campaign.MessageStatuses(); q.status != "" && !slices.Contains(statuses, q.status) {
		return q, httpapi.BadRequest("invalid_status", "status must be one of "+strings.Join(statuses, ", ")+".")
	}
	if asked.Cursor != "" {
		_, err := fmt.Sscanf(asked.Cursor, "%d.%d", &q.from.ordinal, &q.from.index)
		if err != nil || q.from.String() != asked.Cursor || q.from.ordinal < 0 || q.from.index < 0 {
			return q, httpapi.BadRequest("invalid_cursor", httpapi.BadCursor)
		}
	}
	err := s.narrow(ctx, c, asked, &q)
	return q, err
}

// narrow keeps the batches that may contain matching messages.
func (s *Service) narrow(ctx context.Context, c campaign.Campaign, asked search.Query, q *scanRequest) error {
	if asked.Batch != nil {
		b, ok := c.Find(*asked.Batch)
		if !ok {
			return httpapi.NoBatch()
		}
		q.batches = []campaign.BatchProgress{b}
	} else if asked.UID != nil && !asked.AllBatches {
		return httpapi.BadRequest("batch_required", "uid requires batch: a uid is looked up within one batch.")
	}
	if asked.Phone != nil {
		return s.narrowByPhone(ctx, c.ID, *asked.Phone, q)
	}
	return nil
}

func (s *Service) narrowByPhone(ctx context.Context, id campaign.ID, text string, q *scanRequest) error {
	// An unescaped + arrives as a space.
	if rest, ok := strings.CutPrefix(text, " "); ok {
		text = "+" + rest
	}
	sought, found := phone.Seek(text)
	if !found {
		return httpapi.BadRequest("invalid_phone", "phone has no digits.")
	}
	q.sought = &sought
	holds := map[int]bool{}
	err := eachSet(ctx, s.Store, id, func(ordinal int, numbers numberset.Set) {
		holds[ordinal] = slices.ContainsFunc(sought.Numbers, func(n e164.Number) bool {
			_, in := slices.BinarySearch(numbers, uint64(n))
			return in
		})
	})
	q.batches = slices.DeleteFunc(slices.Clone(q.batches), func(b campaign.BatchProgress) bool { return !holds[b.Ordinal] })
	return err
}

// scan reads batches until the page is full or maxScan batches are read.
func (s *Service) scan(ctx context.Context, q scanRequest) (found search.Page, err error) {
	scanned := 0
	for _, b := range q.batches {
		if b.Ordinal < q.from.ordinal || !q.mayMatch(b) {
			continue
		}
		start := 0
		if b.Ordinal == q.from.ordinal {
			start = q.from.index
		}
		if scanned++; scanned > maxScan || len(found.Messages) == q.limit {
			found.Next = place{b.Ordinal, start}.String()
			return found, nil
		}
		next, err := s.scanBatch(ctx, q, b.Batch, start, &found)
		if err != nil {
			return found, err
		}
		if next < b.Accepted {
			found.Next = place{b.Ordinal, next}.String()
			return found, nil
		}
	}
	return found, nil
}

func (q scanRequest) mayMatch(b campaign.BatchProgress) bool {
	if !q.mayReact(b) {
		return false
	}
	switch q.status {
	case "":
		return b.Accepted > 0
	case campaign.MessagePending:
		return b.Pending() > 0
	}
	return b.Head.Counts[campaign.Outcome(q.status)] > 0
}

// scanBatch adds matching messages from index start until the page is full. It returns
// the index after the last message examined.
func (s *Service) scanBatch(ctx context.Context, q scanRequest, b campaign.Batch, start int, found *search.Page) (next int, err error) {
	if q.sought != nil || q.uid != nil {
		return s.scanContents(ctx, q, b, start, found)
	}
	latest, matches, err := s.matcher(ctx, q, b)
	if err != nil {
		return start, err
	}
	var indexes []int
	for next = start; next < b.Accepted && len(found.Messages)+len(indexes) < q.limit; next++ {
		if matches(next) {
			indexes = append(indexes, next)
		}
	}
	messages, err := s.Contents(ctx, b, indexes)
	if err != nil {
		return start, err
	}
	for _, i := range indexes {
		found.Messages = append(found.Messages, search.Message{Message: messages[i], Batch: b, Index: i, Latest: latest[i]})
	}
	return next, nil
}

// scanContents is scanBatch for searches by the messages' contents. It reads the
// outcomes only if a message matches.
func (s *Service) scanContents(ctx context.Context, q scanRequest, b campaign.Batch, start int, found *search.Page) (next int, err error) {
	messages, err := payload.LatestAll(ctx, s.Store.Batch, s.Blobs, b)
	if err != nil {
		return start, expired(err)
	}
	var indexes []int
	for i := start; i < len(messages); i++ {
		if m := messages[i]; !m.Erased() && (q.sought == nil || q.sought.Is(m.Phone)) && (q.uid == nil || m.UID == *q.uid) {
			indexes = append(indexes, i)
		}
	}
	if len(indexes) == 0 {
		return b.Accepted, nil
	}
	latest, matches, err := s.matcher(ctx, q, b)
	if err != nil {
		return start, err
	}
	for _, i := range indexes {
		if !matches(i) {
			continue
		}
		if len(found.Messages) == q.limit {
			return i, nil
		}
		found.Messages = append(found.Messages, search.Message{Message: messages[i], Batch: b, Index: i, Latest: latest[i]})
	}
	return b.Accepted, nil
}

func newMessageAnswer(m search.Message) messageAnswer {
	a := messageAnswer{
		MessageID: m.Batch.Key.MessageID(m.Index), BatchID: m.Batch.BatchID, Batch: m.Batch.Name, UID: m.UID, Phone: m.Phone.String(),
		Status: m.Latest.Status(), UpdatedAt: m.Latest.At, Erased: m.Erased(),
		Taps: m.Taps, Clicks: m.Clicks,
	}
	if m.Latest.Outcome != "" {
		a.Code, a.Reason = m.Latest.Why()
	}
	return a
}
