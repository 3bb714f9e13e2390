package dispatch_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/phone/numberset"
)

// part is a part of a file with two people in São Paulo, one in Manaus, one in Acre, and an invalid number. Another person
// was erased after the check.
func (b *bench) part() dispatch.Call {
	return b.asked(func(c *dispatch.Call) {
		c.Part, c.TemplateVersion, c.People = "check 1, part 1", 1, 5
		c.Totals = campaign.SubmissionTotals{Lines: 6, Invalid: 1, People: 5, PartsToCome: 1, Parts: 1, Check: 1, Until: b.now.AddDate(0, 0, 7)}
		c.Messages = nil
		for _, m := range inZones() {
			if m["uid"] == "porto" {
				m["phone"] = "11987654322"
			}
			c.Messages = append(c.Messages, dispatch.Message{Phone: m["phone"].(string), UID: m["uid"].(string), Line: 2 + len(c.Messages)})
		}
	})
}

// inOtherBatch sends numbers to the campaign of a call, as a client does.
func (b *bench) inOtherBatch(call dispatch.Call, name string, numbers ...string) {
	b.t.Helper()
	var messages []fields
	for _, number := range numbers {
		messages = append(messages, fields{"phone": number, "uid": "api"})
	}
	b.post(b.body(fields{"campaignId": call.CampaignID, "name": call.Name, "batch": name, "messages": messages})).accepted(b.t)
}

// batchOf returns the batch of a call as it is stored, its numbers and the totals of the campaign's file.
func (b *bench) batchOf(call dispatch.Call) (batch campaign.Batch, numbers numberset.Set, totals campaign.SubmissionTotals) {
	b.t.Helper()
	all, err := b.store.Overview(b.t.Context(), call.ID)
	b.must(err)
	found, ok := all.Find(call.Batch)
	if !ok {
		b.t.Fatalf("the campaign has no batch %s", call.Batch)
	}
	batch, err = b.store.Batch(b.t.Context(), found.BatchRef)
	b.must(err)
	sets, err := b.store.PackedSets(b.t.Context(), call.ID)
	b.must(err)
	numbers, err = numberset.Unpack(sets[batch.Ordinal-1].Packed)
	b.must(err)
	return batch, numbers, all.Submission
}

// A part goes without the people whom another batch of the campaign has reached. Its price, zones, payload and numbers are
// those of the others. A check finds faults before.
func TestAccept_PartWithPeopleInOtherBatches(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]bool{"before": false, "during the call": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.putRule()
			call := b.part()
			b.inOtherBatch(call, "first", "21987654321")
			b.billing("1", "1")
			reach := func() { b.inOtherBatch(call, "api", "11987654321", "92987654321", "68987654321") }
			if during {
				b.Store = &changing{b.store, func() error {
					b.Store = b.store
					reach()
					return nil
				}}
			} else {
				reach()
				v, err := b.Check(t.Context(), call)
				if diff := cmp.Diff(slices.Repeat([]string{"number_already_dispatched"}, 3), codesOf(v.Faults)); err != nil || diff != "" {
					t.Errorf("checked (-want +got):\n%s%v", diff, err)
				}
			}
			r, err := b.Accept(t.Context(), call)
			b.must(err)
			if diff := cmp.Diff(dispatch.Receipt{Accepted: 1, Rejected: 1, InOtherBatches: 3}, r); diff != "" {
				t.Fatalf("receipt (-want +got):\n%s", diff)
			}
			b.wantOnePorto(call)
		})
	}
}

// wantOnePorto checks that a part has one message, in São Paulo, and that the budget has it beside the three of another batch.
func (b *bench) wantOnePorto(call dispatch.Call) {
	b.t.Helper()
	batch, numbers, totals := b.batchOf(call)
	if diff := cmp.Diff([]string{"porto"}, b.storedUIDs(batch)); diff != "" {
		b.t.Errorf("stored messages (-want +got):\n%s", diff)
	}
	if want := numberset.New([]uint64{5511987654322}); !slices.Equal(numbers, want) {
		b.t.Errorf("%d stored numbers, want %d", len(numbers), len(want))
	}
	if diff := cmp.Diff([]window.Count{{Zone: window.SaoPaulo, Messages: 1}}, batch.Zones); diff != "" {
		b.t.Errorf("zones (-want +got):\n%s", diff)
	}
	if batch.Reserved.String() != "0.05" || batch.Classes.Basic != 1 || batch.InOtherBatches != 3 || batch.Rejected != 1 {
		b.t.Errorf("reserved %s, %d basic, %d rejected, %d in other batches", batch.Reserved, batch.Classes.Basic, batch.Rejected, batch.InOtherBatches)
	}
	b.wantSpending(batch.ReservedOn, "0.20", "0.20")
	if totals.Accepted != 1 || totals.InOtherBatches != 3 || totals.Erased != 1 || totals.NotAccepted() != 0 {
		b.t.Errorf("totals: %+v", totals)
	}
}

// A part that was accepted has the same receipt again, whatever other batches have reached since.
func TestAccept_PartInOtherBatchesAgain(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench, c dispatch.Call){
		"nothing":       func(*bench, dispatch.Call) {},
		"a new process": func(b *bench, _ dispatch.Call) { b.SeenNumbers = &dispatch.SeenNumbers{Limit: 1 << 20} },
		"another batch": func(b *bench, c dispatch.Call) { b.inOtherBatch(c, "later", "31987654321") },
		"the next part": func(b *bench, c dispatch.Call) {
			c.Totals = c.Totals.WithPart(5, 3, 1)
			c.Batch, c.Part, c.Messages = "2", "check 1, part 2", people(11987654321, 1)
			_, err := b.Accept(b.t.Context(), c)
			b.must(err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			call := b.part()
			b.inOtherBatch(call, "api", "11987654321")
			first, err := b.Accept(t.Context(), call)
			b.must(err)
			change(b, call)
			again, err := b.Accept(t.Context(), call)
			if want := (dispatch.Receipt{Accepted: 3, Rejected: 1, InOtherBatches: 1}); err != nil || first != want || again != want {
				t.Errorf("accepted %+v, then %+v, %v", first, again, err)
			}
		})
	}
}

// A part all of whose people are in other batches is accepted without a message.
func TestAccept_PartAllInOtherBatches(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.billing("1", "1")
	call := b.asked(func(c *dispatch.Call) {
		c.Part, c.People, c.Messages = "check 1, part 1", 2, people(11987654321, 2)
		c.Totals = campaign.SubmissionTotals{Lines: 2, People: 2, PartsToCome: 1, Parts: 1, Check: 1, Until: b.now.AddDate(0, 0, 7)}
	})
	b.inOtherBatch(call, "api", "11987654321", "11987654322")
	for range 2 {
		r, err := b.Accept(t.Context(), call)
		if want := (dispatch.Receipt{InOtherBatches: 2}); err != nil || r != want {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	batch, numbers, totals := b.batchOf(call)
	if batch.Accepted != 0 || batch.State != campaign.BatchSent || batch.ErrorFile != "" || len(numbers) > 0 || batch.Reserved > 0 {
		t.Errorf("the batch is %+v with %d numbers", batch, len(numbers))
	}
	if len(b.handoffs.batches) != 1 || totals.InOtherBatches != 2 || totals.NotAccepted() != 0 || totals.PartsToCome != 0 {
		t.Errorf("%d releases, totals %+v", len(b.handoffs.batches), totals)
	}
}

// A part is booked on the first opening of the people who are left. Without the one in Acre, that is in the next month.
func TestBooked_PartWithPeopleInOtherBatches(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.putRule()
	call := b.part()
	b.inOtherBatch(call, "api", "68987654321")
	b.billing("1", "1")
	b.at(lastEvening)
	call.Totals.Until = lastEvening.Add(time.Hour)
	_, err := b.Accept(t.Context(), call)
	b.must(err)
	if batch, _, _ := b.batchOf(call); batch.ReservedOn != "2037-12-01" || batch.Accepted != 3 {
		t.Errorf("%d messages are booked on %s", batch.Accepted, batch.ReservedOn)
	}
	b.wantSpending("2037-12-01", "0.15", "0.15")
	b.wantSpending("2037-11-30", "0.00", "0.00")
}

// A call of a client, and one of a page that is no part, is refused as before.
func TestAccept_NotAPartInOtherBatches(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	call := b.asked(nil)
	b.inOtherBatch(call, "api", "11987654321")
	_, err := b.Accept(t.Context(), call)
	if diff := cmp.Diff([]string{"number_already_dispatched"}, refused(t, err)); diff != "" {
		t.Errorf("a page (-want +got):\n%s", diff)
	}
	b.post(asJSON(t, call)).want(t, http.StatusConflict, "number_already_dispatched")
}
