package privacy_test

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/aws/dynamo"
	"campaign-dispatch/internal/aws/dynamo/dynamotest"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/phonetest"
	"campaign-dispatch/internal/privacy"
	"campaign-dispatch/internal/query/search"
	"campaign-dispatch/internal/reach/optout"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/localstack/stackenv"
)

const day = 24 * time.Hour

func TestService_NumbersOfExpiredBatch(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.accept(1, ana, bruno)
	w.now = w.now.Add(450 * day)
	w.accept(2, caio)
	w.now = w.now.Add(15 * day) // the first batch has expired, the campaign has not
	x := w.export(ana)
	if len(x.Messages) != 1 || !x.Messages[0].ContentsDeleted || x.Messages[0].CampaignID != w.id.CampaignID || x.Messages[0].Campaign != "Natal" {
		t.Errorf("exported: %+v", x.Messages)
	}
	exported, err := json.Marshal(x.Messages)
	w.must(err)
	if strings.Contains(string(exported), "0001-01-01") {
		t.Errorf("exported: %s", exported)
	}
	w.erase(ana)
	if diff := cmp.Diff([]uint64{bruno}, w.set(1)); diff != "" {
		t.Errorf("the set of the expired batch (-want +got):\n%s", diff)
	}
	if x := w.export(ana); !x.Nothing() {
		t.Errorf("afterwards: %+v", x.Messages)
	}
}

// The export contains the status changes of a message. The erasure keeps the outcomes
// of the batch.
func TestService_OutcomesInLedger(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = stackenv.Load(t).LedgerTable(t) })
	b := w.accept(1, ana, bruno)
	at := w.now.UTC()
	changes := []campaign.Change{
		{Index: 0, Outcome: campaign.OutcomeSent, At: at},
		{Index: 1, Outcome: campaign.OutcomeSent, At: at},
		{Index: 1, Outcome: campaign.OutcomeExpired, Code: "ttl_passed", At: at.Add(time.Second)},
	}
	_, err := w.store.AppendLedger(t.Context(), b, ledger.Head{}, changes)
	w.must(err)
	x := w.export(bruno)
	_, reason := changes[2].Why()
	want := []privacy.Change{
		{Status: "sent", At: at}, {Status: "expired", At: at.Add(time.Second), Code: "ttl_passed", Reason: reason},
	}
	if len(x.Messages) != 1 || x.Messages[0].Status != "expired" {
		t.Fatalf("exported: %+v", x.Messages)
	}
	if diff := cmp.Diff(want, x.Messages[0].Changes); diff != "" {
		t.Errorf("exported changes (-want +got):\n%s", diff)
	}
	w.erase(bruno)
	if x := w.export(bruno); !x.Nothing() {
		t.Errorf("after the erasure: %+v", x.Messages)
	}
	after, err := w.store.Changes(t.Context(), b, 0, campaign.MaxChanges)
	w.must(err)
	if diff := cmp.Diff(changes, after); diff != "" {
		t.Errorf("outcomes after the erasure (-want +got):\n%s", diff)
	}
}

// An export lists the suggestions that the person tapped. After an erasure there are none,
// and the taps of the batch still count.
func TestExport_Taps(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.store.Set(func(tables *dynamo.Tables) { tables.Outcomes, _ = stackenv.Load(t).LedgerTable(t) })
	_, err := w.store.PutTemplate(t.Context(), campaign.Template{
		ID: template, Tenant: w.tenant.ID, Version: 2, Name: "t", Content: content.Content{Text: "Oi", Suggestions: content.Replies("Sim", "Não")},
	})
	w.must(err)
	w.version, w.tapKey = 2, []byte("sixteen bytes...")
	b := w.accept(1, ana, bruno)
	at := w.now.UTC()
	tap := func(index, suggestion int) campaign.Change {
		return campaign.Change{Index: index, Outcome: campaign.OutcomeTapped, Suggestion: suggestion, At: at}
	}
	_, err = w.store.AppendTaps(t.Context(), b, ledger.Taps{}, []campaign.Change{tap(0, 1), tap(1, 2)})
	w.must(err)
	x := w.export(bruno)
	if len(x.Messages) != 1 {
		t.Fatalf("exported: %+v", x.Messages)
	}
	want := []search.Tap{{At: at, TappedSuggestion: &campaign.TappedSuggestion{Text: "Não", Kind: content.Reply}}}
	if diff := cmp.Diff(want, x.Messages[0].Taps); diff != "" {
		t.Errorf("exported taps (-want +got):\n%s", diff)
	}
	w.erase(bruno)
	if x := w.export(bruno); !x.Nothing() {
		t.Errorf("after the erasure: %+v", x.Messages)
	}
	taps, err := w.store.Taps(t.Context(), b.Key)
	w.must(err)
	if taps.Messages() != 2 {
		t.Errorf("%d messages are tapped after the erasure, want 2", taps.Messages())
	}
}

// twoListed is a store that lists at most two campaigns per page.
type twoListed struct{ *dynamotest.Store }

func (s twoListed) ListCampaigns(ctx context.Context, tenant, after string, limit int32) ([]campaign.Listed, error) {
	return s.Store.ListCampaigns(ctx, tenant, after, min(limit, 2))
}

func TestService_ManyPages(t *testing.T) {
	t.Parallel()
	const all = 7
	w := newTenantFixture(t)
	for i := range all {
		w.id.CampaignID, w.name = fmt.Sprintf("%s%02d", w.id.CampaignID[:10], i), fmt.Sprint("Natal ", i)
		w.accept(1, ana, bruno)
	}
	service := w.service()
	service.Store.Campaigns = twoListed{w.store}
	for step, want := range []int{all, 0} {
		x, err := service.Export(t.Context(), w.tenant.ID, written(ana))
		w.must(err)
		campaigns := map[string]bool{}
		for _, m := range x.Messages {
			campaigns[m.CampaignID] = true
		}
		if len(campaigns) != want || len(x.Messages) != want {
			t.Errorf("step %d: exported %d messages of %d campaigns, want %d", step, len(x.Messages), len(campaigns), want)
		}
		_, err = service.Erase(t.Context(), w.tenant.ID, written(ana))
		w.must(err)
	}
}

func TestErase_Concurrent(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	b := w.accept(1, ana, bruno, caio)
	var both sync.WaitGroup
	for _, number := range []uint64{ana, bruno} {
		both.Go(func() { w.erase(number) })
	}
	both.Wait()
	if diff := cmp.Diff([]uint64{0, 0, caio}, w.numbers(b)); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{caio}, w.set(1)); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	for number, want := range map[uint64]int{ana: 0, bruno: 0, caio: 1} {
		if x := w.export(number); len(x.Rejected) != want || len(x.Messages) != want {
			t.Errorf("of %d: %d messages, %d rejected lines", number%10, len(x.Messages), len(x.Rejected))
		}
	}
}

// An old file may contain cells that a spreadsheet evaluates as formulas.
func TestErase_ErrorFileIsHarmless(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	b := w.accept(1, ana)
	w.put(campaign.ErrorFileKey(b.ErrorFile), []byte("line,phone,uid,code,reason\r\n"+
		"1,"+written(ana)+",a,invalid_form,r\r\n2,'-1,b;=1|calc,invalid_form,r\r\n3,+1,'=2,invalid_number,r\r\n"))
	if done := w.erase(ana); done.Rejected != 1 {
		t.Errorf("erased: %+v", done)
	}
	got, err := w.blobs.Get(t.Context(), campaign.ErrorFileKey(b.ErrorFile))
	w.must(err)
	want := "\"line\",\"phone\",\"uid\",\"code\",\"reason\"\r\n" +
		"\"2\",\"'-1\",\"b;'=1|calc\",\"invalid_form\",\"r\"\r\n\"3\",\"+1\",\"'=2\",\"invalid_number\",\"r\"\r\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("error file (-want +got):\n%s", diff)
	}
}

func TestErase_DamagedData(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	damaged, whole := w.accept(1, ana, bruno), w.accept(2, ana+10, ana)
	w.put(damaged.Payload, []byte("no payload"))
	w.put(campaign.ErrorFileKey(whole.ErrorFile), []byte("no \" file"))
	w.put(submission.WorkPrefix+w.tenant.ID+"/campaign/damaged", fmt.Appendf(nil, "{}\n%s;a\n", written(ana)))
	done, err := w.service().Erase(t.Context(), w.tenant.ID, written(ana))
	if err == nil || !strings.Contains(err.Error(), "run it again") || !strings.Contains(err.Error(), "2 errors") {
		t.Errorf("got %v", err)
	}
	if done.Messages != 1 || done.Rejected != 1 || done.Uploads != 1 {
		t.Errorf("erased: %+v", done)
	}
	if diff := cmp.Diff([]uint64{ana + 10, 0}, w.numbers(whole)); diff != "" {
		t.Errorf("the intact batch (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]uint64{ana, bruno}, w.set(1)); diff != "" {
		t.Errorf("the number of the damaged batch (-want +got):\n%s", diff)
	}
}

// The file of a draft is not checked, and may lack a header.
func TestErase_DraftWithoutHeader(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	for _, rest := range []string{"", written(bruno) + ";b\n"} {
		w.put(submission.WorkPrefix+w.tenant.ID+"/campaign/file", fmt.Appendf(nil, "%s;a\n%s", written(ana), rest))
		if done := w.erase(ana); done.Uploads != 1 {
			t.Errorf("before %q: erased %+v", rest, done)
		}
	}
}

// A workbook is read for campaigns from its first visible sheet alone.
func TestErase_OtherSheet(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	var file bytes.Buffer
	book := zip.NewWriter(&file)
	for name, cell := range map[string]string{"1": written(bruno), "2": strconv.Itoa(ana) + ".0"} {
		sheet, err := book.Create("xl/worksheets/sheet" + name + ".xml")
		w.must(err)
		_, err = io.WriteString(sheet, `<worksheet><sheetData><row><c t="str"><v>phone</v></c></row><row><c><v>`+cell+`</v></c></row></sheetData></worksheet>`)
		w.must(err)
	}
	w.must(book.Close())
	w.put(submission.WorkPrefix+w.tenant.ID+"/campaign/file", file.Bytes())
	if done := w.erase(caio); done.Uploads != 0 {
		t.Errorf("a workbook without the number was erased: %+v", done)
	}
	if done := w.erase(ana); done.Uploads != 1 {
		t.Errorf("erased: %+v", done)
	}
}

// The person leaves the waves of a campaign that wait for weeks. The others stay, and the person stays counted.
func TestErase_WaitingWave(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.accept(1, bruno)
	sub := submission.Submission{ID: w.id, State: submission.StateHolding, Check: submission.Check{Number: 1, Cells: make([]submission.Cell, rollout.Cells())}}
	part := sub.CellPartKey(rollout.Cells()-1, 3)
	w.put(part, submission.EncodePart([]submission.Message{{Line: 2, Phone: written(ana)}, {Line: 3, Phone: written(bruno)}}, 2))
	if done := w.erase(ana); done.Uploads != 1 {
		t.Errorf("erased: %+v", done)
	}
	body, err := w.blobs.Get(t.Context(), part)
	w.must(err)
	left, people, err := submission.DecodePart(body)
	if err != nil || people != 2 || len(left) != 1 || left[0].Phone != written(bruno) {
		t.Errorf("%d of %d people are left in the part, %v", len(left), people, err)
	}
}

// The parts of a large file are dispatched while campaigns are searched.
func TestErase_PartDispatchedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.accept(1, bruno)
	part := submission.PartsPrefix + w.tenant.ID + "/" + w.id.CampaignID + "/check-1/part-2"
	w.put(part, fmt.Appendf(nil, "campaign-dispatch part 1 people 1\n{\"phone\":%q}\n", written(ana)))
	service := w.service()
	service.Progress = func(what string, _, _ int) {
		body, err := w.blobs.Get(t.Context(), part)
		if w.must(err); what == "campaigns" && strings.Contains(string(body), written(ana)) {
			w.accept(2, ana)
		}
	}
	_, err := service.Erase(t.Context(), w.tenant.ID, written(ana))
	w.must(err)
	c, err := w.store.Dispatched(t.Context(), w.id)
	if w.must(err); len(c.Batches) != 1 {
		t.Error("the person is in a batch that was dispatched during the erasure")
	}
}

// A file is made of an export, or copied for a draft, while campaigns are searched.
func TestErase_FileCopiedMeanwhile(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.accept(1, ana)
	file := submission.WorkPrefix + w.tenant.ID + "/" + rand.Text() + "/file-1"
	service := w.service()
	service.Progress = func(what string, _, _ int) {
		if what == "campaigns" {
			w.put(file, []byte("phone;uid\n"+written(ana)+";a\n"))
		}
	}
	_, err := service.Erase(t.Context(), w.tenant.ID, written(ana))
	w.must(err)
	if _, err := w.blobs.Get(t.Context(), file); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("the copy of the list still has the person: %v", err)
	}
}

// The first lines of a large file and the corrected numbers are in the submission's row too.
func TestErase_FirstLines(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	sub, err := w.store.SaveSubmission(t.Context(), submission.Submission{
		ID: campaign.ID{Tenant: w.tenant.ID, CampaignID: rand.Text()}, CreatedAt: w.now, State: submission.StateColumns,
		Columns: submission.Columns{First: [][]string{{written(ana), "Ana"}, {written(bruno), "Bruno"}}},
		Reading: submission.Reading{Corrections: map[int]string{2: written(ana), 3: written(bruno)}},
	})
	w.must(err)
	w.erase(ana)
	sub, err = w.store.Submission(t.Context(), sub.ID)
	w.must(err)
	if diff := cmp.Diff([][]string{{written(bruno), "Bruno"}}, sub.Columns.First); diff != "" {
		t.Errorf("first lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[int]string{3: written(bruno)}, sub.Reading.Corrections); diff != "" {
		t.Errorf("corrections (-want +got):\n%s", diff)
	}
}

// The words by which a person chooses the encoding of a file go with the file.
func TestErase_EncodingWords(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	for name, test := range map[string]struct {
		file string
		left int // choices
	}{
		"the person":                {"phone;nome\n" + written(ana) + ";JOS\xe9\n", 0},
		"the person in a bad line":  {"phone;nome\n1;a\n2;\"Ana;" + written(ana) + "\n", 0},
		"the person in a long line": {"phone;nome\n1;a\n2;b;" + strings.Repeat("a", 2<<20) + ";" + written(ana) + "\n", 0},
		"the person in UTF-16":      {"\xff\xfe" + strings.Join(strings.Split("phone;nome\n"+written(ana)+";a\n", ""), "\x00") + "\x00", 0},
		"other people":              {"phone;nome\n" + written(bruno) + ";JOS\xe9\n", 1},
	} {
		sub := submission.Submission{
			ID: campaign.ID{Tenant: w.tenant.ID, CampaignID: rand.Text()}, CreatedAt: w.now, State: submission.StateColumns,
			File: submission.File{Object: rand.Text()}, Columns: submission.Columns{Encodings: []submission.EncodingChoice{{Name: "ibm850", Words: []string{"JOSÚ"}}}},
		}
		w.must(w.blobs.Put(t.Context(), sub.FileKey(), []byte(test.file), "text/csv"))
		sub, err := w.store.SaveSubmission(t.Context(), sub)
		w.must(err)
		w.erase(ana)
		sub, err = w.store.Submission(t.Context(), sub.ID)
		w.must(err)
		if len(sub.Columns.Encodings) != test.left {
			t.Errorf("%s: %v", name, sub.Columns.Encodings)
		}
	}
}

// A table restored to a time before an erasure refers to the old payload.
func TestErase_AfterRestore(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	before := w.accept(1, ana, bruno, caio)
	w.erase(ana)
	w.erase(bruno)
	latest, err := w.store.Batch(t.Context(), before.BatchRef)
	w.must(err)
	back, err := w.store.ReplacePayload(t.Context(), latest, before.Payload, before.Offsets)
	w.must(err)
	restored, err := w.store.Batch(t.Context(), before.BatchRef)
	w.must(err)
	w.must(w.store.ClearFormerPayload(t.Context(), restored))
	if !back || restored.Payload != before.Payload {
		t.Fatal("the row was not restored")
	}
	if diff := cmp.Diff([]uint64{0, 0, caio}, w.numbers(before)); diff != "" {
		t.Errorf("restored (-want +got):\n%s", diff)
	}
	w.now = w.now.Add(40 * day)
	w.erase(5561900000000) // a number of no batch: only deletes orphaned payloads
	if diff := cmp.Diff([]uint64{0, 0, caio}, w.numbers(before)); diff != "" {
		t.Errorf("after another number's erasure (-want +got):\n%s", diff)
	}
	if done := w.erase(caio); done.Messages != 1 {
		t.Errorf("erased: %+v", done)
	}
	if diff := cmp.Diff([]uint64{0, 0, 0}, w.numbers(before)); diff != "" {
		t.Errorf("after the number's own erasure (-want +got):\n%s", diff)
	}
}

func TestErase_OrphanedPayloads(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.accept(1, bruno)
	w.put("payloads/"+w.tenant.ID+"/"+w.id.CampaignID+"/left", []byte("x"))
	w.now = w.now.Add(34 * day)
	if done := w.erase(ana); done.Young != 1 || done.Remains != 0 || done.Complete() || !done.YoungUntil.After(w.now) {
		t.Errorf("after 34 days: %+v", done)
	}
	w.now = w.now.Add(2 * day)
	if done := w.erase(ana); done.Young != 0 || done.Remains != 1 || !done.Complete() {
		t.Errorf("after 36 days: %+v", done)
	}
}

func TestErase_AnswerWithoutKey(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	w.accept(1, bruno)
	answer := func(campaignID string) []byte {
		return fmt.Appendf(nil, `{"campaignId":%q,"feedback":{"invalidPhones":[{"phone":"61 98765-0001","reason":"r","code":"invalid_form"}]}}`, campaignID)
	}
	mine, others := "answers/"+w.tenant.ID+"-mine", "answers/"+w.tenant.ID+"-others"
	w.put(mine, answer(strings.ToUpper(w.id.CampaignID)))
	w.put(others, answer(lower(rand.Text())))
	w.now = w.now.Add(26 * time.Hour)
	if x := w.export(ana); len(x.Answers) != 1 {
		t.Errorf("exported: %+v", x.Answers)
	}
	if done := w.erase(ana); done.Answers != 1 {
		t.Errorf("erased: %+v", done)
	}
	if _, err := w.blobs.Get(t.Context(), mine); err == nil {
		t.Error("it is still there")
	}
	if _, err := w.blobs.Get(t.Context(), others); err != nil {
		t.Errorf("the other tenant's is gone: %v", err)
	}
}

func TestErase_OptInAndOptOut(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"shard in one row": 0, "shard in parts": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newTenantFixture(t)
			book := &optout.Book{Store: w.store, Now: w.store.Tables().Now, MaxRow: limit, MaxPart: limit}
			opt := func(number uint64, out bool) {
				w.now = w.now.Add(time.Minute)
				w.must(book.Record(t.Context(), w.tenant.ID, []campaign.OptChange{{Phone: written(number), Out: out, At: w.now}}))
			}
			opt(ana+optout.Shards, true)
			opt(ana, true)
			out := w.now
			if x := w.export(ana); !x.OptOut.OptedOut || x.OptOut.Since == nil || !x.OptOut.Since.Equal(out) {
				t.Errorf("exported %+v, want it out since %s", x.OptOut, out)
			}
			if done := w.erase(ana); done.OptIn || !done.OptedOut {
				t.Errorf("opted out: %+v", done)
			}
			opt(ana, false)
			if done := w.erase(ana); !done.OptIn || done.OptedOut {
				t.Errorf("opted in: %+v", done)
			}
			if done := w.erase(ana); !done.Nothing() {
				t.Errorf("again: %+v", done)
			}
			if x := w.export(ana + optout.Shards); !x.OptOut.OptedOut {
				t.Error("another number's opt-out is gone")
			}
		})
	}
}

// Every form of a number that dispatch, a file or a form accepts erases the messages to it.
func TestErase_Forms(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	last := map[string]string{} // the last form of a number
	for _, f := range phonetest.Forms() {
		if phonetest.Accepted(f.Typed) {
			last[f.Typed] = f.Text
		}
	}
	var numbers []uint64
	for number := range last {
		n, err := strconv.ParseUint(number[1:], 10, 64)
		w.must(err)
		numbers = append(numbers, n)
	}
	b := w.accept(1, numbers...)
	for number, form := range last {
		done, err := w.service().Erase(t.Context(), w.tenant.ID, form)
		if err != nil || done.Messages != 1 {
			t.Errorf("%q erased %d messages to %s: %v", form, done.Messages, number, err)
		}
	}
	for _, n := range w.numbers(b) {
		if n != 0 {
			t.Errorf("the message to %d is not erased", n)
		}
	}
}

// A number that dispatch rejected is exported and erased as it was written. Only a text without digits is refused.
func TestErase_Rejected(t *testing.T) {
	t.Parallel()
	w := newTenantFixture(t)
	b := w.accept(1, ana)
	w.put(campaign.ErrorFileKey(b.ErrorFile), []byte("line,phone,uid,code,reason\r\n"+
		"1,987654321,a,missing_area_code,r\r\n2,(11) 8765-4321,b,invalid_form,r\r\n3,1234,c,missing_area_code,r\r\n4,987654322,d,missing_area_code,r\r\n"))
	for i, form := range []string{"98765-4321", "1187654321", "12-34"} {
		x, err := w.service().Export(t.Context(), w.tenant.ID, form)
		if err != nil || len(x.Rejected) != 1 || x.Rejected[0].Line != i+1 {
			t.Errorf("%s: exported %+v, %v", form, x.Rejected, err)
		}
		if done, err := w.service().Erase(t.Context(), w.tenant.ID, form); err != nil || done.Rejected != 1 || done.Messages != 0 {
			t.Errorf("%s: erased %+v, %v", form, done, err)
		}
	}
	left, err := w.blobs.Get(t.Context(), campaign.ErrorFileKey(b.ErrorFile))
	if err != nil || !strings.Contains(string(left), "987654322") || strings.Count(string(left), "\n") != 2 {
		t.Errorf("left, %v:\n%s", err, left)
	}
	for _, form := range []string{"", "+", "Ana"} {
		if _, err := w.service().Erase(t.Context(), w.tenant.ID, form); err == nil {
			t.Errorf("%q is accepted", form)
		}
	}
}
