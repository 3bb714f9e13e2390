package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/intake/submission"
)

// part is the messages of one dispatch call.
type part []message

// message is a line of a part's file.
type message struct {
	Line  int               `json:"line"`
	Phone string            `json:"phone"`
	UID   string            `json:"uid"`
	Vars  map[string]string `json:"vars,omitempty"`
}

func (m message) weight() int {
	n := len(m.Phone) + len(m.UID)
	for _, value := range m.Vars {
		n += len(value)
	}
	return n
}

// partHeader begins the first line of a part's file. The number of people when it was checked ends
// the line. A message in JSON follows in each further line.
const partHeader = "campaign-dispatch part 1 people "

func (p part) encode(people int) []byte {
	var b bytes.Buffer
	b.WriteString(partHeader + strconv.Itoa(people) + "\n")
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, m := range p {
		_ = lines.Encode(m) // texts and numbers always encode
	}
	return b.Bytes()
}

// decodePart decodes a part's file. Erasures delete lines from it. people is the number of people
// when the part was checked.
func decodePart(body []byte) (p part, people int, err error) {
	header, rest, _ := bytes.Cut(body, []byte("\n"))
	count, _ := strings.CutPrefix(string(header), partHeader)
	if people, err = strconv.Atoi(count); err != nil {
		return nil, 0, fmt.Errorf("a part of a submission: %w", campaign.ErrDamaged)
	}
	for line := range bytes.Lines(rest) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, 0, fmt.Errorf("a part of a submission: %w", campaign.ErrDamaged)
		}
		p = append(p, m)
	}
	return p, people, nil
}

// call returns the dispatch call of a part, by its number from 1, with the number of people when it
// was checked.
func (p part) call(sub submission.Submission, number, people int) dispatch.Call {
	c := dispatch.Call{
		ID: sub.ID, Name: sub.Name, TemplateID: sub.TemplateID, TemplateVersion: sub.TemplateVersion,
		Batch: strconv.Itoa(number), Schedule: sub.Schedule, NotAfter: sub.NotAfter, AskedBy: sub.Approval.Asker(),
		Part: sub.PartID(number), Totals: sub.Totals(), People: people,
		Messages: make([]dispatch.Message, 0, len(p)),
	}
	if sub.Sending.RestAtOnce {
		c.Schedule = ""
	}
	for _, m := range p {
		c.Messages = append(c.Messages, dispatch.Message{Phone: m.Phone, UID: m.UID, Vars: m.Vars, Line: m.Line})
	}
	return c
}

// saveClosed saves a submission that has ended, and deletes its files. Sweep repeats a deletion
// that was interrupted.
func saveClosed(ctx context.Context, store Store, blobs Blobs, sub submission.Submission) error {
	sub, err := store.SaveSubmission(ctx, closing(sub))
	if err != nil {
		return err
	}
	return clean(ctx, store, blobs, sub)
}

// closing returns a submission that has ended and whose files are to be deleted.
func closing(sub submission.Submission) submission.Submission {
	sub = sub.Slim()
	sub.FilesLeft, sub.Repairs = true, 0
	return sub
}

// clean closes the parts of a closed submission, and saves that no files are left. It can be repeated.
func clean(ctx context.Context, store Store, blobs Blobs, sub submission.Submission) error {
	if err := closeParts(ctx, store, blobs, sub); err != nil || !sub.FilesLeft {
		return err
	}
	sub.FilesLeft = false
	_, err := store.SaveSubmission(ctx, sub)
	if errors.Is(err, campaign.ErrLostRace) { // another one has cleaned up
		return nil
	}
	return err
}

// closeParts deletes the files of a closed submission, after its campaign expects no more parts of a
// discarded one. A part may have been accepted while it was discarded. It can be repeated.
func closeParts(ctx context.Context, store Store, blobs Blobs, sub submission.Submission) error {
	if sub.State == submission.StateDiscarded {
		if err := store.EndParts(ctx, sub.ID); err != nil {
			return err
		}
	}
	return deleteFiles(ctx, blobs, sub)
}

// atOnce is the number of files deleted at once.
const atOnce = 8

// deleteFiles deletes the file of a submission and all its parts, also those of an earlier check.
// It can be repeated.
func deleteFiles(ctx context.Context, blobs Blobs, sub submission.Submission) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for _, folder := range sub.Folders() {
		for o, err := range blobs.List(ctx, folder) {
			if err != nil {
				return errors.Join(err, all.Wait())
			}
			all.Go(func() error { return blobs.Delete(ctx, o.Key) })
		}
	}
	return all.Wait()
}
