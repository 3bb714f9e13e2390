package dynamo

import (
	"context"
	"encoding/json"
	"fmt"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
)

// TenantHours returns the send policy of a tenant, the zero Policy for a tenant without one. The error wraps
// campaign.ErrDamaged if it cannot be decoded: nothing is sent by a rule that is not known.
func (s *SettingStore) TenantHours(ctx context.Context, tenant string) (reach.TenantHours, error) {
	row, err := s.find(ctx, "read the hours of tenant "+tenant, tenantHoursKey(tenant))
	if err != nil {
		return reach.TenantHours{}, err
	}
	return readTenantHours(row)
}

// SaveTenantHours writes the revision after that of p. It also records the change, so that sweep looks at the
// batches that wait, and writes entries of the audit log with it. The error wraps campaign.ErrLostRace if the revision
// is not the stored one.
func (s *SettingStore) SaveTenantHours(ctx context.Context, tenant string, p reach.TenantHours, audit ...account.AuditEntry) error {
	data, err := json.Marshal(p)
	if err != nil {
		return fmt.Errorf("encode the hours of tenant %s: %w", tenant, err)
	}
	row := with(tenantHoursKey(tenant), Item{"data": bytesOf(data), "revision": number(p.Revision + 1)})
	return s.writeAudited(ctx, "save the hours of tenant "+tenant, audit,
		s.putAfter(row, "revision", p.Revision), s.resumed(reach.Changed(tenant)))
}

func readTenantHours(row Item) (p reach.TenantHours, err error) {
	if row == nil {
		return p, nil
	}
	if err = json.Unmarshal(getBinary(row, "data"), &p); err != nil {
		return p, fmt.Errorf("read the hours of a tenant: %w: %w", campaign.ErrDamaged, err)
	}
	p.Revision = getInt(row, "revision")
	return p, nil
}
