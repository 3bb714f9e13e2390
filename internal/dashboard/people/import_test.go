package people_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"campaign-dispatch/internal/dashboard/people"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
)

func shows(t *testing.T, a webtest.Answer, status int, texts ...string) {
	t.Helper()
	if a.Status != status {
		t.Errorf("answered %d, want %d", a.Status, status)
	}
	for _, text := range texts {
		if !strings.Contains(a.Text(), text) {
			t.Errorf("the page lacks %q:\n%s", text, a.Text())
		}
	}
}

// A file is reviewed before anything is recorded, and recorded once.
func TestImport_Review(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	admin.Post(people.Path+"/opt-outs/add", url.Values{"phone": {ana}})
	path := sendFile(t, admin, "telefone;nome\n"+ana+";Ana\n11987654322;Bia\n1187654321;Caio\n951234567;Davi\n11987654322;Eva\n;Fabi\n").Location
	webtest.Light(t, admin, path)
	admin.Language = "en"
	review := admin.Get(path)
	shows(t, review, http.StatusOK, "Valid numbers 2", "New 1", "Already there 1", "Lines with a problem 0", "Invalid numbers 3", "Repeated numbers 1",
		"The ninth digit of the mobile number is missing. 1 line", "4 1187654321 +5511987654321", "The area code was left out", "5 951234567", "7 empty",
		"Import 2 numbers", "Add the 9 to 1 number", "For example, 1187654321 becomes +5511987654321.")
	if n, _, _ := b.lists.Count(t.Context(), "acme"); n != 1 {
		t.Errorf("%d numbers are recorded before the confirmation", n)
	}
	form := importForm(review)
	shows(t, admin.Follow(admin.Post(path, form)), http.StatusOK, "2 numbers of the file are on the list. Lines left out: 4.")
	shows(t, admin.Post(path, form), http.StatusConflict)
	shows(t, admin.Get(path), http.StatusNotFound, "no longer exists")
	if len(b.kept.objects) > 0 {
		t.Error("the file is kept")
	}
	if log := strings.Join(b.Audited(), "\n"); !strings.Contains(log, "people.import 2") {
		t.Errorf("audited:\n%s", log)
	}
}

// All lines that are left out can be downloaded, or those of one reason, with the number that may be meant.
func TestImport_Download(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	var file strings.Builder
	file.WriteString("telefone\n" + ana + "\n")
	for n := range 40 {
		fmt.Fprintf(&file, "11876543%02d\n", n)
	}
	path := sendFile(t, admin, file.String()+"x\n").Location
	review := admin.Get(path)
	if n := strings.Count(review.Body, "118765430"); n < 10 || strings.Contains(review.Text(), "22 1187654319 +5511987654319 ") {
		t.Errorf("the page shows %d of the first lines:\n%s", n, review.Text())
	}
	all := admin.Get(path + "/refused?column=0")
	if want := "\"3\";\"The ninth digit of the mobile number is missing.\";\"+5511987654300\";\"1187654300\"\r\n"; strings.Count(all.Body, "\r\n") != 42 || !strings.Contains(all.Body, want) {
		t.Errorf("all lines:\n%s", all.Body)
	}
	if one := admin.Get(path + "/refused?column=0&kind=invalid&code=invalid_form"); strings.Count(one.Body, "\r\n") != 2 || !strings.Contains(one.Body, `"x"`) {
		t.Errorf("the lines of one reason:\n%s", one.Body)
	}
	if !strings.Contains(review.Body, "/refused?code=invalid_form&amp;column=0&amp;kind=invalid") {
		t.Error("the page has no link to the lines of one reason")
	}
}

// Refused numbers are corrected on the review: a wrong one has its reason, and the others are imported.
func TestImport_Corrections(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	path := sendFile(t, admin, "telefone\n1187654321\n987654322\nx\n").Location
	page := admin.Get(path)
	if !strings.Contains(page.Body, `name="correct.2" maxlength="40" autocomplete="off" value="&#43;5511987654321"`) {
		t.Errorf("the page does not propose the number:\n%s", page.Body)
	}
	fields := url.Values{"column": {"0"}, "correct.2": {""}, "correct.3": {"11 98765-4322"}, "correct.4": {"99"}}
	wrong := admin.Post(path+"/reading", fields)
	shows(t, wrong, http.StatusUnprocessableEntity, "One of the numbers is not right yet")
	if !strings.Contains(wrong.Body, `value="99" aria-describedby="correct-4-why correct-4-wrong" aria-invalid="true"`) {
		t.Errorf("the wrong field:\n%s", wrong.Body)
	}
	fields.Set("correct.4", "")
	right := admin.Post(path+"/reading", fields)
	shows(t, right, http.StatusOK, "Valid numbers 1", "Invalid numbers 2", "Corrected on this page.")
	form := importForm(right)
	form.Set("correct.3", right.Value("correct.3"))
	shows(t, admin.Follow(admin.Post(path, form)), http.StatusOK, "1 number of the file is on the list")
	if out, _, _ := b.lists.Since(t.Context(), "acme", "+5511987654322"); !out {
		t.Error("the corrected number is not opted out")
	}
}

// One switch adds the ninth digit, and the review shows what it did.
func TestImport_Nine(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	path := sendFile(t, admin, "telefone\n1187654321\n11987654322\n").Location
	page := admin.Get(path + "?column=0&choices=1&nine=1")
	shows(t, page, http.StatusOK, "Valid numbers 2", "The 9 was added to 1 number", "2 1187654321 +5511987654321")
	form := importForm(page)
	form.Set("nine", page.Value("nine"))
	admin.Post(path, form)
	if !b.optedOut() {
		t.Error("the number with the added digit is not opted out")
	}
}

// The files of another tenant are not found, and only admins see one.
func TestImport_Foreign(t *testing.T) {
	t.Parallel()
	b := newBench(t, 0)
	path := sendFile(t, b.SignIn("acme", web.RoleAdmin), ana+"\n").Location
	for _, suffix := range []string{"", "/refused"} {
		if a := b.SignIn("other", web.RoleAdmin).Get(path + suffix); a.Status != http.StatusNotFound {
			t.Errorf("another tenant: %d", a.Status)
		}
		if a := b.SignIn("acme", web.RoleAuthor).Get(path + suffix); a.Status != http.StatusForbidden {
			t.Errorf("an author: %d", a.Status)
		}
	}
	if a := b.SignIn("acme", web.RoleAuthor).Post(path, nil); a.Status != http.StatusForbidden || b.optedOut() {
		t.Errorf("an author imports: %d", a.Status)
	}
}

// A person in a hidden row has asked for no messages too.
func TestImport_HiddenRow(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../intake/sheet/testdata/corpus/xlsxwriter.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, 0)
	admin := b.SignIn("acme", web.RoleAdmin)
	path := sendFile(t, admin, string(file)).Location
	review := admin.Get(path)
	shows(t, review, http.StatusOK, "Valid numbers 4", "Lines with a problem 0", "Invalid numbers 0", "Hidden rows of the workbook count too")
	admin.Post(path, importForm(review))
	if n, _, _ := b.lists.Count(t.Context(), "acme"); n != 4 {
		t.Errorf("%d numbers are recorded, want those of all rows, the hidden one too", n)
	}
}
