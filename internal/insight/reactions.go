package insight

import (
	"slices"

	"campaign-dispatch/internal/campaign"
)

// Reactions are the taps and the clicks on the messages of one version of a template, by suggestion.
type Reactions struct {
	TemplateID      string
	TemplateVersion int
	CountsClicks    bool
	Delivered       int   // messages
	TappedBy        []int // messages with a tap on each suggestion, as in campaign.LedgerSummary
	ClickedBy       []int // messages with a click on each link
	TouchedBy       []int // messages with a tap or a click on each suggestion
}

// ReactionsOf returns the taps and the clicks of a campaign's messages that count them, in the order of
// their batches. It needs the heads of the batches.
func ReactionsOf(c campaign.Campaign) (all []Reactions) {
	for _, b := range c.Batches {
		if len(b.TapKey) == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(r Reactions) bool {
			return r.TemplateID == b.TemplateID && r.TemplateVersion == b.TemplateVersion
		})
		if i < 0 {
			i, all = len(all), append(all, Reactions{TemplateID: b.TemplateID, TemplateVersion: b.TemplateVersion})
		}
		all[i].CountsClicks = all[i].CountsClicks || b.CountsClicks
		all[i].Delivered += b.Head.DayCounts().Delivered
		all[i].TappedBy = plus(all[i].TappedBy, b.Head.TappedBy)
		all[i].ClickedBy = plus(all[i].ClickedBy, b.Head.ClickedBy)
		all[i].TouchedBy = plus(all[i].TouchedBy, b.Head.TouchedBy)
	}
	return all
}

// plus adds the counts to the sums, which it changes.
func plus(sums, counts []int) []int {
	for i, n := range counts {
		if i == len(sums) {
			sums = append(sums, 0)
		}
		sums[i] += n
	}
	return sums
}

// Rate returns the rate of the delivered messages with a tap (StepTapped) or a click (StepClicked) on a
// suggestion, which counts from 1.
func (r Reactions) Rate(s Step, suggestion int) Rate {
	by := r.TappedBy
	if s == StepClicked {
		by = r.ClickedBy
	}
	return Rate{s, counted(by, suggestion), r.Delivered}
}

// Touched returns the rate of the delivered messages with a tap or a click on a suggestion, which counts from 1.
func (r Reactions) Touched(suggestion int) Rate {
	return Rate{StepTapped, counted(r.TouchedBy, suggestion), r.Delivered}
}

func counted(by []int, suggestion int) int {
	if suggestion > len(by) {
		return 0
	}
	return by[suggestion-1]
}
