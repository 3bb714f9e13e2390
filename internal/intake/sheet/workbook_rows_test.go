package sheet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// linesOf returns the header and the rows of a workbook, with the faults of the rows.
func linesOf(t *testing.T, file []byte, reading submission.Reading) (lines []string) {
	t.Helper()
	f, err := sheet.Open(t.Context(), bytes.NewReader(file), int64(len(file)), reading)
	if err != nil {
		return []string{err.Error()}
	}
	lines = append(lines, strings.Join(f.Columns, "|"))
	for {
		row, err := f.Next()
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			return append(lines, err.Error())
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprint(row.Line, " ", strings.Join(row.Cells, "|"), " ", row.Fault)))
	}
}

func visibleRow(text string) string { return `<row>` + cell(text) + `</row>` }

func hiddenRow(text string) string { return `<row hidden="1">` + cell(text) + `</row>` }

// A cell far to the right costs its row, and nothing if only its format is there.
func TestNext_FarCells(t *testing.T) {
	t.Parallel()
	format, stray := `<c r="XFD1" s="1"/>`, `<c r="XFD2"><v>1</v></c>`
	got := linesOf(t, workbook(t, `<row>`+cell("phone")+format+`</row><row>`+cell("1")+format+`</row><row>`+cell("2")+stray+`</row>`+visibleRow("3"), nil), submission.Reading{})
	for i, line := range got {
		got[i] = strings.ReplaceAll(line, "||", "")
	}
	if diff := cmp.Diff([]string{"phone", "2 1", "3 2|1 too_many_cells", "4 3"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A row that nobody sees gets no message: hidden by a filter or by hand, or of no height. The header is the first row
// that a person sees.
func TestNext_HiddenRows(t *testing.T) {
	t.Parallel()
	many := strings.Repeat(hiddenRow("x"), 150)
	for name, test := range map[string]struct {
		sheet       string
		want, shown []string // without and with the hidden rows
	}{
		"hidden": {
			visibleRow("phone") + visibleRow("1") + hiddenRow("2") + `<row hidden="true">` + cell("3") + `</row><row hidden="0">` + cell("4") + `</row>`,
			[]string{"phone", "2 1", "3 2 hidden_row", "4 3 hidden_row", "5 4"},
			[]string{"phone", "2 1", "3 2", "4 3", "5 4"},
		},
		"without height": {
			visibleRow("phone") + `<row ht="0" customHeight="1">` + cell("1") + `</row><row ht="12.75">` + cell("2") + `</row>`,
			[]string{"phone", "2 1 hidden_row", "3 2"},
			[]string{"phone", "2 1", "3 2"},
		},
		"hidden by default": {
			`<sheetFormatPr zeroHeight="1"/>` + visibleRow("phone") + visibleRow("1") + hiddenRow("2"),
			[]string{"phone", "2 1", "3 2 hidden_row"},
			[]string{"phone", "2 1", "3 2"},
		},
		"too many cells too": {
			visibleRow("phone") + `<row hidden="1">` + cell("1") + cell("2") + `</row>`,
			[]string{"phone", "2 1|2 hidden_row"},
			[]string{"phone", "2 1|2 too_many_cells"},
		},
		"before the header": {
			hiddenRow("technical") + `<row hidden="1"/>` + visibleRow("phone") + visibleRow("1"),
			[]string{"phone", "1 technical hidden_row", "4 1"},
			[]string{"phone", "1 technical", "4 1"},
		},
		"all": {
			hiddenRow("phone") + hiddenRow("1"),
			[]string{"phone", "2 1 hidden_row"},
			[]string{"phone", "2 1"},
		},
		"empty": {
			visibleRow("phone") + `<row hidden="1"/><row hidden="1"><c s="1"/></row>` + visibleRow("1"),
			[]string{"phone", "4 1"},
			[]string{"phone", "4 1"},
		},
		"very many before the header": {
			hiddenRow("phone") + many,
			append([]string{"phone"}, numbered(150, " x hidden_row")...),
			append([]string{"phone"}, numbered(150, " x")...),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := workbook(t, test.sheet, nil)
			if diff := cmp.Diff(test.want, linesOf(t, file, submission.Reading{})); diff != "" {
				t.Errorf("left out (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.shown, linesOf(t, file, submission.Reading{Hidden: true})); diff != "" {
				t.Errorf("included (-want +got):\n%s", diff)
			}
		})
	}
}

func numbered(count int, text string) (lines []string) {
	for n := range count {
		lines = append(lines, fmt.Sprint(n+2, text))
	}
	return lines
}

// A person sees the first lines that are sent.
func TestFirst_WithoutHiddenRows(t *testing.T) {
	t.Parallel()
	file := workbook(t, visibleRow("phone")+strings.Repeat(hiddenRow("x"), 50)+visibleRow("1")+hiddenRow("x")+visibleRow("2"), nil)
	f, err := sheet.Open(t.Context(), bytes.NewReader(file), int64(len(file)), submission.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := f.First()
	if diff := cmp.Diff([][]string{{"1"}, {"2"}}, first); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// sheets returns a workbook with the sheets A to C, of which C is hidden.
func sheets(t *testing.T, a, b, c string) []byte {
	t.Helper()
	return workbook(t, "", map[string]string{
		"xl/workbook.xml": `<workbook xmlns:r="x"><sheets><sheet name="A" r:id="rId1"/><sheet name="B" r:id="rId2"/>` +
			`<sheet name="C" state="hidden" r:id="rId3"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Target="a.xml"/><Relationship Id="rId2" Target="/xl/b.xml"/>` +
			`<Relationship Id="rId3" Target="c.xml"/></Relationships>`,
		"xl/a.xml": `<worksheet>` + a + `</worksheet>`, "xl/b.xml": `<worksheet>` + b + `</worksheet>`, "xl/c.xml": `<worksheet>` + c + `</worksheet>`,
	})
}

// The file says which sheet it reads, and which visible ones have rows.
func TestOpen_Sheets(t *testing.T) {
	t.Parallel()
	data := func(rows string) string { return `<sheetData>` + rows + `</sheetData>` }
	list, other := data(visibleRow("phone")+visibleRow("1")), data(visibleRow("phone")+visibleRow("2"))
	blank := data(`<row><c s="1"/><c t="inlineStr"><is><t> </t></is></c></row>`)
	for name, test := range map[string]struct {
		file   []byte
		sheet  string // that a person chose
		read   string
		sheets []string
		lines  []string
	}{
		"one":              {sheets(t, list, data(""), other), "", "A", []string{"A"}, []string{"phone", "2 1"}},
		"two":              {sheets(t, list, other, other), "", "A", []string{"A", "B"}, []string{"phone", "2 1"}},
		"the second":       {sheets(t, list, other, other), "B", "B", []string{"A", "B"}, []string{"phone", "2 2"}},
		"the first empty":  {sheets(t, blank, other, list), "", "B", []string{"B"}, []string{"phone", "2 2"}},
		"all empty":        {sheets(t, blank, blank, list), "", "A", nil, []string{"file of recipients: empty"}},
		"hidden chosen":    {sheets(t, list, other, other), "C", "", nil, []string{"file of recipients: sheet_missing"}},
		"another damaged":  {sheets(t, list, "<sheetData><row", ""), "", "A", []string{"A", "B"}, []string{"phone", "2 1"}},
		"rows of nothing":  {sheets(t, list, data(strings.Repeat(`<row><c s="1"/></row>`, 1000)), ""), "", "A", []string{"A"}, []string{"phone", "2 1"}},
		"a hidden row":     {sheets(t, list, data(hiddenRow("2")), ""), "", "A", []string{"A", "B"}, []string{"phone", "2 1"}},
		"a number alone":   {sheets(t, list, data(`<row><c><v>5</v></c></row>`), ""), "", "A", []string{"A", "B"}, []string{"phone", "2 1"}},
		"text behind rows": {sheets(t, list, data("")+`<oddHeader><t>x</t></oddHeader>`, ""), "", "A", []string{"A"}, []string{"phone", "2 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reading := submission.Reading{Sheet: test.sheet}
			if diff := cmp.Diff(test.lines, linesOf(t, test.file, reading)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
			f, err := sheet.Open(t.Context(), bytes.NewReader(test.file), int64(len(test.file)), reading)
			if err != nil {
				return
			}
			if diff := cmp.Diff(test.sheets, f.Sheets); diff != "" || f.Sheet != test.read {
				t.Errorf("reads %q, want %q; sheets (-want +got):\n%s", f.Sheet, test.read, diff)
			}
			wrong, _ := errors.AsType[*submission.Fault](f.Chosen(test.sheet))
			if unclear := test.sheet == "" && len(test.sheets) > 1; unclear != (wrong != nil) {
				t.Errorf("got %v from Chosen", wrong)
			}
		})
	}
}

// Finding the rows of other sheets reads a limited part of them.
func TestOpen_LargeOtherSheet(t *testing.T) {
	t.Parallel()
	file := sheets(t, `<sheetData>`+visibleRow("phone")+visibleRow("1")+`</sheetData>`,
		`<sheetData>`+strings.Repeat(`<row r="1" spans="1:2"><c r="A1" s="1"/><c r="B1" s="1"/></row>`, 1<<17)+`</sheetData>`, "")
	f, err := sheet.Open(t.Context(), bytes.NewReader(file), int64(len(file)), submission.Reading{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A", "B"}, f.Sheets); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What a spreadsheet shows of a phone number or of a customer's code is read only if it has all digits.
func TestRow_ID(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ format, value, shown, id string }{
		"exponent":        {"0.00E+00", "5511987654321", "5,51E+12", "5511987654321"},
		"thousands":       {"#,##0", "5511987654321", "5.511.987.654.321", "5511987654321"},
		"decimals":        {"0.00", "5511987654321", "5511987654321,00", "5511987654321"},
		"scaled":          {"#,##0,", "5511987654321", "5.511.987.654", "5511987654321"},
		"percent":         {"0%", "11987654321", "1198765432100%", "11987654321"},
		"a phone number":  {"(00) 00000-0000", "11987654321", "(11) 98765-4321", "(11) 98765-4321"},
		"leading zeros":   {"000000000000", "11987654321", "011987654321", "011987654321"},
		"another country": {`"+351 "000000000`, "912345678", "+351 912345678", "+351 912345678"},
		"a code":          {"00000", "42", "00042", "00042"},
		"without format":  {"General", "5.511987654321E12", "5511987654321", "5511987654321"},
		"invisible":       {`"";`, "11987654321", "", "11987654321"},
		"a text":          {"@", "11987654321", "11987654321", "11987654321"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := workbook(t, `<row>`+cell("phone")+cell("uid")+`</row><row><c s="1"><v>`+test.value+`</v></c>`+cell("x")+`</row>`, map[string]string{
				"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="` + strings.ReplaceAll(test.format, `"`, "&quot;") + `"/></numFmts>` +
					`<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
			})
			f, err := sheet.Open(t.Context(), bytes.NewReader(file), int64(len(file)), submission.Reading{})
			if err != nil {
				t.Fatal(err)
			}
			row, err := f.Next()
			if err != nil || row.Cell(0) != test.shown || row.ID(0) != test.id {
				t.Errorf("shown %q, read as %q, want %q and %q (%v)", row.Cell(0), row.ID(0), test.shown, test.id, err)
			}
			if !row.Contains(func(text string) bool { return text == test.id }) {
				t.Error("the row does not contain the number")
			}
		})
	}
}

// A person in the first line is known by the number, whatever the format shows.
func TestOpen_NumberInHeader(t *testing.T) {
	t.Parallel()
	got := linesOf(t, workbook(t, `<row><c s="1"><v>5511987654321</v></c></row>`+visibleRow("1"), map[string]string{
		"xl/styles.xml": `<styleSheet><cellXfs><xf numFmtId="0"/><xf numFmtId="11"/></cellXfs></styleSheet>`,
	}), submission.Reading{})
	if diff := cmp.Diff([]string{"5511987654321", "2 1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Texts, dates in words and the two truths are read as the workbook shows them.
func TestOpen_OtherCells(t *testing.T) {
	t.Parallel()
	got := linesOf(t, workbook(t, `<row>`+cell("a")+`</row><row><c s="1" t="str"><v>Ana</v></c></row><row><c s="2" t="d"><v>2025-12-09T18:00:00Z</v></c></row>`+
		`<row><c t="d"><v>2025-12-09</v></c></row><row><c t="b"><v>0</v></c></row><row><c s="99"><v>1.5</v></c></row><row><c s="x"><v>1.5</v></c></row>`, map[string]string{
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="&quot;Sra. &quot;@"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="164"/><xf numFmtId="22"/></cellXfs></styleSheet>`,
	}), submission.Reading{})
	want := []string{"a", "2 Sra. Ana", "3 09/12/2025 18:00", "4 2025-12-09", "5 FALSO", "6 1,5", "7 1,5"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// No row is lost, whatever is hidden, empty or too wide.
func FuzzWorkbook(f *testing.F) {
	f.Add([]byte("vhvewVHhz"), `<numFmt numFmtId="164" formatCode="0.00"/>`, "1.5")
	f.Add([]byte("hhhhv"), `<numFmt numFmtId="164" formatCode="# ??/??;;;@"/>`, "-1e300")
	kinds := map[byte]string{
		'v': `<row><c s="1"><v>VALUE</v></c><c t="inlineStr"><is><t>x</t></is></c></row>`,
		'h': `<row hidden="1"><c t="inlineStr"><is><t>x</t></is></c><c s="1"><v>VALUE</v></c></row>`,
		'z': `<row ht="0"><c t="inlineStr"><is><t>x</t></is></c></row>`, 'w': `<row><c/><c/><c/><c/><c t="b"><v>1</v></c></row>`,
		'e': `<row><c s="1"/></row>`, 'r': `<row r="7"><c t="inlineStr"><is><t>x</t></is></c></row>`,
	}
	f.Fuzz(func(t *testing.T, rows []byte, formats, value string) {
		var sheetRows strings.Builder
		filled := 0
		for _, kind := range rows[:min(len(rows), 1000)] {
			if row, known := kinds[kind]; known {
				sheetRows.WriteString(strings.ReplaceAll(row, "VALUE", escaped(value)))
			}
			if strings.IndexByte("vhzwr", kind) >= 0 {
				filled++
			}
		}
		file := workbook(t, sheetRows.String(), map[string]string{
			"xl/styles.xml": `<styleSheet><numFmts>` + formats + `</numFmts><cellXfs><xf/><xf numFmtId="164"/></cellXfs></styleSheet>`,
		})
		for _, hidden := range []bool{false, true} {
			read := linesOf(t, file, submission.Reading{Sheet: "Lista", Hidden: hidden})
			if refused := strings.HasPrefix(read[len(read)-1], "file of recipients:"); !refused && len(read) != filled {
				t.Errorf("%d of %d rows are read: %q", len(read), filled, read)
			}
		}
	})
}

func escaped(value string) string {
	return strings.NewReplacer("<", "&lt;", "&", "&amp;", "]]>", "").Replace(strings.ToValidUTF8(value, ""))
}

// A formula that no spreadsheet has calculated has no value: some programs write 0 in its place. Its row is no empty one.
func TestNext_FormulasWithoutResult(t *testing.T) {
	t.Parallel()
	formula := func(value string) string { return `<c><f>B1*0.9</f>` + value + `</c>` }
	sheetOf := `<row>` + cell("phone") + cell("valor") + `</row><row>` + cell("1") + formula("<v>0</v>") + `</row><row>` + cell("2") + formula("<v>9</v>") +
		`</row><row>` + cell("3") + formula("<v/>") + `</row><row>` + formula("<v></v>") + formula("") + `</row><row><c t="e"><v>#N/A</v></c></row>` +
		`<row><c t="str"><f>A9</f><v></v></c></row><row>` + cell("4") + `<c><v>0</v></c></row>`
	const book = `<workbook xmlns:r="r"><sheets><sheet name="A" r:id="rId3"/></sheets><calcPr calcId="124519" fullCalcOnLoad="1"/></workbook>`
	for name, test := range map[string]struct {
		more map[string]string
		want []string
	}{
		"of a program":     {map[string]string{"xl/workbook.xml": book}, []string{"phone|valor", "2 1", "3 2|9", "4 3", "5", "6", "8 4|0"}},
		"of a spreadsheet": {nil, []string{"phone|valor", "2 1|0", "3 2|9", "4 3", "5", "6", "8 4|0"}},
	} {
		if diff := cmp.Diff(test.want, linesOf(t, workbook(t, sheetOf, test.more), submission.Reading{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
