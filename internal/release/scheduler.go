package release

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"time"

	"campaign-dispatch/internal/campaign"
)

// Schedules puts a message on the release queue at an instant.
type Schedules interface {
	At(ctx context.Context, name string, at time.Time, body []byte) error
}

// Scheduler hands batches to release, at least once each.
type Scheduler struct {
	Queue     Queue
	Schedules Schedules
}

// Schedule asks for the batch's release when it is due.
func (r Scheduler) Schedule(ctx context.Context, b campaign.Batch) error {
	body, err := json.Marshal(campaign.ReleaseTask{BatchRef: b.BatchRef})
	if err != nil {
		return fmt.Errorf("write a release task: %w", err)
	}
	if b.Scheduled {
		return r.Schedules.At(ctx, scheduleName(b), b.Due, body)
	}
	return r.Queue.Send(ctx, b.Tenant, body, 0)
}

// scheduleName is the same for the same batch and due time, however often it is
// asked for. A schedule's name has 64 characters at most: this one has 43.
func scheduleName(b campaign.Batch) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s\x00%d", b.Tenant, b.CampaignID, b.BatchID, b.Due.UnixMilli()))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
