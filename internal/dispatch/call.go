package dispatch

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch/acceptance"
	"campaign-dispatch/internal/httpapi/jsonscan"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/phone/numberset"
	"campaign-dispatch/internal/reach"
)

// Dispatcher is the Service for the pages and workers of the service itself.
type Dispatcher interface {
	// Check returns what Accept would do. It changes nothing.
	Check(ctx context.Context, asked Call) (Verdict, error)
	// Accept accepts a call. The error is a *Refusal, or a failure after which the call may have been accepted.
	Accept(ctx context.Context, asked Call) (Receipt, error)
}

// Call is a dispatch call of a page or a worker.
type Call struct {
	campaign.ID
	Name, TemplateID, Batch string
	Schedule, NotAfter      string // "" for none
	// TemplateVersion is the only version to accept, 0 for the current one. A part is accepted with it, also if
	// there is a newer one since. A check, and a call that is not a part, find a fault then.
	TemplateVersion int
	// Part identifies a part of a campaign, "" for a call that is not one. A part that was
	// accepted before is accepted again without effect, whatever the call contains meanwhile. A
	// part is accepted without the messages whose numbers earlier batches of the campaign hold; a
	// check finds faults in them. A part of a rescheduled campaign has the campaign's time in place of its Schedule; without a
	// Schedule, it goes at once, but not before the campaign's time.
	Part string
	// Totals are the totals of the file before a part, and People the people of the part when it
	// was checked.
	Totals  campaign.SubmissionTotals
	People  int
	AskedBy string // email address of who asked for the campaign's approval, "" without one
	// Test makes a new campaign a test message: the list of campaigns and the results of days
	// leave it out. A further batch does not change what its campaign is.
	Test     bool
	Messages []Message
}

// Message is a message of a Call. Its Phone is read as a person writes a number.
type Message struct {
	Phone, UID string
	Vars       map[string]string
	Line       int // in the person's file, for the error file; 0 without a file
}

// Verdict is the result of a check.
type Verdict struct {
	Accepted    int // messages to valid numbers
	Rejected    []Rejection
	Faults      []Fault    // all of them, in the order of the rules
	Withheld    []Withheld // in the order of the call
	InvalidURLs []int      // indexes of the messages with a URL that is not https
	Classes     campaign.ClassCounts
	Priced      bool // there are prices
	Price       campaign.Money
	Budget      *campaign.BudgetFigures // nil without limits
}

// Withheld is an accepted message that would not be sent, because its recipient opted out or is on a list.
type Withheld struct {
	Message int // its index in the call
	reach.Why
	Class campaign.ClassCounts
}

// Rejection is a message with an invalid number.
type Rejection struct {
	Message int // its index in the call
	e164.Rejection
}

// Receipt is the result of an accepted call.
type Receipt struct {
	Accepted, Rejected int
	// InOtherBatches is the number of messages that a part was accepted without, because earlier batches of the campaign
	// hold their numbers.
	InOtherBatches int
}

// Refusal is the error of a call that was not accepted. Nothing was changed.
type Refusal struct {
	Faults []Fault                 // at least one, in the order of the rules
	Budget *campaign.BudgetFigures // for a call that exceeds the budget, nil otherwise
}

func (r *Refusal) Error() string { return "dispatch call refused: " + r.Faults[0].Code }

// Check returns what Accept would do with a call. It changes nothing. A part that was accepted
// before has no faults.
func (s *Service) Check(ctx context.Context, asked Call) (v Verdict, err error) {
	c := s.newCall(asked)
	err = s.settle(ctx, c, func(state acceptance.State, earlier numberset.Set) (err error) {
		if r, done := c.receipt(state); done {
			v = Verdict{Accepted: r.Accepted}
			return nil
		}
		v = c.verdict(state, c.check(state, earlier))
		v.Withheld, err = s.withheld(ctx, c, state.Template, time.Time{}) // those that are cached: a file has many parts
		return err
	})
	if err != nil {
		return v, fmt.Errorf("check a batch of campaign %s: %w", asked.CampaignID, err)
	}
	return v, nil
}

// Accept accepts a call. The error is a *Refusal, or a failure after which the call may have
// been accepted.
func (s *Service) Accept(ctx context.Context, asked Call) (r Receipt, err error) {
	c := s.newCall(asked)
	c.confirmed = asked.Part != ""
	err = s.settle(ctx, c, func(state acceptance.State, earlier numberset.Set) (err error) {
		var done bool
		if r, done = c.receipt(state); !done {
			err = s.decide(ctx, c, state, earlier)
			r = Receipt{c.staged.accepted, c.req.rejected(), len(c.elsewhere)}
		}
		return err
	})
	if err != nil {
		return Receipt{}, fmt.Errorf("accept a batch of campaign %s: %w", asked.CampaignID, err)
	}
	return r, nil
}

// newCall returns a call with the faults found in it alone.
func (s *Service) newCall(asked Call) *call {
	c := &call{tenant: asked.Tenant, asked: asked, now: s.Now()}
	req, found := asked.request()
	s.take(c, req, found)
	return c
}

// receipt returns the receipt of a part that was accepted before.
func (c *call) receipt(state acceptance.State) (r Receipt, done bool) {
	b := state.Batch
	if c.asked.Part == "" || b == nil || b.Part != c.asked.Part {
		return r, false
	}
	return Receipt{b.Accepted, b.Rejected, b.InOtherBatches}, true
}

func (c *call) verdict(state acceptance.State, found faults) Verdict {
	v := Verdict{Faults: found, Classes: c.bill.counts, Priced: c.bill.prices.Set(), Price: c.bill.cost()}
	for i := range c.req.messages {
		if r := c.req.messages[i].rejection; r != nil {
			v.Rejected = append(v.Rejected, Rejection{i, *r})
		}
	}
	v.Accepted = len(c.req.messages) - len(v.Rejected)
	_, v.InvalidURLs = c.unsendable(state.Template)
	if c.bill.budget != nil {
		v.Budget = c.bill.budget.Figures()
	}
	return v
}

// request returns what a client's call with the same fields is read into.
func (asked Call) request() (*request, faults) {
	messages, variables := asked.Messages[:min(len(asked.Messages), campaign.MaxMessages)], 0
	for _, m := range messages {
		variables += len(m.Vars)
	}
	q := &request{
		campaignID: textOf(asked.CampaignID), name: textOf(asked.Name), templateID: textOf(asked.TemplateID),
		batch: textOf(asked.Batch), schedule: textOf(asked.Schedule), notAfter: textOf(asked.NotAfter),
		kind: jsonscan.Array, messages: make([]message, 0, len(messages)), vars: make([]variable, 0, variables),
		lines: make([]int, 0, len(messages)),
	}
	var found faults
	for i, m := range messages {
		q.add(m)
		found.checkUID(i, q.messages[i].uid)
	}
	found.checkCount(len(asked.Messages))
	q.checkFields(&found)
	return q, found
}

func (q *request) add(m Message) {
	from := len(q.vars)
	for name, value := range m.Vars {
		text := valid(value)
		q.vars = append(q.vars, variable{
			value: []byte(text), name: q.names.add(len(q.vars)-from, []byte(valid(name))), kind: jsonscan.String,
			replaced: strings.ContainsRune(text, utf8.RuneError),
		})
	}
	written := valid(m.Phone)
	added := message{phone: []byte(written), uid: []byte(valid(m.UID)), vars: spanOf(from, len(q.vars))}
	added.number, added.rejection = phone.ParseTyped(written)
	q.messages, q.lines = append(q.messages, added), append(q.lines, m.Line)
}

// textOf returns a field, which is absent if it is empty.
func textOf(s string) text {
	if s == "" {
		return text{}
	}
	return text{valid(s), jsonscan.String}
}

// valid returns a text as UTF-8, which the text of a form may not be.
func valid(s string) string { return strings.ToValidUTF8(s, "\ufffd") }
