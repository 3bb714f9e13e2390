package sending_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/intake/submission"
)

// reviewed returns a company whose file has lines that were left out.
func reviewed(t *testing.T, lines ...submission.LeftOut) *company {
	t.Helper()
	c := newCompany(t, submission.StateReady)
	c.stored.Version, c.stored.Columns.UID, c.leftOut = 7, 1, lines
	for _, l := range lines {
		c.stored.Check.Findings.Count(l)
	}
	return c
}

func refused(line int, code, phone string) submission.LeftOut {
	l := submission.LeftOut{Line: line, Kind: submission.KindInvalid, Code: code, Phone: phone}
	if code == "missing_ninth_digit" {
		l.Meant = "+55" + phone[:2] + "9" + phone[2:]
	}
	return l
}

// Each kind has its count, its first lines with the numbers, and its download.
func TestReview_LeftOut(t *testing.T) {
	t.Parallel()
	c := reviewed(t,
		refused(2, "missing_ninth_digit", "1187654321"), refused(3, "missing_area_code", "<951234567>"), refused(9, "invalid_form", "5,51199E+12"),
		submission.LeftOut{Line: 4, Kind: submission.KindFaulty, Code: "missing_variable", Column: "nome", Phone: "11988880001"},
		submission.LeftOut{Line: 5, Kind: submission.KindFaulty, Code: "hidden_row", Phone: "11988880002"},
		submission.LeftOut{Line: 6, Kind: submission.KindRepeated, Phone: "11988880003"},
		submission.LeftOut{Line: 7, Kind: submission.KindOptedOut, Phone: "11988880004"},
	)
	page := c.author.Get(path)
	says(t, page, http.StatusOK, "What was left out", "2 1187654321 +5511987654321", "3 <951234567>", "nome is missing 1 line", "4 11988880001",
		"Row hidden in the workbook", "5 11988880002", "6 11988880003", "Opted out (nothing is sent)", "7 11988880004",
		"9 5,51199E+12 Excel has shortened the number.")
	for _, of := range []string{"code=missing_area_code&amp;kind=invalid", "code=missing_variable&amp;kind=faulty&amp;variable=nome", "kind=opted_out"} {
		if !strings.Contains(page.Body, `href="`+path+"/left-out?"+of+`" download>Download these lines`) {
			t.Errorf("no download of %s", of)
		}
	}
	if rows := c.author.Get(path + "/left-out?kind=invalid&code=missing_area_code").Body; strings.Count(rows, "\r\n") != 2 || !strings.Contains(rows, "<951234567>") {
		t.Errorf("the download of one reason:\n%s", rows)
	}
	portuguese := c.author
	portuguese.Language = "pt-BR"
	says(t, portuguese.Get(path), http.StatusOK, "O que ficou de fora", "Falta o 9 depois do DDD. 1 linha", "Linha oculta na planilha", "Incluir a linha oculta", "Adicionar o 9 a 1 número", "Corrigir números")
	approver := c.SignIn(tenant, web.RoleApprover).Get(path)
	says(t, approver, http.StatusOK, "The area code was left out", "Lines: 3")
	if strings.Contains(approver.Body, "951234567") || strings.Contains(approver.Body, "/left-out") || strings.Contains(approver.Body, "correct.") {
		t.Error("a person who is no author sees numbers")
	}
}

// Each reason has a sentence in both languages, and says it once.
func TestReview_Reasons(t *testing.T) {
	t.Parallel()
	var lines []submission.LeftOut
	faults := []string{"hidden_row", "too_many_cells", "open_quote", "long_line", "invalid_character", "invalid_utf8", "missing_variable", "missing_uid"}
	for n, code := range faults {
		lines = append(lines, submission.LeftOut{Line: n + 2, Kind: submission.KindFaulty, Code: code, Column: "nome", Phone: "11988880001"})
	}
	for code, written := range map[string]string{
		"empty": "", "missing_ninth_digit": "1187654321", "missing_area_code": "951234567", "unknown_area_code": "10987654321",
		"no_area_code": "40041234", "invalid_form": "x", "wrong_length": "+5511", "invalid_number": "11887654321",
	} {
		lines = append(lines, refused(20, code, written))
	}
	c := reviewed(t, lines...)
	for language, again := range map[string][]string{
		"en":    {"The ninth digit of the mobile number is missing", "Brazil has no such area code", "The area code was left out", "The phone number is empty"},
		"pt-BR": {"Falta o 9 depois do DDD", "Este DDD não existe", "Falta o DDD", "O telefone está vazio"},
	} {
		reader := c.author
		reader.Language = language
		_, review, _ := strings.Cut(reader.Get(path).Body, `id="left-out"`)
		review, _, _ = strings.Cut(review, "</section>")
		for _, l := range lines {
			if strings.Contains(review, "<strong>"+l.Code+"</strong>") {
				t.Errorf("%s: %s has no sentence", language, l.Code)
			}
		}
		for _, sentence := range again { // in the title and in the name of the download
			if n := strings.Count(review, sentence); n != 2 {
				t.Errorf("%s: the review says %q %d times", language, sentence, n)
			}
		}
	}
}

// The page of the largest file with all kinds stays small.
func TestReview_Large(t *testing.T) {
	t.Parallel()
	var lines []submission.LeftOut
	for kind := range 100 {
		for n := range submission.MaxShown {
			lines = append(lines, submission.LeftOut{
				Line: 2_000_000 - n, Kind: submission.KindFaulty, Code: "missing_variable", Column: fmt.Sprintf("variavel_%d", kind), Phone: strings.Repeat("<", 500),
			})
		}
	}
	for n := range 30 {
		lines = append(lines, refused(1_000_000+n, "invalid_form", strings.Repeat("&", 500)))
	}
	c := reviewed(t, lines...)
	says(t, webtest.Light(t, c.author, path), http.StatusOK, "motivos")
}

// A person chooses how the file is read. The choices of an older page are shown again.
func TestReading_Choices(t *testing.T) {
	t.Parallel()
	c := reviewed(t, submission.LeftOut{Line: 5, Kind: submission.KindFaulty, Code: "hidden_row"}, refused(2, "missing_ninth_digit", "1187654321"))
	c.stored.Columns.Sheet, c.stored.Columns.Sheets = "Pessoas", []string{"Pessoas", "Antigos"}
	c.stored.Reading = submission.Reading{Sheet: "Pessoas", Encoding: "windows-1252"} // the file leaves no choice of the encoding
	page := c.author.Get(path)
	says(t, page, http.StatusOK, "How the file is read", "Include the hidden row", "Add the 9 to 1 number", "For example, 1187654321 becomes +5511987654321.", "Sheet read: Pessoas")
	form := url.Values{"was": {"7"}, "choices": {"1"}, "sheet": {"Pessoas"}, "hidden": {"1"}, "nine": {"1"}}
	if a := c.author.Post(path+"/reading", form); a.Location != path {
		t.Errorf("answered %d to %q", a.Status, a.Location)
	}
	if diff := cmp.Diff(&submission.Reading{Sheet: "Pessoas", Encoding: "windows-1252", Hidden: true, AddNine: true}, c.reading); diff != "" {
		t.Errorf("the reading (-want +got):\n%s", diff)
	}
	c.reading = nil
	for name, change := range map[string]url.Values{
		"an older page": {"was": {"6"}}, "an unknown sheet": {"sheet": {"x"}}, "an unknown encoding": {"encoding": {"x"}},
		"nothing new": {"hidden": {""}, "nine": {""}},
	} {
		asked := url.Values{}
		for _, values := range []url.Values{form, change} {
			for field := range values {
				asked.Set(field, values.Get(field))
			}
		}
		if a := c.author.Post(path+"/reading", asked); c.reading != nil || a.Status == http.StatusInternalServerError {
			t.Errorf("%s: %d, read as %v", name, a.Status, c.reading)
		}
	}
	if a := c.SignIn(tenant, web.RoleApprover).Post(path+"/reading", form); a.Status != http.StatusForbidden {
		t.Errorf("an approver: %d", a.Status)
	}
	for _, state := range []submission.State{submission.StateApproval, submission.StateRefused, submission.StateSending, submission.StateInterrupted, submission.StateChecking} {
		c.stored.State = state
		if a := c.author.Post(path+"/reading", form); c.reading != nil || a.Location != path {
			t.Errorf("%s: %d, read as %v", state, a.Status, c.reading)
		}
		if strings.Contains(c.author.Get(path).Body, path+"/reading") {
			t.Errorf("%s: the page offers another reading", state)
		}
	}
}

// Two sheets can differ by a space alone.
func TestReading_SheetWithSpace(t *testing.T) {
	t.Parallel()
	for _, sheet := range []string{"Pessoas", "Pessoas ", " Pessoas"} {
		c := newCompany(t, submission.StateColumns)
		c.stored.Columns.Sheets = []string{"Pessoas", "Pessoas ", " Pessoas"}
		c.author.Post(path+"/reading", url.Values{"choices": {"1"}, "sheet": {sheet}})
		if diff := cmp.Diff(&submission.Reading{Sheet: sheet}, c.reading); diff != "" {
			t.Errorf("%q (-want +got):\n%s", sheet, diff)
		}
	}
}

// What a file leaves open is chosen before its columns and its check.
func TestReading_Undecided(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		columns submission.Columns
		says    string
		chosen  url.Values
		want    submission.Reading
	}{
		"sheets": {
			submission.Columns{Sheets: []string{"Pessoas", "Antigos"}}, "Which sheet should be read?", url.Values{"sheet": {"Antigos"}}, submission.Reading{Sheet: "Antigos"},
		},
		"encodings": {
			submission.Columns{Encodings: []submission.EncodingChoice{{Name: "macintosh", Words: []string{"João", "ação"}}, {Name: "ibm850", Words: []string{"JoÆo"}}}},
			"João, ação",
			url.Values{"encoding": {"macintosh"}},
			submission.Reading{Encoding: "macintosh"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t, submission.StateColumns)
			c.stored.Columns.Sheets, c.stored.Columns.Encodings = test.columns.Sheets, test.columns.Encodings
			page := c.author.Get(path)
			says(t, page, http.StatusOK, test.says)
			if strings.Contains(page.Text(), "Which column is which") {
				t.Error("the columns are asked for before")
			}
			says(t, c.author.Post(path+"/columns", url.Values{"phone": {"0"}, "uid": {"1"}, "v0": {"2"}}), http.StatusUnprocessableEntity, "Choose how the file is read.")
			says(t, c.author.Post(path+"/reading", url.Values{"choices": {"1"}}), http.StatusUnprocessableEntity, "Choose how the file is read.")
			test.chosen.Set("choices", "1")
			c.author.Post(path+"/reading", test.chosen)
			if diff := cmp.Diff(&test.want, c.reading); diff != "" {
				t.Errorf("the reading (-want +got):\n%s", diff)
			}
			c.stored.Reading = test.want
			says(t, c.author.Get(path), http.StatusOK, test.says, "Which column is which")
		})
	}
}

// Up to 20 refused numbers are corrected on the review, those that no switch corrects first. A wrong one changes nothing.
func TestReading_Corrections(t *testing.T) {
	t.Parallel()
	lines := []submission.LeftOut{}
	for n := range 20 {
		lines = append(lines, refused(100+n, "missing_ninth_digit", "11876543"+strconv.Itoa(10+n)))
	}
	c := reviewed(t, append(lines, refused(2, "missing_area_code", "987654321"))...)
	page := c.author.Get(path)
	if n := strings.Count(page.Body, `name="correct.`); n != submission.MaxCorrections || !strings.Contains(page.Body, `name="correct.2" maxlength="40" autocomplete="off" value=""`) {
		t.Errorf("%d numbers can be corrected:\n%s", n, page.Body)
	}
	if !strings.Contains(page.Body, `name="correct.100" maxlength="40" autocomplete="off" value="&#43;5511987654310"`) {
		t.Error("the number that is meant is not proposed")
	}
	form := url.Values{"was": {"7"}, "correct.2": {"98765-4321"}, "correct.100": {"(11) 98765-4310"}, "correct.101": {""}}
	wrong := c.author.Post(path+"/reading", form)
	says(t, wrong, http.StatusUnprocessableEntity, "One of the numbers is not right yet. Nothing was changed.")
	if !strings.Contains(wrong.Body, `value="98765-4321" aria-describedby="correct-2-why correct-2-wrong" aria-invalid="true"`) || !strings.Contains(wrong.Body, `value="(11) 98765-4310"`) || c.reading != nil {
		t.Errorf("after a wrong number, read as %v:\n%s", c.reading, wrong.Body)
	}
	form.Set("correct.2", "11 98765-4321")
	c.author.Post(path+"/reading", form)
	want := &submission.Reading{Corrections: map[int]string{2: "+5511987654321", 100: "+5511987654310"}}
	if diff := cmp.Diff(want, c.reading); diff != "" {
		t.Errorf("the reading (-want +got):\n%s", diff)
	}
	c.stored.Reading = *c.reading
	says(t, c.author.Get(path), http.StatusOK, "Corrected on this page.")
	c.author.Post(path+"/reading", url.Values{"was": {"7"}, "correct.2": {""}})
	if diff := cmp.Diff(map[int]string{100: "+5511987654310"}, c.reading.Corrections); diff != "" {
		t.Errorf("an emptied field (-want +got):\n%s", diff)
	}
}

// The review shows accepted numbers of other countries, those that got the ninth digit, words and doubled symbols.
func TestReview_Noted(t *testing.T) {
	t.Parallel()
	c := reviewed(t,
		submission.LeftOut{Line: 3, Kind: submission.KindAbroad, Code: "PT", Phone: "351912345678", Meant: "+351912345678"},
		submission.LeftOut{Line: 4, Kind: submission.KindAbroad, Code: "FR", Phone: "33612345678", Meant: "+33612345678"},
		submission.LeftOut{Line: 6, Kind: submission.KindNine, Phone: "1187654321", Meant: "+5511987654321"},
		submission.LeftOut{Line: 8, Kind: submission.KindAbroad, Code: "PT", Phone: "+351 912345679", Meant: "+351912345679"},
		submission.LeftOut{Line: 9, Kind: submission.KindAbroad, Phone: "+80012345678", Meant: "+80012345678"},
	)
	f := &c.stored.Check.Findings
	c.words, f.Doubled = []string{"João", "Conceição"}, submission.Count(nil, 5, "R$", "valor")
	says(t, c.author.Get(path), http.StatusOK, "4 numbers of other countries: Portugal 2, no single country 1, France 1", "3 351912345678 +351912345678 Portugal", "9 +80012345678 +80012345678 no single country", "4 33612345678 +33612345678 France",
		"The 9 was added to 1 number", "6 1187654321 +5511987654321", "Words with accents: João, Conceição", "1 message repeats “R$”", "next to {{valor}}")
	if rows := c.author.Get(path + "/left-out?kind=abroad").Body; strings.Count(rows, "\r\n") != 5 || strings.Contains(rows, "1187654321") {
		t.Errorf("the numbers of other countries:\n%s", rows)
	}
	if rows := c.author.Get(path + "/left-out").Body; strings.Count(rows, "\r\n") != 1 {
		t.Errorf("accepted lines are among those that were left out:\n%s", rows)
	}
	viewer := c.SignIn(tenant, web.RoleViewer).Get(path)
	says(t, viewer, http.StatusOK, "4 numbers of other countries", "Lines: 3, 4, 8, 9")
	if strings.Contains(viewer.Body, "351912345678") {
		t.Error("a viewer sees the numbers")
	}
	c.author.Language = "pt-BR"
	says(t, c.author.Get(path), http.StatusOK, "4 números de outros países: Portugal 2, sem país definido 1, França 1", "1 número recebeu o 9", "Palavras com acento")
}
