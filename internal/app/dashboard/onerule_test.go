package dashboard_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/sending"
	"campaign-dispatch/internal/dashboard/web"
	"campaign-dispatch/internal/dashboard/web/webtest"
	"campaign-dispatch/internal/intake"
)

// tenThousand are 10,000 people: one without a name, six with an invalid number, six whose number an
// earlier line has, and one, the third, who opted out.
func tenThousand(header ...string) [][]string {
	rows := [][]string{header}
	for n := range 10_000 {
		rows = append(rows, []string{strconv.Itoa(11988000000 + n), fmt.Sprint("u", n), fmt.Sprint("Pessoa ", n)})
	}
	rows[4500][2] = ""
	for n := range 6 {
		rows[50+n*900][0] = fmt.Sprint("12", n)
		rows[3000+n*1000][0] = rows[100+n][0]
	}
	return rows
}

// asCSV returns a CSV file in which a column that nobody uses makes it as large as wanted.
func asCSV(rows [][]string, size int) []byte {
	var file bytes.Buffer
	for n, row := range rows {
		notes := "Notas"
		if n > 0 {
			notes = strings.Repeat("x", size/len(rows)-len(strings.Join(row, ";"))-2)
		}
		file.WriteString(strings.Join(append(slices.Clone(row), notes), ";") + "\n")
	}
	return file.Bytes()
}

// asWorkbook returns an Excel workbook.
func asWorkbook(t *testing.T, rows [][]string) []byte {
	t.Helper()
	var sheet strings.Builder
	for _, row := range rows {
		sheet.WriteString(`<row><c t="str"><v>` + strings.Join(row, `</v></c><c t="str"><v>`) + `</v></c></row>`)
	}
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	part, err := w.Create("xl/worksheets/sheet1.xml")
	if err == nil {
		_, err = fmt.Fprintf(part, "<worksheet><sheetData>%s</sheetData></worksheet>", &sheet)
	}
	if err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// told is what a person is told about a file, and who gets a message.
type told struct {
	Review  string
	LeftOut string // the lines of the download
	People  map[string]string
	Results string // what the campaign's page says of its people
}

// chosen are the sentences of a review that name the columns of the file.
var chosen = regexp.MustCompile(`The (phone numbers are|customer's code is) from the column \S+\. ?`)

// tell reads a review, sends the campaign and reads its page. The page at path is the review.
func (c *company) tell(who webtest.Person, name, path string) (all told) {
	c.t.Helper()
	review := who.Get(path)
	button := review.Value("hash")
	if review.Status != http.StatusOK || !strings.Contains(review.Text(), "Send to") {
		c.t.Fatalf("%s: no review: %d\n%s", name, review.Status, review.Text())
	}
	all.Review = strings.ReplaceAll(chosen.ReplaceAllString(review.Text(), ""), name, "")
	all.Review, _, _ = strings.Cut(all.Review, "Correct the columns") // what follows has the first lines of the file
	_, all.LeftOut, _ = strings.Cut(who.Get(path+"/left-out").Body, "\n")
	before := len(c.accepted)
	who.Post(path+"/confirm", url.Values{"hash": {button}})
	run(c, &c.tasks, c.worker.Handle)
	all.People = map[string]string{}
	for _, b := range c.accepted[before:] {
		for _, m := range c.messages(b) {
			all.People[m.Phone.String()] = m.UID + " " + strings.Join(m.Values, " ")
		}
	}
	page := who.Get(web.Root + "/campaigns/" + strings.TrimPrefix(path, sending.SubmissionsPath+"/")).Text()
	_, page, _ = strings.Cut(page, "Recipients ")
	all.Results, _, _ = strings.Cut(page, "Technical details")
	return all
}

// One list has the same review, the same people and the same lines left out, in the same words,
// whatever its format, its size, its way to the service and the names of its columns are. The review of
// a file that the form takes is in the answer to it.
func TestOneRule(t *testing.T) {
	t.Parallel()
	c := newCompany(t, campaign.MaxMessages, time.Minute)
	c.must(c.book.Record(t.Context(), c.tenant, []campaign.OptChange{{Phone: "+5511988000002", Out: true, At: c.now}}))
	who, rows := c.SignIn(c.tenant, web.RoleAuthor), tenThousand("phone", "uid", "nome")
	post := func(file []byte) func(name string) string {
		return func(name string) string { return c.post(who, name, file).Location }
	}
	script := func(file []byte) func(name string) string {
		return func(name string) string { return c.upload(who, name, file) }
	}
	ways := []struct {
		name string
		do   func(name string) (path string)
	}{
		{"CSV of 3.9 MB", post(asCSV(rows, 3_900_000))},
		{"CSV of 4.1 MB", script(asCSV(rows, 4_300_000))},
		{"workbook", post(asWorkbook(t, rows))},
		{"workbook by the script", script(asWorkbook(t, rows))},
		{"other column names", func(name string) string {
			path := c.post(who, name, asCSV(tenThousand("Contato", "Cadastro", "Cliente"), 3_900_000)).Location
			return who.Post(path+"/columns", url.Values{"was": {who.Get(path).Value("was")}, "phone": {"0"}, "uid": {"1"}, "v0": {"2"}}).Location
		}},
	}
	first := c.tell(who, ways[0].name, ways[0].do(ways[0].name))
	for _, text := range []string{
		"Messages to send 9,986", "Lines with a problem 1", "Invalid numbers 6", "Opted out (nothing is sent) 1", "Repeated numbers 6", "10,000 lines", "Billing classes basic: 9,986 ",
		"Send to 9,986 people, 13 lines are left out",
	} {
		if !strings.Contains(first.Review, text) {
			t.Errorf("the review does not say %q:\n%s", text, first.Review)
		}
	}
	if len(first.People) != 9987 || strings.Count(first.LeftOut, "\n") != 14 || !strings.HasPrefix(first.Results, "9,987 ") {
		t.Errorf("%d people; left out:\n%s\n%s", len(first.People), first.LeftOut, first.Results)
	}
	for _, way := range ways[1:] {
		if diff := cmp.Diff(first, c.tell(who, way.name, way.do(way.name))); diff != "" {
			t.Errorf("%s (-%s +this):\n%s", way.name, ways[0].name, diff)
		}
	}
}

// A file of 4 MB is answered within the time of a request, with its review or its progress, which
// refreshes itself without a script.
func TestForm_LargestFile(t *testing.T) {
	t.Parallel()
	c := newCompany(t, campaign.MaxMessages, intake.AtOnce)
	who := c.SignIn(c.tenant, web.RoleAuthor)
	var file strings.Builder
	file.WriteString("phone;uid;nome\n")
	const otherFields = 16 << 10
	for n := 0; file.Len() < web.MaxForm-otherFields-50; n++ {
		fmt.Fprintf(&file, "%d;u%d;Ana\n", 11970000000+n, n)
	}
	begun := time.Now()
	answer := c.post(who, "Natal", []byte(file.String()))
	page := who.Get(answer.Location)
	t.Logf("%d lines, %d bytes: answered after %v: %.60s", strings.Count(file.String(), "\n")-1, file.Len(), time.Since(begun), page.Text())
	if answer.Status != http.StatusSeeOther || page.Status != http.StatusOK {
		t.Fatalf("answered %d, and then %d\n%s", answer.Status, page.Status, page.Text())
	}
	inProgress := strings.Contains(page.Body, `id="progress"`)
	if refreshes := strings.Contains(page.Body, `http-equiv="refresh"`); inProgress != refreshes || inProgress != (len(c.tasks.tasks) > 0) {
		t.Errorf("in progress: %t, refreshes itself: %t, tasks %d", inProgress, refreshes, len(c.tasks.tasks))
	}
	run(c, &c.tasks, c.worker.Handle)
	if people := strings.Count(file.String(), "\n") - 1; !strings.Contains(who.Get(answer.Location).Text(), "Send to "+shown(people)+" people") {
		t.Errorf("the review is\n%s", who.Get(answer.Location).Text())
	}
}
