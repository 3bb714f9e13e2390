package campaigns_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/campaigns"
)

// lacks checks that a page says none of it.
func lacks(t *testing.T, page, text string, unwanted ...string) {
	t.Helper()
	for _, u := range unwanted {
		if strings.Contains(text, u) {
			t.Errorf("%s says %q:\n%s", page, u, text)
		}
	}
}

// A cancellation that came too late says so, with the numbers: on the next page, on that of the campaign, and in the audit
// log.
func TestCancel_TooLate(t *testing.T) {
	t.Parallel()
	for revoke, test := range map[string]struct{ notice, page, portuguese string }{
		"false": {
			"came too late: nothing was stopped. Messages that had been sent already: 3.", "too late: 3 messages had been sent already. None was stopped.",
			"tarde demais: 3 mensagens já tinham sido enviadas. Nenhuma foi interrompida.",
		},
		"true": {
			"had been sent completely. Messages sent: 3. Those that have not arrived will be withdrawn.",
			"Sent already: 3. Stopped before sending: 0. Messages not delivered yet are being withdrawn.",
			"Já enviadas: 3. Interrompidas antes do envio: 0. As mensagens ainda não entregues estão sendo retiradas.",
		},
	} {
		d := newService(t)
		b := d.accept(uuid(), "Natal", 1, 3, nil)
		d.record(b, campaign.OutcomeSent, "", 0, 2, noon)
		d.record(b, campaign.OutcomeRead, "", 0, 0, noon)
		admin := d.admin()
		page := admin.Follow(admin.Post(pathOf(b)+"/cancel", url.Values{"revoke": {revoke}})).Text()
		says(t, "the next page", page, test.notice, test.page, "Natal Cancelled")
		lacks(t, "the next page", page, "Being cancelled", "What has not been sent")
		says(t, "the list", admin.Get(campaigns.Path).Text(), "Cancelled 3")
		if got := d.Audited(); len(got) != 1 || !strings.HasSuffix(got[0], " Natal said campaigns.cancel_found number:3 number:0") {
			t.Errorf("audited %q", got)
		}
		admin.Language = "pt-BR"
		says(t, "the page in Portuguese", admin.Get(pathOf(b)).Text(), test.portuguese)
	}
}

// A cancellation half-way says how many were sent and how many are stopped, while it lasts and when it is over.
func TestCancel_HalfWay(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.running("Natal")
	admin := d.admin()
	page := admin.Follow(admin.Post(pathOf(b)+"/cancel", url.Values{})).Text()
	says(t, "the next page", page, "The campaign “Natal” was cancelled. Sent already: 900. People to whom nothing is sent: 54.",
		"Natal Being cancelled", "Sent already: 900. Stopped before sending: 0. Being stopped: 54.")
	lacks(t, "the next page", page, "wait to be sent", "Pause sending")
	says(t, "the list", admin.Get(campaigns.Path).Text(), "Being cancelled 1,000")
	d.record(b, campaign.OutcomeStopped, campaign.CodeCancelled, 946, 999, noon)
	page = admin.Get(pathOf(b)).Text()
	says(t, "the page", page, "Natal Cancelled", "Sent already: 900. Stopped before sending: 54.")
	lacks(t, "the page", page, "Being stopped")
}

// While it is paused in the middle of its file, a campaign says one number of people who wait, and of them those who are
// not accepted yet.
func TestPause_File(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.totals = campaign.SubmissionTotals{Lines: 30_000, People: 30_000, Accepted: 1999, PartsToCome: 14, Until: noon.AddDate(0, 0, 7)}
	b := d.running("Natal")
	d.totals = d.totals.WithPart(2000, 2000, 0)
	d.accept(b.CampaignID, "Natal", 2, 2000, func(b *campaign.Batch) { b.State = campaign.BatchPending }) // accepted just now
	admin := d.admin()
	says(t, "the question", admin.Get(pathOf(b)+"/pause").Text(),
		"Messages that were not sent yet and will wait: 28,055.", "Of them, 26,001 are of the file and not accepted yet.")
	page := admin.Follow(admin.Post(pathOf(b)+"/pause", url.Values{})).Text()
	says(t, "the next page", page, "Natal Paused", "28,055 people wait until somebody resumes the sending. Of them, 26,001 are of the file and not accepted yet.",
		"The file is still accepted during the pause, but nothing of it goes out.", "2,054 messages wait to be sent.", "26,001 people of the file are still to be accepted.")
	lacks(t, "the next page", page, "Goes out", "sending is or was paused")
	says(t, "the question", admin.Get(pathOf(b)+"/resume").Text(), "Messages that were not sent yet: 28,055.")
	page = admin.Follow(admin.Post(pathOf(b)+"/cancel", url.Values{})).Text()
	says(t, "the page after cancelling", page, "Natal Being cancelled", "Sent already: 900.", "People of the file who are not accepted any more: 26,001.")
	lacks(t, "the page after cancelling", page, "Paused on", "Resume sending", "paused", "still to be accepted", "wait to be sent")
}

// A pause of a campaign that has sent everything holds nothing, and says so. Its completion ends the pause.
func TestPause_NothingLeft(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 3, nil)
	d.record(b, campaign.OutcomeSent, "", 0, 2, noon)
	_, err := d.store.PauseCampaign(t.Context(), b.ID, noon)
	d.must(err)
	admin := d.admin()
	says(t, "the page", admin.Get(pathOf(b)).Text(), "Everything has gone out: nothing waits for the end of the pause.", "Resume sending")
	d.record(b, campaign.OutcomeRead, "", 0, 2, noon)
	for _, path := range []string{pathOf(b), campaigns.Path} {
		d.later += 2 * time.Minute
		text := strings.Replace(admin.Get(path).Text(), "Status All Sending Waits for its hours Waits for a decision Scheduled Paused", "", 1)
		says(t, path, text, "Completed")
		lacks(t, path, text, "Paused", "Resume")
	}
	if a := admin.Post(pathOf(b)+"/pause", url.Values{}); a.Status != http.StatusConflict {
		t.Errorf("pausing gets %d", a.Status)
	}
}

// Messages of a pause that has just ended, or of the operator's, wait.
func TestCampaign_PauseOfTheOperator(t *testing.T) {
	t.Parallel()
	d := newService(t)
	b := d.accept(uuid(), "Natal", 1, 3, func(b *campaign.Batch) { b.Waits.Paused = true })
	says(t, "the page", d.admin().Get(pathOf(b)).Text(), "3 people still wait: sending is or was paused. It continues within two minutes of the end of the pause.")
}
