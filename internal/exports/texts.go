package exports

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/phone/e164"
)

//go:embed texts.json
var textsFile []byte

type statusText struct{ PT, EN string }

// texts are the headings by language, and the texts of statuses in the languages of the pages.
var texts = sync.OnceValue(func() (t struct {
	Headings map[string]map[string]string
	Statuses map[string]statusText
},
) {
	if err := json.Unmarshal(textsFile, &t); err != nil {
		panic(err) // the file is embedded in the binary
	}
	return t
})

// The languages of exports.
const (
	portuguese = "pt-BR"
	english    = "en"
)

// outcomeColumns and rejectedColumns are the columns of each kind. The outcomes of a campaign in waves have waveColumn too,
// the last one.
var (
	outcomeColumns  = []string{"number", "uid", "status", "reason", "sent", "delivered", "read", "ended", "taps", "clicks"}
	rejectedColumns = []string{"line", "number", "code", "reason"}
)

const waveColumn = "wave"

// bom marks a file as UTF-8 for spreadsheets.
const bom = "\ufeff"

// table writes lines in the form of an export.
type table struct {
	export.Export
	file    []byte
	lines   int
	columns variables // of export.Recipients
	inWaves bool      // outcomes have waveColumn
}

func (t *table) separator() byte {
	if t.Format == export.Excel {
		return ';'
	}
	return ','
}

func (t *table) addHeading() {
	if t.Kind == export.Recipients {
		t.addRaw(append([]string{"phone", "uid"}, t.columns.names...))
		return
	}
	if t.Format == export.Excel {
		t.file = append(t.file, bom...)
	}
	columns := outcomeColumns
	switch {
	case t.Kind == export.Rejected:
		columns = rejectedColumns
	case t.inWaves:
		columns = slices.Concat(columns, []string{waveColumn})
	}
	headings := make([]string, len(columns))
	for i, column := range columns {
		headings[i] = texts().Headings[t.Language][column]
	}
	t.file = campaign.AppendRow(t.file, t.separator(), headings...)
}

func (t *table) add(cells ...string) {
	t.file = campaign.AppendRow(t.file, t.separator(), cells...)
	t.lines++
}

// addOutcome adds a line of outcomeColumns. A wave of 0 is none.
func (t *table) addOutcome(wave int, cells ...string) {
	switch {
	case t.inWaves && wave > 0:
		cells = append(cells, strconv.Itoa(wave))
	case t.inWaves:
		cells = append(cells, "")
	}
	t.add(cells...)
}

func (t *table) time(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case t.Format == export.Excel:
		return localtime.Brazilian(at)
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

// phone returns a number in the form that Excel takes for text, as it would round one without spaces.
// Files of campaigns can have both forms.
func (t *table) phone(number string) string {
	const end = 4 // digits of the last group
	if t.Format != export.Excel || len(number) <= end {
		return number
	}
	head, tail := number[:len(number)-end], number[len(number)-end:]
	if brazilian, ok := strings.CutPrefix(head, "+55"); ok && len(brazilian) > 2 {
		return "+55 " + brazilian[:2] + " " + brazilian[2:] + "-" + tail
	}
	return head + " " + tail
}

// outcome returns the status of a message. The words of a message that was not sent say why.
func (t *table) outcome(c campaign.Change) string {
	if code, _ := c.Why(); t.inWords() && texts().Statuses[code] != (statusText{}) {
		return t.status(code)
	}
	return t.status(c.Status())
}

// inWords reports whether statuses are in words. Programs that read the plain file in English get the API's codes.
func (t *table) inWords() bool { return t.Language == portuguese || t.Format == export.Excel }

func (t *table) status(code string) string {
	switch {
	case !t.inWords():
		return code
	case t.Language == portuguese:
		return texts().Statuses[code].PT
	}
	return texts().Statuses[code].EN
}

// rejection returns why a number was rejected.
func (t *table) rejection(l campaign.ErrorLine) string {
	if t.Language != portuguese {
		return l.Reason
	}
	return cmp.Or(e164.InPortuguese(l.Code, l.Reason), l.Reason)
}

func (t *table) reason(c campaign.Change) string {
	if c.Outcome == "" {
		return ""
	}
	code, reason := c.Why()
	if code == "" || t.Language != portuguese {
		return reason
	}
	row, _ := campaign.DescribeCode(code)
	return row.Reason.Portuguese
}
