package exports_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/exports/export"
)

// recipients returns the file of an audience. It checks that the list has as many people as the page of the follow-up
// says, less those who were erased.
func (c *company) recipients(who export.Audience) string {
	c.t.Helper()
	e, err := c.CreateRecipients(c.t.Context(), c.id, random.UUID(), who)
	c.must(err)
	overview, err := c.store.Overview(c.t.Context(), c.id)
	c.must(err)
	c.run()
	if e = c.stored(e); e.State != export.Completed {
		c.t.Fatalf("the list is %s", e.State)
	}
	if people := who.People(overview); people-c.erased[who] != e.Lines {
		c.t.Errorf("%s: the number says %d people, of whom %d were erased, and the list has %d", who, people, c.erased[who], e.Lines)
	}
	file, err := c.blobs.Get(c.t.Context(), e.Blob())
	c.must(err)
	return string(file)
}

// Each audience has the recipients of its states, with the values as they were sent.
func TestMaker_Audiences(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	first := c.campaignOfTwo() // 0 sent, 1 read and tapped, 2 delivered, 3 expired, 4 failed
	withheld := c.accept(3, []string{"out", "listed", "stopped"}, nil)
	c.record(withheld, campaign.OutcomeFailed, campaign.CodeOptedOut, 1, 0)
	c.record(withheld, campaign.OutcomeFailed, campaign.CodeSuppressed, 1, 1)
	c.record(withheld, campaign.OutcomeStopped, "", 1, 2)
	late := c.accept(4, []string{"late", "both", "clicked"}, nil)
	c.record(late, campaign.OutcomeDelivered, "", 1, 0)
	c.record(late, campaign.OutcomeRead, "", 1, 1, 2)
	c.tap(late, campaign.OutcomeTapped, 1, 1)
	c.tap(late, campaign.OutcomeClicked, 1, 2)
	c.tap(late, campaign.OutcomeClicked, 2, 2)
	for who, want := range map[export.Audience]string{
		export.AudienceUnread: "phone,uid\n+5511980010002,u2\n+5511980040000,late\n",
		export.AudienceMissed: "phone,uid\n+5511980010003,u3\n+5511980010004,u4\n+5511980030002,stopped\n",
		export.AudienceTapped: "phone,uid\n+5511980010001,josé\n+5511980040001,both\n+5511980040002,clicked\n",
	} {
		if diff := cmp.Diff(want, c.recipients(who)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", who, diff)
		}
	}
	c.record(first, campaign.OutcomeRead, "", 9, 2)
	if got := c.recipients(export.AudienceUnread); got != "phone,uid\n+5511980040000,late\n" {
		t.Errorf("after a reading: %s", got)
	}
}

// A small list is made in the request, and a task would continue it if the request ended before. A large one, and one
// that fails, is left to the queue.
func TestService_SmallListAtOnce(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	ask := func(queued int) export.Export {
		t.Helper()
		e, err := c.CreateRecipients(t.Context(), c.id, random.UUID(), export.AudienceTapped)
		c.must(err)
		if len(c.queue.tasks) != queued {
			t.Errorf("%d tasks are queued, want %d", len(c.queue.tasks), queued)
		}
		return e
	}
	c.AtOnce = c.maker(c.store, c.blobs, c.queue)
	made := ask(1)
	c.run()
	for _, e := range []export.Export{made, c.stored(made)} {
		if e.State != export.Completed || e.Lines != 1 {
			t.Errorf("the list is %s with %d lines", e.State, e.Lines)
		}
	}
	for n := range 8 {
		c.record(c.accept(3+n, []string{"u"}, nil), campaign.OutcomeRead, "", 1, 0)
	}
	if e := ask(1); e.State != export.Pending {
		t.Errorf("a list of ten batches is %s", e.State)
	}
	c.run()
	c.id.CampaignID, c.name = random.UUID(), "Outra"
	damaged := c.accept(1, []string{"u"}, nil)
	c.must(c.blobs.Put(t.Context(), damaged.Payload, []byte("?"), "application/octet-stream"))
	ask(2)
}

// The columns are the variables of all templates of the campaign. A value stays as it is,
// also one that a spreadsheet would run.
func TestMaker_RecipientsVariables(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	ids := map[string]string{}
	for _, text := range []string{"{{nome}} {{cupom}}", "{{cupom}} {{uid}} {{loja}}"} {
		ids[text] = random.UUID()
		_, err := c.store.PutTemplate(t.Context(), campaign.Template{ID: ids[text], Tenant: c.id.Tenant, Version: 1, Name: "t", Content: content.Content{Text: text}})
		c.must(err)
	}
	for i, batch := range []struct {
		text   string
		values []string
	}{{"{{nome}} {{cupom}}", []string{"=Ana, \"a\"", "DEZ"}}, {"{{cupom}} {{uid}} {{loja}}", []string{"VINTE", "u", "Centro\nSul"}}} {
		var w payload.Writer
		w.AddMessage(campaign.Message{Phone: 5511980000001, UID: "u", Values: batch.values})
		body, offsets := w.Finish()
		b := c.accept(i+1, []string{"u"}, func(b *campaign.Batch) {
			b.TemplateID, b.Offsets = ids[batch.text], offsets
		})
		c.must(c.blobs.Put(t.Context(), b.Payload, body, "application/octet-stream"))
		c.record(b, campaign.OutcomeDelivered, "", 1, 0)
	}
	want := "phone,uid,nome,cupom,loja\n" +
		"+5511980000001,u,\"=Ana, \"\"a\"\"\",DEZ,\n" +
		"+5511980000001,u,,VINTE,\"Centro\nSul\"\n"
	if diff := cmp.Diff(want, c.recipients(export.AudienceUnread)); diff != "" {
		t.Errorf("the list (-want +got):\n%s", diff)
	}
}

// A list of recipients is not an export of the API, and has no link.
func TestService_RecipientsAreHidden(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	c.campaignOfTwo()
	e, err := c.CreateRecipients(t.Context(), c.id, random.UUID(), export.AudienceUnread)
	c.must(err)
	c.run()
	if _, err := c.Open(t.Context(), e.ExportID+"."+e.Secret); problem(err) != "404 not_found" {
		t.Errorf("the link: %s", problem(err))
	}
	all, err := c.OfCampaign(t.Context(), c.id)
	c.must(err)
	if len(all) > 0 {
		t.Errorf("listed: %+v", all)
	}
	if _, err := c.CreateRecipients(t.Context(), c.id, random.UUID(), "everybody"); problem(err) != "400 unknown_value" {
		t.Errorf("an unknown audience: %s", problem(err))
	}
}
