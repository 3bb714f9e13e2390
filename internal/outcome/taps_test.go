package outcome_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/ledger"
	"campaign-dispatch/internal/campaign/reaction"
	"campaign-dispatch/internal/outcome"
	"campaign-dispatch/internal/webhook/delivery"
)

// tapped is a batch of three messages with suggestions. Its tenant has endpoints.
type tapped struct {
	writing sync.Mutex
	*batchLedger
	batch     campaign.Batch
	contents  map[string]reaction.EventContent
	taps      ledger.Taps
	lost      bool // the next write is made, and its response lost
	endpoints []delivery.Endpoint
	replies   []delivery.Delivery
	optedOut  []campaign.OptChange
	written   map[string]reaction.Reply // by ID
	now       time.Time
}

func newTapped(kinds ...string) *tapped {
	s := &tapped{batchLedger: newBatchLedger(), contents: map[string]reaction.EventContent{}, now: time.Unix(1_700_000_000, 0).UTC()}
	s.batch = campaign.Batch{
		BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: "tenant", CampaignID: "campaign"}, BatchID: "batch"},
		Key:      campaign.BatchKey{1}, Accepted: 3, AcceptedAt: s.now, AgentID: "agent", TapKey: []byte("sixteen bytes..."),
	}
	s.endpoints = []delivery.Endpoint{{ID: "endpoint", Kinds: kinds}}
	return s
}

func (s *tapped) SaveReply(_ context.Context, _ string, r reaction.Reply) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.written == nil {
		s.written = map[string]reaction.Reply{}
	}
	s.written[r.ID] = r
	return nil
}

func (s *tapped) FindBatch(_ context.Context, key campaign.BatchKey) (campaign.Batch, error) {
	if key != s.batch.Key {
		return campaign.Batch{}, campaign.ErrNotFound
	}
	return s.batch, nil
}

func (s *tapped) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	return s.batch, nil
}

func (s *tapped) TenantOf(context.Context, string) (string, error) { return "tenant", nil }

func (s *tapped) Get(_ context.Context, key string) ([]byte, error) {
	return json.Marshal(s.contents[key])
}

func (s *tapped) Taps(context.Context, campaign.BatchKey) (ledger.Taps, error) { return s.taps, nil }

func (s *tapped) AppendTaps(_ context.Context, _ campaign.Batch, read ledger.Taps, news []campaign.Change) (ledger.Taps, error) {
	if read.Sequence != s.taps.Sequence {
		return read, campaign.ErrLostRace
	}
	s.taps = s.taps.After(news)
	if s.lost {
		s.lost = false
		return read, campaign.ErrLostRace // of the SDK's repeated call
	}
	return s.taps, nil
}

func (s *tapped) Endpoints(context.Context, string) ([]delivery.Endpoint, error) {
	return s.endpoints, nil
}

func (s *tapped) AddDeliveries(_ context.Context, deliveries []delivery.Delivery) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.replies = append(s.replies, deliveries...)
	return nil
}

func (*tapped) LogOptOut(context.Context, string, reaction.LoggedOptOut) error { return nil }

func (*tapped) SettleReplies(context.Context, string, map[string]time.Time) error { return nil }

func (s *tapped) WouldChange(context.Context, string, campaign.OptChange) (bool, error) {
	return true, nil
}

func (s *tapped) Record(_ context.Context, _ string, changes []campaign.OptChange) error {
	s.optedOut = append(s.optedOut, changes...)
	return nil
}

const recipient = "+5511900000000"

// tap returns the event of a tap on a suggestion of a message.
func (s *tapped) tap(index, suggestion int) reaction.EventTask {
	return s.event(reaction.EventContent{Phone: recipient, Text: "Sim", Postback: reaction.Postback(s.batch, index, suggestion, recipient)})
}

func (s *tapped) event(content reaction.EventContent) reaction.EventTask {
	blob := fmt.Sprint("events/agent/", len(s.contents))
	s.contents[blob] = content
	return reaction.EventTask{Kind: reaction.EventReply, AgentID: "agent", EventID: blob, At: s.now, Blob: blob, Receives: 1}
}

// handle applies events in a new process.
func (s *tapped) handle(t *testing.T, events ...reaction.EventTask) {
	t.Helper()
	if err := errors.Join(s.applier().Handle(t.Context(), events)...); err != nil {
		t.Fatal(err)
	}
}

func (s *tapped) applier() *outcome.Applier {
	recorder := s.recorder()
	recorder.Store = s
	recorder.Now = func() time.Time { return s.now }
	return &outcome.Applier{Store: s, Contents: s, OptOuts: s, Recorder: recorder}
}

// posted returns the taps of the queued tasks, as "index suggestion", and counts replies.
func (s *tapped) posted(t *testing.T) (taps []string) {
	t.Helper()
	for _, body := range s.queued {
		var task delivery.NotifyTask
		if err := json.Unmarshal([]byte(body), &task); err != nil {
			t.Fatal(err)
		}
		packed, err := base64.StdEncoding.DecodeString(task.Entries)
		if err != nil {
			t.Fatal(err)
		}
		fresh, err := ledger.UnpackNewEntries(packed)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range fresh {
			for _, e := range n.Entries {
				taps = append(taps, fmt.Sprint(e.Index, " ", e.Suggestion, " ", delivery.KindOf(e.Outcome)))
			}
		}
	}
	slices.Sort(taps)
	return taps
}

// expect compares the counted taps and the webhooks.
func (s *tapped) expect(t *testing.T, taps, replies int, webhooks ...string) {
	t.Helper()
	if s.taps.Sequence != taps || len(s.replies) != replies {
		t.Errorf("%d taps are counted and %d replies posted, want %d and %d", s.taps.Sequence, len(s.replies), taps, replies)
	}
	if diff := cmp.Diff(webhooks, s.posted(t)); diff != "" {
		t.Errorf("webhooks of taps (-want +got):\n%s", diff)
	}
}

// Tripled and shuffled taps count once for each message and suggestion, whether they arrive
// together or one by one.
func TestTap_TripledAndShuffled(t *testing.T) {
	t.Parallel()
	for name, together := range map[string]bool{"together": true, "one by one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTapped("message.tapped", "message.replied")
			var events []reaction.EventTask
			for range 3 {
				events = append(events, s.tap(0, 1), s.tap(0, 2), s.tap(2, 1))
			}
			rand.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
			if together {
				s.handle(t, events...)
			} else {
				for _, e := range events {
					s.handle(t, e)
				}
			}
			s.expect(t, 3, 0, "0 1 message.tapped", "0 2 message.tapped", "2 1 message.tapped")
			if got := s.taps.Messages(); got != 2 {
				t.Errorf("%d messages are tapped, want 2", got)
			}
		})
	}
}

// A tap means that the message was read, also before it was sent or delivered. Later events
// change nothing.
func TestTap_ImpliesRead(t *testing.T) {
	t.Parallel()
	s := newTapped("message.tapped")
	s.handle(t, s.tap(1, 2))
	for _, kind := range []reaction.EventKind{reaction.EventRead, reaction.EventDelivered} {
		s.handle(t, reaction.EventTask{Kind: kind, AgentID: "agent", MessageID: s.batch.Key.MessageID(1), At: s.now.Add(time.Second)})
	}
	if diff := cmp.Diff([]campaign.Change{{Index: 1, Outcome: campaign.OutcomeRead, At: s.now}}, s.entered); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if got := s.ledger.Summary(); got.Counts[campaign.OutcomeRead] != 1 || got.Known() != 1 {
		t.Errorf("the counts are %v, want one read message", got.Counts)
	}
}

// forged returns postback data of another suggestion with the same proof.
func forged(postback string) string {
	packed, _ := base64.RawURLEncoding.DecodeString(postback[1:])
	packed[12]++
	return "t" + base64.RawURLEncoding.EncodeToString(packed)
}

// Taps that the sender did not make for this recipient and agent are not counted.
func TestTap_Forged(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change  func(e *reaction.EventTask, c *reaction.EventContent)
		replies int
	}{
		"another number":   {func(_ *reaction.EventTask, c *reaction.EventContent) { c.Phone = "+5511900000001" }, 1},
		"changed postback": {func(_ *reaction.EventTask, c *reaction.EventContent) { c.Postback = forged(c.Postback) }, 1},
		"line breaks":      {func(_ *reaction.EventTask, c *reaction.EventContent) { c.Postback = "t" + strings.Repeat("\n", 28) }, 1},
		"unknown batch":    {func(_ *reaction.EventTask, c *reaction.EventContent) { c.Postback = "tAAAA" + c.Postback[5:] }, 1},
		"another agent":    {func(e *reaction.EventTask, _ *reaction.EventContent) { e.AgentID = "another" }, 1},
		"an erased event":  {func(_ *reaction.EventTask, c *reaction.EventContent) { *c = reaction.EventContent{} }, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTapped("message.tapped", "message.replied")
			e := s.tap(0, 1)
			content := s.contents[e.Blob]
			test.change(&e, &content)
			s.contents[e.Blob] = content
			s.handle(t, e)
			s.expect(t, 0, test.replies)
			if len(s.entered) > 0 {
				t.Errorf("the changes %v are recorded", s.entered)
			}
		})
	}
}

// A tap without postback data of this service is a reply, and so are all taps for endpoints
// that do not list taps. No endpoint receives a tap twice.
func TestTap_Replies(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		kinds   []string
		replies int
		tapped  []string
	}{
		"no kinds listed":  {nil, 1, nil},
		"replies only":     {[]string{"message.replied"}, 1, nil},
		"taps and replies": {[]string{"message.replied", "message.tapped"}, 0, []string{"0 1 message.tapped"}},
		"taps only":        {[]string{"message.tapped"}, 0, []string{"0 1 message.tapped"}},
		"neither":          {[]string{"message.read"}, 0, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTapped(test.kinds...)
			e := s.tap(0, 1)
			s.handle(t, e)
			s.handle(t, e) // the provider repeats it
			s.queued = slices.DeleteFunc(s.queued, func(body string) bool { return !json.Valid([]byte(body)) || !hasEntries(body) })
			s.expect(t, 1, test.replies, test.tapped...)
		})
	}
	s := newTapped("message.tapped", "message.replied")
	s.handle(t, s.event(reaction.EventContent{Phone: recipient, Text: "Sim", Postback: "Sim"}))
	if len(s.replies) != 1 || s.replies[0].Kind != delivery.KindReplied || s.taps.Sequence != 0 {
		t.Errorf("a tap without data causes %d taps and the deliveries %v, want a reply", s.taps.Sequence, s.replies)
	}
}

func hasEntries(body string) bool {
	var task delivery.NotifyTask
	return json.Unmarshal([]byte(body), &task) == nil && task.Entries != ""
}

// A stop word in a suggestion opts out, also for an endpoint that lists taps.
func TestTap_StopWord(t *testing.T) {
	t.Parallel()
	s := newTapped("message.tapped")
	e := s.tap(0, 1)
	s.contents[e.Blob] = reaction.EventContent{Phone: recipient, Text: "PARAR", Postback: reaction.Postback(s.batch, 0, 1, recipient)}
	s.handle(t, e)
	want := []campaign.OptChange{{Phone: recipient, Out: true, At: s.now, Origin: campaign.OriginMessage}}
	if diff := cmp.Diff(want, s.optedOut); diff != "" {
		t.Errorf("opt-outs (-want +got):\n%s", diff)
	}
	s.expect(t, 1, 0, "0 1 message.tapped")
}

// No webhook of a tap is lost if queueing it fails, or if the response of the write is lost.
func TestTap_Failures(t *testing.T) {
	t.Parallel()
	t.Run("queue", func(t *testing.T) {
		t.Parallel()
		s := newTapped("message.tapped")
		s.queueErr = errBroken
		e := s.tap(0, 1)
		if err := s.applier().Handle(t.Context(), []reaction.EventTask{e})[0]; !errors.Is(err, errBroken) {
			t.Fatalf("error %v, want the queue's", err)
		}
		s.queueErr, s.queued, e.Receives = nil, nil, 2
		s.handle(t, e)
		s.expect(t, 1, 0, "0 1 message.tapped")
	})
	t.Run("redriven", func(t *testing.T) {
		t.Parallel()
		s := newTapped("message.tapped")
		e := s.tap(0, 1)
		s.handle(t, e)
		s.queued, s.now = nil, s.now.Add(2*time.Hour)
		s.handle(t, e)
		s.expect(t, 1, 0, "0 1 message.tapped")
	})
	t.Run("write", func(t *testing.T) {
		t.Parallel()
		s := newTapped("message.tapped")
		s.lost = true
		s.handle(t, s.tap(0, 1), s.tap(0, 2))
		s.expect(t, 2, 0, "0 1 message.tapped", "0 2 message.tapped")
	})
}

// A tap is stored with the taps of its message, and a written reply with the replies, once.
func TestHandle_KeepsWrittenReplies(t *testing.T) {
	t.Parallel()
	s := newTapped()
	written := s.event(reaction.EventContent{Phone: recipient, Text: "Que horas abre?"})
	s.handle(t, s.tap(1, 1), written)
	s.handle(t, written)
	var texts []string
	for _, r := range s.written {
		texts = append(texts, r.Phone+" "+r.Text)
	}
	if want := []string{recipient + " Que horas abre?"}; !slices.Equal(texts, want) {
		t.Errorf("the replies are %q, want %q", texts, want)
	}
}
