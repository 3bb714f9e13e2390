package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// maxBody is the maximum size of a request body in bytes.
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
	tenant, err := s.tenant(r)
	if err != nil {
		return err
	}
	if _, err := readSwitches(r); err != nil {
		return err
	}
	body, err := httpapi.Body(r, maxBody)
	if err != nil {
		return err
	}
	batch, schedule, err := readReschedule(body)
	if err != nil {
		return err
	}
	id := r.PathValue("campaignId")
	b, err := s.RescheduleBatch(r.Context(), campaign.ID{Tenant: tenant, CampaignID: id}, batch, schedule)
	if err != nil {
		return err
	}
	httpapi.WriteJSON(w, http.StatusOK, rescheduleAnswer{id, b.BatchID, b.Name, campaign.StatusScheduled, b.Due})
	return nil
}

// RescheduleBatch changes the due time of a batch and returns the batch. choose defines how
// batch names it; schedule has the format of a dispatch call. A refused call returns a
// *httpapi.Problem.
func (s *Service) RescheduleBatch(ctx context.Context, id campaign.ID, batch, schedule string) (campaign.Batch, error) {
	due, wrong := localtime.ParseSchedule(schedule, s.Now(), s.Lead)
	if wrong != nil {
		return campaign.Batch{}, fault("/schedule", wrong.Code, wrong.Detail)
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

// MayRescheduleBatch returns the batch that Reschedule would return, and changes nothing. A
// call that Reschedule would refuse returns its *httpapi.Problem.
func (s *Service) MayRescheduleBatch(ctx context.Context, c campaign.Campaign, batch, schedule string) (campaign.Batch, error) {
	due, wrong := localtime.ParseSchedule(schedule, s.Now(), s.Lead)
	if wrong != nil {
		return campaign.Batch{}, fault("/schedule", wrong.Code, wrong.Detail)
	}
	b, err := checkReschedule(c, batch, due)
	if err != nil {
		return b, err
	}
	err = s.Store.CheckReservation(ctx, b, due)
	if full, ok := errors.AsType[*campaign.BudgetError](err); ok {
		return b, budgetExceeded(full.Budget)
	}
	b.Due, b.Scheduled = due, true
	return b, err
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

// checkDue refuses a due time that the batch cannot have.
func checkDue(b campaign.Batch, due time.Time) error {
	if !b.NotAfter.IsZero() && !b.NotAfter.After(due) {
		return fault("/schedule", "schedule_after_not_after", "schedule must be earlier than the notAfter of the batch")
	}
	if due.After(b.AcceptedAt.AddDate(1, 0, 0)) { // the payload expires soon after
		return fault("/schedule", "schedule_too_far", "schedule must be at most a year after the batch was accepted")
	}
	return nil
}

// released refuses a batch that was released or cancelled.
func released(b campaign.Batch) error {
	switch {
	case b.State == campaign.BatchCancelled:
		return refuse(http.StatusConflict, "/campaignId", "campaign_cancelled", "the campaign was cancelled")
	case b.State != campaign.BatchPending:
		return refuse(http.StatusConflict, "/batch", "batch_released", "the batch is already being sent")
	}
	return nil
}

// readReschedule parses a body. batch and schedule are strings; batch is optional.
func readReschedule(body []byte) (batch, schedule string, err error) {
	if err := strict(body); err != nil {
		return "", "", err
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(body, &fields); err != nil {
		return "", "", fault("", "invalid_type", "the body must be a JSON object")
	}
	for name, to := range map[string]*string{"batch": &batch, "schedule": &schedule} {
		if raw, ok := fields[name]; ok && json.Unmarshal(raw, to) != nil {
			return "", "", fault("/"+name, "invalid_type", "must be a string")
		}
	}
	if raw, ok := fields["schedule"]; !ok || string(raw) == "null" {
		return "", "", fault("/schedule", "missing_field", "is required")
	}
	return batch, schedule, nil
}

// strict refuses malformed JSON that encoding/json accepts.
func strict(body []byte) error {
	scan := jsonscan.New(body)
	_, err := scan.Raw()
	if err == nil {
		err = scan.End()
	}
	if malformed, ok := errors.AsType[*jsonscan.Error](err); ok {
		return fault("", malformed.Code, malformed.Detail+" (at byte "+strconv.Itoa(malformed.Offset)+")")
	}
	return err
}

func fault(pointer, code, detail string) *httpapi.Problem {
	return refuse(http.StatusBadRequest, pointer, code, detail)
}

func refuse(status int, pointer, code, detail string) *httpapi.Problem {
	return &httpapi.Problem{
		Status: status, Code: code, Detail: detail,
		Errors: []httpapi.Violation{{Pointer: pointer, Code: code, Detail: detail}},
	}
}

func budgetExceeded(b campaign.Budget) *httpapi.Problem {
	problem := refuse(http.StatusConflict, "/schedule", campaign.CodeBudgetExceeded,
		"the batch comes to "+campaign.Currency+" "+b.Cost.String()+", which the budget of the new day has no room for")
	problem.Budget = b.Figures()
	return problem
}

// choose returns the batch with the name, or the campaign's only batch if name is
// empty.
func choose(c campaign.Campaign, name string) (campaign.Progress, error) {
	b, ok := c.Find(name)
	switch {
	case !ok:
		return b, &httpapi.Problem{Status: http.StatusNotFound, Code: "batch_not_found", Detail: "The batch does not exist."}
	case !c.CancelledAt.IsZero():
		return b, refuse(http.StatusConflict, "/campaignId", "campaign_cancelled", "the campaign was cancelled")
	}
	return b, nil
}

// move changes the due time and schedules the release. After a crash in between, sweep
// releases the batch.
func (s *Service) move(ctx context.Context, b campaign.Batch, due time.Time) error {
	err := s.swap(ctx, b, due)
	if lost, ok := errors.AsType[*raceLost](err); ok {
		err = s.swap(ctx, lost.now, due) // retry with the batch as the other call left it
	}
	if _, ok := errors.AsType[*raceLost](err); ok {
		return httpapi.TryAgain()
	}
	if err != nil {
		return err
	}
	b.Due, b.Scheduled = due, true
	s.schedule(ctx, b)
	return nil
}

// raceLost means that another call rescheduled the batch concurrently. now is the batch
// as that call left it.
type raceLost struct{ now campaign.Batch }

func (*raceLost) Error() string { return "the batch was rescheduled concurrently" }

// swap reschedules a batch if it is still as it was read.
func (s *Service) swap(ctx context.Context, b campaign.Batch, due time.Time) error {
	moved, err := s.Store.RescheduleBatch(ctx, b, due, due.Add(s.SweepDelay))
	if full, ok := errors.AsType[*campaign.BudgetError](err); ok {
		return budgetExceeded(full.Budget)
	}
	if errors.Is(err, campaign.ErrLostRace) {
		return httpapi.TryAgain()
	}
	if err != nil {
		return fmt.Errorf("reschedule: %w", err)
	}
	if moved {
		return nil
	}
	return s.checkUnmoved(ctx, b, due)
}

// checkUnmoved returns the reason why swap changed nothing: the batch was released,
// cancelled, or rescheduled by another call. It returns nil if an earlier attempt of
// this call succeeded, even if the batch was released since.
func (s *Service) checkUnmoved(ctx context.Context, b campaign.Batch, due time.Time) error {
	now, err := s.Store.Batch(ctx, b.BatchRef)
	if err != nil {
		return fmt.Errorf("reschedule: %w", err)
	}
	if now.State != campaign.BatchCancelled && now.Due.UnixMilli() == due.UnixMilli() {
		return nil
	}
	if err := released(now); err != nil {
		return err
	}
	return &raceLost{now}
}
