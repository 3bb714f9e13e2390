package campaignupload

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/dispatchclient"
)

// part is one dispatch call of a campaign: a batch of as many rows as it takes.
type part struct {
	number int // from 1; the name of its batch
	rows   []row
}

func (p part) batch() string { return strconv.Itoa(p.number) }

// lines are where the part's messages stand in the file.
func (p part) lines() []int {
	lines := make([]int, len(p.rows))
	for i, r := range p.rows {
		lines[i] = r.line
	}
	return lines
}

func partsOf(rows []row) (parts []part) {
	for rows := range slices.Chunk(rows, campaign.MaxMessages) {
		parts = append(parts, part{len(parts) + 1, rows})
	}
	return parts
}

// call is the dispatch call of a part.
func (u upload) call(t table, p part) dispatchclient.Call {
	c := dispatchclient.Call{
		CampaignID: u.CampaignID, Name: u.Name, TemplateID: u.TemplateID, Batch: p.batch(),
		Schedule: u.Schedule, NotAfter: u.NotAfter, Messages: make([]dispatchclient.Message, 0, len(p.rows)), Lines: p.lines(),
	}
	for _, r := range p.rows {
		c.Messages = append(c.Messages, dispatchclient.Message{Phone: r.cell(t.phone), UID: r.cell(t.uid), Vars: t.variables(r)})
	}
	return c
}

// findings are what there is to say about a campaign before it is sent.
type findings struct {
	Rows     int // that hold anything
	Accepted int
	General  []string   // what is wrong with the campaign
	Lines    []finding  // what is wrong with lines
	More     bool       // there are more of them
	Rejected []finding  // numbers that will be left out
	Repeated []repeated // numbers that an earlier line has
	Checked  int        // lines that were judged before the time was over; 0 for all

	late bool // it is too late for the schedule
}

type finding struct {
	Line int
	What string // a number, or the name of a column
	Why  string
}

const (
	// maxLines is how many findings of a kind on lines a page shows.
	maxLines = 20
	// maxErrors is how many violations an answer names.
	maxErrors = 100
	// whatWeight is what a number or the name of a column weighs on a page.
	whatWeight = 100
)

// add takes in what was found on a part.
func (s *Pages) add(f *findings, p *web.Page, t table, part part, v dispatchclient.Verdict) {
	f.Accepted += v.Accepted
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
		f.Lines = append(f.Lines, finding{part.rows[index].line, web.Short(rest, whatWeight), why})
	}
	f.More = f.More || len(f.Lines) > maxLines || len(v.Errors) >= maxErrors
	f.Lines = f.Lines[:min(len(f.Lines), maxLines)]
	f.reject(p, t, part.rows, v.Feedback.InvalidPhones)
}

// reject finds the lines of the rejected numbers. They are told in the order of the
// messages, shortened where they are very long.
func (f *findings) reject(p *web.Page, t table, rows []row, all []dispatchclient.Rejected) {
	for _, r := range rows {
		if len(all) == 0 {
			return
		}
		if number := r.cell(t.phone); echoes(all[0].Phone, number) {
			why := p.Known("rejection."+all[0].Code, all[0].Reason)
			if shortened(number) {
				why = p.T("sending.shortened")
			}
			f.Rejected = append(f.Rejected, finding{r.line, web.Short(all[0].Phone, whatWeight), why})
			all = all[1:]
		}
	}
}

// echoes reports whether an answer's phone is the number, of which an answer repeats
// maxEcho characters.
func echoes(phone, number string) bool {
	return phone == number || (utf8.RuneCountInString(phone) == maxEcho && strings.HasPrefix(number, phone))
}

const maxEcho = 100

// shortened reports whether a spreadsheet has made 5,51199E+12 of a number.
func shortened(number string) bool {
	mantissa, exponent, found := strings.Cut(strings.ToUpper(number), "E+")
	digits := "0123456789"
	return found && strings.Trim(mantissa, digits+".,") == "" && exponent != "" && strings.Trim(exponent, digits) == ""
}

// place reads the pointer to a part of a message: its index, and the field or
// variable within it.
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

// ShownRejected are as many of the rejected numbers as a page shows.
func (f findings) ShownRejected() []finding { return f.Rejected[:min(len(f.Rejected), maxLines)] }

// ShownRepeated are as many of the repeated numbers as a page shows.
func (f findings) ShownRepeated() []repeated { return f.Repeated[:min(len(f.Repeated), maxLines)] }
