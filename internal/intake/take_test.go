package intake_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/reach/optout"
)

// take gives a small file to a service that does the steps in the request, as the form does.
func (c *company) take(file []byte, atOnce time.Duration) submission.Submission {
	c.t.Helper()
	s := c.service(c.store, c.blobs)
	s.Worker, s.AtOnce = c.worker(c.store, c.blobs, c.queue), atOnce
	sub, err := s.Take(c.t.Context(), submission.Submission{
		ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c", TemplateID: c.t1.ID, File: submission.File{Name: "f"},
	}, intake.FormFile{Chosen: file})
	c.must(err)
	return c.stored(sub)
}

// list has 10,000 people: one without a name, six with an invalid number, six whose number an earlier
// line has, and one who opted out.
func list(header ...string) [][]string {
	const people = 10_000
	rows := [][]string{header}
	for n := range people {
		rows = append(rows, []string{strconv.Itoa(11988000000 + n), fmt.Sprintf("u%d", n), fmt.Sprintf("Pessoa %d", n)})
	}
	rows[4500][2] = ""
	for n := range 6 {
		rows[50+n*900][0] = fmt.Sprintf("12%d", n)
		rows[3000+n*1000][0] = rows[100+n][0]
	}
	return rows
}

// asCSV returns a CSV file in which a column that nobody uses has a weight.
func asCSV(rows [][]string, weight int) []byte {
	var file bytes.Buffer
	for n, row := range rows {
		extra := strings.Repeat("x", weight)
		if n == 0 {
			extra = "Notas"
		}
		file.WriteString(strings.Join(append(slices.Clone(row), extra), ";") + "\n")
	}
	return file.Bytes()
}

// asWorkbook returns an Excel workbook that has as many shared texts of a kilobyte.
func asWorkbook(t *testing.T, rows [][]string, shared int) []byte {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	part := func(name, content string) {
		p, err := w.Create(name)
		if err == nil {
			_, err = io.WriteString(p, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var sheet strings.Builder
	sheet.WriteString("<worksheet><sheetData>")
	for _, row := range rows {
		sheet.WriteString("<row>")
		for _, cell := range row {
			sheet.WriteString(`<c t="str"><v>` + cell + `</v></c>`)
		}
		sheet.WriteString("</row>")
	}
	part("xl/worksheets/sheet1.xml", sheet.String()+"</sheetData></worksheet>")
	part("xl/sharedStrings.xml", "<sst>"+strings.Repeat("<si><t>"+strings.Repeat("x", 1000)+"</t></si>", shared)+"</sst>")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// seen is what a person sees of a submission, and who gets a message.
type seen struct {
	Findings submission.Findings
	Hash     string // of the parts
	LeftOut  []submission.LeftOut
	Accepted int
	Batches  map[string]int
}

func (c *company) seen(sub submission.Submission) (s seen) {
	c.t.Helper()
	if sub.State != submission.StateReady {
		c.t.Fatalf("the submission is %s, %q", sub.State, sub.Fault.Code)
	}
	s.Findings, s.Hash = sub.Check.Findings, sub.Check.Hash
	for l, err := range c.LeftOut(c.t.Context(), sub) {
		c.must(err)
		s.LeftOut = append(s.LeftOut, l)
	}
	sub = c.send(sub)
	s.Accepted, s.Batches = sub.Sending.Accepted, c.batches(sub)
	return s
}

// One list is judged by one rule, whatever its format, its size and the names of its columns are.
func TestTake_OneRule(t *testing.T) {
	t.Parallel()
	named, unclear := list("phone", "uid", "nome"), list("Contato", "Cadastro", "Cliente")
	ways := map[string]func(c *company) submission.Submission{
		"CSV of 3.9 MB": func(c *company) submission.Submission {
			file := asCSV(named, 360)
			c.size(file, 3_800_000, 4_000_000)
			return c.take(file, time.Minute)
		},
		"CSV of 4.1 MB": func(c *company) submission.Submission {
			file := asCSV(named, 385)
			c.size(file, 4_050_000, 4_300_000)
			return c.upload(string(file), nil)
		},
		"workbook": func(c *company) submission.Submission { return c.take(asWorkbook(c.t, named, 0), time.Minute) },
		"other column names": func(c *company) submission.Submission {
			sub := c.take(asCSV(unclear, 0), time.Minute)
			s := c.service(c.store, c.blobs)
			s.Worker, s.AtOnce = c.worker(c.store, c.blobs, c.queue), time.Minute
			c.must(s.Check(c.t.Context(), sub, submission.Chosen{Phone: 0, UID: 1, Values: []submission.Column{{Name: "nome", Column: 2}}}, c.t1))
			return c.stored(sub)
		},
	}
	all := map[string]seen{}
	for name, way := range ways {
		c := newCompany(t)
		c.partLines = campaign.MaxMessages
		c.must((&optout.Book{Store: c.store, Now: func() time.Time { return c.now }}).Record(t.Context(), c.tenant,
			[]campaign.OptChange{{Phone: "+5511988000002", Out: true, At: noon}}))
		all[name] = c.seen(way(c))
	}
	first := all["CSV of 3.9 MB"]
	f := first.Findings
	if f.Accepted != 9987 || f.People() != 9986 || f.Faulty() != 1 || f.Invalid() != 6 || f.Repeated.Count != 6 || first.Accepted != 9987 || len(first.LeftOut) != 14 {
		t.Errorf("%+v, %d accepted, %d lines left out", f, first.Accepted, len(first.LeftOut))
	}
	for name, other := range all {
		if diff := cmp.Diff(first, other); diff != "" {
			t.Errorf("%s (-first +this):\n%s", name, diff)
		}
	}
}

func (c *company) size(file []byte, least, most int) {
	c.t.Helper()
	if len(file) < least || len(file) > most {
		c.t.Fatalf("the file has %d bytes", len(file))
	}
}

// A person whose first line has a fault gets the message of the next one.
func TestTake_RepeatedAfterFault(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.partLines = 10
	sub := c.take([]byte("phone;uid;nome\n11988880001;;Ana\n11988880001;a;Ana\n11988880001;b;Ana\n"), time.Minute)
	f := sub.Check.Findings
	if f.Accepted != 1 || f.Faulty() != 1 || f.Omitted[0].First[0] != 2 || f.Repeated.Count != 1 || f.Repeated.First[0] != 4 {
		t.Errorf("%+v", f)
	}
	all := "phone;uid;nome\n" + strings.Repeat("11988880001;;Ana\n", 20)
	if f := c.take([]byte(all), time.Minute).Check.Findings; f.Accepted != 0 || f.Faulty()+f.Repeated.Count != 20 {
		t.Errorf("%+v", f)
	}
}

// A request that runs out of time leaves the rest to the intake function.
func TestTake_OutOfTime(t *testing.T) {
	t.Parallel()
	rows := list("phone", "uid", "nome")[:20]
	for name, file := range map[string][]byte{"CSV": asCSV(rows, 0), "workbook": asWorkbook(t, rows, 0)} {
		c := newCompany(t)
		sub := c.take(file, time.Nanosecond)
		if !sub.Working() || len(c.queue.tasks) != 1 {
			t.Errorf("%s: %s, %q, tasks %v; want it in progress", name, sub.State, sub.Fault.Code, c.queue.tasks)
		}
		c.run()
		if sub = c.stored(sub); sub.State != submission.StateReady || sub.Check.Findings.Accepted != 19 {
			t.Errorf("%s: %s, %q, %d accepted", name, sub.State, sub.Fault.Code, sub.Check.Findings.Accepted)
		}
	}
}

// A form that is sent again, also by a double click, begins one submission. Another file replaces the
// former one until it is sent.
func TestTake_Again(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	asked := submission.Submission{ID: campaign.ID{Tenant: c.tenant}, By: "ana@example.com", Name: "c", TemplateID: c.t1.ID}
	asked.CampaignID = random.UUID()
	var clicks sync.WaitGroup
	for range 4 {
		clicks.Go(func() {
			if _, err := c.Take(t.Context(), asked, intake.FormFile{Chosen: []byte(five)}); err != nil {
				t.Error(err)
			}
		})
	}
	clicks.Wait()
	c.run()
	all, err := c.store.Submissions(t.Context(), c.tenant)
	c.must(err)
	if len(all) != 1 || all[0].State != submission.StateReady {
		t.Fatalf("%+v, want one that is ready", all)
	}
	first := all[0]
	other, err := c.Take(t.Context(), asked, intake.FormFile{Chosen: []byte(mixed)})
	c.must(err)
	c.run()
	if other = c.stored(other); other.ID != first.ID || c.wantReady(other) != "" {
		t.Errorf("with another file it is %s: %s", other.State, c.wantReady(other))
	}
	if diff := cmp.Diff(c.filesOf(other), c.files(other)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	c.must(c.Send(t.Context(), other))
	again, err := c.Take(t.Context(), asked, intake.FormFile{Chosen: []byte(mixed)})
	c.must(err)
	if again.ID != first.ID {
		t.Error("what was sent begins again")
	}
	again, err = c.Take(t.Context(), asked, intake.FormFile{Chosen: []byte(five)})
	c.must(err)
	if again.ID == first.ID || c.stored(again).State != submission.StateOpening || c.stored(first).State != submission.StateSending {
		t.Errorf("another file of what was sent: %s", c.stored(again).State)
	}
}

// filesOf returns the names of the files of a checked submission.
func (*company) filesOf(sub submission.Submission) (names []string) {
	names = append(names, "file-"+sub.File.Object)
	check := "check-" + strconv.Itoa(sub.Check.Number)
	for n := range sub.Check.Outs {
		names = append(names, check+"/out-"+strconv.Itoa(n+1))
	}
	for n := range sub.Check.Parts {
		names = append(names, check+"/part-"+strconv.Itoa(n+1))
	}
	return names
}

// A request opens no workbook whose texts need much memory.
func TestTake_HeavyWorkbook(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.take(asWorkbook(t, list("phone", "uid", "nome")[:5], 5000), time.Minute)
	if sub.State != submission.StateOpening || len(c.queue.tasks) != 1 {
		t.Errorf("%s, tasks %v; want it left to the intake function", sub.State, c.queue.tasks)
	}
	if c.run(); c.stored(sub).State != submission.StateReady {
		t.Errorf("%s, %q", c.stored(sub).State, c.stored(sub).Fault.Code)
	}
}

// A part that begins after a restart has no number of an earlier part, and the numbers of lines that
// were left out are free.
func TestRead_AfterRestart(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	file := "phone;uid;nome\n11988880001;a;Ana\n11988880002;;Bia\n11988880003;c;Caio\n11988880001;d;Ana\n11988880002;e;Bia\n11988880004;f;Davi\n"
	sub := c.take([]byte(file), time.Nanosecond)
	restarts := 0
	for ; len(c.queue.tasks) > 0; restarts++ {
		tasks := c.queue.tasks
		c.queue.tasks = nil
		short, cancel := context.WithTimeout(t.Context(), 10*time.Second) // less than the margin: one part each
		c.must(c.worker(c.store, c.blobs, c.queue).Handle(short, tasks)[0])
		cancel()
	}
	if restarts < 2 {
		t.Errorf("only %d restarts", restarts)
	}
	f := c.stored(sub).Check.Findings
	if f.Accepted != 4 || f.Faulty() != 1 || f.Repeated.Count != 1 || f.Repeated.First[0] != 5 {
		t.Errorf("%+v", f)
	}
}
