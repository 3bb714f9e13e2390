package webhook

import (
	"context"

	"campaign-dispatch/internal/base/cache"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/payload"
)

// Templates reads templates. The error wraps campaign.ErrNotFound if there is none.
type Templates interface {
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
}

type templateKey struct {
	id      string
	version int
}

// maxTemplates is the size of the template cache.
const maxTemplates = 500

// suggestion returns the tapped suggestion as it was sent, nil if its template is damaged
// or deleted. It reads the message only if the template has variables.
func (n *Notifier) suggestion(ctx context.Context, b campaign.Batch, tap campaign.Change, erased bool) (*campaign.TappedSuggestion, error) {
	t, err := n.template(ctx, b)
	var m campaign.Message
	if err == nil && !erased && len(t.Variables()) > 0 {
		m, err = n.message(ctx, b, tap.Index)
	}
	if isUnreadable(err) {
		return nil, nil //nolint:nilnil // the webhook is posted without it
	}
	if err != nil {
		return nil, err
	}
	return t.Tapped(tap.Suggestion, m), nil
}

func (n *Notifier) template(ctx context.Context, b campaign.Batch) (campaign.Template, error) {
	key := templateKey{b.TemplateID, b.TemplateVersion}
	return n.templates.Get(key, n.Now(), cache.Options{TTL: cache.Forever, MaxEntries: maxTemplates}, func() (campaign.Template, error) {
		return n.Templates.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	})
}

// message returns the batch's message at index. It is not cached: an erasure ends it.
func (n *Notifier) message(ctx context.Context, b campaign.Batch, index int) (m campaign.Message, err error) {
	err = payload.OfLatest(ctx, n.reread, n.Blobs, b, func(b campaign.Batch) error {
		messages, err := payload.ReadFrame(ctx, n.Blobs, b, index/campaign.FrameSize)
		if err == nil {
			m = messages[index%campaign.FrameSize]
		}
		return err
	})
	return m, err
}
