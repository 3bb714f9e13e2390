package dispatch

import (
	"strconv"

	"campaign-dispatch/internal/campaign"
)

// errorFileFrom is the smallest number of rejected phones for which an error file is
// written.
const errorFileFrom = 6

type answer struct {
	CampaignID string   `json:"campaignId"`
	Status     string   `json:"status"`
	Accepted   int      `json:"accepted"`
	Rejected   int      `json:"rejected"`
	Feedback   feedback `json:"feedback"`
}

type feedback struct {
	InvalidPhones []invalidPhone `json:"invalidPhones"`
	ErrorFileURL  string         `json:"errorFileUrl,omitempty"`
}

type invalidPhone struct {
	Phone  string `json:"phone"`
	Reason string `json:"reason"`
	Code   string `json:"code"`
}

// echo returns a phone or a name as sent, shortened to campaign.MaxEcho characters.
func echo(sent []byte) string {
	if len(sent) <= campaign.MaxEcho {
		return string(sent)
	}
	runes := []rune(string(sent))
	return string(runes[:min(len(runes), campaign.MaxEcho)])
}

func newAnswer(q *request) answer {
	a := answer{CampaignID: q.campaignID.value, Status: "sending", Feedback: feedback{InvalidPhones: []invalidPhone{}}}
	if q.schedule.present() {
		a.Status = "scheduled"
	}
	for i := range q.messages {
		m := &q.messages[i]
		if m.rejection == nil {
			a.Accepted++
			continue
		}
		a.Rejected++
		a.Feedback.InvalidPhones = append(a.Feedback.InvalidPhones,
			invalidPhone{echo(m.phone), m.rejection.Reason, m.rejection.Code})
	}
	return a
}

// errorFile returns the rejected messages as CSV. A row starts with the message's line in the
// person's file, or with its position in the call from 1.
func errorFile(q *request) []byte {
	file := campaign.ErrorFileHeader.AppendTo(nil)
	for i := range q.messages {
		if m := &q.messages[i]; m.rejection != nil {
			file = campaign.ErrorLine{
				Line: strconv.Itoa(q.line(i)), Phone: echo(m.phone), UID: string(m.uid),
				Code: m.rejection.Code, Reason: m.rejection.Reason,
			}.AppendTo(file)
		}
	}
	return file
}

func (q *request) line(i int) int {
	if i < len(q.lines) && q.lines[i] > 0 {
		return q.lines[i]
	}
	return i + 1
}
