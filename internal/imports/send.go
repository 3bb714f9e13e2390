package imports

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/httpapi"
	"campaign-dispatch/internal/metrics"
	"campaign-dispatch/internal/retry"
)

const (
	codeBatchUsed = "batch_already_used"
	codeTooSoon   = "schedule_too_soon"
	codeCancelled = "campaign_cancelled"
	codeKeyReused = "idempotency_key_reused"
	// maxTries is the maximum number of attempts of a call that fails.
	maxTries = 6
)

// send dispatches the remaining parts, until all are sent or the time is over.
func (w *Worker) send(ctx context.Context, i campaign.Import) (err error) {
	starting, cancel := withMargin(ctx)
	defer cancel()
	for i.Sent < i.Read.Parts {
		if i, err = w.follow(ctx, i); err != nil {
			return err
		}
		if wait := w.untilDue(i); i.Late && wait > 0 { // what goes at once must not go before its time
			return queue(ctx, w.Tasks, i.ID, wait+time.Second) // the queue counts in seconds
		}
		if i, err = w.sendPart(ctx, i); err != nil {
			return err
		}
		if starting.Err() != nil {
			return queue(ctx, w.Tasks, i.ID, 0)
		}
	}
	return w.finish(ctx, i)
}

// follow gives the remaining parts the time to which the campaign was rescheduled.
func (w *Worker) follow(ctx context.Context, i campaign.Import) (campaign.Import, error) {
	if i.Sent == 0 {
		return i, nil
	}
	last, err := w.Store.Move(ctx, i.ID)
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return i, err
	}
	due := last.Due.UTC().Format(time.RFC3339Nano)
	if last.Revision == 0 || i.Schedule == due {
		return i, nil
	}
	i.Schedule, i.Late = due, false
	return w.Store.SaveImport(ctx, i)
}

// untilDue returns the time until the schedule, which is negative after it and without one.
func (w *Worker) untilDue(i campaign.Import) time.Duration {
	due, _ := localtime.Parse(i.Schedule)
	return due.Sub(w.Now())
}

// sendPart dispatches the next part and saves the progress.
func (w *Worker) sendPart(ctx context.Context, i campaign.Import) (campaign.Import, error) {
	number := i.Sent + 1
	file, err := w.Blobs.Get(ctx, i.PartBlob(number))
	if errors.Is(err, campaign.ErrNotFound) {
		return i, &fault{code: faultFileGone}
	}
	if err != nil {
		return i, err
	}
	p, err := decodePart(file)
	if err != nil {
		return i, err
	}
	accepted, err := w.accept(ctx, i, number, p)
	if wrong, ok := errors.AsType[*fault](err); ok && wrong.code == codeTooSoon && !i.Late && (i.Sent > 0 || w.untilDue(i) > 0) {
		i.Late = true // the save is first, so that a repeated call has the same body
		return w.Store.SaveImport(ctx, i)
	}
	if err != nil {
		return i, err
	}
	i.Sent, i.SentAccepted, i.SentRejected = number, i.SentAccepted+accepted, i.SentRejected+max(0, len(p)-accepted)
	return w.Store.SaveImport(ctx, i)
}

// accept dispatches a part, which may be accepted already, and returns the number of its
// accepted messages. Erasures can leave an empty part.
func (w *Worker) accept(ctx context.Context, i campaign.Import, number int, p part) (accepted int, err error) {
	if len(p) == 0 {
		return 0, nil
	}
	body, err := p.call(i, number)
	if err != nil {
		return 0, err
	}
	call := campaign.PageCall{Key: i.PartKey(number), TemplateVersion: i.TemplateVersion, Lines: p.lines()}
	answer, err := w.try(ctx, i, body, call)
	if problem, refused := refusal(err); refused {
		switch {
		case problem.Code == codeKeyReused: // an erasure or another time has changed the body since
			b, err := w.Store.Batch(ctx, batchRef(i, number))
			return b.Accepted, err
		case used(problem):
			return w.acceptedBefore(ctx, i, number, body)
		}
		return 0, &fault{code: problem.Code}
	}
	if err != nil {
		return 0, err
	}
	var counts struct{ Accepted int }
	if err := json.Unmarshal(answer, &counts); err != nil {
		return 0, fmt.Errorf("decode the answer to a part: %w", err)
	}
	return counts.Accepted, nil
}

// try calls until the call is accepted or refused, at most maxTries times.
func (w *Worker) try(ctx context.Context, i campaign.Import, body []byte, call campaign.PageCall) (answer []byte, err error) {
	for attempt := range maxTries {
		if err := retry.Wait(ctx, attempt); err != nil {
			return nil, err
		}
		if answer, err = w.Dispatch.Dispatch(ctx, i.Tenant, w.BaseURL, body, call); err == nil {
			return answer, nil
		}
		if _, refused := refusal(err); refused {
			return nil, err
		}
	}
	return nil, err
}

func used(problem *httpapi.Problem) bool {
	return problem.Code == codeBatchUsed ||
		slices.ContainsFunc(problem.Errors, func(v httpapi.Violation) bool { return v.Code == codeBatchUsed })
}

func batchRef(i campaign.Import, number int) campaign.BatchRef {
	return campaign.BatchRef{ID: i.ID, BatchID: campaign.BatchID(strconv.Itoa(number))}
}

// acceptedBefore returns the accepted messages of a part whose answer is no longer stored. The
// batch is the part's only if it was accepted with the same body.
func (w *Worker) acceptedBefore(ctx context.Context, i campaign.Import, number int, body []byte) (int, error) {
	b, err := w.Store.Batch(ctx, batchRef(i, number))
	if err != nil {
		return 0, err
	}
	if sum := sha256.Sum256(body); !bytes.Equal(b.BodyHash, sum[:]) {
		return 0, &fault{code: faultBatchTaken}
	}
	return b.Accepted, nil
}

// finish closes an import whose parts are all dispatched, and its request for approval.
func (w *Worker) finish(ctx context.Context, i campaign.Import) error {
	a, err := w.Store.Approval(ctx, i.Tenant, i.CampaignID)
	if err == nil && a.State == campaign.ApprovalApproved {
		a.State = campaign.ApprovalSent
		if err = w.Store.SaveApproval(ctx, a, campaign.ApprovalApproved); errors.Is(err, campaign.ErrLostRace) {
			err = nil
		}
	}
	if err != nil && !errors.Is(err, campaign.ErrNotFound) {
		return err
	}
	if err := deleteFiles(ctx, w.Blobs, i); err != nil {
		return err
	}
	i.State, i.Fault, i.FaultArgs = campaign.ImportSent, "", nil
	if _, err := w.Store.SaveImport(ctx, i); err != nil {
		return err
	}
	metrics.Add(ctx, metrics.ImportsCompleted, 1)
	return nil
}
