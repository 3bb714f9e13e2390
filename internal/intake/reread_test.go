package intake_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

// rereading is a desk whose submissions are saved.
type rereading struct{ *desk }

func (r rereading) SaveSubmission(_ context.Context, sub submission.Submission) (submission.Submission, error) {
	if sub.Version != r.sub.Version {
		return sub, campaign.ErrLostRace
	}
	sub.Version++
	r.saved, r.sub = r.saved+1, sub
	return sub, nil
}

func (r rereading) service() *intake.Service {
	s := r.desk.service()
	s.Store = r
	return s
}

// A file is read in another way only before somebody has decided about it. Another sheet has other columns.
func TestRead_States(t *testing.T) {
	t.Parallel()
	for _, state := range allStates {
		for name, test := range map[string]struct {
			reading submission.Reading
			version int // of the template
			to      submission.State
		}{
			"hidden rows":       {submission.Reading{Hidden: true}, 1, submission.StateChecking},
			"another sheet":     {submission.Reading{Sheet: "b"}, 1, submission.StateOpening},
			"another encoding":  {submission.Reading{Encoding: "ibm850"}, 1, submission.StateOpening},
			"a newer template":  {submission.Reading{AddNine: true}, 2, submission.StateOpening},
			"too many numbers":  {submission.Reading{Corrections: numbersOf(submission.MaxCorrections + 1)}, 1, state},
			"corrected numbers": {submission.Reading{Corrections: numbersOf(submission.MaxCorrections)}, 1, submission.StateChecking},
		} {
			r := rereading{newDesk(state, "")}
			r.sub.Check.Number = 3
			before := r.sub
			if err := r.service().Read(t.Context(), before, test.reading, campaign.Template{Version: test.version}); err != nil {
				t.Fatal(err)
			}
			want := state
			switch {
			case state == submission.StateReady:
				want = test.to
			case state == submission.StateColumns && name != "too many numbers":
				want = submission.StateOpening
			}
			if r.sub.State != want || want == state && r.saved > 0 {
				t.Errorf("%s, %s: became %s, want %s", state, name, r.sub.State, want)
			}
			if r.saved > 0 && (r.sub.Shown() == before.Shown() || r.sub.Check.Hash != "") {
				t.Errorf("%s, %s: what a person saw can still be sent", state, name)
			}
		}
	}
}

func numbersOf(n int) map[int]string {
	all := map[int]string{}
	for line := range n {
		all[line+2] = "+5511987654321"
	}
	return all
}

// Who asked for approval first has decided: another reading comes too late.
func TestRead_Race(t *testing.T) {
	t.Parallel()
	r := rereading{newDesk(submission.StateReady, "")}
	before := r.sub
	r.sub.State, r.sub.Version = submission.StateApproval, before.Version+1
	if err := r.service().Read(t.Context(), before, submission.Reading{Hidden: true}, campaign.Template{Version: 1}); err != nil {
		t.Fatal(err)
	}
	if r.saved > 0 || r.sub.Reading.Hidden {
		t.Errorf("the file to approve is read again: %+v", r.sub)
	}
}

// A confirmation of what was shown before sends nothing of another reading.
func TestRead_StaleConfirm(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	seen := c.ready(five, nil)
	c.must(c.Read(t.Context(), seen, submission.Reading{AddNine: true}, c.t1))
	c.run()
	now := c.stored(seen)
	if now.State != submission.StateReady || now.Check.Number != seen.Check.Number+1 || !now.Reading.AddNine {
		t.Errorf("after another reading: %s, check %d", now.State, now.Check.Number)
	}
	if _, err := c.Decide(t.Context(), stepOf(intake.Send, seen, ana, "campaign.dispatch")); !errors.Is(err, intake.ErrChanged) {
		t.Errorf("a confirmation of the earlier page: %v", err)
	}
	if sent := c.send(now); sent.Sending.Accepted != 5 {
		t.Errorf("%d are accepted", sent.Sending.Accepted)
	}
}

// A file that is read in another way keeps the columns that a person has chosen: others have other people's numbers.
func TestRead_KeepsColumns(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready("phone;telem\xf3vel;uid;nome;apelido\n1133334444;11988880001;a;Jos\xe9;Z\xe9\n", nil)
	sub.Columns.Phone, sub.Columns.Values[0].Column = 1, 4
	sub = c.check(sub)
	later := c.t1
	later.Version++
	for name, read := range map[string]func(sub submission.Submission) error{
		"another encoding": func(sub submission.Submission) error {
			return c.Read(t.Context(), sub, submission.Reading{Encoding: "ibm850"}, c.t1)
		},
		"a newer template": func(sub submission.Submission) error {
			return c.Read(t.Context(), sub, submission.Reading{Encoding: "ibm850", AddNine: true}, later)
		},
	} {
		c.must(read(sub))
		c.run()
		sub = c.stored(sub)
		if sub.Columns.Phone != 1 || sub.Columns.UID != 2 || sub.Columns.Values[0].Column != 4 {
			t.Errorf("%s: the columns are %d, %d and %v", name, sub.Columns.Phone, sub.Columns.UID, sub.Columns.Values)
		}
	}
}

// outs are files of left out lines and parts, by key.
type outs struct {
	intake.Uploads
	files map[string]string
}

func (o outs) Get(_ context.Context, key string) ([]byte, error) {
	if body, ok := o.files[key]; ok {
		return []byte(body), nil
	}
	return nil, campaign.ErrNotFound
}

// Of a large file, the first lines of a kind that begins late are found without reading all others.
func TestFirstLines(t *testing.T) {
	t.Parallel()
	sub := submission.Submission{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, Check: submission.Check{Number: 1, Outs: 900}}
	sub.Check.Findings.Outs = []int{1, 700}
	files := outs{files: map[string]string{}}
	line := func(n int, code string) string {
		return fmt.Sprintf(`{"line":%d,"kind":"invalid","code":%q,"phone":"9"}`+"\n", n, code)
	}
	for n := range 30 {
		files.files[sub.OutKey(1)] += line(n, "a")
	}
	files.files[sub.OutKey(700)], files.files[sub.OutKey(701)] = line(5000, "b"), line(5001, "b")
	first, err := (&intake.Service{Uploads: files}).FirstLines(t.Context(), sub, 20)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, l := range first {
		counts[l.Code]++
	}
	if diff := cmp.Diff(map[string]int{"a": 20, "b": 2}, counts); diff != "" {
		t.Errorf("first lines (-want +got):\n%s", diff)
	}
}

// The files in which kinds begin are known after the check.
func TestFindings_Located(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	var file strings.Builder
	file.WriteString("Celular;Código;Nome\n1187654321;x;Xis\n")
	for n := range 10 {
		file.WriteString("1198888000" + strconv.Itoa(n) + ";" + strconv.Itoa(n) + ";Ana\n")
	}
	sub := c.ready(file.String()+"11988880010;z;\n", nil)
	first, err := c.FirstLines(t.Context(), sub, 20)
	c.must(err)
	if diff := cmp.Diff([]int{1, 2}, sub.Check.Findings.Outs); diff != "" || len(first) != 2 {
		t.Errorf("%d lines, the files (-want +got):\n%s", len(first), diff)
	}
}
