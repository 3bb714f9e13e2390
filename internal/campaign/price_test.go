package campaign_test

import (
	"encoding/json"
	"testing"

	"campaign-dispatch/internal/campaign"
)

func TestParseMoney(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0.00", "0.05": "0.05", "0,075": "0.075", "12": "12.00", "1500,5": "1500.50", "0.000001": "0.000001", "0.100": "0.10",
		"1000000000": "1000000000.00", "1000.000": "1000.00",
		"": "", "-1": "", "1.000": "", "12,345": "", "0.0000001": "", "1e3": "", ".5": "", "1000000001": "",
		"1.500,00": "1500.00", "1,500.00": "1500.00", "1500": "1500.00", "1.500,5": "1500.50", "R$ 1.500,00": "1500.00", " R$\u00a00,075 ": "0.075",
		"1.000.000": "1000000.00", "1,000,000": "1000000.00", "1.234,567": "1234.567", "1.000.000.000,00": "1000000000.00",
		"R$ 1.500": "", "1,500": "", "1.500.00": "", "1.50,00": "", "0.500,00": "", "1500.000,00": "", "1,5,0": "", "R$": "", "R$ R$ 1": "", "US$ 1": "",
		"99999999999999999999": "",
	} {
		got, err := campaign.ParseMoney(text)
		if (err != nil) != (want == "") || err == nil && got.String() != want {
			t.Errorf("%q: %s, %v, want %q", text, got, err, want)
		}
	}
	for _, m := range []campaign.Money{0, 1, 50_000, 1_234_000, 999_999_000, 1_234_500, 1_234_567, campaign.MaxMoney} {
		if got, err := campaign.ParseMoney(m.Entry()); err != nil || got != m {
			t.Errorf("%s is read as %s, %v", m.Entry(), got, err)
		}
		encoded, err := json.Marshal(m)
		var decoded campaign.Money
		if err == nil {
			err = json.Unmarshal(encoded, &decoded)
		}
		if err != nil || decoded != m {
			t.Errorf("%s is decoded as %s, %v", encoded, decoded, err)
		}
	}
	if got := campaign.Money(-1_500_000).String(); got != "-1.50" {
		t.Error(got)
	}
}

func TestBudget_Exceeded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		budget campaign.Budget
		want   bool
	}{
		"no limit":          {campaign.Budget{Cost: 5}, false},
		"fits exactly":      {campaign.Budget{Cost: 5, Limits: campaign.Spending{Day: 7}, Used: campaign.Spending{Day: 2}}, false},
		"over the day":      {campaign.Budget{Cost: 6, Limits: campaign.Spending{Day: 7}, Used: campaign.Spending{Day: 2}}, true},
		"over the month":    {campaign.Budget{Cost: 1, Limits: campaign.Spending{Day: 7, Month: 3}, Used: campaign.Spending{Month: 3}}, true},
		"limit was lowered": {campaign.Budget{Cost: 1, Limits: campaign.Spending{Day: 1}, Used: campaign.Spending{Day: 9}}, true},
	} {
		if got := test.budget.Exceeded(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
