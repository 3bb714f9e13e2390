package campaignupload

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/dispatchclient"
	"campaign-dispatch/internal/recipients"
)

// part is one dispatch call of a campaign: a batch with as many rows as a call holds.
type part struct {
	number int // from 1; also the batch name
	rows   []recipients.Row
}

func (p part) batch() string { return strconv.Itoa(p.number) }

// lines returns the file lines of the part's messages.
func (p part) lines() []int {
	lines := make([]int, len(p.rows))
	for i, r := range p.rows {
		lines[i] = r.Line
	}
	return lines
}

func partsOf(rows []recipients.Row) (parts []part) {
	for rows := range slices.Chunk(rows, campaign.MaxMessages) {
		parts = append(parts, part{len(parts) + 1, rows})
	}
	return parts
}

// call returns the dispatch call of a part.
func (u upload) call(t table, p part) dispatchclient.Call {
	c := dispatchclient.Call{
		CampaignID: u.CampaignID, Name: u.Name, TemplateID: u.TemplateID, Batch: p.batch(),
		Schedule: u.Schedule, NotAfter: u.NotAfter, Messages: make([]dispatchclient.Message, 0, len(p.rows)), Lines: p.lines(),
	}
	for _, r := range p.rows {
		c.Messages = append(c.Messages, dispatchclient.Message{Phone: r.Cell(t.Phone), UID: r.Cell(t.UID), Vars: t.Variables(r)})
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
	// maxErrors is the maximum number of violations in an answer.
	maxErrors = 100
	// whatWeight is the size in bytes of a number or a column name on a page.
	whatWeight = 100
)

// add adds the findings of a part.
func (s *Pages) add(f *findings, p *web.Page, t table, part part, v dispatchclient.Verdict) {
	f.Accepted += v.Accepted
	f.addPart(v)
	for _, e := range v.Errors {
		index, rest, of := place(e.Pointer)
		why := p.Known("refusal."+e.Code, e.Detail)
		if e.Code == "schedule_too_soon" {
			f.late, why = true, p.T("sending.too_soon", s.lead(p))
		}
		if !of || index >= len(part.rows) {
			if !slices.Contains(f.General, why) {
				f.General = append(f.General, why)
			}
			continue
		}
		f.Lines = append(f.Lines, finding{part.rows[index].Line, web.Short(rest, whatWeight), why})
	}
	f.More = f.More || len(f.Lines) > maxLines || len(v.Errors) >= maxErrors
	f.Lines = f.Lines[:min(len(f.Lines), maxLines)]
	f.reject(p, t, part.rows, v.Feedback.InvalidPhones)
	f.addInvalidURLs(part, v.InvalidURL)
}

func (f *findings) addInvalidURLs(part part, found dispatchclient.Places) {
	f.InvalidURLs += found.Count
	for _, pointer := range found.Pointers {
		if index, _, ok := place(pointer); ok && index < len(part.rows) && f.InvalidURLLine == 0 {
			f.InvalidURLLine = part.rows[index].Line
		}
	}
}

// reject finds the lines of rejected numbers. The answer lists them in the order of the
// messages, and cuts long ones.
func (f *findings) reject(p *web.Page, t table, rows []recipients.Row, all []dispatchclient.Rejected) {
	for _, r := range rows {
		if len(all) == 0 {
			return
		}
		if number := r.Cell(t.Phone); echoes(all[0].Phone, number) {
			why := p.Known("rejection."+all[0].Code, all[0].Reason)
			if shortened(number) {
				why = p.T("sending.shortened")
			}
			f.Rejected = append(f.Rejected, finding{r.Line, web.Short(all[0].Phone, whatWeight), why})
			all = all[1:]
		}
	}
}

// echoes reports whether an answer's phone is the number, cut to campaign.MaxEcho characters.
func echoes(phone, number string) bool {
	return phone == number || (utf8.RuneCountInString(phone) == campaign.MaxEcho && strings.HasPrefix(number, phone))
}

// shortened reports whether a spreadsheet has changed a number to a form like
// 5,51199E+12.
func shortened(number string) bool {
	mantissa, exponent, found := strings.Cut(strings.ToUpper(number), "E+")
	digits := "0123456789"
	return found && strings.Trim(mantissa, digits+".,") == "" && exponent != "" && strings.Trim(exponent, digits) == ""
}

// place parses the pointer to a part of a message: its index, and the field or variable
// in it.
func place(pointer string) (index int, rest string, ok bool) {
	tail, ok := strings.CutPrefix(pointer, "/messages/")
	if !ok {
		return 0, "", false
	}
	number, rest, _ := strings.Cut(tail, "/")
	index, err := strconv.Atoi(number)
	rest = strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(rest, "vars/"))
	return index, rest, err == nil
}

// ShownRejected returns the rejected numbers that a page shows.
func (f findings) ShownRejected() []finding { return f.Rejected[:min(len(f.Rejected), maxLines)] }

// ShownRepeated returns the repeated numbers that a page shows.
func (f findings) ShownRepeated() []repeated { return f.Repeated[:min(len(f.Repeated), maxLines)] }
