package sheet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// BenchmarkWorkbook reads workbooks of 20,000 rows with a number, a shared text, a date and a percentage.
func BenchmarkWorkbook(b *testing.B) {
	var rows strings.Builder
	rows.WriteString(`<row r="1"><c t="str"><v>phone</v></c><c t="str"><v>nome</v></c><c t="str"><v>dia</v></c><c t="str"><v>desconto</v></c></row>`)
	for n := range 20_000 {
		fmt.Fprintf(&rows, `<row r="%d"><c r="A%[1]d"><v>55119%08[1]d</v></c><c r="B%[1]d" t="s"><v>0</v></c>`+
			`<c r="C%[1]d" s="1"><v>46000</v></c><c r="D%[1]d" s="2"><v>0.125</v></c></row>`, n+2)
	}
	file := workbook(b, rows.String(), map[string]string{
		"xl/sharedStrings.xml": `<sst><si><t>João</t></si></sst>`,
		"xl/styles.xml":        `<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="10"/></cellXfs></styleSheet>`,
	})
	b.ReportAllocs()
	for b.Loop() {
		f, err := sheet.Open(b.Context(), bytes.NewReader(file), int64(len(file)), submission.Reading{})
		for err == nil {
			_, err = f.Next()
		}
		if !errors.Is(err, io.EOF) {
			b.Fatal(err)
		}
	}
}
