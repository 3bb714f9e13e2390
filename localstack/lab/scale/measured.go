// Package scale computes which limit of AWS a load reaches first, from the metered use
// of the service's steps.
package scale

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"campaign-dispatch/localstack/lab/metering"
)

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
