package submission_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/rollout"
)

// A part is the same only in the same check of the same file of the same campaign.
func TestSubmission_PartID(t *testing.T) {
	t.Parallel()
	sub := submission.Submission{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, File: submission.File{Tag: "e"}, Check: submission.Check{Number: 1}}
	other := map[string]string{"the next part": sub.PartID(2)}
	for name, change := range map[string]func(sub *submission.Submission){
		"another campaign": func(sub *submission.Submission) { sub.CampaignID = "d" },
		"another file":     func(sub *submission.Submission) { sub.File.Tag = "f" },
		"another check":    func(sub *submission.Submission) { sub.Check.Number = 11 },
	} {
		next := sub
		change(&next)
		other[name] = next.PartID(1)
	}
	moved := sub
	moved.Schedule, moved.Sending.RestAtOnce, moved.Sending.Parts = "2037-11-22T12:00", true, 1
	if moved.PartID(1) != sub.PartID(1) {
		t.Error("another time makes it another part")
	}
	for name, id := range other {
		if id == sub.PartID(1) {
			t.Errorf("%s has the same identity", name)
		}
	}
}

// A task counts as lost 130 to 150 seconds after the last write, later than the function ends. Each
// repair in a row doubles the time. Writes soon after each other have one time.
func TestSubmission_NextCheck(t *testing.T) {
	t.Parallel()
	now := time.Date(2036, 11, 21, 12, 0, 0, 0, time.UTC)
	soon := now.Add(time.Minute).Format(time.RFC3339)
	for name, test := range map[string]struct {
		sub  submission.Submission
		want time.Duration // 0 for never
	}{
		"opening":                {submission.Submission{State: submission.StateOpening}, 140 * time.Second},
		"checking":               {submission.Submission{State: submission.StateChecking}, 140 * time.Second},
		"sending":                {submission.Submission{State: submission.StateSending, Schedule: soon}, 140 * time.Second},
		"the rest waits":         {submission.Submission{State: submission.StateSending, Schedule: soon, Sending: submission.Sending{RestAtOnce: true}}, 200 * time.Second},
		"the rest is late":       {submission.Submission{State: submission.StateSending, Schedule: "2036-11-20T12:00:00Z", Sending: submission.Sending{RestAtOnce: true}}, 140 * time.Second},
		"repaired twice":         {submission.Submission{State: submission.StateChecking, Repairs: 2}, 600 * time.Second},
		"repaired often":         {submission.Submission{State: submission.StateChecking, Repairs: 1000}, 160 * time.Minute},
		"a person decides":       {submission.Submission{State: submission.StateReady, CreatedAt: now.AddDate(0, 0, -1)}, 6 * 24 * time.Hour},
		"it is interrupted":      {submission.Submission{State: submission.StateInterrupted, CreatedAt: now.AddDate(0, 0, -4)}, 3 * 24 * time.Hour},
		"files are being erased": {submission.Submission{State: submission.StateDiscarded, DeletingFiles: true}, 140 * time.Second},
		"closed":                 {submission.Submission{State: submission.StateDiscarded}, 0},
	} {
		next := test.sub.NextCheck(now)
		if got := next.Sub(now); test.want == 0 != next.IsZero() || test.want > 0 && got != test.want {
			t.Errorf("%s: in %v, want %v", name, got, test.want)
		}
	}
	checking := submission.Submission{State: submission.StateChecking}
	if first, next := checking.NextCheck(now), checking.NextCheck(now.Add(9*time.Second)); !first.Equal(next) {
		t.Errorf("the next check is written twice in ten seconds: %v, %v", first, next)
	}
}

// A wave that is opened in the last minute is dispatched. The waves after it end with it.
func TestSubmission_OpenedAtTheEnd(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	last := first.Add(rollout.MaxDuration - time.Minute)
	sub := submission.Submission{State: submission.StateSending, CreatedAt: first.Add(-time.Hour)}
	sub.Sending.Waves = []submission.Opened{{At: first}, {At: last}}
	if until := sub.FilesUntil(); until.Before(last.Add(24 * time.Hour)) {
		t.Errorf("a wave that is opened at %v is discarded at %v", last, until)
	}
	sub.State = submission.StateHolding
	if until := sub.FilesUntil(); !until.Equal(first.Add(rollout.MaxDuration)) {
		t.Errorf("the waves that nobody opened are discarded at %v", until)
	}
}

// A part is read as it was written, also after the lines of some people were deleted.
func TestPart_Codec(t *testing.T) {
	t.Parallel()
	messages := []submission.Message{
		{Line: 2, Phone: "+5511987654321", UID: "a", Vars: map[string]string{"name": "Ana <&> \"B\"\n"}},
		{Line: 4, Phone: "x", UID: "b"},
	}
	file := submission.EncodePart(messages, 1)
	got, people, err := submission.DecodePart(file)
	if diff := cmp.Diff(messages, got); err != nil || people != 1 || diff != "" {
		t.Errorf("%d people, error %v (-want +got):\n%s", people, err, diff)
	}
	header, _, _ := bytes.Cut(file, []byte("\n"))
	if got, people, err := submission.DecodePart(append(header, '\n')); err != nil || people != 1 || len(got) != 0 {
		t.Errorf("without its lines it has %v of %d people, error %v", got, people, err)
	}
	for _, damaged := range []string{"", "{}\n", string(header) + "\n{"} {
		if _, _, err := submission.DecodePart([]byte(damaged)); !errors.Is(err, campaign.ErrDamaged) {
			t.Errorf("%q: error %v", damaged, err)
		}
		if _, err := submission.DecodeOne([]byte(damaged), 0); !errors.Is(err, campaign.ErrDamaged) {
			t.Errorf("one of %q: error %v", damaged, err)
		}
	}
}

// Each message is read as it was written, and encoding/json reads the same. What is not UTF-8 becomes U+FFFD.
func TestPart_AnyMessage(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z"\\<>&/\x00-\x1f\x{7f}é\x{2028}😀]{0,8}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 8), func(b []byte) string { return string(b) }))
	rapid.Check(t, func(t *rapid.T) {
		m := submission.Message{
			Line: rapid.IntRange(1, 1<<31).Draw(t, "line"), Phone: text.Draw(t, "phone"), Written: text.Draw(t, "written"),
			Number: rapid.Uint64().Draw(t, "number"), UID: text.Draw(t, "uid"), ANSI: rapid.Bool().Draw(t, "ansi"),
			Vars: rapid.MapOfN(rapid.StringMatching(`[a-zé"]{1,6}`), text, 1, 4).Draw(t, "vars"),
		}
		file := submission.EncodePart([]submission.Message{m}, 1)
		got, _, err := submission.DecodePart(file)
		_, line, _ := bytes.Cut(file, []byte("\n"))
		var plain submission.Message
		if err := errors.Join(err, json.Unmarshal(line, &plain)); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		valid := func(s string) string { return string([]rune(s)) }
		m.Phone, m.Written, m.UID = valid(m.Phone), valid(m.Written), valid(m.UID)
		for name, value := range m.Vars {
			m.Vars[name] = valid(value)
		}
		if diff := cmp.Diff([]submission.Message{m, m}, []submission.Message{got[0], plain}); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A part has fewer lines than people after lines were deleted: its last line stands for those after it.
func TestDecodeOne(t *testing.T) {
	t.Parallel()
	file := submission.EncodePart([]submission.Message{{Line: 2, UID: "a"}, {Line: 4, UID: "b"}}, 3)
	for at, want := range map[int]int{0: 2, 1: 4, 2: 4, 1999: 4} {
		if got, err := submission.DecodeOne(file, at); err != nil || got.Line != want {
			t.Errorf("position %d: line %d, error %v; want line %d", at, got.Line, err, want)
		}
	}
	if _, err := submission.DecodeOne(submission.EncodePart(nil, 3), 0); !errors.Is(err, campaign.ErrNotFound) {
		t.Errorf("a part without lines: error %v", err)
	}
}

// A part that is not accepted any more is found where the check wrote it, by the totals alone: by its number in its cell if
// the file is divided. The plan does not move it.
func TestNotAcceptedKey(t *testing.T) {
	t.Parallel()
	whole := submission.Submission{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, Check: submission.Check{Number: 2, Parts: 5}}
	divided, inWaves := whole, whole
	divided.Check.Cells = make([]submission.Cell, rollout.Cells())
	divided.Check.Cells[0].Parts, divided.Check.Cells[3].Parts = 2, 3
	inWaves.Check.Cells = divided.Check.Cells
	inWaves.Plan = rollout.Plan{Waves: []rollout.Wave{{Until: rollout.Until(0)}, {Until: rollout.Until(rollout.Cells() - 1)}}}
	for name, tt := range map[string]struct {
		sub          submission.Submission
		cell, number int
	}{"whole": {whole, 0, 4}, "divided": {divided, 3, 2}, "in waves": {inWaves, 3, 2}} {
		written := tt.sub.CellPartKey(tt.cell, tt.number)
		if got := submission.NotAcceptedKey(tt.sub.ID, tt.sub.Totals(), 4); got != written || tt.sub.PartKey(4) != written {
			t.Errorf("%s: part 4 is at %s, exports read %s, and sending reads %s", name, written, got, tt.sub.PartKey(4))
		}
	}
}
