package readback

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/e164"
	"campaign-dispatch/internal/gateway"
	"campaign-dispatch/internal/numberset"
)

// maxScan is how many batches one request looks through. What lies behind them
// is for the next one: a page may be short, or empty, and not the last.
const maxScan = 25

// statusPending is the status of a message that has no outcome yet.
const statusPending = "pending"

type messagesAnswer struct {
	CampaignID string          `json:"campaignId"`
	Messages   []messageAnswer `json:"messages"`
	NextCursor string          `json:"nextCursor,omitempty"`
}

type messageAnswer struct {
	MessageID string     `json:"messageId"`
	BatchID   string     `json:"batchId"`
	Batch     string     `json:"batch,omitempty"`
	UID       string     `json:"uid"`
	Phone     string     `json:"phone"`
	Status    string     `json:"status"`
	UpdatedAt *time.Time `json:"updatedAt,omitempty"`
	Code      string     `json:"code,omitempty"`
	Reason    string     `json:"reason,omitempty"`
}

// search is a request for messages.
type search struct {
	batches []campaign.Progress // those to look through, in their order
	status  string
	phone   string // E.164 with the leading +
	uid     string
	hasUID  bool
	from    place
	limit   int
}

// place is where a page begins: the ordinal of a batch, and an index in it.
type place struct{ ordinal, index int }

func (p place) String() string { return fmt.Sprintf("%d.%d", p.ordinal, p.index) }

// ServeMessages answers a page of a campaign's messages.
func (s *Service) ServeMessages(w http.ResponseWriter, r *http.Request) error {
	c, err := s.open(r)
	if err != nil {
		return err
	}
	q, err := s.readSearch(r, c)
	if err != nil {
		return err
	}
	a := messagesAnswer{CampaignID: r.PathValue("campaignId"), Messages: []messageAnswer{}}
	if err := s.scan(r.Context(), q, &a); err != nil {
		return err
	}
	gateway.WriteJSON(w, http.StatusOK, a)
	return nil
}

func (s *Service) readSearch(r *http.Request, c campaign.Campaign) (search, error) {
	values := r.URL.Query()
	q := search{batches: c.Batches, status: values.Get("status"), uid: values.Get("uid"), hasUID: values.Has("uid")}
	var err error
	if q.limit, err = limitOf(r); err != nil {
		return q, err
	}
	if !slices.Contains(statuses, q.status) {
		return q, badRequest("invalid_status", "status must be one of "+strings.Join(statuses[1:], ", ")+".")
	}
	if text := values.Get("cursor"); text != "" {
		_, err := fmt.Sscanf(text, "%d.%d", &q.from.ordinal, &q.from.index)
		if err != nil || q.from.String() != text || q.from.ordinal < 0 || q.from.index < 0 {
			return q, badCursor()
		}
	}
	err = s.narrow(r.Context(), c, values, &q)
	return q, err
}

var statuses = []string{
	"", statusPending, string(campaign.OutcomeSent), string(campaign.OutcomeDelivered), string(campaign.OutcomeRead),
	string(campaign.OutcomeFailed), string(campaign.OutcomeExpired), string(campaign.OutcomeRevoked), string(campaign.OutcomeStopped),
}

// narrow leaves the batches that can hold what is asked for.
func (s *Service) narrow(ctx context.Context, c campaign.Campaign, values url.Values, q *search) error {
	if values.Has("batch") {
		b, ok := c.Find(values.Get("batch"))
		if !ok {
			return noBatch()
		}
		q.batches = []campaign.Progress{b}
	} else if q.hasUID {
		return badRequest("batch_required", "uid is looked up within one batch: name the batch too.")
	}
	if values.Has("phone") {
		return s.narrowByPhone(ctx, c.ID, values.Get("phone"), q)
	}
	return nil
}

func (s *Service) narrowByPhone(ctx context.Context, id campaign.ID, text string, q *search) error {
	// A + that was not escaped arrives as a space.
	if rest, ok := strings.CutPrefix(text, " "); ok {
		text = "+" + rest
	}
	number, rejection := e164.Parse([]byte(text), e164.AsWritten)
	if rejection != nil {
		return badRequest("invalid_phone", rejection.Reason)
	}
	q.phone = number.String()
	sets, err := s.Store.PackedSets(ctx, id)
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	holds := map[int]bool{}
	for _, set := range sets {
		numbers, err := numberset.Unpack(set.Packed)
		if err != nil {
			return fmt.Errorf("read the numbers of batch %d: %w", set.Ordinal, err)
		}
		_, holds[set.Ordinal] = slices.BinarySearch(numbers, uint64(number))
	}
	q.batches = slices.DeleteFunc(slices.Clone(q.batches), func(b campaign.Progress) bool { return !holds[b.Ordinal] })
	return nil
}

// scan looks through the batches until the page is full or it has seen enough.
func (s *Service) scan(ctx context.Context, q search, a *messagesAnswer) error {
	scanned := 0
	for _, b := range q.batches {
		if b.Ordinal < q.from.ordinal || !q.mayMatch(b) {
			continue
		}
		start := 0
		if b.Ordinal == q.from.ordinal {
			start = q.from.index
		}
		if scanned++; scanned > maxScan || len(a.Messages) == q.limit {
			a.NextCursor = place{b.Ordinal, start}.String()
			return nil
		}
		next, err := s.scanBatch(ctx, q, b.Batch, start, a)
		if err != nil {
			return err
		}
		if next < b.Accepted {
			a.NextCursor = place{b.Ordinal, next}.String()
			return nil
		}
	}
	return nil
}

// mayMatch tells whether a batch has a message of the status that is asked for.
func (q search) mayMatch(b campaign.Progress) bool {
	switch q.status {
	case "":
		return b.Accepted > 0
	case statusPending:
		return b.Pending() > 0
	}
	return b.Head.Counts[campaign.Outcome(q.status)] > 0
}

// scanBatch adds the batch's messages from start on that are asked for, until the
// page is full, and returns the index after the last one that it judged.
func (s *Service) scanBatch(ctx context.Context, q search, b campaign.Batch, start int, a *messagesAnswer) (next int, err error) {
	all, err := s.changes(ctx, b)
	if err != nil {
		return start, err
	}
	latest := map[int]campaign.Change{} // the log holds only what superseded the outcome before
	for _, c := range all {
		latest[c.Index] = c
	}
	byContent := q.phone != "" || q.hasUID
	var indexes []int
	for next = start; next < b.Accepted && (byContent || len(a.Messages)+len(indexes) < q.limit); next++ {
		if q.status == "" || q.status == statusOf(latest[next]) {
			indexes = append(indexes, next)
		}
	}
	messages, err := s.contents(ctx, b, indexes)
	if err != nil {
		return start, err
	}
	for _, i := range indexes {
		m := messages[i]
		if q.phone != "" && m.Phone != q.phone || q.hasUID && m.UID != q.uid {
			continue
		}
		if len(a.Messages) == q.limit {
			return i, nil
		}
		a.Messages = append(a.Messages, newMessageAnswer(b, i, m, latest[i]))
	}
	return next, nil
}

func statusOf(c campaign.Change) string {
	if c.Outcome == "" {
		return statusPending
	}
	return string(c.Outcome)
}

func newMessageAnswer(b campaign.Batch, index int, m campaign.Message, c campaign.Change) messageAnswer {
	a := messageAnswer{
		MessageID: b.Key.MessageID(index), BatchID: b.BatchID, Batch: b.Name, UID: m.UID, Phone: m.Phone,
		Status: statusOf(c), UpdatedAt: instant(c.At),
	}
	if c.Outcome != "" {
		a.Code, a.Reason = c.Why()
	}
	return a
}
