package policy

import (
	"context"

	"campaign-dispatch/internal/campaign"
)

// Templates reads versions of templates.
type Templates interface {
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
}

// Load returns the hours of a batch. It reads the batch's template only if the tenant has rules. A template that does
// not exist has the rule of promotions.
func Load(ctx context.Context, templates Templates, p Policy, b campaign.Batch) (Hours, error) {
	if len(p.Rules) == 0 || b.Test {
		return p.OfBatch(b, ""), nil
	}
	t, err := templates.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	return p.OfBatch(b, t.Traffic), campaign.IgnoreNotFound(err)
}
