// Package metering counts the units that AWS bills for calls. It applies AWS's published rules to the
// calls, because an emulator's own count may be wrong.
package metering

import (
	"embed"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"time"
)

// Units are the units that AWS bills. The JSON names are those of the price list, except that of ComputedGBSeconds, which
// has the price of GBSeconds.
type Units struct {
	Writes       float64 `json:"dynamoDBWriteUnits"`      // of tables
	IndexWrites  float64 `json:"dynamoDBIndexWriteUnits"` // of their indexes, at the same price
	Reads        float64 `json:"dynamoDBReadUnits"`
	SQSRequests  float64 `json:"sqsRequests"`
	FairRequests float64 `json:"sqsFairRequests"` // those of messages with a group, which cost more
	Puts         float64 `json:"s3Puts"`
	Gets         float64 `json:"s3Gets"`
	Invocations  float64 `json:"lambdaRequests"`
	GBSeconds    float64 `json:"lambdaGBSeconds"` // of waiting, by assumed times
	// ComputedGBSeconds are those of computing, at the same price. They depend on the machine that metered.
	ComputedGBSeconds float64 `json:"lambdaComputedGBSeconds"`
	APICalls          float64 `json:"apiCalls"`
	Schedules         float64 `json:"schedules"`
	KMSSignatures     float64 `json:"kmsSignatures"` // asymmetric
	KMSRequests       float64 `json:"kmsRequests"`   // all others
	LogGB             float64 `json:"logGB"`
}

// each returns pointers to all counts, in the order of the fields.
func (u *Units) each() []*float64 {
	fields := reflect.ValueOf(u).Elem()
	counts := make([]*float64, fields.NumField())
	for i := range counts {
		counts[i] = fields.Field(i).Addr().Interface().(*float64)
	}
	return counts
}

// named returns a pointer to the count with a JSON name, or nil.
func (u *Units) named(name string) *float64 {
	kind := reflect.TypeFor[Units]()
	for i, count := range u.each() {
		if kind.Field(i).Tag.Get("json") == name {
			return count
		}
	}
	return nil
}

// Add adds other units.
func (u *Units) Add(other Units) {
	more := other.each()
	for i, count := range u.each() {
		*count += *more[i]
	}
}

// Times returns the units multiplied by a factor.
func (u Units) Times(factor float64) Units {
	for _, count := range u.each() {
		*count *= factor
	}
	return u
}

// Dollars returns the cost of the units at prices per unit.
func (u Units) Dollars(p Units) (sum float64) {
	prices := p.each()
	for i, count := range u.each() {
		sum += *count * *prices[i]
	}
	return sum
}

// WithoutProcessor returns the units without those that depend on the machine that metered.
func (u Units) WithoutProcessor() Units {
	u.ComputedGBSeconds = 0
	return u
}

// LogLine is the number of bytes that CloudWatch adds to each line of a log.
const LogLine = 26

// wholeCPU is the memory in GB at which a function has one processor.
const wholeCPU = 1769.0 / 1024

// GBSeconds returns the GB-seconds of a function that waits and computes for a number of seconds. With
// less memory than wholeCPU, computing takes longer.
func GBSeconds(gigabytes, waited, cpu float64) (waiting, computing float64) {
	return gigabytes * waited, gigabytes * cpu * max(1, wholeCPU/gigabytes)
}

// chunks returns the number of billed parts of a size in bytes, at least one.
func chunks(bytes, part int) float64 { return math.Max(1, math.Ceil(float64(bytes)/float64(part))) }

// sqsChunk is the number of bytes of a request that SQS bills as one.
const sqsChunk = 64 << 10

// Assumptions about what one machine does not show.
const (
	AWSRoundTrip      = 8 * time.Millisecond   // one AWS call within a region
	ProviderRoundTrip = 150 * time.Millisecond // one message to the provider
	WebhookRoundTrip  = 150 * time.Millisecond // one post to an endpoint
	// SendConcurrency is the number of messages that one call of send sends at the same time.
	SendConcurrency = 64
	// PostsAtOnce is the number of posts that one call of notify makes to one endpoint at the same time.
	PostsAtOnce = 32
	// AccessLog is the size in bytes of the gateway's log line of a call.
	AccessLog = 500
	// received is the number of messages that one request of SQS returns.
	received = 10
)

// Polling returns the number of SQS requests that receive the messages of a function's calls and delete
// them afterwards: one for ten messages, and at least one for each call.
func Polling(calls, messages float64) float64 {
	return 2 * math.Max(calls, math.Ceil(messages/received))
}

// Prices are the prices of units in one region in US dollars, and those of resources that cost without
// use. A price that was not found is 0 and named in NotFound.
type Prices struct {
	Units

	Region            string  `json:"region"`
	KMSKeyMonths      float64 `json:"kmsKeyMonths"`
	AlarmMetricMonths float64 `json:"alarmMetricMonths"` // of each metric of an alarm
	MetricMonths      float64 `json:"customMetricMonths"`
	DashboardMonths   float64 `json:"dashboardMonths"`
	TransferGB        float64 `json:"transferGB"` // out to the internet

	// Sources are the sources of the prices, by name.
	Sources map[string]string `json:"sources"`
	// NotFound are the names of the prices without a source.
	NotFound []string `json:"notFound,omitempty"`
}

//go:embed prices
var priceFiles embed.FS

// The regions with known prices. The limits of costs are for Virginia.
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
	p.IndexWrites, p.ComputedGBSeconds = p.Writes, p.GBSeconds
	return p, nil
}

// Unpriced returns the names of the used units without a price.
func (p Prices) Unpriced(u Units) (names []string) {
	u.Writes += u.IndexWrites
	u.GBSeconds += u.ComputedGBSeconds
	for _, name := range p.NotFound {
		if count := u.named(name); count != nil && *count > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Without returns the units without those of the given names.
func (u Units) Without(names []string) Units {
	for _, name := range names {
		if count := u.named(name); count != nil {
			*count = 0
		}
		switch u.named(name) {
		case &u.Writes:
			u.IndexWrites = 0
		case &u.GBSeconds:
			u.ComputedGBSeconds = 0
		}
	}
	return u
}
