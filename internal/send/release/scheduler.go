package release

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
)

// Schedules sends a message to the release queue at an instant.
type Schedules interface {
	At(ctx context.Context, name string, at time.Time, body []byte) error
}

// Scheduler queues batches for release, at least once each.
type Scheduler struct {
	Releases  port.Queue
	Schedules Schedules
}

// Schedule queues or schedules the batch's release.
func (r Scheduler) Schedule(ctx context.Context, b campaign.Batch) error {
	body, err := json.Marshal(campaign.ReleaseTask{BatchRef: b.BatchRef})
	if err != nil {
		return fmt.Errorf("encode release task: %w", err)
	}
	if b.Scheduled {
		return r.Schedules.At(ctx, scheduleName(b), b.Due, body)
	}
	return r.Releases.Send(ctx, b.Tenant, body, 0)
}

// scheduleName returns a schedule name that depends only on the batch and its due time. It
// has 43 characters; the maximum is 64.
func scheduleName(b campaign.Batch) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", b.Tenant, b.CampaignID, b.BatchID, b.Due.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
