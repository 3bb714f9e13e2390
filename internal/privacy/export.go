package privacy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/query/search"
	"campaign-dispatch/internal/reach/lists"
	"campaign-dispatch/internal/webhook/delivery"
)

// Export is the service's data about a number of a tenant. Other programs read its
// JSON: members are only added. Times are in UTC (RFC 3339).
type Export struct {
	Tenant      string     `json:"tenant"`
	Phone       string     `json:"phone"` // E.164, or digits that are no number
	ExportedAt  time.Time  `json:"exportedAt"`
	OptOut      OptOut     `json:"optOut"`
	Lists       []string   `json:"lists"` // names of the lists that the number is on
	Messages    []Message  `json:"messages"`
	Rejected    []Rejected `json:"rejected"`
	Answers     []Answer   `json:"answers"`
	Events      []Event    `json:"events"`
	Replies     []Reply    `json:"replies"`
	TestNumbers []string   `json:"testNumbers"` // names of the tenant's saved number for tests
	Uploads     []Upload   `json:"uploads"`
	Posts       []Post     `json:"posts"`
}

// OptOut is the opt-out state of the number.
type OptOut struct {
	OptedOut bool       `json:"optedOut"`
	Since    *time.Time `json:"since,omitempty"`  // known for about eight days
	Origin   string     `json:"origin,omitempty"` // message, hand or file
}

// Place identifies a batch of a campaign.
type Place struct {
	CampaignID string    `json:"campaignId"`
	Campaign   string    `json:"campaign"`          // its name
	BatchID    string    `json:"batchId,omitempty"` // empty for an expired batch
	Batch      string    `json:"batch,omitempty"`   // its name
	AcceptedAt time.Time `json:"acceptedAt,omitzero"`
}

// Message is a message to the number, with its status changes.
type Message struct {
	Place
	MessageID       string            `json:"messageId,omitempty"` // at the provider
	ScheduledFor    *time.Time        `json:"scheduledFor,omitempty"`
	UID             string            `json:"uid,omitempty"`
	Variables       map[string]string `json:"variables,omitempty"`
	content.Content                   // as sent
	Status          string            `json:"status"`
	Changes         []Change          `json:"changes"`
	Taps            []search.Tap      `json:"taps,omitempty"`
	Clicks          []search.Tap      `json:"clicks,omitempty"`
	// ContentsDeleted reports that the message has expired and only the number is left.
	ContentsDeleted bool `json:"contentsDeleted,omitempty"`
}

// Change is a change of a message's status.
type Change struct {
	Status string    `json:"status"`
	At     time.Time `json:"at"`
	Code   string    `json:"code,omitempty"`
	Reason string    `json:"reason,omitempty"`
	List   string    `json:"list,omitempty"` // name of the list, for the code suppressed
}

// Rejected is a line of an error file: a number as received, which got no message.
type Rejected struct {
	Place
	Line   int    `json:"line"`
	Phone  string `json:"phone"`
	UID    string `json:"uid"`
	Code   string `json:"code"`
	Reason string `json:"reason"`
}

// Event is a reply, an opt-out or an opt-in of the person.
type Event struct {
	At         time.Time     `json:"at"`
	Kind       delivery.Kind `json:"kind,omitempty"` // of the event forwarded to the tenant's endpoints
	CampaignID string        `json:"campaignId,omitempty"`
	MessageID  string        `json:"messageId,omitempty"`
	Text       string        `json:"text,omitempty"`
	Postback   string        `json:"postback,omitempty"` // of a tapped suggestion
}

// Reply is a text that the person wrote, as the dashboard shows it.
type Reply struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Upload is a campaign file that waits in the dashboard, or a part of one that is not accepted yet or any more.
type Upload struct {
	Lines      []string `json:"lines"`                // lines with the number
	CampaignID string   `json:"campaignId,omitempty"` // of a part
}

// Nothing reports whether the export is empty, except for an opt-out.
func (x Export) Nothing() bool {
	return len(x.Messages)+len(x.Rejected)+len(x.Answers)+len(x.Events)+len(x.Replies)+len(x.Uploads)+len(x.Posts)+len(x.TestNumbers) == 0
}

// Export returns the tenant's data about a number.
func (d *Service) Export(ctx context.Context, tenant, phone string) (Export, error) {
	p, err := d.open(ctx, tenant, phone)
	if err != nil {
		return Export{}, err
	}
	x := &Export{
		Tenant: p.tenant.ID, Phone: p.sought.String(), ExportedAt: p.Now().UTC(),
		Messages: []Message{}, Rejected: []Rejected{}, Answers: []Answer{}, Events: []Event{}, Replies: []Reply{},
		Uploads: []Upload{}, Posts: []Post{}, TestNumbers: []string{},
	}
	for _, step := range []func(context.Context, *Export) error{
		p.exportOptOut, p.exportLists, p.exportCampaigns, p.exportAnswers, p.exportEvents,
		p.exportReplies, p.exportUploads, p.exportPosts, p.exportTestNumbers,
	} {
		if err := step(ctx, x); err != nil {
			return Export{}, fmt.Errorf("export: %w", err)
		}
	}
	slices.SortFunc(x.Messages, func(a, b Message) int {
		return cmp.Or(a.AcceptedAt.Compare(b.AcceptedAt), cmp.Compare(a.MessageID, b.MessageID))
	})
	slices.SortFunc(x.Rejected, func(a, b Rejected) int { return cmp.Or(a.AcceptedAt.Compare(b.AcceptedAt), a.Line-b.Line) })
	slices.SortFunc(x.Posts, func(a, b Post) int { return a.At.Compare(b.At) })
	slices.SortFunc(x.Events, func(a, b Event) int { return a.At.Compare(b.At) })
	return *x, nil
}

func (p *person) exportOptOut(ctx context.Context, x *Export) error {
	out, since, err := p.OptOuts.FirstOut(ctx, p.tenant.ID, p.phones)
	if x.OptOut.OptedOut = out != ""; !since.IsZero() {
		x.OptOut.Since = &since
	}
	if err != nil || out == "" {
		return err
	}
	origin, err := p.OptOuts.Origin(ctx, p.tenant.ID, out)
	x.OptOut.Origin = origin.String()
	return err
}

func (p *person) exportLists(ctx context.Context, x *Export) (err error) {
	x.Lists = []string{}
	for _, own := range p.sought.Numbers {
		names, err := p.Lists.ListsOf(ctx, p.tenant.ID, uint64(own))
		if err != nil {
			return err
		}
		x.Lists = append(x.Lists, names...)
	}
	slices.Sort(x.Lists)
	x.Lists = slices.Compact(x.Lists)
	p.listNames, err = lists.Names(ctx, p.tenant.ID, p.Lists.Lists)
	return err
}

func (p *person) exportCampaigns(ctx context.Context, x *Export) error {
	var mu sync.Mutex
	return p.eachCampaign(ctx, func(ctx context.Context, c dispatched) error {
		ended, err := p.endedOf(c)
		if err != nil {
			return err
		}
		mu.Lock()
		x.Messages = append(x.Messages, ended...)
		mu.Unlock()
		for _, b := range c.Batches {
			rejected, err := p.rejectedOf(ctx, c, b.Batch)
			if err != nil {
				return err
			}
			messages, err := p.messagesOf(ctx, c, b.Batch)
			if err != nil {
				return err
			}
			mu.Lock()
			x.Rejected, x.Messages = append(x.Rejected, rejected...), append(x.Messages, messages...)
			mu.Unlock()
		}
		return nil
	})
}

func (p *person) endedOf(c dispatched) (all []Message, err error) {
	for _, ordinal := range c.ended() {
		_, in, err := p.in(c.sets[ordinal])
		if err != nil {
			return nil, err
		}
		if in {
			all = append(all, deleted(Place{CampaignID: c.CampaignID, Campaign: c.Name}))
		}
	}
	return all, nil
}

// deleted returns a message of which only the number is left.
func deleted(place Place) Message {
	return Message{Place: place, Changes: []Change{}, ContentsDeleted: true}
}

func placeOf(c dispatched, b campaign.Batch) Place {
	return Place{CampaignID: c.CampaignID, Campaign: c.Name, BatchID: b.BatchID, Batch: b.Name, AcceptedAt: b.AcceptedAt}
}

func (p *person) rejectedOf(ctx context.Context, c dispatched, b campaign.Batch) ([]Rejected, error) {
	lines, err := p.errorLines(ctx, b)
	all := make([]Rejected, 0, len(lines))
	for _, l := range lines {
		n, _ := strconv.Atoi(l.Line)
		all = append(all, Rejected{placeOf(c, b), n, l.Phone, l.UID, l.Code, l.Reason})
	}
	return all, err
}

func (p *person) messagesOf(ctx context.Context, c dispatched, b campaign.Batch) ([]Message, error) {
	if _, in, err := p.in(c.sets[b.Ordinal]); err != nil || !in {
		return nil, err
	}
	messages, err := payload.LatestAll(ctx, p.Store.Campaigns.Batch, p.Blobs, b)
	if errors.Is(err, campaign.ErrNotFound) {
		return []Message{deleted(placeOf(c, b))}, nil
	}
	if err != nil {
		return nil, err
	}
	template, err := p.Store.Campaigns.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	if err != nil {
		return nil, err
	}
	changes, err := p.changesOf(ctx, b)
	if err != nil {
		return nil, err
	}
	taps, clicks, err := ledger.AllTaps(ctx, p.Store.Outcomes, b)
	if err != nil {
		return nil, err
	}
	var all []Message
	for i, m := range messages {
		if p.sought.Is(m.Phone) {
			x := newMessage(placeOf(c, b), b, i, m, template, changes[i])
			x.Taps, x.Clicks = search.TapsOf(template, m, i, taps), search.TapsOf(template, m, i, clicks)
			all = append(all, x)
		}
	}
	return all, nil
}

func (p *person) changesOf(ctx context.Context, b campaign.Batch) (map[int][]Change, error) {
	log, err := p.Store.Outcomes.Changes(ctx, b, 0, campaign.MaxChanges)
	if err != nil {
		return nil, err
	}
	changes := map[int][]Change{}
	for _, c := range log {
		code, reason := c.Why()
		changes[c.Index] = append(changes[c.Index], Change{
			Status: string(c.Outcome), At: c.At, Code: code, Reason: reason, List: p.listNames[c.List],
		})
	}
	return changes, nil
}

func newMessage(place Place, b campaign.Batch, index int, m campaign.Message, t campaign.Template, changes []Change) Message {
	sent := t.Render(m.Values)
	x := Message{
		Place: place, MessageID: b.Key.MessageID(index), UID: m.UID, Variables: map[string]string{},
		Content: sent, Status: campaign.MessagePending, Changes: append([]Change{}, changes...),
	}
	if b.Scheduled {
		x.ScheduledFor = &b.Due
	}
	for i, name := range t.Variables() {
		if i < len(m.Values) {
			x.Variables[name] = m.Values[i]
		}
	}
	if len(changes) > 0 {
		x.Status = changes[len(changes)-1].Status
	}
	return x
}

func (p *person) exportAnswers(ctx context.Context, x *Export) error {
	return p.eachAnswer(ctx, func(about []Answer, _ func() error) error {
		x.Answers = append(x.Answers, about...)
		return nil
	})
}

func (p *person) exportEvents(ctx context.Context, x *Export) error {
	var mu sync.Mutex
	return p.eachEvent(ctx, func(_ context.Context, h heard) error {
		event := Event{At: h.At.UTC(), Text: h.content.Text, Postback: h.content.Postback}
		if told := h.webhookEvent; told != nil {
			event = Event{At: told.At, Kind: told.Kind, CampaignID: told.CampaignID, MessageID: told.MessageID, Text: told.Text}
		}
		mu.Lock()
		defer mu.Unlock()
		x.Events = append(x.Events, event)
		return nil
	})
}

func (p *person) exportReplies(ctx context.Context, x *Export) error {
	found, err := p.Store.Outcomes.RepliesOf(ctx, p.tenant.ID, p.phones)
	for _, r := range slices.Backward(found) {
		x.Replies = append(x.Replies, Reply{At: r.At, Text: r.Text})
	}
	return err
}

func (p *person) exportUploads(ctx context.Context, x *Export) error {
	return p.eachUpload(ctx, func(key string, lines []string) error {
		u := Upload{Lines: lines}
		if isPart(key) {
			u.CampaignID = p.campaignOf(key)
		}
		x.Uploads = append(x.Uploads, u)
		return nil
	})
}
