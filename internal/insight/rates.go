package insight

import (
	"cmp"

	"campaign-dispatch/internal/campaign"
)

// Step is a step of the messages of a campaign. It includes the messages of the next steps.
type Step string

// The steps of a campaign's messages.
const (
	StepPeople    Step = "people" // with or without a message
	StepAccepted  Step = "accepted"
	StepSent      Step = "sent"
	StepDelivered Step = "delivered"
	StepRead      Step = "read"
	StepTapped    Step = "tapped"
	StepClicked   Step = "clicked"
	StepOptOuts   Step = "opt_outs" // of recipients, see Results.OptOuts
)

// bases are the steps that rates are a part of, where that is not all people.
var bases = map[Step]Step{
	StepDelivered: StepSent, StepRead: StepDelivered, StepTapped: StepDelivered, StepClicked: StepDelivered, StepOptOuts: StepDelivered,
}

// Base returns the step that the rate of a step is a part of. It is the same wherever a rate is shown.
func (s Step) Base() Step { return cmp.Or(bases[s], StepPeople) }

// Rate is N messages of a step as a part of the Of messages of its base.
type Rate struct {
	Step
	N, Of int
}

// Rate returns the rate of a step.
func (r Results) Rate(s Step) Rate {
	n := map[Step]int{
		StepPeople: r.People(), StepAccepted: r.Accepted, StepSent: r.Sent, StepDelivered: r.Delivered, StepRead: r.Read,
		StepTapped: r.Tapped, StepClicked: r.Clicked, StepOptOuts: r.OptOuts,
	}
	return Rate{s, n[s], n[s.Base()]}
}

// RateOfDay returns the rate of delivered or read messages of a day, or of several.
func RateOfDay(c campaign.DayCounts, s Step) Rate {
	return Results{Sent: c.Sent, Delivered: c.Delivered, Read: c.Read}.Rate(s)
}
