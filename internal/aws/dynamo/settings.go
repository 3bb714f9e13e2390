package dynamo

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/account"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/webhook/delivery"
)

// ApprovalFrom returns the number of recipients from which a campaign of the dashboard needs
// approval, 0 for never.
func (s *SettingStore) ApprovalFrom(ctx context.Context, tenant string) (int, error) {
	row, err := s.find(ctx, "read when tenant "+tenant+" needs approval", approvalRuleKey(tenant))
	return getInt(row, "from"), err
}

// SaveApprovalFrom changes the number of recipients from which a campaign of the dashboard
// needs approval, 0 for never, and writes entries of the audit log with it. The error wraps
// campaign.ErrLostRace if the stored number is not was.
func (s *SettingStore) SaveApprovalFrom(ctx context.Context, tenant string, was, from int, audit ...account.AuditEntry) error {
	const condition = "#from = :was OR (attribute_not_exists(pk) AND :was = :never)"
	w := s.putIf(with(approvalRuleKey(tenant), Item{"from": number(from)}), condition, Item{":was": number(was), ":never": number(0)})
	return s.writeAudited(ctx, "save when tenant "+tenant+" needs approval", audit, w)
}

// Brand returns the brand of a tenant, with the tenant's name. A tenant without a brand has
// revision 0.
func (s *SettingStore) Brand(ctx context.Context, tenant string) (account.Brand, error) {
	keys := map[string]Item{"tenant": tenantKey(tenant), "brand": brandKey(tenant)}
	rows, err := s.rows(ctx, "read the brand of tenant "+tenant, keys)
	return readBrand(rows["tenant"], rows["brand"]), err
}

func readBrand(tenant, brand Item) account.Brand {
	return account.Brand{
		Tenant: getText(tenant, "name"), Sender: getText(brand, "sender"), Logo: getText(brand, "logo"),
		Revision: getInt(brand, "revision"),
	}
}

// SaveBrand writes the revision after that of b, and entries of the audit log with it. The error wraps
// campaign.ErrLostRace if that is not the stored one.
func (s *SettingStore) SaveBrand(ctx context.Context, tenant string, b account.Brand, audit ...account.AuditEntry) error {
	row := with(brandKey(tenant), Item{"sender": text(b.Sender), "logo": text(b.Logo), "revision": number(b.Revision + 1)})
	return s.writeAudited(ctx, "save the brand of tenant "+tenant, audit, s.putAfter(row, "revision", b.Revision))
}

// TestNumbers returns the saved numbers for tests of a tenant.
func (s *SettingStore) TestNumbers(ctx context.Context, tenant string) (n account.TestNumbers, err error) {
	row, err := s.find(ctx, "read the test numbers of tenant "+tenant, testNumbersKey(tenant))
	if err != nil || row == nil {
		return n, err
	}
	if json.Unmarshal(getBinary(row, "data"), &n.All) != nil { // its error could have a number
		return n, fmt.Errorf("read the test numbers of tenant %s: %w", tenant, campaign.ErrDamaged)
	}
	n.Revision = getInt(row, "revision")
	return n, nil
}

// SaveTestNumbers writes the revision after that of n, and entries of the audit log with it. The error wraps
// campaign.ErrLostRace if that is not the stored one.
func (s *SettingStore) SaveTestNumbers(ctx context.Context, tenant string, n account.TestNumbers, audit ...account.AuditEntry) error {
	data, err := json.Marshal(n.All)
	if err != nil {
		return fmt.Errorf("encode the test numbers of tenant %s: %w", tenant, err)
	}
	row := with(testNumbersKey(tenant), Item{"data": bytesOf(data), "revision": number(n.Revision + 1)})
	return s.writeAudited(ctx, "save the test numbers of tenant "+tenant, audit, s.putAfter(row, "revision", n.Revision))
}

// Attention reads what can need a tenant's attention on a date, and its endpoints, with three
// calls.
func (s *SettingStore) Attention(ctx context.Context, tenant, date string) (account.Attention, []delivery.WatchedEndpoint, error) {
	var a account.Attention
	var watched []delivery.WatchedEndpoint
	var rows map[string]Item
	group, reading := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		rows, err = s.rows(reading, "read the state of tenant "+tenant, map[string]Item{
			"tenant": tenantKey(tenant), "brand": brandKey(tenant), "billing": billingKey(tenant),
			"budget": budgetKey(tenant, campaign.MonthOf(date)),
		})
		return err
	})
	group.Go(func() (err error) { watched, err = s.watchedEndpoints(reading, tenant); return err })
	if err := group.Wait(); err != nil {
		return a, nil, err
	}
	a.Brand = readBrand(rows["tenant"], rows["brand"])
	a.Limits = readBilling(rows["billing"]).Limits
	a.Used = readMonth(rows["budget"], campaign.MonthOf(date)).On(date)
	err := s.addSwitches(ctx, tenant, getText(rows["tenant"], "agentId"), &a, watched)
	return a, watched, err
}

func (s *SettingStore) watchedEndpoints(ctx context.Context, tenant string) ([]delivery.WatchedEndpoint, error) {
	endpoints, err := (&EndpointStore{s.table}).Endpoints(ctx, tenant)
	watched := make([]delivery.WatchedEndpoint, len(endpoints))
	for i, e := range endpoints {
		watched[i].Endpoint = e
	}
	return watched, err
}

// addSwitches adds what pauses the tenant, and the circuits of its endpoints.
func (s *SettingStore) addSwitches(
	ctx context.Context, tenant, agentID string, a *account.Attention, watched []delivery.WatchedEndpoint,
) error {
	keys := routeKeys(tenant, agentID)
	for _, e := range watched {
		keys["circuit "+e.ID] = circuitKey(tenant, e.ID)
	}
	rows, err := s.rows(ctx, "read what stops tenant "+tenant, keys)
	if err != nil {
		return err
	}
	route, err := readRoute(agentID, rows)
	if err != nil {
		return err
	}
	a.Pause = route.Pause
	for i, e := range watched {
		watched[i].Circuit = readCircuit(tenant, e.ID, rows["circuit "+e.ID])
	}
	return nil
}
