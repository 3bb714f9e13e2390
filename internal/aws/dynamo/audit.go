package dynamo

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
)

// UseForm marks a form token of a tenant as used and reports whether it was unused.
func (s *SettingStore) UseForm(ctx context.Context, tenant, token string) (bool, error) {
	use := text(rand.Text()) // identifies the own put: the SDK repeats puts without a response
	row := with(formKey(tenant, token), Item{TTL: number(s.Now().Add(campaign.FormLife).Unix()), "use": use})
	return s.write(ctx, "use form token", s.putIf(row, absent+" OR #use = :use", Item{":use": use}))
}

// Audit writes an entry to its tenant's audit log.
func (s *SettingStore) Audit(ctx context.Context, e account.AuditEntry) error {
	return untilFree(func(later int) (bool, error) { return s.write(ctx, "write audit log", s.auditWrite(e, later)) })
}

// untilFree repeats the write of an entry some nanoseconds later while another entry has its time.
func untilFree(write func(later int) (done bool, err error)) error {
	const tries = 10
	for later := range tries {
		if done, err := write(later); done || err != nil {
			return err
		}
	}
	return errors.New("write audit log: too many entries with the same time")
}

// writeAudited makes the writes of a change with its entries in the audit log: all are written, or nothing. The error
// wraps campaign.ErrLostRace if a condition of the change failed.
func (t *table) writeAudited(
	ctx context.Context, doing string, audit []account.AuditEntry, change ...types.TransactWriteItem,
) error {
	return untilFree(func(later int) (bool, error) {
		items := slices.Clone(change)
		for i, e := range audit {
			items = append(items, t.auditWrite(e, later+i))
		}
		reasons, err := t.transact(ctx, items, rand.Text())
		if err == nil && slices.ContainsFunc(reasons[:min(len(change), len(reasons))], notWritten) {
			err = campaign.ErrLostRace
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", doing, err)
		}
		return len(reasons) == 0, nil
	})
}

func notWritten(r types.CancellationReason) bool { return aws.ToString(r.Code) != reasonNone }

// doubleClick is the period in which the same entry of a person comes from the same form.
const doubleClick = 2 * time.Second

// AuditForm writes an entry to its tenant's audit log, unless the same one was written in the
// last two seconds: a double click sends a form twice.
func (s *SettingStore) AuditForm(ctx context.Context, e account.AuditEntry) error {
	return untilFree(func(later int) (bool, error) {
		reasons, err := s.transact(ctx, []types.TransactWriteItem{s.lastEntryWrite(e), s.auditWrite(e, later)}, rand.Text())
		if err != nil {
			return false, fmt.Errorf("write audit log: %w", err)
		}
		return len(reasons) == 0 || failedCondition(reasons[0]), nil // written, or a repetition
	})
}

// auditWrite writes a new entry, some nanoseconds after its time.
func (t *table) auditWrite(e account.AuditEntry, later int) types.TransactWriteItem {
	row := with(auditKey(e.Tenant, strconv.FormatInt(e.At.UnixNano()+int64(later), 10)), Item{
		"who": text(e.Who), "action": text(e.Action), "subject": text(e.Subject),
		"at": millis(e.At), TTL: number(e.At.Add(campaign.AuditLife).Unix()),
	})
	return t.putNew(with(row, some(Item{"details": text(strings.Join(e.Details, ",")), "link": text(e.Link)})))
}

// lastEntryWrite writes the time of an entry, unless the same entry is recent.
func (s *SettingStore) lastEntryWrite(e account.AuditEntry) types.TransactWriteItem {
	entry := strings.Join(append([]string{"audit", e.Who, e.Action, e.Subject, e.Link}, e.Details...), "\x00")
	row := with(formKey(e.Tenant, entry), Item{"at": millis(e.At), TTL: number(s.Now().Add(campaign.FormLife).Unix())})
	return s.putIf(row, absent+" OR #at < :before", Item{":before": millis(e.At.Add(-doubleClick))})
}

// AuditLog returns up to limit entries of a tenant's audit log, newest first. older is the
// next of the previous page, "" for the first page. next is "" after the last page.
func (s *SettingStore) AuditLog(
	ctx context.Context, tenant, older string, limit int,
) (entries []account.AuditEntry, next string, err error) {
	in := queryOf(s.Campaigns, "pk = :log", Item{":log": auditKey(tenant, "")["pk"]})
	in.ScanIndexForward, in.Limit = aws.Bool(false), aws.Int32(int32(limit)) //nolint:gosec // a page's length
	if older != "" {
		in.ExclusiveStartKey = auditKey(tenant, older)
	}
	out, err := s.Client.Query(ctx, in)
	if err != nil {
		return nil, "", fmt.Errorf("read audit log: %w", err)
	}
	for _, row := range s.unexpiredRows(out.Items) {
		e := account.AuditEntry{
			Tenant: tenant, At: getMillis(row, "at"), Who: getText(row, "who"),
			Action: getText(row, "action"), Subject: getText(row, "subject"), Link: getText(row, "link"), Cursor: getText(row, "sk"),
		}
		if details := getText(row, "details"); details != "" {
			e.Details = strings.Split(details, ",")
		}
		entries = append(entries, e)
	}
	return entries, getText(out.LastEvaluatedKey, "sk"), nil
}
