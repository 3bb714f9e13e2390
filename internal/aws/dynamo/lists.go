package dynamo

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/reach/lists"
)

// Lists reads the lists of a tenant consistently, deleted ones included, ordered by name.
func (s *RecipientStore) Lists(ctx context.Context, tenant string) ([]lists.List, error) {
	rows, err := s.query(ctx, "read the lists of tenant "+tenant, "pk = :pk AND sk > :guard",
		Item{":pk": listKey(tenant, "")["pk"], ":guard": listGuardKey(tenant)["sk"]})
	return readAll(rows, func(row Item) lists.List { return readList(tenant, row) }), err
}

// ListAdditions returns how often a list of the tenant was created, or created again after its deletion.
func (s *RecipientStore) ListAdditions(ctx context.Context, tenant string) (int, error) {
	guard, err := s.find(ctx, "read the guard of the lists of tenant "+tenant, listAdditionsKey(tenant))
	return getInt(guard, "additions"), err
}

// SaveList writes the next version of a list and an entry of the audit log, if the stored version is
// still l's. It reports whether it did.
func (s *RecipientStore) SaveList(ctx context.Context, l lists.List, e account.AuditEntry) (bool, error) {
	return s.saveList(ctx, l, nil, e)
}

// AddList is SaveList for a list that does not exist, or is deleted. It writes only if ListAdditions is still
// additions. A new list also needs the next number.
func (s *RecipientStore) AddList(ctx context.Context, l lists.List, additions int, e account.AuditEntry) (bool, error) {
	guards := []types.TransactWriteItem{s.nextAddition(listAdditionsKey(l.Tenant), additions)}
	if l.Version == 0 {
		guards = append(guards, s.nextAddition(listGuardKey(l.Tenant), l.Number-1))
	}
	return s.saveList(ctx, l, guards, e)
}

func (s *RecipientStore) saveList(
	ctx context.Context, l lists.List, guards []types.TransactWriteItem, e account.AuditEntry,
) (saved bool, err error) {
	items := append([]types.TransactWriteItem{s.putAfter(listRow(l), "version", l.Version)}, guards...)
	err = s.writeAudited(ctx, "write list "+l.Name+" of tenant "+l.Tenant, []account.AuditEntry{e}, items...)
	if errors.Is(err, campaign.ErrLostRace) {
		return false, nil
	}
	return err == nil, err
}

func listFields(l *lists.List) fields {
	return fields{
		"number?": &l.Number, "reason?": &l.Reason, "source?": &l.Source, "until?": &l.Until, "changedAt?": &l.ChangedAt,
		"deleted?": &l.Deleted, "version": &l.Version,
	}
}

func segmentFields(s *lists.Segment) fields {
	return fields{"id?": &s.ID, "remove?": &s.Remove, "until?": &s.Until, "numbers?": &s.Numbers}
}

func listRow(l lists.List) Item {
	segments := make([]types.AttributeValue, len(l.Segments))
	for i := range l.Segments {
		segments[i] = &types.AttributeValueMemberM{Value: segmentFields(&l.Segments[i]).item()}
	}
	row := with(with(listKey(l.Tenant, l.Name), listFields(&l).item()), some(Item{
		"areaCodes": text(joinCodes(l.AreaCodes)), "traffic": text(joinTraffic(l.Traffic)),
	}))
	return with(row, Item{"version": number(l.Version + 1), "segments": &types.AttributeValueMemberL{Value: segments}})
}

func readList(tenant string, row Item) lists.List {
	l := fill(lists.List{Tenant: tenant, Name: getText(row, "sk")}, listFields, row)
	for code := range strings.FieldsSeq(getText(row, "areaCodes")) {
		n, _ := strconv.Atoi(code)
		l.AreaCodes = append(l.AreaCodes, n)
	}
	for t := range strings.FieldsSeq(getText(row, "traffic")) {
		l.Traffic = append(l.Traffic, campaign.Traffic(t))
	}
	if segments, ok := row["segments"].(*types.AttributeValueMemberL); ok {
		for _, each := range segments.Value {
			if m, ok := each.(*types.AttributeValueMemberM); ok {
				l.Segments = append(l.Segments, fill(lists.Segment{}, segmentFields, m.Value))
			}
		}
	}
	return l
}

func joinCodes(codes []int) string {
	words := make([]string, len(codes))
	for i, code := range codes {
		words[i] = strconv.Itoa(code)
	}
	return strings.Join(words, " ")
}

func joinTraffic(traffic []campaign.Traffic) string {
	words := make([]string, len(traffic))
	for i, t := range traffic {
		words[i] = string(t)
	}
	return strings.Join(words, " ")
}
