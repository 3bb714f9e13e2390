package lists_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// bookRow returns a row of a workbook. attributes begin with a space.
func bookRow(attributes string, cells ...string) string {
	return "<row" + attributes + `><c t="str"><v>` + strings.Join(cells, `</v></c><c t="str"><v>`) + "</v></c></row>"
}

// twoSheets returns a workbook with the sheets Ativos and Antigos.
func twoSheets(t *testing.T, a, b string) string {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for name, text := range map[string]string{
		"xl/workbook.xml":            `<workbook xmlns:r="x"><sheets><sheet name="Ativos" r:id="a"/><sheet name="Antigos" r:id="b"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="a" Target="a.xml"/><Relationship Id="b" Target="b.xml"/></Relationships>`,
		"xl/a.xml":                   `<worksheet><sheetData>` + a + `</sheetData></worksheet>`,
		"xl/b.xml":                   `<worksheet><sheetData>` + b + `</sheetData></worksheet>`,
	} {
		part, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(part, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.String()
}

// A number that was corrected in one sheet is no number of another one.
func TestReview_WorkbookCorrections(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	names := bookRow("", "telefone", "nome")
	review := o.choose(twoSheets(t, names+bookRow("", "1", "Ana"), names+bookRow("", "2", "Bia")))
	sent := url.Values{"choices": {"1"}, "columns-of": {"Ativos"}, "column": {"0"}, "correct.2": {ana}}
	for sheet, want := range map[string]string{"Ativos": "Valid numbers 1", "Antigos": "Valid numbers 0"} {
		sent.Set("sheet", sheet)
		if page := o.admin.Post(review+"/reading", sent); !strings.Contains(page.Text(), want) {
			t.Errorf("%s: the page says %s", sheet, page.Text())
		}
	}
}

// A person chooses one of several sheets, and its column anew. A hidden row is left out until a person includes it.
func TestReview_Workbook(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	o.create()
	review := o.choose(twoSheets(t, bookRow("", "nome", "telefone")+bookRow("", "Ana", ana),
		bookRow("", "telefone", "recado")+bookRow("", bia, ana)+bookRow(` hidden="1"`, caio, ana)))
	for query, want := range map[string][]string{
		"": {"Choose how the file is read.", "Which sheet should be read?"},
		"?choices=1&sheet=Ativos&column=1&columns-of=Ativos":            {"Valid numbers 1 New 1 Already there 0 Lines with a problem 0"},
		"?choices=1&sheet=Antigos&column=1&columns-of=Ativos":           {"Valid numbers 1 New 1 Already there 0 Lines with a problem 1", "Row hidden in the workbook 1 line", "3 " + caio, "Include the hidden row"},
		"?choices=1&sheet=Antigos&column=1&columns-of=Antigos&hidden=1": {"Valid numbers 1", "Lines with a problem 0 Invalid numbers 0 Repeated numbers 1"},
		"?choices=1&sheet=Antigos&hidden=1":                             {"Valid numbers 2", "Lines with a problem 0 Invalid numbers 0 Repeated numbers 0"},
		"?choices=1&sheet=Outra":                                        {"The workbook has no sheet “Outra”"},
	} {
		page := o.admin.Get(review + query)
		for _, text := range want {
			if page.Status != http.StatusOK || !strings.Contains(page.Text(), text) {
				t.Errorf("%s: answered %d without %q: %s", query, page.Status, text, page.Text())
			}
		}
		if choice, _, _ := strings.Cut(strings.TrimPrefix(query, "?choices=1&sheet="), "&"); choice != "Outra" && choice != "" &&
			!strings.Contains(page.Body, `name="columns-of" value="`+choice+`"`) {
			t.Errorf("%s: the form does not say whose columns it shows", query)
		}
		if offered := strings.Contains(page.Body, `name="mode"`); offered != strings.Contains(page.Text(), "Valid numbers") {
			t.Errorf("%s: the page offers changes: %v", query, offered)
		}
	}
}
