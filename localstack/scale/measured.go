// Package scale computes which limit of AWS binds first for a load, from what the
// service's steps were metered to use.
package scale

import (
	_ "embed"
	"encoding/json"
	"fmt"

	"campaign-dispatch/localstack/metering"
)

// The steps that a load consists of.
const (
	Token          = "token"                      // a token is issued
	Batch          = "batch"                      // a call with a full batch, until all is sent
	Single         = "single"                     // a call with one message, until it is sent
	Isolated       = "isolated event"             // an event alone of a full batch in its window
	IsolatedSingle = "isolated event of a single" // the same of a batch of one message
	Group          = "group of events"            // GroupSize events of a full batch in one window
)

// GroupSize is how many events the metered group has.
const GroupSize = 250

// Step is what one step uses, its webhooks to two endpoints included.
type Step struct {
	Functions map[string]Function `json:"functions"`
	Places    []Spent             `json:"places"`
	Queues    map[string]float64  `json:"queues"` // messages put on each, by the function that takes them
	Signed    float64             `json:"kmsSignatures"`
}

// Function is what a function does in a step.
type Function struct {
	Calls float64 `json:"calls"`
	Waits float64 `json:"waits"` // calls of AWS that waited for one another
	CPU   float64 `json:"cpu"`   // seconds of this machine
}

// Spent are units of rows at a place. A table is named "auth" or "campaigns".
type Spent struct {
	metering.Place

	Writes float64 `json:"writes,omitempty"`
	Reads  float64 `json:"reads,omitempty"`
}

// Metered are the steps by their names.
type Metered map[string]Step

// Measured returns what `make scale METER=1` has metered.
func Measured() (m Metered, err error) {
	if err := json.Unmarshal(measured, &m); err != nil {
		return nil, fmt.Errorf("read what was metered: %w", err)
	}
	return m, nil
}

//go:embed metered.json
var measured []byte

// Sum adds up what so many of each step use.
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

// at are the units at all places that match.
func (s Step) at(match func(p metering.Place) bool) (sum Spent) {
	for _, p := range s.Places {
		if match(p.Place) {
			sum.Writes += p.Writes
			sum.Reads += p.Reads
		}
	}
	return sum
}
