package metering

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
)

// Prices are what each unit costs in US dollars in one region, and what costs
// whether it is used or not. A price that was not found is 0 and named in NotFound.
type Prices struct {
	Units

	Region            string  `json:"region"`
	KMSKeyMonths      float64 `json:"kmsKeyMonths"`
	AlarmMetricMonths float64 `json:"alarmMetricMonths"` // of each metric that an alarm looks at
	DashboardMonths   float64 `json:"dashboardMonths"`

	// Sources say where each price was found, by its name.
	Sources map[string]string `json:"sources"`
	// NotFound are the names of the prices that no source was found for.
	NotFound []string `json:"notFound,omitempty"`
}

//go:embed prices
var priceFiles embed.FS

// The regions whose prices are kept, the first of which the limits are for.
const (
	Virginia = "us-east-1"
	SaoPaulo = "sa-east-1"
)

// PriceList returns the published prices of a region, without free tiers.
func PriceList(region string) (p Prices, err error) {
	text, err := priceFiles.ReadFile("prices/" + region + ".json")
	if err != nil {
		return p, fmt.Errorf("read the prices of %s: %w", region, err)
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, fmt.Errorf("read the prices of %s: %w", region, err)
	}
	p.IndexWrites = p.Writes
	return p, nil
}

// Unpriced are those of the units that were used and whose price was not found.
func (p Prices) Unpriced(u Units) (names []string) {
	u.Writes += u.IndexWrites
	used := u.byName()
	for _, name := range p.NotFound {
		if count := used[name]; count != nil && *count > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Without are the units but for those that have one of the names.
func (u Units) Without(names []string) Units {
	used := u.byName()
	for _, name := range names {
		if count := used[name]; count != nil {
			*count = 0
		}
		if name == unitNames[0] {
			u.IndexWrites = 0
		}
	}
	return u
}
