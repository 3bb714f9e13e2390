package campaigns_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dashboard/campaigns"
	"campaign-dispatch/internal/intake/submission"
)

// says checks that a page says all of it.
func says(t *testing.T, page, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q:\n%s", page, w, text)
		}
	}
}

// Of a file that is cancelled half-way, everybody is counted: on the page, in the list and in the
// question.
func TestCampaign_File(t *testing.T) {
	t.Parallel()
	d := newService(t)
	d.totals = campaign.SubmissionTotals{Lines: 2010, Invalid: 7, Faulty: 2, Repeated: 1, People: 2000, Accepted: 1000, PartsToCome: 1, Until: noon.AddDate(0, 0, 7)}
	b := d.running("Natal")
	text := d.admin().Get(pathOf(b)).Text()
	says(t, "the page", text, "Recipients 1,000 50% of the people Sent 900 45% of the people Delivered 800 88.9% of those sent Read 400 50% of those delivered", "1,000 people of the file are still to be accepted.")
	says(t, "the page", text, "Not sent 6 6 Had opted out.", "Lines of the file: 2,010. People: 2,000. Invalid numbers: 7. Lines with a problem: 2. Repeated numbers: 1.")
	says(t, "the list", d.admin().Get(campaigns.Path).Text(), "Sending 2,000 88.9% 50% – 50 Not sent: 6")
	says(t, "the question", d.admin().Get(pathOf(b)+"/cancel").Text(), "not accepted yet and will not be: 1,000.", "which will be stopped: 54.")
	if a := d.admin().Post(pathOf(b)+"/cancel", url.Values{}); a.Status != http.StatusSeeOther {
		t.Fatalf("cancelling gets %d: %s", a.Status, a.Text())
	}
	d.record(b, campaign.OutcomeStopped, campaign.CodeCancelled, 946, 999, noon)
	says(t, "the page", d.admin().Get(pathOf(b)).Text(), "Cancelled", "Recipients 1,000 50%", "Not sent 1,060 54 Cancelled before sending. 1,000 Not accepted any more. 6 Had opted out.")
	d.later = time.Minute // the list is read again
	says(t, "the list", d.admin().Get(campaigns.Path).Text(), "Cancelled 2,000 88.9% 50% – 50 Not sent: 1,060")
	reader := d.admin()
	reader.Language = "pt-BR"
	says(t, "the page in Portuguese", reader.Get(pathOf(b)).Text(), "Não enviadas 1.060 54 Canceladas antes do envio. 1.000 Não chegaram a ser aceitas. 6 Tinham pedido para não receber.")
}

// People of the file whom another batch had before are counted apart, and are not among those still to be accepted. Nothing is
// said of them if there are none.
func TestCampaign_FileInOtherBatches(t *testing.T) {
	t.Parallel()
	for others, said := range map[int]struct{ left, en, pt string }{
		0: {"1,000", "People: 2,000. Invalid numbers: 7.", "Pessoas: 2.000. Números inválidos: 7."},
		1: {"999", "Repeated numbers: 1. 1 person was already in another batch", "1 pessoa já estava em outro envio desta campanha."},
		3: {"997", "Repeated numbers: 1. 3 people were already in another batch", "3 pessoas já estavam em outro envio desta campanha."},
	} {
		d := newService(t)
		d.totals = campaign.SubmissionTotals{
			Lines: 2010, Invalid: 7, Faulty: 2, Repeated: 1, People: 2000, Accepted: 1000, InOtherBatches: others, PartsToCome: 1, Until: noon.AddDate(0, 0, 7),
		}
		b := d.running("Natal")
		text := d.admin().Get(pathOf(b)).Text()
		says(t, "the page", text, said.en, said.left+" people of the file are still to be accepted.")
		if others == 0 && strings.Contains(text, "another batch") {
			t.Errorf("the page speaks of nobody:\n%s", text)
		}
		says(t, "the question", d.admin().Get(pathOf(b)+"/cancel").Text(), "not accepted yet and will not be: "+said.left+".")
		reader := d.admin()
		reader.Language = "pt-BR"
		says(t, "the page in Portuguese", reader.Get(pathOf(b)).Text(), said.pt)
	}
}

// A campaign is cancelled before the first part of its file, and then shown and listed.
func TestCancel_Unsent(t *testing.T) {
	t.Parallel()
	d := newService(t)
	sub, err := d.store.SaveSubmission(t.Context(), submission.Submission{
		ID: campaign.ID{Tenant: d.tenant, CampaignID: uuid()}, Name: "Natal", State: submission.StateSending, CreatedAt: noon,
		Check: submission.Check{Rows: 6, Parts: 3, Findings: submission.Findings{Accepted: 6}},
	})
	d.must(err)
	path := campaigns.Path + "/" + sub.CampaignID
	for _, a := range []int{d.admin().Get(path + "/reschedule").Status, d.admin().Post(path+"/reschedule", url.Values{"schedule": {"2037-11-22T10:00"}}).Status} {
		if a != http.StatusConflict {
			t.Errorf("a new time gets %d", a)
		}
	}
	says(t, "the question", d.admin().Get(path+"/cancel").Text(), "not accepted yet and will not be: 6.")
	if a := d.admin().Post(path+"/cancel", url.Values{}); a.Status != http.StatusSeeOther || a.Location != path {
		t.Fatalf("cancelling gets %d to %q: %s", a.Status, a.Location, a.Text())
	}
	says(t, "the page", d.admin().Get(path).Text(), "Natal", "Cancelled", "Recipients 0 0% of the people", "Not sent 6 6 Not accepted any more.")
	says(t, "the list", d.admin().Get(campaigns.Path).Text(), "Natal Cancelled on", "Cancelled 6 – – – 0 Not sent: 6")
	says(t, "the row", d.admin().Get(path+"/row").Text(), "Natal Cancelled on", "Cancelled 6 – – – 0 Not sent: 6")
	if a := d.admin().Get(campaigns.Path + "/" + uuid() + "/cancel"); a.Status != http.StatusNotFound {
		t.Errorf("a campaign that does not exist gets %d", a.Status)
	}
}
