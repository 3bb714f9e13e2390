package dynamo

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/rollout"
)

func submissionOf(row Item) (id campaign.ID, ok bool) {
	tenant, ofTenant := strings.CutPrefix(getText(row, "pk"), submissionsPrefix)
	campaignID, isSubmission := strings.CutPrefix(getText(row, "sk"), submissionPrefix)
	return campaign.ID{Tenant: tenant, CampaignID: campaignID}, ofTenant && isSubmission
}

// Submissions returns a tenant's submissions, ordered by ID.
func (s *FileStore) Submissions(ctx context.Context, tenant string) ([]submission.Submission, error) {
	var damaged error
	all, err := list(ctx, &s.table, submissionsPrefix+tenant, submissionPrefix, func(id string, row Item) submission.Submission {
		sub, err := readSubmission(campaign.ID{Tenant: tenant, CampaignID: id}, row)
		if err != nil {
			damaged = err
		}
		return sub
	})
	if err != nil {
		return nil, err
	}
	return all, damaged
}

// Submission returns a submission. The error wraps campaign.ErrNotFound if it does not exist.
func (s *FileStore) Submission(ctx context.Context, id campaign.ID) (submission.Submission, error) {
	row, err := s.get(ctx, "read submission "+id.CampaignID, submissionKey(id))
	if err != nil {
		return submission.Submission{}, err
	}
	return readSubmission(id, row)
}

// SaveSubmission writes the next version of a submission if sub.Version is the stored one, 0 for
// a new submission, and returns it. The error wraps campaign.ErrLostRace otherwise. No other write
// changes a submission.
func (s *FileStore) SaveSubmission(ctx context.Context, sub submission.Submission) (submission.Submission, error) {
	sub, put, err := s.submissionPut(sub)
	if err != nil {
		return sub, err
	}
	return sub, s.mustWrite(ctx, "save submission "+sub.CampaignID, put, campaign.ErrLostRace)
}

// SaveDecision is SaveSubmission with an entry of the audit log: both are written, or nothing.
func (s *FileStore) SaveDecision(
	ctx context.Context, sub submission.Submission, e account.AuditEntry,
) (submission.Submission, error) {
	sub, put, err := s.submissionPut(sub)
	if err != nil {
		return sub, err
	}
	return sub, s.writeAudited(ctx, "save the decision about submission "+sub.CampaignID, []account.AuditEntry{e}, put)
}

// submissionPut returns the next version of a submission, and its write.
func (s *FileStore) submissionPut(sub submission.Submission) (submission.Submission, types.TransactWriteItem, error) {
	was := sub.Version
	sub.Version, sub.UpdatedAt = was+1, s.Now()
	data, err := json.Marshal(sub)
	if err != nil {
		return sub, types.TransactWriteItem{}, fmt.Errorf("encode submission %s: %w", sub.CampaignID, err)
	}
	row := with(submissionKey(sub.ID), Item{
		"data": bytesOf(data), "version": number(sub.Version), "write": text(rand.Text()), // the SDK repeats puts without a response
	})
	if next := sub.NextCheck(sub.UpdatedAt); !next.IsZero() {
		row["due"], row["nextCheck"] = text(s.dueShard(campaign.BatchRef{ID: sub.ID})), millis(next)
	}
	setEnd(row, sub.ExpiresAt())
	const condition = "version = :was OR (attribute_not_exists(pk) AND :was = :none) OR #write = :write"
	return sub, s.putIf(row, condition, Item{":was": number(was), ":none": number(0), ":write": row["write"]}), nil
}

func readSubmission(id campaign.ID, row Item) (submission.Submission, error) {
	var sub submission.Submission
	if err := json.Unmarshal(getBinary(row, "data"), &sub); err != nil {
		return sub, fmt.Errorf("read submission %s: %w", id.CampaignID, campaign.ErrDamaged)
	}
	sub.ID, sub.Version = id, getInt(row, "version")
	return sub, nil
}

// KnownColumns returns the names of columns that the tenant has confirmed, by value: phone, uid
// or the name of a variable.
func (s *FileStore) KnownColumns(ctx context.Context, tenant string) (map[string]string, error) {
	names, _, err := s.columns(ctx, tenant)
	return names, err
}

// columns returns the names of columns, and their stored form.
func (s *FileStore) columns(ctx context.Context, tenant string) (names map[string]string, stored []byte, err error) {
	doing := "read the columns of tenant " + tenant
	row, err := s.find(ctx, doing, columnsKey(tenant))
	if err != nil {
		return nil, nil, err
	}
	names = map[string]string{}
	if stored = getBinary(row, "data"); len(stored) > 0 && json.Unmarshal(stored, &names) != nil {
		return nil, nil, fmt.Errorf("%s: %w", doing, campaign.ErrDamaged)
	}
	return names, stored, nil
}

// ChangeKnownColumns changes the names of columns that the tenant has confirmed. change returns false if there is
// nothing to change. It is called again with the names of a faster change.
func (s *FileStore) ChangeKnownColumns(ctx context.Context, tenant string, change func(names map[string]string) bool) error {
	doing := "save the columns of tenant " + tenant
	return untilDecided(ctx, doing, maxEdits, func(int) error {
		names, stored, err := s.columns(ctx, tenant)
		if err != nil || !change(names) {
			return err
		}
		data, err := json.Marshal(names)
		if err != nil {
			return fmt.Errorf("%s: %w", doing, err)
		}
		row := with(columnsKey(tenant), Item{"data": bytesOf(data)})
		w := s.putNew(row)
		if stored != nil {
			w = s.putIf(row, "#data = :read", Item{":read": bytesOf(stored)})
		}
		return s.mustWrite(ctx, doing, w, campaign.ErrLostRace)
	})
}

// totalsAttributes are the attributes of META that hold the totals of the campaign's file.
var totalsAttributes = totalsFields(&campaign.SubmissionTotals{}).names()

func totalsFields(t *campaign.SubmissionTotals) fields {
	return fields{
		"lines": &t.Lines, "invalid": &t.Invalid, "faulty": &t.Faulty, "repeated": &t.Repeated, "people": &t.People,
		"withheldOfPeople": &t.Withheld,
		"erasedOfParts":    &t.Erased, "inOtherBatches": &t.InOtherBatches, "acceptedOfParts": &t.Accepted, "partsToCome": &t.PartsToCome,
		"partsCheck": &t.Check, "parts": &t.Parts, "partsDone": &t.PartsDone, "partsUntil": &t.Until, "partsOfCells?": &t.Cells,
	}
}

// totalsItem returns the attributes of totals, none for a campaign without a file.
func totalsItem(t campaign.SubmissionTotals) Item {
	if !t.Known() {
		return nil
	}
	return totalsFields(&t).item()
}

// readTotals returns the totals in a META row, as of now.
func (t *table) readTotals(meta Item) (totals campaign.SubmissionTotals) {
	if totalsFields(&totals).readFrom(meta); !totals.Known() {
		return totals
	}
	if totals.Cells.Waves() > 0 { // a reschedule moves the end of the waves that are not open yet
		totals.Until = campaign.Later(totals.Until, getMillis(meta, "movedTo").Add(rollout.MaxDuration))
	}
	return totals.At(t.Now())
}

// takesPart is the condition of campaign.SubmissionTotals.Takes on the assigned totalsItem.
const takesPart = "(attribute_not_exists(partsToCome) OR partsToCome > :partsToCome)"

// SkipPart counts a part that erasures have left empty. totals are those after it. It can be
// repeated, and changes nothing before the first part is accepted.
func (s *FileStore) SkipPart(ctx context.Context, id campaign.ID, totals campaign.SubmissionTotals) error {
	return s.updateTotals(ctx, id, "SET erasedOfParts = :erased, partsToCome = :left, partsDone = :done", Item{
		":erased": number(totals.Erased), ":left": number(totals.PartsToCome), ":done": number(totals.PartsDone),
	})
}

// EndParts ends the acceptance of parts: none is to come. It can be repeated. What it returns is zero
// if the campaign does not exist.
func (s *FileStore) EndParts(ctx context.Context, id campaign.ID) (campaign.EndedParts, error) {
	if err := s.updateTotals(ctx, id, "SET partsToCome = :left", Item{":left": number(0)}); err != nil {
		return campaign.EndedParts{}, err
	}
	meta, err := s.find(ctx, "read the totals of campaign "+id.CampaignID, metaKey(id))
	return campaign.EndedParts{SubmissionTotals: s.readTotals(meta), CreatedAt: getMillis(meta, "createdAt")}, err
}

// updateTotals changes the totals of a campaign if it lowers the number of parts to come.
func (s *FileStore) updateTotals(ctx context.Context, id campaign.ID, update string, values Item) error {
	w := s.update(metaKey(id), update, "partsToCome > :left AND "+notExpiring, values)
	return s.tryWrite(ctx, "change the totals of campaign "+id.CampaignID, w)
}
