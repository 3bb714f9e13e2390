package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

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

// partHeader is the first line of a part's file. A message in JSON follows in each line.
const partHeader = "campaign-dispatch part 1\n"

func (p part) encode() []byte {
	var b bytes.Buffer
	b.WriteString(partHeader)
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, m := range p {
		_ = lines.Encode(m) // texts and numbers always encode
	}
	return b.Bytes()
}

// decodePart decodes a part's file. Erasures delete lines from it.
func decodePart(body []byte) (p part, err error) {
	rest, ok := bytes.CutPrefix(body, []byte(partHeader))
	if !ok {
		return nil, fmt.Errorf("a part of a submission: %w", campaign.ErrDamaged)
	}
	for line := range bytes.Lines(rest) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("a part of a submission: %w", campaign.ErrDamaged)
		}
		p = append(p, m)
	}
	return p, nil
}

// call returns the dispatch call of a part, by its number from 1.
func (p part) call(sub submission.Submission, number int) dispatch.Call {
	c := dispatch.Call{
		ID: sub.ID, Name: sub.Name, TemplateID: sub.TemplateID, TemplateVersion: sub.TemplateVersion,
		Batch: strconv.Itoa(number), Part: sub.PartID(number), Schedule: sub.Schedule, NotAfter: sub.NotAfter, AskedBy: sub.Approval.AskedBy,
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
	sub.FilesLeft, sub.Repairs, sub.Columns.First = true, 0, nil
	sub, err := store.SaveSubmission(ctx, sub)
	if err != nil {
		return err
	}
	return clean(ctx, store, blobs, sub)
}

// clean deletes the files of a closed submission. It can be repeated.
func clean(ctx context.Context, store Store, blobs Blobs, sub submission.Submission) error {
	if err := deleteFiles(ctx, blobs, sub); err != nil || !sub.FilesLeft {
		return err
	}
	sub.FilesLeft = false
	_, err := store.SaveSubmission(ctx, sub)
	if errors.Is(err, campaign.ErrLostRace) { // another one has cleaned up
		return nil
	}
	return err
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
