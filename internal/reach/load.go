package reach

import (
	"context"

	"campaign-dispatch/internal/campaign"
)

// Templates reads versions of templates.
type Templates interface {
	// TemplateVersion returns a version, which never changes. The error wraps campaign.ErrNotFound if there is none.
	TemplateVersion(ctx context.Context, id string, version int) (campaign.Template, error)
}

// Load returns the hours of a batch. It reads the batch's template only if the tenant has rules. A template that does
// not exist has the rule of promotions.
func Load(ctx context.Context, templates Templates, p TenantHours, b campaign.Batch) (Hours, error) {
	if len(p.Rules) == 0 || b.Test {
		return p.HoursOfBatch(b, ""), nil
	}
	t, err := templates.TemplateVersion(ctx, b.TemplateID, b.TemplateVersion)
	return p.HoursOfBatch(b, t.Traffic), campaign.IgnoreNotFound(err)
}

// Remember returns templates that reads each version once. It is not for concurrent use.
func Remember(templates Templates) Templates {
	return remembered{templates, map[campaign.VersionKey]campaign.Template{}}
}

type remembered struct {
	templates Templates
	read      map[campaign.VersionKey]campaign.Template
}

func (r remembered) TemplateVersion(ctx context.Context, id string, number int) (campaign.Template, error) {
	key := campaign.VersionKey{ID: id, Version: number}
	if t, known := r.read[key]; known {
		return t, nil
	}
	t, err := r.templates.TemplateVersion(ctx, id, number)
	if err == nil {
		r.read[key] = t
	}
	return t, err
}
