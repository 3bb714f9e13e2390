package sheet

import (
	"archive/zip"
	"strconv"
	"strings"
	"time"

	"campaign-dispatch/internal/intake/sheet/numberformat"
)

// readStyles returns the number formats of the cells' styles. Each is parsed once. nil is General.
func (w *workbook) readStyles(archive *zip.Reader) ([]*numberformat.Format, error) {
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
	codes, formats := map[int]string{}, map[int]*numberformat.Format{}
	for _, f := range styles.Formats {
		codes[f.ID] = f.Code
	}
	byStyle := make([]*numberformat.Format, len(styles.Cells))
	for i, c := range styles.Cells {
		f, known := formats[c.Format]
		if !known {
			f = formatOf(c.Format, codes)
			formats[c.Format] = f
		}
		byStyle[i] = f
	}
	return byStyle, nil
}

func formatOf(id int, codes map[int]string) *numberformat.Format {
	if code, own := codes[id]; own {
		return numberformat.Parse(code)
	}
	return numberformat.Builtin(id)
}

// withoutResult reports whether the value of a formula is not its result. Programs that write formulas and calculate none
// leave the value out, or write 0.
func (w *workbook) withoutResult(value, kind string) bool {
	return kind == "" && (value == "" || value == "0" && w.uncalculated)
}

// shown returns a value as the spreadsheet shows it. plain is the number of a cell that has a
// format for numbers, as the workbook writes it, "" for others.
func (w *workbook) shown(value, kind, style string) (text, plain string) {
	switch kind {
	case "s":
		if i, err := strconv.Atoi(value); err == nil && i >= 0 && i < len(w.shared) {
			return w.format(style).Text(w.shared[i]), ""
		}
		return "", ""
	case "b":
		return truth(value), ""
	case "d":
		return w.isoDate(value, style), ""
	case "", "n":
		return w.numberText(value, style)
	}
	return w.format(style).Text(unescape(value)), ""
}

// format returns the format of a style, nil for General.
func (w *workbook) format(style string) *numberformat.Format {
	if i, err := strconv.Atoi(style); err == nil && i >= 0 && i < len(w.styles) {
		return w.styles[i]
	}
	return nil
}

func (w *workbook) numberText(value, style string) (text, plain string) {
	f := w.format(style)
	if text = f.Number(value, w.since1904); f != nil && !f.IsDate() {
		plain = value
	}
	return text, plain
}

func truth(value string) string {
	if isTrue(value) {
		return "VERDADEIRO"
	}
	return "FALSO"
}

// isTrue reads a boolean of XML.
func isTrue(value string) bool { return value == "1" || value == "true" }

// isoDate returns a date that is written in words, as the workbook's format shows it.
func (w *workbook) isoDate(value, style string) string {
	f := w.format(style)
	if f == nil || !f.IsDate() {
		return value
	}
	for _, layout := range []string{"2006-01-02T15:04:05.999999999", time.DateOnly} {
		if at, err := time.Parse(layout, strings.TrimSuffix(value, "Z")); err == nil {
			days := float64(at.Unix()-firstDay(w.since1904).Unix()) / (24 * 60 * 60)
			return f.Number(strconv.FormatFloat(days, 'f', -1, 64), w.since1904)
		}
	}
	return value
}

func firstDay(since1904 bool) time.Time {
	if since1904 {
		return time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	return time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
}
