package intake_test

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/intake/submission"
)

const headerRow = `<row><c t="str"><v>phone</v></c><c t="str"><v>uid</v></c><c t="str"><v>nome</v></c></row>`

// twoSheets returns a workbook with the sheets A and B, whose numbers have formats: phone in 0.00E+00, uid in 00000, and
// nome as an amount.
func twoSheets(t *testing.T, a, b string) []byte {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for name, text := range map[string]string{
		"xl/workbook.xml":            `<workbook xmlns:r="x"><sheets><sheet name="A" r:id="a"/><sheet name="B" r:id="b"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="a" Target="a.xml"/><Relationship Id="b" Target="b.xml"/></Relationships>`,
		"xl/styles.xml": `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="00000"/><numFmt numFmtId="165" formatCode="&quot;R$&quot; #,##0.00"/></numFmts>` +
			`<cellXfs><xf numFmtId="0"/><xf numFmtId="11"/><xf numFmtId="164"/><xf numFmtId="165"/></cellXfs></styleSheet>`,
		"xl/a.xml": `<worksheet><sheetData>` + a + `</sheetData></worksheet>`,
		"xl/b.xml": `<worksheet><sheetData>` + b + `</sheetData></worksheet>`,
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
	return file.Bytes()
}

func personRow(phone, attributes string) string {
	return `<row` + attributes + `><c s="1"><v>` + phone + `</v></c><c s="2"><v>42</v></c><c s="3"><v>129.9</v></c></row>`
}

// Of a workbook with rows in two sheets, nothing is checked before a person has chosen one.
func TestTake_Sheets(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	file := twoSheets(t, headerRow+personRow("5511988880001", ""), headerRow+personRow("5511988880002", ""))
	sub := c.take(file, time.Minute)
	if diff := cmp.Diff([]string{"A", "B"}, sub.Columns.Sheets); diff != "" || sub.State != submission.StateColumns || sub.Columns.Sheet != "A" {
		t.Fatalf("%s, reads %q (-want +got):\n%s", sub.State, sub.Columns.Sheet, diff)
	}
	c.must(c.Check(t.Context(), sub, sub.Columns.Chosen, c.t1))
	if sub = c.stored(sub); sub.State != submission.StateColumns {
		t.Fatalf("%s, want it to wait for the choice", sub.State)
	}
	sub.State, sub.Reading.Sheet = submission.StateOpening, "B"
	c.queue.tasks = append(c.queue.tasks, submission.Task{Tenant: sub.Tenant, CampaignID: c.save(sub).CampaignID})
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateReady || sub.Columns.Sheet != "B" || len(sub.Columns.Sheets) != 2 {
		t.Fatalf("%s, %q, reads %q", sub.State, sub.Fault.Code, sub.Columns.Sheet)
	}
	if m := c.onlyMessage(sub); m.Number != 5511988880002 || m.UID != "00042" || m.Vars["nome"] != "R$ 129,90" {
		t.Errorf("%+v", m)
	}
}

func (c *company) onlyMessage(sub submission.Submission) submission.Message {
	c.t.Helper()
	body, err := c.blobs.Get(c.t.Context(), sub.PartKey(1))
	c.must(err)
	m, err := submission.DecodeOne(body, 0)
	c.must(err)
	return m
}

// A row that nobody sees in the workbook gets no message. Who has a row that is seen too gets one.
func TestTake_HiddenRows(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	file := twoSheets(t, headerRow+personRow("5511988880001", ` hidden="1"`)+personRow("5511988880001", "")+personRow("5511988880002", ` hidden="1"`), "")
	sub := c.take(file, time.Minute)
	want := []submission.LineFault{{Code: "hidden_row", Lines: submission.Lines{Count: 2, First: []int{2, 4}}}}
	if diff := cmp.Diff(want, sub.Check.Findings.Omitted); diff != "" || sub.State != submission.StateReady || sub.Check.Findings.Accepted != 1 {
		t.Errorf("%s, %d accepted (-want +got):\n%s", sub.State, sub.Check.Findings.Accepted, diff)
	}
	var left []int
	for l, err := range c.LeftOut(t.Context(), sub) {
		c.must(err)
		left = append(left, l.Line)
	}
	if diff := cmp.Diff([]int{2, 4}, left); diff != "" {
		t.Errorf("left out (-want +got):\n%s", diff)
	}
}

// The review warns of a symbol that both the text and the cell have.
func TestTake_DoubledSymbol(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.t1 = campaign.Template{ID: random.UUID(), Tenant: c.tenant, Version: 1, Name: "p", Content: content.Content{Text: "Total: R$ {{nome}}"}}
	_, err := c.store.PutTemplate(t.Context(), c.t1)
	c.must(err)
	sub := c.take(twoSheets(t, headerRow+personRow("5511988880001", "")+personRow("5511988880002", ""), ""), time.Minute)
	want := []submission.LineFault{{Code: "R$", Column: "nome", Lines: submission.Lines{Count: 2, First: []int{2, 3}}}}
	if diff := cmp.Diff(want, sub.Check.Findings.Doubled); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
