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
		return nil, 0, fmt.Errorf("a part of an import: %w", campaign.ErrDamaged)
	}
	for line := range bytes.Lines(rest) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, 0, fmt.Errorf("a part of an import: %w", campaign.ErrDamaged)
		}
		p = append(p, m)
	}
	return p, people, nil
}

// call returns the dispatch call of a part, by its number from 1, with the number of people when it
// was checked.
func (p part) call(i campaign.Import, number, people int) dispatch.Call {
	c := dispatch.Call{
		ID: i.ID, Name: i.Name, TemplateID: i.TemplateID, TemplateVersion: i.TemplateVersion,
		Batch: strconv.Itoa(number), Schedule: i.Schedule, NotAfter: i.NotAfter, AskedBy: i.AskedBy,
		Part: i.PartID(number), Totals: i.Totals(), People: people,
		Messages: make([]dispatch.Message, 0, len(p)),
	}
	if i.Late {
		c.Schedule = ""
	}
	for _, m := range p {
		c.Messages = append(c.Messages, dispatch.Message{Phone: m.Phone, UID: m.UID, Vars: m.Vars, Line: m.Line})
	}
	return c
}

// atOnce is the number of files deleted at once.
const atOnce = 8

// closeParts deletes the files of a closed import, after its campaign expects no more parts of a
// discarded one. A part may have been accepted while it was discarded. It can be repeated.
func closeParts(ctx context.Context, store Store, blobs Blobs, i campaign.Import) error {
	if i.State == campaign.ImportCancelled {
		if err := store.EndParts(ctx, i.ID); err != nil {
			return err
		}
	}
	return deleteFiles(ctx, blobs, i)
}

// deleteFiles deletes the file of an import and all its parts, also those of an earlier check.
// It can be repeated.
func deleteFiles(ctx context.Context, blobs Blobs, i campaign.Import) error {
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(atOnce)
	for o, err := range blobs.List(ctx, i.Folder()) {
		if err != nil {
			return errors.Join(err, all.Wait())
		}
		all.Go(func() error { return blobs.Delete(ctx, o.Key) })
	}
	return all.Wait()
}
