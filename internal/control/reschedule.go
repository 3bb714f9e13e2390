package control

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonbody"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

const maxBody = 64 << 10

type rescheduleAnswer struct {
	CampaignID string          `json:"campaignId"`
	BatchID    string          `json:"batchId"`
	Batch      string          `json:"batch,omitempty"`
	Status     campaign.Status `json:"status"`
	Schedule   time.Time       `json:"schedule"`
}

// ServeReschedule changes the due time of a batch that was not released. The trigger
// for the old time has no effect.
func (s *Service) ServeReschedule(w http.ResponseWriter, r *http.Request) error {
	id, _, err := s.open(r)
	if err != nil {
		return err
	}
	body, err := httpapi.JSONBody(r, maxBody)
	if err != nil {
		return err
	}
	batch, schedule, err := readReschedule(r.Header, body)
	if err != nil {
		return err
	}
	b, err := s.RescheduleBatch(r.Context(), id, batch, schedule)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, rescheduleAnswer{id.CampaignID, b.BatchID, b.Name, campaign.StatusScheduled, b.Due})
	return nil
}

// RescheduleBatch changes the due time of a batch and returns the batch. choose defines how
// batch names it; schedule has the format of a dispatch call. A refused call returns a
// *httpapi.Problem.
func (s *Service) RescheduleBatch(ctx context.Context, id campaign.ID, batch, schedule string) (campaign.Batch, error) {
	due, err := s.parseSchedule(schedule)
	if err != nil {
		return campaign.Batch{}, err
	}
	c, err := s.findMoved(ctx, id)
	if err != nil {
		return campaign.Batch{}, err
	}
	b, err := checkReschedule(c, batch, due)
	if err != nil {
		return campaign.Batch{}, err
	}
	if err := s.move(ctx, b, due); err != nil {
		return campaign.Batch{}, err
	}
	b.Due, b.Scheduled = due, true
	return b, nil
}

// MayRescheduleBatch returns the batch that RescheduleBatch would return, and changes nothing.
// A call that it would refuse returns its *httpapi.Problem.
func (s *Service) MayRescheduleBatch(ctx context.Context, c campaign.Campaign, batch, schedule string) (campaign.Batch, error) {
	due, err := s.parseSchedule(schedule)
	if err != nil {
		return campaign.Batch{}, err
	}
	b, err := checkReschedule(c, batch, due)
	if err != nil {
		return b, err
	}
	err = refusal(s.Store.CheckReservation(ctx, b, due))
	b.Due, b.Scheduled = due, true
	return b, err
}

func (s *Service) parseSchedule(schedule string) (time.Time, error) {
	due, wrong := localtime.ParseSchedule(schedule, s.Now(), s.Lead)
	if wrong != nil {
		return due, fault("/schedule", wrong.Code, wrong.Detail)
	}
	return due, nil
}

// checkReschedule returns the unchanged batch if it may be sent at due.
func checkReschedule(c campaign.Campaign, name string, due time.Time) (campaign.Batch, error) {
	b, err := choose(c, name)
	if err != nil {
		return campaign.Batch{}, err
	}
	if err := checkDue(b.Batch, due); err != nil {
		return campaign.Batch{}, err
	}
	return b.Batch, released(b.Batch)
}

func checkDue(b campaign.Batch, due time.Time) error {
	if !b.NotAfter.IsZero() && !b.NotAfter.After(due) {
		return fault("/schedule", "schedule_after_not_after", "schedule must be earlier than the notAfter of the batch")
	}
	if due.After(b.AcceptedAt.AddDate(1, 0, 0)) { // the payload expires soon after
		return fault("/schedule", "schedule_too_far", "schedule must be at most a year after the batch was accepted")
	}
	return nil
}

func released(b campaign.Batch) error {
	switch {
	case b.State == campaign.BatchCancelled:
		return cancelled()
	case b.State != campaign.BatchPending:
		return httpapi.Refuse(http.StatusConflict, "/batch", "batch_released", "the batch is already being sent")
	}
	return nil
}

// readReschedule parses a body. batch and schedule are strings; batch is optional.
func readReschedule(header http.Header, body []byte) (batch, schedule string, err error) {
	if err := jsonbody.Check(header, body); err != nil {
		return "", "", err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &fields); err != nil {
		return "", "", fault("", jsonscan.InvalidType, "the body must be a JSON object")
	}
	for name, to := range map[string]*string{"batch": &batch, "schedule": &schedule} {
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, to) != nil {
			return "", "", fault("/"+name, jsonscan.InvalidType, "must be a string")
		}
	}
	if raw, ok := fields["schedule"]; !ok || string(raw) == "null" {
		return "", "", fault("/schedule", "missing_field", "is required")
	}
	return batch, schedule, nil
}

func fault(pointer, code, detail string) *httpapi.Problem {
	return httpapi.Refuse(http.StatusBadRequest, pointer, code, detail)
}

func cancelled() *httpapi.Problem {
	return httpapi.Refuse(http.StatusConflict, "/campaignId", "campaign_cancelled", "the campaign was cancelled")
}

func budgetExceeded(b campaign.Budget) *httpapi.Problem {
	problem := httpapi.Refuse(http.StatusConflict, "/schedule", campaign.CodeBudgetExceeded,
		"the batch comes to "+campaign.Currency+" "+b.Cost.String()+", which the budget of the new day has no room for")
	problem.Budget = b.Figures()
	return problem
}

// choose returns the batch with the name, or the campaign's only batch if name is
// empty.
func choose(c campaign.Campaign, name string) (campaign.BatchProgress, error) {
	b, ok := c.Find(name)
	switch {
	case !ok:
		return b, httpapi.NoBatch()
	case !c.CancelledAt.IsZero():
		return b, cancelled()
	}
	return b, nil
}

// move changes the due time and schedules the release. After a crash in between, sweep
// releases the batch. If another call rescheduled the batch concurrently, it tries once more.
func (s *Service) move(ctx context.Context, b campaign.Batch, due time.Time) error {
	for range 2 {
		moved, err := s.Store.RescheduleBatch(ctx, b, due, due.Add(s.SweepDelay))
		if err == nil && !moved {
			b, moved, err = s.readUnmoved(ctx, b, due)
		}
		if err != nil {
			return refusal(err)
		}
		if moved {
			b.Due, b.Scheduled = due, true
			s.schedule(ctx, b)
			return nil
		}
	}
	return httpapi.TryAgain()
}

// readUnmoved returns a batch that was not moved as it is now. moved reports that an earlier
// attempt of this call moved it, even if the batch was released since. A batch that was
// released or cancelled is a *httpapi.Problem.
func (s *Service) readUnmoved(ctx context.Context, b campaign.Batch, due time.Time) (now campaign.Batch, moved bool, err error) {
	if now, err = s.Store.Batch(ctx, b.BatchRef); err != nil {
		return b, false, err
	}
	if now.State != campaign.BatchCancelled && now.Due.UnixMilli() == due.UnixMilli() {
		return b, true, nil
	}
	return now, false, released(now)
}
