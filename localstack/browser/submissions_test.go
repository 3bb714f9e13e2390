package browser_test

import (
	"archive/zip"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// workbook writes a workbook whose first sheet has the rows, and returns its path.
func workbook(t *testing.T, rows ...[]string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lista.xlsx")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	var sheet strings.Builder
	for n, row := range rows {
		fmt.Fprintf(&sheet, `<row r="%d">`, n+1)
		for _, cell := range row {
			fmt.Fprintf(&sheet, `<c t="inlineStr"><is><t>%s</t></is></c>`, cell)
		}
		sheet.WriteString(`</row>`)
	}
	archive := zip.NewWriter(file)
	for name, content := range map[string]string{
		"xl/workbook.xml":            `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet r:id="a"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="a" Target="worksheets/sheet1.xml"/></Relationships>`,
		"xl/worksheets/sheet1.xml":   `<worksheet><sheetData>` + sheet.String() + `</sheetData></worksheet>`,
	} {
		part, err := archive.Create(name)
		if err == nil {
			_, err = part.Write([]byte(content))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// A user sends a campaign from an Excel workbook whose columns have unknown names.
func TestSubmission_Workbook(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	word := rand.Text()[:8]
	b.write("Planilha "+word, "Oi {{nome}}")
	path := workbook(t, []string{"Contato", "Cadastro", "Cliente"},
		[]string{"21" + number(), "a", "Ana"}, []string{"21" + number(), "b", "João"}, []string{"21" + number(), "", "Rui"}, []string{"123", "d", "Eva"})
	b.click(`a[href^="/dashboard/campaigns/new?template="]`, `#file`)
	b.run("fill in the form", chromedp.SendKeys(`#name`, "Importada "+word), chromedp.SetUploadFiles(`#file`, []string{path}))
	b.click(`form[action="/dashboard/campaigns/new"] .actions button:not(.second)`, `#phone`)
	b.check("submission-columns")
	b.loadsWith(422, "send the form without columns", chromedp.Click(`form[action$="/columns"] button`), chromedp.WaitVisible(`[role=alert]`))
	b.check("submission-columns-refused")
	b.run("choose the columns", chromedp.SetValue(`#phone`, "0"), chromedp.SetValue(`#uid`, "1"), chromedp.SetValue(`#v0`, "2"))
	b.click(`form[action$="/columns"] button`, `form[action$="/confirm"] button`)
	b.check("submission-review")
	if shown := b.text(`main`); !strings.Contains(shown, "Enviar para 2 pessoas, 2 linhas ficam de fora") || !strings.Contains(shown, "O que ficou de fora") {
		t.Errorf("the review shows %q", shown)
	}
	b.run("show the next person's message", chromedp.Click(`#sample a[href*="person=2"]`), chromedp.WaitVisible(`//*[@id="sample"]//*[contains(., "João")]`))
	b.click(`form[action$="/confirm"] button`, `#live`)
	b.check("submission-sent")
	b.visit("/dashboard/submissions")
	b.check("submissions")
}

// A user saves a draft with a file that is too large for the form, opens it again, and goes on.
func TestSubmission_LargeDraft(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	word := rand.Text()[:8]
	b.write("Rascunho "+word, "Oi {{nome}}")
	file := "phone;uid;nome;notas\n21" + number() + ";a;Ana;" + strings.Repeat("x", 500) + "\n"
	path := filepath.Join(t.TempDir(), "grande.csv")
	if err := os.WriteFile(path, []byte(file+strings.Repeat("123;b;Bia;"+strings.Repeat("x", 500)+"\n", 10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	b.click(`a[href^="/dashboard/campaigns/new?template="]`, `#file`)
	b.run("fill in the form", chromedp.SendKeys(`#name`, "Grande "+word), chromedp.SetUploadFiles(`#file`, []string{path}))
	b.click(`#save-draft`, `form[action$="/delete"]`)
	b.check("drafts")
	b.click(fmt.Sprintf(`//a[contains(., "Grande %s")]`, word), `#file-hint`)
	if shown := b.text(`#file-hint`); !strings.Contains(shown, "grande.csv") {
		t.Errorf("the draft opens with %q", shown)
	}
	b.click(`form[action="/dashboard/campaigns/new"] .actions button:not(.second)`, `form[action$="/confirm"] button`)
	if shown := b.text(`main`); !strings.Contains(shown, "Enviar para 1 pessoa, 10.000 linhas ficam de fora") {
		t.Errorf("the review shows %q", shown)
	}
}

// A file that is dragged onto the field is chosen. A file that is dropped beside it leaves the page as it is.
func TestSubmission_DroppedFile(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	b.write("Arrastado "+rand.Text()[:8], "Oi {{nome}}")
	b.click(`a[href^="/dashboard/campaigns/new?template="]`, `#file`)
	drop := func(on, name string) {
		b.run("drop "+name, chromedp.Evaluate[chromedp.Void](fmt.Sprintf(`(() => {
			const dataTransfer = new DataTransfer();
			dataTransfer.items.add(new File(["telefone"], %q));
			for (const kind of ["dragover", "drop"]) {
				if (document.querySelector(%q).dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer }))) throw new Error("the browser opens the file");
			}
		})(); undefined`, name, on)))
	}
	drop(`h1`, "ao-lado.csv")
	drop(`label[for="file"]`, "lista.csv")
	if got := read(b, "read the file", chromedp.Evaluate[string](`[...document.getElementById("file").files].map(f => f.name).join()`)); got != "lista.csv" {
		t.Errorf("the field has the file %q", got)
	}
}

// A user has the ninth digit added to old numbers, and corrects a number on the review itself.
func TestSubmission_Corrected(t *testing.T) {
	t.Parallel()
	b := openAsAdmin(t, "pt-BR")
	word := rand.Text()[:8]
	b.write("Corrigida "+word, "Oi {{nome}}")
	old, right := "98"+number()[2:8], "21"+number()
	path := filepath.Join(t.TempDir(), "clientes.csv")
	file := "Celular;uid;nome\n(021) " + number() + ";a;Jo\xe3o\n21" + old + ";b;Ana\n" + right[2:] + ";c;Bia\n+351912345678;d;Concei\xe7\xe3o\n21" + number() + ";e;Rui;a mais\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	b.click(`a[href^="/dashboard/campaigns/new?template="]`, `#file`)
	b.run("fill in the form", chromedp.SendKeys(`#name`, "Corrigida "+word), chromedp.SetUploadFiles(`#file`, []string{path}))
	b.click(`form[action="/dashboard/campaigns/new"] .actions button:not(.second)`, `#correct`)
	b.check("submission-left-out")
	b.click(`#reading input[name="nine"]`, `#reading input[name="nine"]:checked`)
	b.click(`#reading button`, `#noted`)
	b.check("submission-nine")
	b.run("enter no number", chromedp.SetValue(`#correct-4`, "12"))
	b.loadsWith(422, "send the wrong number", chromedp.Click(`#correct button`), chromedp.WaitVisible(`[role=alert]`))
	b.check("submission-correct-refused")
	b.run("enter the number", chromedp.SetValue(`#correct-4`, right))
	b.click(`#correct button`, `form[action$="/confirm"] button`)
	b.check("submission-corrected")
	shown := b.text(`main`)
	for _, want := range []string{"Enviar para 4 pessoas, 1 linha fica de fora", "1 número de outro país: Portugal", "País", "+55219" + old, "João"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the review does not show %q:\n%s", want, shown)
		}
	}
}
