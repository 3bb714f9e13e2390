package privacy

import (
	"context"
	"errors"
	"strings"

	"campaign-dispatch/internal/campaign"
)

// eachUpload visits the campaign files in the dashboard, those of drafts too, that contain the person's
// number, with the matching lines.
func (p *person) eachUpload(ctx context.Context, visit func(key string, lines []string) error) error {
	var found errorCollector
	for _, prefix := range []string{"uploads/", campaign.DraftPrefix} {
		if err := p.eachFile(ctx, prefix+p.tenant.ID+"/", &found, visit); err != nil {
			return err
		}
	}
	return found.err()
}

// eachFile visits the files below a prefix that contain the person's number.
func (p *person) eachFile(ctx context.Context, prefix string, found *errorCollector, visit func(key string, lines []string) error) error {
	for o, err := range p.Blobs.List(ctx, prefix) {
		if err != nil {
			return err
		}
		content, err := p.Blobs.Get(ctx, o.Key)
		if errors.Is(err, campaign.ErrNotFound) {
			continue
		}
		found.add(err)
		if lines := p.linesOf(content); len(lines) > 0 {
			found.add(visit(o.Key, lines))
		}
	}
	return nil
}

// linesOf returns the lines of a file that contain the person's number. The file of a draft
// may lack a header.
func (p *person) linesOf(file []byte) (lines []string) {
	for line := range strings.FieldsFuncSeq(string(file), func(r rune) bool { return r == '\n' || r == '\r' }) {
		for cell := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",;\t\"", r) }) {
			if p.wrote(cell) {
				lines = append(lines, line)
				break
			}
		}
	}
	return lines
}
