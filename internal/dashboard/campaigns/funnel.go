package campaigns

import (
	"fmt"

	charts "campaign-dispatch/internal/dashboard/web/chart"
	"campaign-dispatch/internal/insight"
)

// step is a step of the funnel. It includes the messages of the next steps.
type step struct {
	insight.Rate

	Size, Next float64 // of the step and of the next one, from 0 to 50; Next is negative at the end
}

// funnel returns the steps of a message's progress, each including the messages of later steps.
func funnel(r insight.Results) []step {
	keys := []insight.Step{insight.StepAccepted, insight.StepSent, insight.StepDelivered, insight.StepRead}
	if r.Tappable {
		keys = append(keys, insight.StepTapped)
	}
	if r.Clickable {
		keys = append(keys, insight.StepClicked)
	}
	steps := make([]step, len(keys))
	for i, key := range keys {
		steps[i] = step{Rate: r.Rate(key), Next: -1}
		steps[i].Size = sizeOf(steps[i].N, r.People())
		if i > 0 {
			steps[i-1].Next = steps[i].Size
		}
	}
	return steps
}

// sizeOf returns half the height of a step with n of the people. The least one is still visible.
func sizeOf(n, people int) float64 {
	const half, least = 50, 0.7
	return max(half*float64(n)/float64(max(1, people)), least)
}

// Body returns the path of the step in a square of 100.
func (s step) Body() string {
	return "M0 " + charts.Decimal(50-s.Size) + "H62V" + charts.Decimal(50+s.Size) + "H0Z"
}

// Slope returns the path from the step to the next one, "" at the end.
func (s step) Slope() string {
	if s.Next < 0 {
		return ""
	}
	return fmt.Sprintf("M62 %[1]sC81 %[1]s 81 %[2]s 100 %[2]sV%[3]sC81 %[3]s 81 %[4]s 62 %[4]sZ",
		charts.Decimal(50-s.Size), charts.Decimal(50-s.Next), charts.Decimal(50+s.Next), charts.Decimal(50+s.Size))
}
