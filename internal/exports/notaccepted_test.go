package exports_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/exports/export"
	"campaign-dispatch/internal/intake/submission"
)

// totals are of a file with three parts of two people, of which the first one was accepted.
var totals = campaign.SubmissionTotals{
	Lines: 7, Invalid: 1, People: 6, Accepted: 2, PartsToCome: 2, Check: 1, Parts: 3, PartsDone: 1, Until: noon.AddDate(0, 0, 7),
}

// leave writes the parts that are left of the file.
func (c *company) leave(t campaign.SubmissionTotals) {
	c.t.Helper()
	for part, messages := range map[int][]submission.Message{
		2: {
			{Line: 4, Phone: "11980020000", Number: 5511980020000, UID: "=c", Vars: map[string]string{"nome": "Caio, o outro"}},
			{Line: 5, Phone: "123", UID: "x", Vars: map[string]string{"nome": "X"}},
			{Line: 6, Phone: "5511980020001", Number: 5511980020001, UID: "d", Vars: map[string]string{"nome": "Davi"}},
		},
		3: {{Line: 8, Phone: "11980030001", Number: 5511980030001, UID: "f", Vars: map[string]string{"nome": "Fay"}}}, // the other one was erased
	} {
		c.must(c.blobs.Put(c.t.Context(), submission.NotAcceptedKey(c.id, t, part), submission.EncodePart(messages, 2), "application/x-ndjson"))
	}
}

// discarded is a campaign whose first part was accepted, and whose rest was discarded.
func (c *company) discarded() campaign.Batch {
	c.t.Helper()
	b := c.acceptOf(1, []string{"a", "b"}, totals, func(b *campaign.Batch) { b.TemplateVersion = 2 })
	c.leave(totals)
	return b
}

// People who are not accepted any more stand in the file, and count in its total. Invalid numbers and
// people who were erased do not stand in it.
func TestMaker_NotAccepted(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.record(c.discarded(), campaign.OutcomeSent, "", 1, 0, 1)
	if file := c.made(export.Request{}); strings.Contains(file, "not_accepted") {
		t.Errorf("people who are still to be accepted stand in the file:\n%s", file)
	}
	_, err := c.store.EndParts(t.Context(), c.id)
	c.must(err)
	e := c.create(export.Request{})
	c.run()
	if e = c.stored(e); e.Total != 6 || e.Checked != 6 || e.Lines != 5 {
		t.Errorf("%d of %d are checked, %d lines", e.Checked, e.Total, e.Lines)
	}
	_, got := c.download(e)
	heading := `"Number","uid","Status","Reason","Sent at","Delivered at","Read at","Ended at","Taps","Clicks"`
	left := []string{
		`"+5511980020000","'=c","not_accepted","","","","","","",""`,
		`"+5511980020001","d","not_accepted","","","","","","",""`,
		`"+5511980030001","f","not_accepted","","","","","","",""`,
	}
	want := lines(append([]string{
		heading,
		`"+5511980010000","a","sent","","2037-11-21T12:01:00.000Z","","","","",""`,
		`"+5511980010001","b","sent","","2037-11-21T12:01:00.000Z","","","","",""`,
	}, left...)...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(lines(append([]string{heading}, left...)...), c.made(export.Request{Statuses: []string{"not_accepted"}})); diff != "" {
		t.Errorf("the file of the status (-want +got):\n%s", diff)
	}
	if file := c.made(export.Request{Statuses: []string{"sent"}}); strings.Contains(file, "not_accepted") {
		t.Errorf("the file of another status:\n%s", file)
	}
	portuguese := c.made(export.Request{Format: export.Excel, Language: "pt-BR"})
	if !strings.Contains(portuguese, `"+55 11 98002-0001";"d";"Não enviada (não chegou a ser aceita)"`) {
		t.Errorf("the file in Portuguese:\n%s", portuguese)
	}
	for _, part := range []int{2, 3} { // they expire
		c.must(c.blobs.Delete(t.Context(), submission.NotAcceptedKey(c.id, totals, part)))
	}
	if file := c.made(export.Request{}); strings.Contains(file, "not_accepted") || !strings.Contains(file, "sent") {
		t.Errorf("the file without the parts:\n%s", file)
	}
}

// Who did not get the message includes those who are not accepted any more, with their values.
func TestMaker_NotAcceptedRecipients(t *testing.T) {
	t.Parallel()
	const left = "+5511980020000,=c,\"Caio, o outro\"\n+5511980020001,d,Davi\n+5511980030001,f,Fay\n"
	for name, begin := range map[string]func(c *company){
		"the rest was discarded": func(c *company) {
			c.record(c.discarded(), campaign.OutcomeSent, "", 1, 0, 1)
			_, err := c.store.EndParts(t.Context(), c.id)
			c.must(err)
		},
		"cancelled before the first part": func(c *company) {
			none := totals
			none.PartsDone, none.Accepted, none.People, none.Parts = 0, 0, 4, 3
			c.must(c.store.CreateCancelled(t.Context(), campaign.Campaign{ID: c.id, Name: "Entregas", Submission: none, CancelledAt: noon}))
			c.leave(none)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCompany(t)
			c.erased = map[export.Audience]int{export.AudienceMissed: 1}
			_, err := c.store.PutTemplate(t.Context(), campaign.Template{
				ID: c.template(), Tenant: c.id.Tenant, Version: 2, Name: "t", Content: content.Content{Text: "Oi {{nome}}"},
			})
			c.must(err)
			begin(c)
			if diff := cmp.Diff("phone,uid,nome\n"+left, c.recipients(export.AudienceMissed)); diff != "" {
				t.Errorf("who did not get it (-want +got):\n%s", diff)
			}
			if got := c.recipients(export.AudienceUnread); strings.Contains(got, "Davi") {
				t.Errorf("who did not read it:\n%s", got)
			}
		})
	}
}

// wavesOf returns the totals with the parts in cells of their own.
func wavesOf(waves ...int) campaign.SubmissionTotals {
	t := totals
	for n, until := range []int{50, 1000, 10_000} {
		t.Cells = append(t.Cells, campaign.Cell{Until: until, Parts: 1, Wave: waves[n]})
	}
	return t
}

// The outcomes of a campaign in waves have the wave of each person in their last column, also of people who are not
// accepted any more. A batch of the API has none, though its name is a number.
func TestMaker_Waves(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	waves := wavesOf(1, 2, 3)
	c.record(c.acceptOf(1, []string{"a", "b"}, waves, func(b *campaign.Batch) {
		b.Name, b.BatchID, b.Part = "1", campaign.BatchID("1"), "part"
	}), campaign.OutcomeSent, "", 1, 0, 1)
	c.accept(2, []string{"x"}, func(b *campaign.Batch) { b.Name, b.BatchID = "3", campaign.BatchID("3") })
	c.leave(waves)
	c.must(c.store.CancelCampaign(t.Context(), c.id, noon, false))
	want := lines(
		`"Number","uid","Status","Reason","Sent at","Delivered at","Read at","Ended at","Taps","Clicks","Wave"`,
		`"+5511980010000","a","sent","","2037-11-21T12:01:00.000Z","","","","","","1"`,
		`"+5511980010001","b","sent","","2037-11-21T12:01:00.000Z","","","","","","1"`,
		`"+5511980020000","x","pending","","","","","","","",""`,
		`"+5511980020000","'=c","not_accepted","","","","","","","","2"`,
		`"+5511980020001","d","not_accepted","","","","","","","","2"`,
		`"+5511980030001","f","not_accepted","","","","","","","","3"`,
	)
	if diff := cmp.Diff(want, c.made(export.Request{})); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
	want = "\ufeff" + lines(
		`"Número";"Código do cliente (uid)";"Situação";"Motivo";"Enviada em";"Entregue em";"Lida em";"Encerrada em";"Toques";"Cliques";"Onda"`,
		`"+55 11 98001-0000";"a";"Enviada";"";"21/11/2037 09:01:00";"";"";"";"";"";"1"`,
		`"+55 11 98001-0001";"b";"Enviada";"";"21/11/2037 09:01:00";"";"";"";"";"";"1"`,
	)
	if diff := cmp.Diff(want, c.made(export.Request{Format: export.Excel, Language: "pt-BR", Statuses: []string{"sent"}})); diff != "" {
		t.Errorf("the file in Portuguese (-want +got):\n%s", diff)
	}
	c.erased = map[export.Audience]int{export.AudienceMissed: 1}
	if got := c.recipients(export.AudienceMissed); !strings.HasPrefix(got, "phone,uid\n") || !strings.HasSuffix(got, "+5511980030001,f\n") {
		t.Errorf("who did not get it:\n%s", got)
	}
}

// The file of a campaign that goes at once has no such column, though its file is divided.
func TestMaker_DividedAtOnce(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	divided := wavesOf(0, 0, 0)
	c.acceptOf(1, []string{"a", "b"}, divided, func(b *campaign.Batch) { b.Name, b.BatchID, b.Part = "1", campaign.BatchID("1"), "part" })
	c.leave(divided)
	_, err := c.store.EndParts(t.Context(), c.id)
	c.must(err)
	want := lines(
		`"Number","uid","Status","Reason","Sent at","Delivered at","Read at","Ended at","Taps","Clicks"`,
		`"+5511980010000","a","pending","","","","","","",""`,
		`"+5511980010001","b","pending","","","","","","",""`,
		`"+5511980020000","'=c","not_accepted","","","","","","",""`,
		`"+5511980020001","d","not_accepted","","","","","","",""`,
		`"+5511980030001","f","not_accepted","","","","","","",""`,
	)
	if diff := cmp.Diff(want, c.made(export.Request{})); diff != "" {
		t.Errorf("the file (-want +got):\n%s", diff)
	}
}
