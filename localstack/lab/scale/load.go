// Package scale computes which limit of AWS a load reaches first, from the metered use of the service's steps.
package scale

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/localstack/lab/metering"
)

// Load is the peak load of the service.
type Load struct {
	Name     string
	Plan     string  // value of the template's parameter Load
	Day      float64 // messages a day
	Calls    float64 // dispatch calls per second
	PerCall  float64 // messages in a call
	Tenants  int
	Hottest  float64 // share of the tenant with the most messages
	Isolated float64 // share of the events without another of their batch in the window
	Batches  float64 // batches of the largest campaign
	Burst    float64 // messages a second of the hottest tenant's campaign, whose reads come later; 0 if there is none
}

// Endpoints is the number of webhook endpoints of a tenant.
const Endpoints = 2

const (
	eventsPerMessage   = 2    // delivered and read
	burstEvents        = 0.75 // events for each message of a burst after some minutes, by assumed delays of deliveries and reads
	burstShare         = 0.2  // share of the day's messages in the campaign of a burst
	credentials        = 10   // credentials of a tenant that renew their tokens in one minute
	second             = 1.0
	hour               = 60 * 60 * second
	tenants            = 300
	campaignMessages   = 20e6
	callsASecond       = 10e3
	manyTenants        = 1000
	tenantCalls        = 25.0 // default limit of a tenant's calls per second
	smallBatches       = 10e3 // batches of a campaign with one message in each
	mixIsolated        = 0.25 // half of the reads
	fewPerCall         = 100  // messages of a small call, on average
	clicked            = 0.2  // share of the messages whose link is opened
	daysAhead          = 7    // how long before its time a call is made
	tokenRenewalWindow = 60 * second
	tabs               = 2           // pages of a campaign that each tenant has open
	pollers            = 1           // programs of each tenant that read the state of a campaign
	pollEvery          = 5 * second  // time between two reads of a page or a program
	recountTime        = 10 * second // of the hottest tenant, estimated
	recountDays        = 5           // whose batches a recount reads
	rise               = 60 * second // time from no load to the peak
	scalingPeriod      = 10 * second // period of Lambda's scaling rate
)

// Loads returns the loads that the service must support.
func Loads() []Load {
	loads := []Load{
		Plans[1].load(), Plans[2].load(), Plans[3].load(),
		{
			Name: "one tenant, a campaign of 20 million messages in an hour", Plan: Plans[3].Name, Day: campaignMessages,
			Calls: campaignMessages / hour / campaign.MaxMessages, PerCall: campaign.MaxMessages, Tenants: 1, Hottest: 1, Isolated: mixIsolated,
			Batches: campaignMessages / campaign.MaxMessages,
		},
		{
			Name: "10,000 dispatch calls a second of one message, 1,000 tenants, none above 25 calls a second",
			Plan: Plans[3].Name, Day: callsASecond * hour,
			Calls: callsASecond, PerCall: 1, Tenants: manyTenants, Hottest: tenantCalls / callsASecond, Isolated: 1,
			Batches: smallBatches,
		},
	}
	for _, p := range Plans[1:] {
		loads = append(loads, p.burst())
	}
	return loads
}

// zipf returns the share of the largest of n tenants under Zipf's law.
func zipf(n int) float64 {
	sum := 0.0
	for k := 1; k <= n; k++ {
		sum += 1 / float64(k)
	}
	return 1 / sum
}

// Messages returns the accepted messages per second.
func (l Load) Messages() float64 { return l.Calls * l.PerCall }

// webhooks returns the webhooks of one endpoint per second.
func (l Load) webhooks() float64 { return l.Messages() + l.Events() }

// clicks returns the clicks on links per second, in the first minutes of a campaign.
func (l Load) clicks() float64 { return clicked * l.Messages() }

// pages returns the requests of open pages per second.
func (l Load) pages() float64 { return float64(l.Tenants) * tabs / pollEvery }

// stateReads returns the reads of campaigns by programs per second.
func (l Load) stateReads() float64 { return float64(l.Tenants) * pollers / pollEvery }

// meanBatches returns the batches of a campaign of a tenant with the mean number of messages.
func (l Load) meanBatches() float64 { return min(l.Day/float64(l.Tenants)/l.PerCall, l.Batches) }

// recounted returns the batches per second that the recount of the hottest tenant reads.
func (l Load) recounted() float64 { return recountDays * l.Day * l.Hottest / l.PerCall / recountTime }

// Events returns the provider's events per second.
func (l Load) Events() float64 { return eventsPerMessage*(l.Messages()-l.Burst) + burstEvents*l.Burst }

// call returns the step of the load's dispatch calls.
func (l Load) call() string {
	if l.PerCall == 1 {
		return Single
	}
	return Batch
}

// Steps returns the number of each step per second. A batch of one message has one
// event of each kind: the first completes the batch.
func (l Load) Steps() map[string]float64 {
	alone := l.Events() * l.Isolated
	steps := map[string]float64{
		Token: float64(l.Tenants) * credentials / tokenRenewalWindow, l.call(): l.Calls,
		Isolated: alone, Group: l.Events() * (1 - l.Isolated) / GroupSize,
	}
	if l.PerCall == 1 {
		steps[Isolated], steps[IsolatedSingle] = alone/eventsPerMessage, alone/eventsPerMessage
	}
	return steps
}

// The steps that a load consists of.
const (
	Token          = "token"                      // issuing a token
	Batch          = "batch"                      // a call with a full batch, until all messages are sent
	Single         = "single"                     // a call with one message, until it is sent
	Isolated       = "isolated event"             // an event of a full batch without another in its window
	IsolatedSingle = "isolated event of a single" // an isolated event of a batch of one message
	Group          = "group of events"            // GroupSize events of a full batch in one window
)

// GroupSize is the number of events in the metered group.
const GroupSize = 250

// Step is the use of one step, including its webhooks to two endpoints.
type Step struct {
	Functions map[string]Function `json:"functions"`
	Places    []Spent             `json:"places"`
	Queues    map[string]float64  `json:"queues"` // queued messages, by the function that receives them
	Signed    float64             `json:"kmsSignatures"`
}

// Function is the use of a function in a step.
type Function struct {
	Calls float64 `json:"calls"`
	Waits float64 `json:"waits"` // sequential AWS calls
	CPU   float64 `json:"cpu"`   // seconds on this machine
}

// Spent is the capacity units at a place. The table is "auth" or "campaigns".
type Spent struct {
	metering.Place

	Writes float64 `json:"writes,omitempty"`
	Reads  float64 `json:"reads,omitempty"`
}

// Metered holds the steps by name.
type Metered map[string]Step

// Measured returns the steps that `make scale METER=1` has metered.
func Measured() (m Metered, err error) {
	if err := json.Unmarshal(measured, &m); err != nil {
		return nil, fmt.Errorf("read metered.json: %w", err)
	}
	return m, nil
}

//go:embed metered.json
var measured []byte

// Sum returns the use of the given number of each step.
func (m Metered) Sum(counts map[string]float64) Step {
	sum := Step{Functions: map[string]Function{}, Queues: map[string]float64{}}
	places := map[metering.Place]Spent{}
	for name, n := range counts {
		step := m[name]
		for f, used := range step.Functions {
			all := sum.Functions[f]
			sum.Functions[f] = Function{all.Calls + n*used.Calls, all.Waits + n*used.Waits, all.CPU + n*used.CPU}
		}
		for _, p := range step.Places {
			all := places[p.Place]
			places[p.Place] = Spent{p.Place, all.Writes + n*p.Writes, all.Reads + n*p.Reads}
		}
		for q, messages := range step.Queues {
			sum.Queues[q] += n * messages
		}
		sum.Signed += n * step.Signed
	}
	for _, p := range places {
		sum.Places = append(sum.Places, p)
	}
	return sum
}

// at returns the units at all matching places.
func (s Step) at(match func(p metering.Place) bool) (sum Spent) {
	for _, p := range s.Places {
		if match(p.Place) {
			sum.Writes += p.Writes
			sum.Reads += p.Reads
		}
	}
	return sum
}
