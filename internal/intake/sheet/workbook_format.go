package sheet

import (
	"archive/zip"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/campaign/pattern"
)

// format is what of a cell's number format is followed: the others differ in looks alone.
type format struct {
	date     bool // or a time
	percent  bool
	decimals int // of a percentage
}

func (w *workbook) readStyles(archive *zip.Reader) (map[int]format, error) {
	var styles struct {
		Formats []struct {
			ID   int    `xml:"numFmtId,attr"`
			Code string `xml:"formatCode,attr"`
		} `xml:"numFmts>numFmt"`
		Cells []struct {
			Format int `xml:"numFmtId,attr"`
		} `xml:"cellXfs>xf"`
	}
	if err := w.decode(archive, "xl/styles.xml", &styles); err != nil {
		return nil, err
	}
	if len(styles.Cells) > maxFormats || len(styles.Formats) > maxFormats {
		return nil, broken("workbook_large")
	}
	formats := map[int]format{9: {percent: true}, 10: {percent: true, decimals: 2}} // and the built-in dates
	for _, dates := range [][2]int{{14, 22}, {45, 47}} {
		for id := dates[0]; id <= dates[1]; id++ {
			formats[id] = format{date: true}
		}
	}
	for _, f := range styles.Formats {
		formats[f.ID] = parseFormat(f.Code)
	}
	byStyle := map[int]format{}
	for i, c := range styles.Cells {
		byStyle[i] = formats[c.Format]
	}
	return byStyle, nil
}

var (
	// literal matches what a format shows as it is: texts in quotes, colors and conditions in
	// brackets, and characters after a backslash, an underscore or an asterisk.
	literal  = pattern.AtFirstUse(`"[^"]*"?|\[[^\]]*\]?|[\\_*].?`)
	decimals = pattern.AtFirstUse(`\.(0*)`)
)

// parseFormat parses a number format. It shows a date or a time if it has a d, m, y, h or s.
func parseFormat(code string) format {
	plain := strings.ToLower(literal().ReplaceAllString(code, ""))
	if strings.ContainsAny(plain, "dmyhs") {
		return format{date: true}
	}
	f := format{percent: strings.Contains(plain, "%")}
	if places := decimals().FindStringSubmatch(plain); places != nil {
		f.decimals = len(places[1])
	}
	return f
}

// shown returns a value as the spreadsheet shows it. An error like #N/A is "".
func (w *workbook) shown(value, kind, style string) string {
	switch kind {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(w.shared) {
			return w.shared[i]
		}
		return ""
	case "e":
		return ""
	case "", "n":
		return w.numberText(value, style)
	}
	return unescape(value)
}

func (w *workbook) numberText(value, style string) string {
	i, err := strconv.Atoi(style)
	if err != nil {
		return plainNumber(value)
	}
	switch f := w.styles[i]; {
	case f.date:
		return w.dateText(value)
	case f.percent:
		return percentText(value, f.decimals)
	}
	return plainNumber(value)
}

// percentText returns 0.15 as 15%.
func percentText(value string, decimals int) string {
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	const hundred = 100
	return strings.Replace(strconv.FormatFloat(f*hundred, 'f', decimals, 64), ".", ",", 1) + "%"
}

// plainNumber returns a number without an exponent: 5511987654321 for 5.511987654321E12.
func plainNumber(value string) string {
	if !strings.ContainsAny(value, "eE.") {
		return value
	}
	f, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return value
	}
	const significant = 15 // digits that Excel keeps
	if rounded, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', significant, 64), 64); err == nil {
		f = rounded
	}
	return strings.Replace(strconv.FormatFloat(f, 'f', -1, 64), ".", ",", 1)
}

// dateText returns a day number as a date of Brazil, with the time if there is one.
func (w *workbook) dateText(value string) string {
	days, err := strconv.ParseFloat(value, 64)
	const last = 2958466 // the year 10000
	if err != nil || days < 0 || days >= last {
		return value
	}
	const secondsOfDay = 24 * 60 * 60
	seconds := int64(days*secondsOfDay + 0.5)
	at := w.epoch.AddDate(0, 0, int(seconds/secondsOfDay)).Add(time.Duration(seconds%secondsOfDay) * time.Second)
	switch {
	case days < 1:
		return at.Format("15:04")
	case seconds%secondsOfDay == 0:
		return at.Format("02/01/2006")
	}
	return at.Format("02/01/2006 15:04")
}
