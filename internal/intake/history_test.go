package intake_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/localstack/testsize"
)

// history is what happens to a file of nine people in five parts, in random order.
type history struct {
	*company
	random *rand.Rand
	sub    submission.Submission
	did    []string
	erased map[string]bool // uids of the people whom an erasure found in a part
	others map[string]bool // uids of the people whom a batch of the API has reached
	calls  int             // batches of the API
}

const inHistory = 9

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	var file strings.Builder
	file.WriteString("Celular;Código;Nome\n")
	for n := range inHistory {
		fmt.Fprintf(&file, "1198888%04d;p%d;Ana\n", n, n)
	}
	file.WriteString("11988880000;again;Ana\n11988880099;;Fay\n") // repeated, without a uid
	h := &history{company: newCompany(t), random: rand.New(rand.NewPCG(seed, 1)), erased: map[string]bool{}, others: map[string]bool{}}
	h.sub = h.ready(file.String(), nil)
	h.must(h.Send(t.Context(), h.sub))
	return h
}

// oneMore ends when one part was sent.
func (h *history) oneMore() (context.Context, context.CancelFunc) {
	return context.WithTimeout(h.t.Context(), 20*time.Second)
}

// events are what can happen, with how likely it is.
var events = []struct {
	name   string
	weight int
	do     func(h *history)
}{
	{"a part is sent", 6, func(h *history) {
		ctx, cancel := h.oneMore()
		defer cancel()
		h.must(h.worker(h.store, h.blobs, h.queue).Handle(ctx, []submission.Task{{Tenant: h.tenant, CampaignID: h.sub.CampaignID}})[0])
	}},
	{"a part is accepted, and its save is lost", 2, func(h *history) {
		if now := h.stored(h.sub); now.State == submission.StateSending && now.Sending.Parts < now.Check.Parts {
			ctx, cancel := h.oneMore()
			defer cancel()
			w := h.worker(h.store, h.blobs, h.queue)
			w.Store = unsaved{w.Store}
			_ = w.Handle(ctx, []submission.Task{{Tenant: h.tenant, CampaignID: h.sub.CampaignID}})
		}
	}},
	{"a person is erased", 3, (*history).eraseOne},
	{"the API adds a batch", 1, func(h *history) {
		h.calls++
		h.reached(fmt.Sprintf("1197777%04d", h.calls))
	}},
	{"the API reaches a person", 2, func(h *history) {
		h.calls++
		n := h.random.IntN(inHistory)
		if h.reached(fmt.Sprintf("1198888%04d", n)) {
			h.others["p"+strconv.Itoa(n)] = true
		}
	}},
	{"the campaign is cancelled", 1, func(h *history) {
		if err := h.store.CancelCampaign(h.t.Context(), h.sub.ID, h.now, false); !errors.Is(err, campaign.ErrNotFound) {
			h.must(err)
		}
	}},
	{"the rest is discarded", 1, func(h *history) {
		if h.begun() {
			h.must(h.discard(h.sub))
		}
	}},
}

// reached sends a batch of the API to a number, if the campaign exists and takes it.
func (h *history) reached(number string) bool {
	if !h.begun() {
		return false
	}
	err := h.reach(h.sub, fmt.Sprint("api ", h.calls), number)
	if _, refused := errors.AsType[*dispatch.Refusal](err); err != nil && !refused {
		h.t.Error(err)
	}
	return err == nil
}

// begun reports whether the campaign exists.
func (h *history) begun() bool {
	_, err := h.store.Dispatched(h.t.Context(), h.sub.ID)
	if !errors.Is(err, campaign.ErrNotFound) {
		h.must(err)
	}
	return err == nil
}

// eraseOne erases a person from the parts, if one of them has the person.
func (h *history) eraseOne() {
	uid := "p" + strconv.Itoa(h.random.IntN(inHistory))
	for part := range h.sub.Check.Parts {
		messages, people, err := h.part(part + 1)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		h.must(err)
		left := slices.DeleteFunc(slices.Clone(messages), func(m submission.Message) bool { return m.UID == uid })
		if len(left) < len(messages) {
			h.must(h.blobs.Put(h.t.Context(), h.sub.PartKey(part+1), submission.EncodePart(left, people), "application/x-ndjson"))
			h.erased[uid] = true
		}
	}
}

func (h *history) part(part int) ([]submission.Message, int, error) {
	body, err := h.blobs.Get(h.t.Context(), h.sub.PartKey(part))
	if err != nil {
		return nil, 0, err
	}
	return submission.DecodePart(body)
}

// next lets something happen.
func (h *history) next() {
	h.t.Helper()
	all := 0
	for _, e := range events {
		all += e.weight
	}
	at := h.random.IntN(all)
	for _, e := range events {
		if at -= e.weight; at < 0 {
			h.did = append(h.did, e.name)
			e.do(h)
			return
		}
	}
}

// check compares the totals with where each person is: in a message, in a part, or erased.
func (h *history) check() {
	h.t.Helper()
	if !h.begun() {
		return
	}
	s := h.totals(h.sub) // which checks the sums
	if s.Lines != inHistory+2 || s.People != inHistory || s.Faulty != 1 || s.Repeated != 1 {
		h.t.Errorf("the file is %+v", s)
	}
	sent := h.sent()
	inParts := map[string]bool{}
	for part := s.PartsDone + 1; part <= s.Parts; part++ {
		messages, _, err := h.part(part)
		h.must(err)
		for _, m := range messages {
			inParts[m.UID] = true
		}
	}
	least, most := 0, 0 // people in other batches; one who was erased too may have been erased before
	for n := range inHistory {
		uid := "p" + strconv.Itoa(n)
		if places := sent[uid] + one(inParts[uid]); places > 1 || places == 0 && !h.erased[uid] && !h.others[uid] {
			h.t.Errorf("%s has %d messages, and is in a part: %t", uid, sent[uid], inParts[uid])
		}
		if sent[uid] == 0 && !inParts[uid] && h.others[uid] {
			least, most = least+one(!h.erased[uid]), most+1
		}
	}
	if s.InOtherBatches < least || s.InOtherBatches > most {
		h.t.Errorf("%d people are in other batches, want %d to %d", s.InOtherBatches, least, most)
	}
	ofParts := 0
	for uid, n := range sent {
		if strings.HasPrefix(uid, "p") {
			ofParts += n
		}
	}
	if ofParts != s.Accepted {
		h.t.Errorf("%d messages of parts, the campaign has %d", ofParts, s.Accepted)
	}
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// sent returns the number of messages by uid.
func (h *history) sent() map[string]int {
	h.t.Helper()
	all, err := h.store.Dispatched(h.t.Context(), h.sub.ID)
	h.must(err)
	sent := map[string]int{}
	for _, b := range all.Batches {
		messages, err := payload.ReadAll(h.t.Context(), h.blobs, b.Batch)
		h.must(err)
		for _, m := range messages {
			sent[m.UID]++
		}
	}
	return sent
}

// end lets the submission end, and checks that the parts that are left are those that the campaign
// knows.
func (h *history) end() {
	h.t.Helper()
	h.did = append(h.did, "the end")
	if h.stored(h.sub).State == submission.StateInterrupted {
		h.must(h.discard(h.sub))
	}
	h.run()
	h.check()
	if sub := h.stored(h.sub); !sub.Closed() || sub.DeletingFiles {
		h.t.Errorf("the submission is %s", sub.State)
	}
	left := map[string]bool{}
	if h.begun() {
		for _, part := range h.totals(h.sub).PartsNotAccepted() {
			left["check-1/part-"+strconv.Itoa(part)] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(left)), h.files(h.sub)); diff != "" && len(left) > 0 {
		h.t.Errorf("the parts that are left (-want +got):\n%s", diff)
	}
}

// Whatever happens to a file in which order, each person of it has a message, is erased, or is in a part
// that the campaign knows, and the totals say how many.
func TestSubmission_Histories(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testsize.Of(8, 12)) {
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, seed)
			for range 10 {
				if h.next(); t.Failed() {
					break
				}
				h.check()
			}
			if !t.Failed() {
				h.end()
			}
			if t.Failed() {
				t.Logf("history: %s", strings.Join(h.did, ", "))
			}
		})
	}
}
