package sheet_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// read returns the header and the rows of a file, with the error that ended it.
func read(content []byte) (rows []string, err error) {
	return readFrom(bytes.NewReader(content), len(content))
}

func readFrom(file io.ReaderAt, size int) (rows []string, err error) {
	f, err := sheet.Open(context.Background(), file, int64(size), submission.Reading{})
	if err != nil {
		return nil, err
	}
	return rowsOf(f)
}

func rowsOf(f *sheet.File) (rows []string, err error) {
	rows = append(rows, strings.Join(f.Columns, "|"))
	for {
		row, err := f.Next()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		said := fmt.Sprint(row.Line, " ", strings.Join(row.Cells, "|"))
		if row.Fault != "" {
			said += " " + row.Fault
		}
		rows = append(rows, said)
	}
}

func TestOpen_CSV(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file string
		want []string
	}{
		"semicolons":       {"phone;uid\n1;a\n\n2; b \n", []string{"phone|uid", "2 1|a", "4 2|b"}},
		"byte order mark":  {"\ufeffphone,uid\n1,é\n", []string{"phone|uid", "2 1|é"}},
		"Windows-1252":     {"phone,uid\n1,Jos\xe9\n2,\x80\n", []string{"phone|uid", "2 1|José", "3 2|€"}},
		"sep":              {"sep=|\r\nphone|uid\r\n1|a\r\n", []string{"phone|uid", "3 1|a"}},
		"old Macs":         {"phone,uid\r1,a\r2,b\r", []string{"phone|uid", "2 1|a", "3 2|b"}},
		"quotes":           {"phone,uid\n1,\"a,\n\"\"b\"\"\"\n2,c\n", []string{"phone|uid", "2 1|a,\n\"b\"", "4 2|c"}},
		"trailing columns": {"phone,uid,\n1,a,,,\n2\n", []string{"phone|uid|", "2 1|a", "3 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := read([]byte(test.file))
			if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestOpen_Invalid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ file, code string }{
		"empty":               {"", "empty"},
		"blank":               {"\n,,\n", "empty"},
		"header alone":        {"phone,uid\n", "no_rows"},
		"NUL in the header":   {"phone,u\x00id\n1,a\n", "unreadable"},
		"a photo":             {"\xff\xd8\xff\xe0\x00\x10JFIF\x00", "no_list"},
		"a picture":           {"\x89PNG\r\n\x1a\n\x00", "no_list"},
		"a document":          {"%PDF-1.7\n", "no_list"},
		"a page":              {"\ufeff\r\n<HTML><table>\n<tr><td>phone</td></tr>\n", "no_list"},
		"XML of Excel 2003":   {"<?xml version=\"1.0\"?>\n<?mso-application progid=\"Excel.Sheet\"?>\n", "no_list"},
		"JSON":                {"[{\"phone\":\"1\"},\n{\"phone\":\"2\"}]\n", "no_list"},
		"contacts":            {"BEGIN:VCARD\nVERSION:3.0\nTEL:1\n", "no_list"},
		"Excel 97":            {"\xd0\xcf\x11\xe0 and so on", "workbook"},
		"a zip of nothing":    {"PK\x03\x04 and so on", "workbook_damaged"},
		"a column twice":      {"phone,uid,phone\n1,a,b\n", "twice"},
		"open quote":          {"phone,\"uid\n1,a\n", "quotes"},
		"a line of megabytes": {"phone,\"" + strings.Repeat("a", 3<<20) + "\"\n1,a\n", "many_columns"},
		"most lines differ":   {"phone,uid\n1,a\n2,b,c\n3,b,c\n", "columns"},
		"tabs, lines differ":  {"phone\tuid\n1\tb\tc\n", "columns_tab"},
		"another separator":   {"phone;uid\n11987654321,a\n", "columns"},
		"101 columns":         {strings.Repeat("a,", 100) + "b\n1\n", "many_columns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := read([]byte(test.file))
			wrong, ok := errors.AsType[*submission.Fault](err)
			if !ok || wrong.Code != test.code {
				t.Errorf("got %v, want %s", err, test.code)
			}
		})
	}
}

// workbook returns a workbook with the parts, and the least that each workbook has.
func workbook(tb testing.TB, sheet string, more map[string]string) []byte {
	tb.Helper()
	parts := map[string]string{
		"xl/workbook.xml": `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>` +
			`<sheet name="Lista" sheetId="7" r:id="rId3"/><sheet name="Outra" sheetId="8" r:id="rId4"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId4" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="rId3" Target="worksheets/sheet2.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml": `<worksheet><sheetData><row><c t="inlineStr"><is><t>wrong sheet</t></is></c></row></sheetData></worksheet>`,
		"xl/worksheets/sheet2.xml": `<worksheet><sheetData>` + sheet + `</sheetData></worksheet>`,
	}
	maps.Copy(parts, more)
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for name, content := range parts {
		part, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(part, content)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return file.Bytes()
}

func TestOpen_Workbook(t *testing.T) {
	t.Parallel()
	sheet := `<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c><c r="C1" t="inlineStr"><is><t>Data</t></is></c><c r="D1" t="str"><v>Valor</v></c></row>` +
		`<row r="3"><c r="A3"><v>5.5119876543210E12</v></c><c r="B3" t="s"><v>2</v></c><c r="C3" s="1"><v>46000</v></c><c r="D3"><v>12.5</v></c></row>` +
		`<row r="4"><c r="A4"><v>5511987654322</v></c><c r="C4" s="2"><v>46000.75</v></c><c r="D4" t="e"><v>#N/A</v></c></row>` +
		`<row r="5"><c r="B5" t="b"><v>1</v></c><c r="D5"><v>0.30000000000000004</v></c></row>`
	got, err := read(workbook(t, sheet, map[string]string{
		"xl/sharedStrings.xml": `<sst><si><t>phone</t></si><si><r><t>u</t></r><r><t>id</t></r></si><si><t xml:space="preserve"> José &amp; Zé </t><rPh><t>hint</t></rPh></si></sst>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="dd/mm/yyyy\ hh:mm"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/></cellXfs></styleSheet>`,
	}))
	want := []string{
		"phone|uid|Data|Valor", "3 5511987654321|José & Zé|09/12/2025|12,5", "4 5511987654322||09/12/2025 18:00", "5 |VERDADEIRO||0,3",
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestOpen_Percentages(t *testing.T) {
	t.Parallel()
	got, err := read(workbook(t, `<row><c t="str"><v>desconto</v></c></row><row><c s="0"><v>0.15</v></c></row><row><c s="1"><v>0.125</v></c></row>`+
		`<row><c s="2"><v>7.0000000000000007E-2</v></c></row><row><c s="3"><v>0.5</v></c></row>`, map[string]string{
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="0.0%;[Red]\-0.0%"/><numFmt numFmtId="165" formatCode="0.0&quot;%&quot;"/></numFmts>` +
			`<cellXfs><xf numFmtId="9"/><xf numFmtId="10"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>`,
	}))
	if diff := cmp.Diff([]string{"desconto", "2 15%", "3 12,50%", "4 7,0%", "5 0,5%"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestOpen_WorkbookTexts(t *testing.T) {
	t.Parallel()
	styles := `<styleSheet><numFmts><numFmt numFmtId="170" formatCode="0\ \d\i\a\s_d"/><numFmt numFmtId="171" formatCode="d\-mmm"/></numFmts>` +
		`<cellXfs><xf numFmtId="170"/><xf numFmtId="171"/></cellXfs></styleSheet>`
	got, err := read(workbook(t, `<row r="1"><c t="s"><v>0</v></c><c t="str"><v>dias</v></c><c t="str"><v>dia</v></c></row>`+
		`<row r="2"><c t="s"><v>1</v></c><c s="0"><v>30</v></c><c s="1"><v>46000</v></c></row>`+
		`<row r="3"><c t="s"><v>2</v></c></row>`, map[string]string{
		"xl/sharedStrings.xml": `<sst><si><t>phone</t></si><si><t>a_x000D_&#10;b_x005F_x_y_x0001_</t></si><si><t>'-10%</t></si></sst>`, "xl/styles.xml": styles,
	}))
	if diff := cmp.Diff([]string{"phone|dias|dia", "2 a\r\nb_x_y|30 dias|9-dez", "3 -10%"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// Workbooks of old Macs count days from 1904.
func TestOpen_DatesFrom1904(t *testing.T) {
	t.Parallel()
	got, err := read(workbook(t, `<row r="1"><c r="A1" t="inlineStr"><is><t>data</t></is></c></row><row r="2"><c r="A2" s="0"><v>44538</v></c></row>`, map[string]string{
		"xl/styles.xml": `<styleSheet><cellXfs><xf numFmtId="14"/></cellXfs></styleSheet>`,
		"xl/workbook.xml": `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><workbookPr date1904="1"/>` +
			`<sheets><sheet r:id="rId3"/></sheets></workbook>`,
	}))
	if diff := cmp.Diff([]string{"data", "2 09/12/2025"}, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestOpen_DamagedWorkbook(t *testing.T) {
	t.Parallel()
	whole := workbook(t, `<row r="1"><c r="A1" t="inlineStr"><is><t>phone</t></is></c></row><row r="2"><c r="A2"><v>1</v></c></row>`, nil)
	cut := workbook(t, `<row r="1"><c r="A1" t="inlineStr"><is><t>phone</t></is></c></row><row r="2"><c r="A2"><v>1`, map[string]string{
		"xl/worksheets/sheet2.xml": `<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>phone</t></is></c></row><row r="2"><c`,
	})
	wide := workbook(t, `<row r="1"><c r="A1"><v>1</v></c></row><row r="2"><c r="ZZZZZZZZZ2"><v>1</v></c></row>`, nil)
	for name, test := range map[string]struct {
		file []byte
		code string
	}{
		"cut off":    {whole[:len(whole)/2], "workbook_damaged"},
		"cut sheet":  {cut, "workbook_damaged"},
		"far column": {wide, "many_columns"},
	} {
		_, err := read(test.file)
		if wrong, ok := errors.AsType[*submission.Fault](err); !ok || wrong.Code != test.code {
			t.Errorf("%s: got %v, want %s", name, err, test.code)
		}
	}
}

func FuzzOpen(f *testing.F) {
	f.Add([]byte("phone;uid\n1;a\n"))
	f.Add(workbook(f, `<row r="1"><c r="A1" t="inlineStr"><is><t>phone</t></is></c></row><row r="2"><c r="A2" s="1"><v>1e300</v></c></row>`, nil))
	f.Fuzz(func(t *testing.T, content []byte) {
		rows, err := read(content)
		if _, known := errors.AsType[*submission.Fault](err); err != nil && !known {
			t.Errorf("%q: %v", rows, err)
		}
	})
}
