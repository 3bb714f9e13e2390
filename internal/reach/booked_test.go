package reach_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/reach"
)

// lastEvening is 22:00 on November 30 in São Paulo, 21:00 in Manaus and 20:00 in Rio Branco.
var lastEvening = time.Date(2026, 12, 1, 1, 0, 0, 0, time.UTC)

func zones(all ...window.Zone) (s window.Set) {
	for _, z := range all {
		s = s.With(z)
	}
	return s
}

func TestBookedOn(t *testing.T) {
	t.Parallel()
	holiday, fromAcre, closed, late := usual(), usual(), usual(), usual()
	holiday.Holidays = []string{"12-01"}
	fromAcre.Zone = window.RioBranco
	closed.Rules = map[campaign.Traffic]reach.Rule{campaign.Promotion: {}}
	atNight := reach.Rule{}
	for day := range atNight.Week {
		atNight.Week[day] = window.Hours{From: 22*60 + 30, Until: window.Day}
	}
	late.Rules = map[campaign.Traffic]reach.Rule{campaign.Promotion: atNight}
	for name, test := range map[string]struct {
		policy reach.TenantHours
		zones  window.Set
		due    time.Time
		want   string
	}{
		"without hours":                         {reach.TenantHours{}, zones(window.SaoPaulo), lastEvening, "2026-11-30"},
		"without hours, by the clock of Brazil": {reach.TenantHours{}, 0, lastEvening.Add(2 * time.Hour), "2026-12-01"},
		"open":                                  {usual(), zones(window.SaoPaulo), lastEvening.Add(-2 * time.Hour), "2026-11-30"},
		"closed":                                {usual(), zones(window.SaoPaulo), lastEvening, "2026-12-01"},
		"closed in two zones":                   {usual(), zones(window.SaoPaulo, window.Manaus), lastEvening, "2026-12-01"},
		"open in the third":                     {usual(), zones(window.SaoPaulo, window.Manaus, window.RioBranco), lastEvening, "2026-11-30"},
		"a holiday":                             {holiday, zones(window.SaoPaulo, window.Manaus), lastEvening, "2026-12-02"},
		"before a holiday in the third":         {holiday, zones(window.SaoPaulo, window.Manaus, window.RioBranco), lastEvening, "2026-11-30"},
		"a holiday in all":                      {holiday, zones(window.SaoPaulo, window.Manaus, window.RioBranco), lastEvening.Add(time.Hour), "2026-12-02"},
		"foreign numbers":                       {usual(), zones(0), lastEvening, "2026-12-01"},
		"foreign numbers of a company in Acre":  {fromAcre, zones(0), lastEvening, "2026-11-30"},
		"foreign numbers with others":           {fromAcre, zones(0, window.SaoPaulo), lastEvening, "2026-11-30"},
		"zones that are not known":              {usual(), 0, lastEvening, "2026-12-01"},
		"zones that are not known, in Acre":     {fromAcre, 0, lastEvening, "2026-11-30"},
		"never":                                 {closed, zones(window.SaoPaulo), lastEvening, "2026-11-30"},
		"the date is that of São Paulo":         {late, zones(window.RioBranco), lastEvening, "2026-12-01"},
		"the night before in São Paulo":         {late, zones(window.RioBranco, window.SaoPaulo), lastEvening, "2026-11-30"},
	} {
		if got := test.policy.HoursFor(campaign.Promotion, nil).BookedOn(test.due)(test.zones); got != test.want {
			t.Errorf("%s: booked on %s, want %s", name, got, test.want)
		}
	}
}

// Batches of a campaign differ in their zones and in the window of their call. A large campaign reads its template once.
func TestBookings(t *testing.T) {
	t.Parallel()
	tuesday := window.Week{time.Tuesday: {From: 600, Until: 660}}
	batch := func(id int, change func(b *campaign.Batch)) campaign.Batch {
		b := campaign.Batch{TemplateID: "t", TemplateVersion: 3, Reserved: 1, Zones: []window.Count{{Zone: window.RioBranco, Messages: 1}}}
		b.BatchID = strconv.Itoa(id)
		if change != nil {
			change(&b)
		}
		return b
	}
	batches := []campaign.Batch{
		batch(0, nil),
		batch(1, func(b *campaign.Batch) { b.Zones[0].Zone = window.SaoPaulo }),
		batch(2, func(b *campaign.Batch) { b.SendWindow = &tuesday }),
		batch(3, func(b *campaign.Batch) { b.Reserved = 0 }),
		batch(4, func(b *campaign.Batch) { b.Zones = nil }),
	}
	want := map[string]string{"0": "2026-11-30", "1": "2026-12-01", "2": "2026-12-01", "4": "2026-12-01"}
	for id := range 5_000 {
		batches = append(batches, batch(100+id, nil))
		want[strconv.Itoa(100+id)] = "2026-11-30"
	}
	rows := &rowsRead{policy: usual()}
	got, err := reach.Bookings(t.Context(), rows, rows.policy, batches, lastEvening)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v, dates (-want +got):\n%s", err, diff)
	}
	if rows.templates > 2 { // one for each window of a call
		t.Errorf("%d reads of one template", rows.templates)
	}
	if _, err := reach.Bookings(t.Context(), rows, reach.TenantHours{}, batches[:1], lastEvening); err != nil || rows.templates > 2 {
		t.Errorf("without hours: %v, %d reads of the template", err, rows.templates)
	}
}
