package costs_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"campaign-dispatch/internal/operator/costs"
)

// A message costs what the load of all tenants makes it cost, whatever its own tenant sends.
func TestOf_LoadOfAllTenants(t *testing.T) {
	t.Parallel()
	at := func(load int) costs.Load { return costs.ByLoad[load] }
	tests := map[string]struct {
		messages, aDay int
		want           costs.Estimate
	}{
		"none":              {0, 0, costs.Estimate{Load: at(0)}},
		"below every load":  {500_000, 20_000, costs.Estimate{at(0), at(0).Dollars / 2, costs.TransferDollars / 2}},
		"between two loads": {2_000_000, 9_999_999, costs.Estimate{at(1), at(1).Dollars * 2, costs.TransferDollars * 2}},
		"a small tenant":    {100_000, 10_000_000, costs.Estimate{at(2), at(2).Dollars / 10, costs.TransferDollars / 10}},
		"above every load":  {1_000_000, 300_000_000, costs.Estimate{at(3), at(3).Dollars, costs.TransferDollars}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, costs.Of(tt.messages, tt.aDay), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("estimate (-want +got):\n%s", diff)
			}
		})
	}
}
