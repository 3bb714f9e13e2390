package exports

import (
	_ "embed"
	"encoding/json"
	"sync"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/exports/export"
)

//go:embed texts.json
var textsFile []byte

// texts are the headings by language, and the Portuguese texts of statuses and rejections by
// code. The English ones are those of the API.
var texts = sync.OnceValue(func() (t struct {
	Headings             map[string]map[string]string
	Statuses, Rejections map[string]string
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

// outcomeColumns and rejectedColumns are the columns of each kind.
var (
	outcomeColumns  = []string{"number", "uid", "status", "reason", "sent", "delivered", "read", "ended", "taps", "clicks"}
	rejectedColumns = []string{"line", "number", "code", "reason"}
)

// bom marks a file as UTF-8 for spreadsheets.
const bom = "\ufeff"

// table writes lines in the form of an export.
type table struct {
	export.Export
	file    []byte
	lines   int
	columns variables // of export.Recipients
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
	if t.Kind == export.Rejected {
		columns = rejectedColumns
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

func (t *table) time(at time.Time) string {
	switch {
	case at.IsZero():
		return ""
	case t.Format == export.Excel:
		return localtime.Brazilian(at)
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z")
}

// translate returns the Portuguese text of a code, or the English one.
func (t *table) translate(texts map[string]string, code, english string) string {
	if text := texts[code]; text != "" && t.Language == portuguese {
		return text
	}
	return english
}

// status returns the status of a message. The Portuguese text of messages that were not sent says why.
func (t *table) status(c campaign.Change) string {
	code, _ := c.Why()
	status := c.Status()
	return t.translate(texts().Statuses, code, t.translate(texts().Statuses, status, status))
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
