package imports

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
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
		return nil, fmt.Errorf("a part of an import: %w", campaign.ErrDamaged)
	}
	for line := range bytes.Lines(rest) {
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("a part of an import: %w", campaign.ErrDamaged)
		}
		p = append(p, m)
	}
	return p, nil
}

// lines returns the file lines of the messages.
func (p part) lines() []int {
	lines := make([]int, len(p))
	for i, m := range p {
		lines[i] = m.Line
	}
	return lines
}

// call returns the body of the dispatch call of a part, by its number from 1.
func (p part) call(i campaign.Import, number int) ([]byte, error) {
	type sent struct {
		Phone string            `json:"phone"`
		UID   string            `json:"uid"`
		Vars  map[string]string `json:"vars,omitempty"`
	}
	body := struct {
		CampaignID string `json:"campaignId"`
		Name       string `json:"name"`
		TemplateID string `json:"templateId"`
		Batch      string `json:"batch"`
		Schedule   string `json:"schedule,omitempty"`
		NotAfter   string `json:"notAfter,omitempty"`
		Messages   []sent `json:"messages"`
	}{i.CampaignID, i.Name, i.TemplateID, strconv.Itoa(number), i.Schedule, i.NotAfter, make([]sent, 0, len(p))}
	if i.Late {
		body.Schedule = ""
	}
	for _, m := range p {
		body.Messages = append(body.Messages, sent{m.Phone, m.UID, m.Vars})
	}
	return json.Marshal(body)
}

// atOnce is the number of files deleted at once.
const atOnce = 8

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
