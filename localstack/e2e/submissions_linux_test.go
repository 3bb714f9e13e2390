package e2e_test

import (
	"archive/zip"
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/csv"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/localstack/testsize"
)

// intakeMemory is the maximum memory of a process of the intake function in bytes. Its
// setting is 1,769 MB.
const intakeMemory = 512 << 20

// scatter is a prime: the numbers of a file are in no order, as those of customers.
const scatter = 1_000_003

// recipientsFile returns a file of n recipients of about 100 bytes each. Its last line repeats
// the number of the first.
func recipientsFile(t *testing.T, format string, n int) []byte {
	t.Helper()
	var file bytes.Buffer
	line := func(w io.Writer, form string, i int) {
		number := 11_9_1000_0000 + i*scatter%n
		fmt.Fprintf(w, form, i+2, number, i, "José da Conceição Gonçalves dos Santos nº "+strconv.Itoa(i), "pedido "+strconv.Itoa(i))
	}
	if format == "csv" {
		file.WriteString("Celular;Código;Nome;Pedido\r\n")
		for i := range n + 1 {
			line(&file, "%[2]d;cliente-%[3]d;%[4]s;%[5]s\r\n", i)
		}
		return file.Bytes()
	}
	archive := zip.NewWriter(&file)
	part := func(name string) io.Writer {
		w, err := archive.Create(name)
		must(t, err)
		return w
	}
	sheet := part("xl/worksheets/sheet1.xml")
	const row = `<row r="%[1]d"><c r="A%[1]d"><v>%[2]d</v></c><c r="B%[1]d" t="inlineStr"><is><t>cliente-%[3]d</t></is></c>` +
		`<c r="C%[1]d" t="s"><v>%[3]d</v></c><c r="D%[1]d" t="inlineStr"><is><t>%[5]s</t></is></c></row>`
	fmt.Fprint(sheet, `<worksheet><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>Celular</t></is></c><c r="B1" t="inlineStr"><is><t>Código</t></is></c>`+
		`<c r="C1" t="inlineStr"><is><t>Nome</t></is></c><c r="D1" t="inlineStr"><is><t>Pedido</t></is></c></row>`)
	for i := range n + 1 {
		line(sheet, row, i)
	}
	fmt.Fprint(sheet, `</sheetData></worksheet>`)
	texts := part("xl/sharedStrings.xml")
	fmt.Fprint(texts, `<sst>`)
	for i := range n + 1 {
		line(texts, `<si><t>%[4]s</t></si>`, i)
	}
	fmt.Fprint(texts, `</sst>`)
	fmt.Fprint(part("xl/workbook.xml"), `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="A" sheetId="1" r:id="rId1"/></sheets></workbook>`)
	fmt.Fprint(part("xl/_rels/workbook.xml.rels"), `<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>`)
	must(t, archive.Close())
	return file.Bytes()
}

// follow waits for the end of a step, and returns the longest time in which the page showed the
// same progress: 0 if it showed none.
func (i *submitter) follow(path string, progress *regexp.Regexp, ended func(p page) bool) (longest time.Duration) {
	i.t.Helper()
	last, moved := "", time.Now()
	i.c.eventually(30*time.Minute, "done", func() bool {
		p := i.open(i.env["BASE_URL"] + "/dashboard/submissions" + path)
		if ended(p) {
			return true
		}
		if now := progress.FindString(p.body); now != last {
			longest, last, moved = max(longest, time.Since(moved)), now, time.Now()
		}
		return false
	})
	return longest
}

// A large file is checked and accepted in parts: every number once, within the memory, with
// progress. The proofs send 200,001 lines. SUBMISSION_LINES=2000000 is the full size, and also measures the time without progress. SUBMISSION_FORMAT=xlsx reads a
// workbook. SUBMISSION_SEND=1 sends the messages, while nothing else may run.
func TestSubmission_Large(t *testing.T) {
	t.Parallel()
	size := os.Getenv("SUBMISSION_LINES")
	lines, err := strconv.Atoi(cmp.Or(size, strconv.Itoa(testsize.Of(60_001, 200_001))))
	must(t, err)
	format := cmp.Or(os.Getenv("SUBMISSION_FORMAT"), "csv")
	i := newSubmitter(t)
	file := recipientsFile(t, format, lines-1)
	schedule, sends := time.Now().Add(72*time.Hour).UTC().Format(time.RFC3339), os.Getenv("SUBMISSION_SEND") != ""
	if sends {
		schedule = ""
		i.c.setBehaviour(map[string]any{"noEvents": true})
	}
	path := i.uploadFile("submission "+rand.Text(), schedule, "lista."+format, file)
	began := time.Now()
	reading := i.follow(path, regexp.MustCompile(`[\d,]+ lines checked`), func(p page) bool { return strings.Contains(p.body, "What will be sent") })
	read := time.Since(began)
	i.shows(path, "Repeated number: an earlier line has it")
	i.atOnce(path)
	form := i.checked(path)
	began = time.Now()
	i.send(path+"/confirm", form)
	sending := i.follow(path, regexp.MustCompile(`accepted so far: [\d,]+ of [\d,]+`), func(p page) bool { return strings.HasPrefix(p.url.Path, "/dashboard/campaigns") })
	took, peak := time.Since(began), i.c.peakMemory("INTAKE_FUNCTION")
	t.Logf("%d lines, %d MB of %s: checked in %v, at most %v without progress; accepted in %v, at most %v; %d MiB",
		lines, len(file)>>20, format, read.Round(time.Second), reading.Round(time.Millisecond), took.Round(time.Second), sending.Round(time.Millisecond), peak>>20)
	if peak == 0 || peak >= intakeMemory {
		t.Errorf("the function took %d MiB, want less than %d", peak>>20, intakeMemory>>20)
	}
	if size != "" && (min(reading, sending) == 0 || max(reading, sending) > progressWithin) { // other tests slow the machine in a run of all
		t.Errorf("%v and %v without progress, want at most %v", reading, sending, progressWithin)
	}
	all, err := i.c.store().Dispatched(t.Context(), campaign.ID{Tenant: i.env["TENANT"], CampaignID: strings.TrimPrefix(path, "/")})
	must(t, err)
	accepted := 0
	for _, b := range all.Batches {
		accepted += b.Accepted
	}
	if accepted != lines-1 || len(all.Batches) != partsOf(all.Submission.Cells, lines-1) {
		t.Errorf("%d messages in %d batches, want %d: a campaign has each number once", accepted, len(all.Batches), lines-1)
	}
	if divided := lines-1 >= wavesFrom; divided != (len(all.Submission.Cells) > 0) || all.Submission.Cells.Waves() > 0 {
		t.Errorf("the file of %d people has the cells %s, want them only of a large file, and no waves", lines-1, all.Submission.Cells)
	}
	if sends {
		i.sends(all, lines-1)
	}
}

// atOnce chooses that a campaign goes at once, if its file has so many people that it would go in waves.
func (i *submitter) atOnce(path string) {
	i.t.Helper()
	if form := i.checked(path); strings.Contains(i.shows(path, "What will be sent").body, `name="plan"`) {
		form.Set("plan", "once")
		i.send(path+"/waves", form)
	}
}

// partsOf returns the number of batches of a file: those of each cell, or of a file without cells.
func partsOf(cells campaign.Cells, people int) (parts int) {
	for _, cell := range cells {
		parts += cell.Parts
	}
	if len(cells) > 0 {
		return parts
	}
	return (people + campaign.MaxMessages - 1) / campaign.MaxMessages
}

// sends waits until a campaign is sent, and checks that the provider has each number once.
func (i *submitter) sends(c campaign.Campaign, messages int) {
	i.t.Helper()
	began := time.Now()
	i.c.eventually(2*time.Hour, "all messages sent", func() bool {
		now, err := i.c.store().Overview(i.t.Context(), c.ID)
		must(i.t, err)
		sent := 0
		for _, b := range now.Batches {
			sent += b.Head.Counts[campaign.OutcomeSent]
		}
		return sent == messages
	})
	i.t.Logf("sent in %v", time.Since(began).Round(time.Second))
	keys, times := map[campaign.BatchKey]bool{}, map[string]int{}
	for _, b := range c.Batches {
		keys[b.Key] = true
	}
	for _, d := range i.c.allAtProvider() {
		if key, _, ok := campaign.ParseMessageID(d.MessageID); ok && keys[key] {
			times[d.Phone]++
		}
	}
	for _, n := range times {
		if n != 1 {
			i.t.Fatalf("the provider has a number %d times", n)
		}
	}
	if len(times) != messages {
		i.t.Errorf("the provider has %d numbers, want %d", len(times), messages)
	}
}

// rolled is what the API shows of a campaign in waves.
type rolled struct {
	Status     string
	Submission struct{ Accepted, NotAccepted int }
	Rollout    struct {
		State string
		Wave  int
		Waves []struct{ Wave, Accepted int }
	}
}

// wavesFrom is the number of people from which the stack sends a file's campaign in waves.
const wavesFrom = 100_000

// The first wave of a large file is accepted, and the others wait for a person. A cancellation discards them: their people
// stand in the export, with their waves.
func TestSubmission_Waves(t *testing.T) {
	t.Parallel()
	i := submitterOf(newClient(t).ownTenant())
	file := recipientsFile(t, "csv", wavesFrom)
	path := i.uploadFile("submission "+rand.Text(), time.Now().Add(72*time.Hour).UTC().Format(time.RFC3339), "lista.csv", file)
	i.send(path+"/confirm", i.checked(path))
	id := campaign.ID{Tenant: i.env["TENANT"], CampaignID: strings.TrimPrefix(path, "/")}
	i.wantSubmission(id, submission.StateHolding)
	var got rolled
	i.c.fetch("/api/v1/external/campaigns"+path, &got)
	first := got.Submission.Accepted
	if r := got.Rollout; got.Status != "scheduled" || r.State != "holding" || r.Wave != 1 || len(r.Waves) < 2 || r.Waves[0].Accepted != first {
		t.Errorf("after the first wave: %+v", got)
	}
	if first < rollout.FirstWave/2 || first > 2*rollout.FirstWave || first+got.Submission.NotAccepted != wavesFrom {
		t.Errorf("%d people are in the first wave, and %d wait", first, got.Submission.NotAccepted)
	}
	i.c.do(http.MethodPost, "/api/v1/external/campaigns"+path+"/cancel", nil, "Authorization", "Bearer "+i.c.token())
	i.wantSubmission(id, submission.StateDiscarded)
	i.c.fetch("/api/v1/external/campaigns"+path, &got)
	if got.Rollout.State != "ended" || got.Submission.Accepted != first {
		t.Errorf("after the cancellation: %+v", got)
	}
	people := i.byWave(i.c.exported(id.CampaignID, `{"statuses": ["not_accepted"]}`))
	if sum := people["2"] + people["3"]; sum != got.Submission.NotAccepted || len(people) != len(got.Rollout.Waves)-1 {
		t.Errorf("the export has people of the waves %v, want %d who are not accepted", people, got.Submission.NotAccepted)
	}
}

func (i *submitter) wantSubmission(id campaign.ID, state submission.State) {
	i.t.Helper()
	i.c.eventually(3*time.Minute, string(state), func() bool {
		sub, err := i.c.store().Submission(i.t.Context(), id)
		must(i.t, err)
		return sub.State == state
	})
}

// byWave returns the number of lines of an export by the wave in their last column.
func (i *submitter) byWave(e export) map[string]int {
	i.t.Helper()
	res := i.c.follow(e)
	defer func() { _ = res.Body.Close() }()
	lines, err := csv.NewReader(res.Body).ReadAll()
	must(i.t, err)
	if last := lines[0][len(lines[0])-1]; last != "Wave" {
		i.t.Fatalf("the last column is %q", last)
	}
	people := map[string]int{}
	for _, line := range lines[1:] {
		people[line[len(line)-1]]++
	}
	return people
}
