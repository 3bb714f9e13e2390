package release_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach"
	"campaign-dispatch/internal/send/outgoing"
	"campaign-dispatch/internal/send/release"
)

var (
	noon      = time.Date(2037, 3, 1, 12, 0, 0, 0, time.UTC)
	errBroken = errors.New("broken")
)

const sweepAfter = 10 * time.Minute

// row stores one batch like a table.
type row struct {
	batch     campaign.Batch
	err       error
	cancelled bool // by another call, after the first read
	policy    reach.TenantHours
	tenant    campaign.Tenant
	tenantErr error
}

func (r *row) Batch(context.Context, campaign.BatchRef) (campaign.Batch, error) {
	read := r.batch
	if r.cancelled {
		r.batch.State = campaign.BatchCancelled
	}
	return read, r.err
}

func (r *row) Tenant(context.Context, string) (campaign.Tenant, error) { return r.tenant, r.tenantErr }

func (r *row) StartRelease(_ context.Context, _ campaign.BatchRef, agentID string, now, next time.Time) (bool, error) {
	if r.batch.Due.After(now) || !r.move(campaign.BatchPending, campaign.BatchReleasing, next) {
		return false, nil
	}
	r.batch.AgentID = agentID
	return true, nil
}

func (r *row) EndRelease(_ context.Context, b campaign.Batch, next time.Time, _ bool) (bool, error) {
	r.batch.Waits.Zones, r.batch.NeverOpen = b.Waits.Zones, b.NeverOpen
	return r.move(campaign.BatchReleasing, campaign.BatchSending, next), nil
}

func (r *row) TenantHours(context.Context, string) (reach.TenantHours, error) { return r.policy, nil }

func (r *row) TemplateVersion(context.Context, string, int) (campaign.Template, error) {
	return campaign.Template{}, nil
}

func (r *row) move(from, to campaign.BatchState, next time.Time) bool {
	if r.batch.State != from {
		return false
	}
	r.batch.State, r.batch.NextCheck = to, next
	return true
}

// queue records messages as "group delay body".
type queue struct {
	got []string
	err error
}

func (q *queue) Send(_ context.Context, group string, body []byte, delay time.Duration) error {
	q.got = append(q.got, fmt.Sprint(group, " ", delay, " ", string(body)))
	return q.err
}

func (q *queue) SendAll(ctx context.Context, group string, bodies [][]byte) error {
	for _, body := range bodies {
		_ = q.Send(ctx, group, body, 0)
	}
	return q.err
}

func TestRelease(t *testing.T) {
	t.Parallel()
	const ref = `"tenant":"t","campaignId":"c","batchId":"b"`
	const released = `"released":"2037-03-01T12:00:00Z"`
	frames := []string{"t 0s {" + ref + `,"frame":0,` + released + `}`, "t 0s {" + ref + `,"frame":1,` + released + `}`}
	again := func(delay string) []string { return []string{"t " + delay + " {" + ref + "}"} }
	check := noon.Add(sweepAfter)
	tests := map[string]struct {
		row       row
		queueErr  error
		frames    []string
		releases  []string
		state     campaign.BatchState
		nextCheck time.Time
		err       error
	}{
		"due now":            {row{batch: campaign.Batch{State: "pending", Due: noon}}, nil, frames, nil, "sending", check, nil},
		"long overdue":       {row{batch: campaign.Batch{State: "pending", Due: noon.Add(-time.Hour)}}, nil, frames, nil, "sending", check, nil},
		"died while queuing": {row{batch: campaign.Batch{State: "releasing"}}, nil, frames, nil, "sending", check, nil},
		"released already":   {row{batch: campaign.Batch{State: "sending"}}, nil, nil, nil, "sending", time.Time{}, nil},
		"sent already":       {row{batch: campaign.Batch{State: "sent"}}, nil, nil, nil, "sent", time.Time{}, nil},
		"cancelled":          {row{batch: campaign.Batch{State: "cancelled"}}, nil, nil, nil, "cancelled", time.Time{}, nil},
		"cancelled just now": {row{batch: campaign.Batch{State: "pending", Due: noon}, cancelled: true}, nil, nil, nil, "cancelled", time.Time{}, nil},
		"due in a second": {
			row{batch: campaign.Batch{State: "pending", Due: noon.Add(time.Second)}},
			nil,
			nil, again("2s"), "pending",
			time.Time{},
			nil,
		},
		"due in 15 minutes": {
			row{batch: campaign.Batch{State: "pending", Due: noon.Add(15 * time.Minute)}},
			nil,
			nil, again("15m0s"), "pending",
			time.Time{},
			nil,
		},
		"due much later": {
			row{batch: campaign.Batch{State: "pending", Due: noon.Add(time.Hour)}},
			nil,
			nil, nil, "pending",
			time.Time{},
			nil,
		},
		"due, without the time of its campaign": {
			row{batch: campaign.Batch{State: "pending", Due: noon, Unmoved: true}},
			nil, nil,
			again("31s"), "pending",
			time.Time{},
			nil,
		},
		"no such batch": {row{err: fmt.Errorf("read: %w", campaign.ErrNotFound)}, nil, nil, nil, "", time.Time{}, nil},
		"broken table":  {row{err: errBroken}, nil, nil, nil, "", time.Time{}, errBroken},
		"broken queue": {
			row{batch: campaign.Batch{State: "pending", Due: noon}},
			errBroken,
			frames, nil, "releasing", check, errBroken,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := campaign.ReleaseTask{BatchRef: campaign.BatchRef{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, BatchID: "b"}}
			store, sends, releases := tt.row, &queue{err: tt.queueErr}, &queue{err: tt.queueErr}
			store.batch.BatchRef, store.batch.Accepted, store.tenant.AgentID = task.BatchRef, 101, "a"
			r := release.Releaser{Store: &store, Frames: sends, Releases: releases, SweepAfter: sweepAfter, Now: func() time.Time { return noon }}
			errs := r.Handle(t.Context(), []campaign.ReleaseTask{task})
			if len(errs) != 1 || !errors.Is(errs[0], tt.err) {
				t.Errorf("errors %v, want %v", errs, tt.err)
			}
			if diff := cmp.Diff([][]string{tt.frames, tt.releases}, [][]string{sends.got, releases.got}); diff != "" {
				t.Errorf("queued (-want +got):\n%s", diff)
			}
			if store.batch.State != tt.state || !store.batch.NextCheck.Equal(tt.nextCheck) {
				t.Errorf("the batch is %s until %v, want %s until %v", store.batch.State, store.batch.NextCheck, tt.state, tt.nextCheck)
			}
		})
	}
}

// The encoded tasks decode to the same values.
func TestTasks_RoundTrip(t *testing.T) {
	t.Parallel()
	ref := campaign.BatchRef{ID: campaign.ID{Tenant: "t", CampaignID: "c"}, BatchID: "b"}
	turn := outgoing.Reservation{Start: noon, Every: 3 * time.Millisecond}
	for _, task := range []outgoing.SendTask{{BatchRef: ref}, {BatchRef: ref, Frame: 3, Only: []int{0, 99}, Attempt: 2, Reservation: turn}} {
		body, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		var got outgoing.SendTask
		if err := json.Unmarshal(body, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(task, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

func TestRelease_RecordsAgent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		tenant campaign.Tenant
		err    error
		state  campaign.BatchState
		agent  string
		fails  bool
	}{
		"its agent":         {campaign.Tenant{AgentID: "a"}, nil, "sending", "a", false},
		"no agent":          {campaign.Tenant{}, nil, "pending", "", false},
		"no tenant":         {campaign.Tenant{}, campaign.ErrNotFound, "pending", "", false},
		"an unknown tenant": {campaign.Tenant{}, errBroken, "pending", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := &row{batch: campaign.Batch{State: "pending", Due: noon, Accepted: 1}, tenant: test.tenant, tenantErr: test.err}
			r := release.Releaser{Store: store, Frames: &queue{}, Releases: &queue{}, Now: func() time.Time { return noon }}
			err := r.Handle(t.Context(), []campaign.ReleaseTask{{}})[0]
			if (err != nil) != test.fails || store.batch.State != test.state || store.batch.AgentID != test.agent {
				t.Errorf("%s, agent %q, %v", store.batch.State, store.batch.AgentID, err)
			}
		})
	}
}
