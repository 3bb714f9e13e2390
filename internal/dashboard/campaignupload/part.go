package campaignupload

import (
	"slices"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/recipients"
)

// part is one dispatch call of a campaign: a batch with as many rows as a call holds.
type part struct {
	number int // from 1; also the batch name
	rows   []recipients.Row
}

func (p part) batch() string { return strconv.Itoa(p.number) }

func partsOf(rows []recipients.Row) (parts []part) {
	for rows := range slices.Chunk(rows, campaign.MaxMessages) {
		parts = append(parts, part{len(parts) + 1, rows})
	}
	return parts
}

// call returns the dispatch call of a part. An upload never changes, so its campaign and the number
// identify the part.
func (u upload) call(p *web.Page, t table, part part) dispatch.Call {
	c := dispatch.Call{
		ID: campaign.ID{Tenant: p.Session.Tenant, CampaignID: u.CampaignID}, Name: u.Name, TemplateID: u.TemplateID,
		Batch: part.batch(), Part: campaign.Digest(u.CampaignID + "\n" + part.batch()),
		Schedule: u.Schedule, NotAfter: u.NotAfter, AskedBy: u.askedBy, Messages: make([]dispatch.Message, 0, len(part.rows)),
	}
	for _, r := range part.rows {
		c.Messages = append(c.Messages, dispatch.Message{Phone: r.Cell(t.Phone), UID: r.Cell(t.UID), Vars: t.Variables(r), Line: r.Line})
	}
	return c
}

// findings are the results of the check before a campaign is sent.
type findings struct {
	Rows     int // non-empty rows
	Accepted int
	General  []string   // errors of the campaign
	Lines    []finding  // errors of lines
	More     bool       // more than shown
	Rejected []finding  // numbers that will be skipped
	Repeated []repeated // numbers repeated from an earlier line
	Checked  int        // lines checked before the timeout; 0 for all
	price

	InvalidURLs    int // messages with a URL that is not https
	InvalidURLLine int // line of the first one

	late bool // it is too late for the schedule
}

type finding struct {
	Line int
	What string // a number, or the name of a column
	Why  string
}

const (
	// maxLines is the maximum number of findings of a kind on a page.
	maxLines = 20
	// whatWeight is the size in bytes of a number or a column name on a page.
	whatWeight = 100
)

// add adds the findings of a part.
func (s *Pages) add(f *findings, p *web.Page, t table, part part, v dispatch.Verdict) {
	f.Accepted += v.Accepted
	f.addPart(v)
	for _, fault := range v.Faults {
		why := p.Known("refusal."+fault.Code, fault.Detail)
		if fault.Code == "schedule_too_soon" {
			f.late, why = true, p.T("sending.too_soon", s.lead(p))
		}
		switch {
		case fault.Message >= 0:
			f.Lines = append(f.Lines, finding{part.rows[fault.Message].Line, web.Short(fault.Field, whatWeight), why})
		case !slices.Contains(f.General, why):
			f.General = append(f.General, why)
		}
	}
	f.More = f.More || len(f.Lines) > maxLines
	f.Lines = f.Lines[:min(len(f.Lines), maxLines)]
	f.reject(p, t, part.rows, v.Rejected)
	f.addInvalidURLs(part, v.InvalidURLs)
}

func (f *findings) addInvalidURLs(part part, messages []int) {
	if len(messages) > 0 && f.InvalidURLs == 0 {
		f.InvalidURLLine = part.rows[messages[0]].Line
	}
	f.InvalidURLs += len(messages)
}

// reject adds the lines of rejected numbers.
func (f *findings) reject(p *web.Page, t table, rows []recipients.Row, all []dispatch.Rejection) {
	for _, r := range all {
		row := rows[r.Message]
		number, why := row.Cell(t.Phone), p.Known("rejection."+r.Code, r.Reason)
		if shortened(number) {
			why = p.T("sending.shortened")
		}
		f.Rejected = append(f.Rejected, finding{row.Line, web.Short(number, whatWeight), why})
	}
}

// shortened reports whether a spreadsheet has changed a number to a form like
// 5,51199E+12.
func shortened(number string) bool {
	mantissa, exponent, found := strings.Cut(strings.ToUpper(number), "E+")
	digits := "0123456789"
	return found && strings.Trim(mantissa, digits+".,") == "" && exponent != "" && strings.Trim(exponent, digits) == ""
}

// ShownRejected returns the rejected numbers that a page shows.
func (f findings) ShownRejected() []finding { return f.Rejected[:min(len(f.Rejected), maxLines)] }

// ShownRepeated returns the repeated numbers that a page shows.
func (f findings) ShownRepeated() []repeated { return f.Repeated[:min(len(f.Repeated), maxLines)] }
