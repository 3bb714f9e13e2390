package intake_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/base/inputerr"
	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/base/random"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake"
	"campaign-dispatch/internal/intake/submission"
)

// chosen is a form's file.
func chosen(file string) intake.FormFile { return intake.FormFile{Chosen: []byte(file)} }

// kept is the file that is stored.
var kept = intake.FormFile{Stored: true}

// entryOf returns the entry of the audit log of a save by ana.
func entryOf(sub submission.Submission) account.AuditEntry {
	return stepOf("", sub, ana, "campaign.draft").Audit
}

// form is a new form.
func (c *company) form() submission.Submission {
	return submission.Submission{
		ID: campaign.ID{Tenant: c.tenant, CampaignID: random.UUID()}, By: ana, Name: "c " + rand.Text(), TemplateID: c.t1.ID, File: submission.File{Name: "f.csv"},
	}
}

// draft returns a draft with a file.
func (c *company) draft(file string) submission.Submission {
	c.t.Helper()
	sub, err := c.SaveDraft(c.t.Context(), c.form(), chosen(file), entryOf(submission.Submission{ID: campaign.ID{Tenant: c.tenant}}))
	c.must(err)
	return sub
}

// fileOf returns the stored file of a submission, "" if it has none.
func (c *company) fileOf(sub submission.Submission) string {
	c.t.Helper()
	file, err := c.blobs.Get(c.t.Context(), sub.FileKey())
	if errors.Is(err, campaign.ErrNotFound) {
		return ""
	}
	c.must(err)
	return string(file)
}

// formSteps are what a form can do, and the deletion in the list of drafts.
var formSteps = map[string]func(c *company, form submission.Submission) error{
	"save": func(c *company, form submission.Submission) error {
		_, err := c.SaveDraft(c.t.Context(), form, chosen(five), entryOf(form))
		return err
	},
	"send on": func(c *company, form submission.Submission) error {
		_, err := c.Take(c.t.Context(), form, chosen(five))
		return err
	},
	"upload": func(c *company, form submission.Submission) error {
		form.File.Size = 1
		_, _, err := c.Start(c.t.Context(), form)
		return err
	},
	"delete": func(c *company, form submission.Submission) error {
		_, err := c.Decide(c.t.Context(), stepOf(intake.DiscardDraft, form, ana, "campaign.draft_delete"))
		return err
	},
}

// In every state, for a form with the stored version and an older one: exactly the steps listed here
// change the submission. Another file of a submission that somebody has decided about begins another one.
func TestDraft_EveryState(t *testing.T) {
	t.Parallel()
	open := []submission.State{
		submission.StateDraft, submission.StateUploading, submission.StateOpening, submission.StateColumns, submission.StateChecking, submission.StateReady,
	}
	takes := map[string]submission.State{"draft delete old": submission.StateDiscarded, "draft delete current": submission.StateDiscarded}
	for _, state := range open {
		takes[string(state)+" save current"] = submission.StateDraft
		for _, age := range []string{"current", "old"} {
			if state == submission.StateDraft && age == "old" {
				continue
			}
			takes[fmt.Sprintf("%s send on %s", state, age)] = submission.StateOpening
			takes[fmt.Sprintf("%s upload %s", state, age)] = submission.StateUploading
		}
	}
	c := newCompany(t)
	for _, state := range allStates {
		for name, step := range formSteps {
			for age, older := range map[string]int{"current": 0, "old": 1} {
				key := fmt.Sprintf("%s %s %s", state, name, age)
				c.tenant = "t-" + rand.Text()
				sub := c.form()
				sub.State, sub.CreatedAt = state, noon
				sub = c.save(c.save(sub))
				form := c.form()
				form.ID, form.Version = sub.ID, sub.Version-older
				err := step(c, form)
				now, want := c.stored(sub), takes[key]
				if want == "" && now.Version != sub.Version || want != "" && (now.State != want || err != nil) {
					t.Errorf("%s: %s, %v; want %s", key, now.State, err, want)
				}
				all, err := c.store.Submissions(t.Context(), c.tenant)
				c.must(err)
				begins := want == "" && state != submission.StateDraft && (name == "send on" || name == "upload")
				if (len(all) == 2) != begins {
					t.Errorf("%s: there are %d submissions", key, len(all))
				}
			}
		}
	}
}

// A save that is refused leaves the stored file as it is, and so does a form that is sent on.
func TestDraft_Stale(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.draft(five)
	form := c.form()
	form.ID, form.Version, form.By = sub.ID, 0, bia
	for name, do := range map[string]func() (submission.Submission, error){
		"save": func() (submission.Submission, error) {
			return c.SaveDraft(t.Context(), form, chosen(mixed), entryOf(form))
		},
		"keep":    func() (submission.Submission, error) { return c.SaveDraft(t.Context(), form, kept, entryOf(form)) },
		"send on": func() (submission.Submission, error) { return c.Take(t.Context(), form, chosen(mixed)) },
		"send":    func() (submission.Submission, error) { return c.Take(t.Context(), form, kept) },
	} {
		stored, err := do()
		if !errors.Is(err, intake.ErrStale) || stored.By != ana || c.stored(sub).Version != 1 || c.fileOf(sub) != five || len(c.files(sub)) != 1 {
			t.Errorf("%s: %v, saved by %s, version %d, files %v", name, err, stored.By, c.stored(sub).Version, c.files(sub))
		}
	}
}

// A double click saves a draft once, and each of the clicks succeeds.
func TestDraft_Again(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	form := c.form()
	for _, from := range []intake.FormFile{chosen(five), {}, kept} {
		if stored, err := c.store.Submission(t.Context(), form.ID); err == nil {
			form.Version = stored.Version
		}
		for range 2 {
			sub, err := c.SaveDraft(t.Context(), form, from, entryOf(form))
			if err != nil || sub.Version != form.Version+1 {
				t.Errorf("%v: version %d after %d, %v", from, sub.Version, form.Version, err)
			}
		}
	}
}

// A draft that is saved again with its file has it as a new object, whose age is that of the save. The
// former one is gone.
func TestDraft_AgeOfFile(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.draft(five)
	c.now = noon.AddDate(0, 0, 29)
	form := sub
	form.Name = "later"
	again, err := c.SaveDraft(t.Context(), form, kept, entryOf(form))
	c.must(err)
	if again.File.Object == sub.File.Object || c.fileOf(again) != five || len(c.files(again)) != 1 || again.Name != "later" {
		t.Errorf("the draft has the files %v", c.files(again))
	}
	if until := again.FilesUntil(); !until.Equal(c.now.Add(30 * 24 * time.Hour)) {
		t.Errorf("it is kept until %v", until)
	}
}

// A checked campaign becomes a draft with its file, whatever its size, and goes on from there.
func TestDraft_OfReview(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.ready(mixed, nil)
	draft, err := c.SaveDraft(t.Context(), sub, kept, entryOf(sub))
	c.must(err)
	if draft.ID != sub.ID || draft.State != submission.StateDraft || c.fileOf(draft) != mixed || len(c.files(draft)) != 1 {
		t.Errorf("%s with the files %v", draft.State, c.files(draft))
	}
	c.now = noon.AddDate(0, 0, 20)
	_, err = c.Take(t.Context(), draft, kept)
	c.must(err)
	c.run()
	now := c.stored(draft)
	if diff := c.wantReady(now); diff != "" {
		t.Errorf("it goes on as %s: %s", now.State, diff)
	}
	if until := now.FilesUntil(); !until.Equal(noon.AddDate(0, 0, 30)) {
		t.Errorf("the review of the draft is kept until %v", until)
	}
}

// A browser uploads a file for a draft, which is then kept or checked.
func TestDraft_Upload(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	form := c.draft(five)
	for _, file := range []string{mixed, five} {
		form.File = submission.File{Name: "large.csv", Size: int64(len(file))}
		sub, _, err := c.Start(t.Context(), form)
		c.must(err)
		c.put(sub, file)
		for range 2 { // the browser repeats it
			c.must(c.FinishDraft(t.Context(), c.stored(sub), entryOf(sub)))
		}
		form = c.stored(sub)
		if form.State != submission.StateDraft || c.fileOf(form) != file || len(c.files(form)) != 1 {
			t.Errorf("%s with the file %q of %v", form.State, c.fileOf(form), c.files(form))
		}
	}
	sub, err := c.Take(t.Context(), form, kept)
	c.must(err)
	c.run()
	if sub = c.stored(sub); sub.State != submission.StateReady || sub.Check.Findings.Accepted != 5 {
		t.Errorf("%s, %q", sub.State, sub.Fault.Code)
	}
}

// A draft whose file was erased is not sent on without another one, and can be saved.
func TestDraft_FileErased(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.draft(five)
	c.must(c.blobs.Delete(t.Context(), sub.FileKey()))
	if _, err := c.Take(t.Context(), sub, kept); !errors.Is(err, campaign.ErrNotFound) || c.stored(sub).State != submission.StateDraft {
		t.Errorf("sent on: %v, %s", err, c.stored(sub).State)
	}
	for range 2 {
		has, err := c.HasFile(t.Context(), sub)
		if err != nil || has || sub.File.Name != "f.csv" {
			t.Errorf("it has the file %q: %t, %v", sub.File.Name, has, err)
		}
		sub, err = c.SaveDraft(t.Context(), sub, kept, entryOf(sub))
		c.must(err)
	}
}

// erasedAfterCopy is a bucket whose files are erased when they were just copied.
type erasedAfterCopy struct{ intake.Uploads }

func (u erasedAfterCopy) Copy(ctx context.Context, from, to string) error {
	return errors.Join(u.Uploads.Copy(ctx, from, to), u.Delete(ctx, from))
}

// No copy survives the erasure of its file.
func TestDraft_ErasedWhileCopied(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	sub := c.draft(five)
	c.Uploads = erasedAfterCopy{c.Uploads}
	sub, err := c.SaveDraft(t.Context(), sub, kept, entryOf(sub))
	c.must(err)
	if left := c.files(sub); len(left) > 0 {
		t.Errorf("left after the erasure: %v", left)
	}
}

func TestDraft_Limits(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	for n := range submission.MaxDrafts {
		form := c.form()
		form.File, form.Name = submission.File{}, strconv.Itoa(n)
		_, err := c.SaveDraft(t.Context(), form, intake.FormFile{}, entryOf(form))
		c.must(err)
	}
	ready := c.ready(five, nil) // drafts are not open
	for name, form := range map[string]submission.Submission{"a form": c.form(), "a review": ready} {
		_, err := c.SaveDraft(t.Context(), form, chosen(five), entryOf(form))
		if wrong, ok := errors.AsType[*inputerr.Error](err); !ok || wrong.Code != "too_many_drafts" {
			t.Errorf("%s: %v", name, err)
		}
	}
	sub := c.uploaded()
	if err := c.FinishDraft(t.Context(), sub, entryOf(sub)); err == nil || c.stored(sub).State != submission.StateUploading {
		t.Errorf("an upload: %v, %s", err, c.stored(sub).State)
	}
}

// A function that still works on a file that another one has replaced does not end the submission.
func TestWorker_ReplacedFile(t *testing.T) {
	t.Parallel()
	c := newCompany(t)
	form := c.form()
	sub, err := c.Take(t.Context(), form, chosen(five))
	c.must(err)
	late := c.worker(c.store, c.blobs, c.queue)
	open := late.Open
	late.Open = func(ctx context.Context, key, tag string) (port.File, int64, error) {
		_, err := c.Take(ctx, form, chosen(mixed))
		c.must(err)
		return open(ctx, key, tag)
	}
	c.must(task(t.Context(), nil, late, sub))
	c.run()
	if diff := c.wantReady(c.stored(sub)); diff != "" {
		t.Errorf("%s, %q: %s", c.stored(sub).State, c.stored(sub).Fault.Code, diff)
	}
}
