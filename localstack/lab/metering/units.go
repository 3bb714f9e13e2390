// Package metering counts what AWS bills for calls, by AWS's published rules from
// the calls themselves: an emulator's own count is not trusted.
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

// Units are what AWS bills. The names are those of the price list.
type Units struct {
	Writes        float64 `json:"dynamoDBWriteUnits"`      // of tables
	IndexWrites   float64 `json:"dynamoDBIndexWriteUnits"` // of their indexes, at the same price
	Reads         float64 `json:"dynamoDBReadUnits"`
	SQSRequests   float64 `json:"sqsRequests"`
	FairRequests  float64 `json:"sqsFairRequests"` // those of messages with a group, which cost more
	Puts          float64 `json:"s3Puts"`
	Gets          float64 `json:"s3Gets"`
	Invocations   float64 `json:"lambdaRequests"`
	GBSeconds     float64 `json:"lambdaGBSeconds"`
	APICalls      float64 `json:"apiCalls"`
	Schedules     float64 `json:"schedules"`
	KMSSignatures float64 `json:"kmsSignatures"` // asymmetric
	KMSRequests   float64 `json:"kmsRequests"`   // all others
	LogGB         float64 `json:"logGB"`
}

// each returns all counts, in the order of the fields.
func (u *Units) each() []*float64 {
	fields := reflect.ValueOf(u).Elem()
	counts := make([]*float64, fields.NumField())
	for i := range counts {
		counts[i] = fields.Field(i).Addr().Interface().(*float64)
	}
	return counts
}

// named returns the count with a name of JSON, nil for another name.
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

// Times returns the units so many times.
func (u Units) Times(factor float64) Units {
	for _, count := range u.each() {
		*count *= factor
	}
	return u
}

// Dollars prices the units.
func (u Units) Dollars(p Units) (sum float64) {
	prices := p.each()
	for i, count := range u.each() {
		sum += *count * *prices[i]
	}
	return sum
}

// LogLine is how many bytes CloudWatch adds to each line of a log.
const LogLine = 26

// wholeCPU is the memory in GB with which a function has one processor.
const wholeCPU = 1769.0 / 1024

// GBSeconds are those of a function that waits and computes, the latter with the
// share of a processor that its memory gives it.
func GBSeconds(gigabytes, waited, cpu float64) float64 {
	return gigabytes * (waited + cpu*max(1, wholeCPU/gigabytes))
}

// chunks is how many parts of a size are begun by so many bytes, one at least.
func chunks(bytes, part int) float64 { return math.Max(1, math.Ceil(float64(bytes)/float64(part))) }

// sqsChunk is the part of an SQS request, in bytes, that is billed.
const sqsChunk = 64 << 10

// What cannot be seen on one machine is assumed.
const (
	AWSRoundTrip      = 8 * time.Millisecond   // one AWS call within a region
	ProviderRoundTrip = 150 * time.Millisecond // one message to the provider
	WebhookRoundTrip  = 150 * time.Millisecond // one post to an endpoint
	// SendConcurrency is how many messages one call of send has on the way at once.
	SendConcurrency = 64
	// PostsAtOnce is how many posts to one endpoint one call of notify has.
	PostsAtOnce = 32
	// AccessLog is the gateway's log line of a call in bytes.
	AccessLog = 500
	// received is how many messages one request of SQS gets.
	received = 10
)

// Polling is how many requests of SQS bring messages to so many calls of a function,
// and take them from the queue after: some ten messages a request, and one at least
// for each call.
func Polling(calls, messages float64) float64 {
	return 2 * math.Max(calls, math.Ceil(messages/received))
}

// Prices are what each unit costs in US dollars in one region, and what costs
// whether it is used or not. A price that was not found is 0 and named in NotFound.
type Prices struct {
	Units

	Region            string  `json:"region"`
	KMSKeyMonths      float64 `json:"kmsKeyMonths"`
	AlarmMetricMonths float64 `json:"alarmMetricMonths"` // of each metric that an alarm looks at
	MetricMonths      float64 `json:"customMetricMonths"`
	DashboardMonths   float64 `json:"dashboardMonths"`
	TransferGB        float64 `json:"transferGB"` // out to the internet

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
	for _, name := range p.NotFound {
		if count := u.named(name); count != nil && *count > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Without are the units but for those that have one of the names.
func (u Units) Without(names []string) Units {
	for _, name := range names {
		if count := u.named(name); count != nil {
			*count = 0
		}
		if u.named(name) == &u.Writes {
			u.IndexWrites = 0
		}
	}
	return u
}
