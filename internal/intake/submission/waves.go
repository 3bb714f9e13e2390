package submission

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/localtime"
	"campaign-dispatch/internal/campaign/window"
	"campaign-dispatch/internal/rollout"
)

// Cell is what the parts of a cell have, see rollout.CellOf.
type Cell struct {
	Parts    int `json:"parts"`
	Lines    int `json:"lines"`              // that are in its parts or left out
	Accepted int `json:"accepted"`           // messages to valid numbers
	Withheld int `json:"withheld,omitempty"` // of Accepted, messages that are not sent
	// Classes are those of all accepted messages, Sent those of the messages that are sent.
	Classes campaign.ClassCounts `json:"classes,omitzero"`
	Sent    campaign.ClassCounts `json:"sent,omitzero"`
	ByZones Bookings             `json:"byZones,omitempty"`
	// Zones count those who are sent a message by the time zone of their area code. The zone of other numbers is 0.
	Zones map[window.Zone]int `json:"zones,omitempty"`
}

// Bookings are the classes of accepted messages by the time zones in their part: the budget books each part by the hours
// of its own zones. The zone of other numbers is 0.
type Bookings map[window.Set]campaign.ClassCounts

// add adds the accepted messages of a part with the time zones among them. Beyond a number of sets, a part counts as having
// all zones.
func (b Bookings) add(zones window.Set, accepted campaign.ClassCounts, most int) {
	if _, known := b[zones]; !known && len(b) >= most {
		zones |= window.Everywhere()
	}
	all := b[zones]
	all.Add(accepted)
	b[zones] = all
}

// mostByZonesOfCell is the maximum number of ByZones of a cell.
const mostByZonesOfCell = 8

// AddPart adds the accepted messages of a part with the time zones among them, and those who are sent one by zone.
func (c *Cell) AddPart(zones window.Set, accepted, sent campaign.ClassCounts, people map[window.Zone]int) {
	if c.ByZones == nil {
		c.ByZones, c.Zones = Bookings{}, map[window.Zone]int{}
	}
	c.Classes.Add(accepted)
	c.Sent.Add(sent)
	c.ByZones.add(zones, accepted, mostByZonesOfCell)
	for zone, n := range people {
		c.Zones[zone] += n
	}
}

// Divided reports whether the file is divided into cells.
func (c Check) Divided() bool { return len(c.Cells) > 0 }

// LinesOf returns the number of lines of a cell that are in its parts or left out. A file that is not divided has the
// cell 0.
func (c Check) LinesOf(cell int) int {
	if !c.Divided() {
		return c.Rows
	}
	return c.Cells[cell].Lines
}

// PartsOf returns the number of parts of a cell. A file that is not divided has the cell 0.
func (c Check) PartsOf(cell int) int {
	if !c.Divided() {
		return c.Parts
	}
	return c.Cells[cell].Parts
}

// Clone returns a check that can be changed apart.
func (c Check) Clone() Check {
	c.Findings, c.Cells = c.Findings.Clone(), slices.Clone(c.Cells)
	for n := range c.Cells {
		c.Cells[n].ByZones, c.Cells[n].Zones = maps.Clone(c.Cells[n].ByZones), maps.Clone(c.Cells[n].Zones)
	}
	return c
}

// People returns the people of each cell, to whom messages are accepted.
func (c Check) People() []int {
	people := make([]int, len(c.Cells))
	for n, cell := range c.Cells {
		people[n] = cell.Accepted
	}
	return people
}

// Opened is a wave that was opened.
type Opened struct {
	At     time.Time `json:"at"`
	By     string    `json:"by,omitempty"`     // email address
	Reason string    `json:"reason,omitempty"` // "" for the first wave
	Early  bool      `json:"early,omitempty"`  // before the results of the wave before had their time
}

// Wave returns the wave that was opened last, from 1. It is 0 for a campaign that goes at once, or was not confirmed.
func (s Sending) Wave() int { return len(s.Waves) }

// Cells returns the cells of the file with their parts and waves, none for a file that is not divided.
func (s Submission) Cells() campaign.Cells {
	var cells campaign.Cells
	for n, cell := range s.Check.Cells {
		cells = append(cells, campaign.Cell{Until: rollout.Until(n), Parts: cell.Parts, Wave: s.Plan.WaveOf(n)})
	}
	return cells
}

// PartsOpen returns the number of the last part that may be dispatched now.
func (s Submission) PartsOpen() int {
	if !s.Plan.InWaves() {
		return s.Check.Parts
	}
	return s.Cells().LastPart(max(1, s.Sending.Wave()))
}

// NextWave returns the wave that a person can open, 0 if none is left.
func (s Submission) NextWave() int {
	if wave := s.Sending.Wave(); wave > 0 && wave < len(s.Plan.Waves) {
		return wave + 1
	}
	return 0
}

// OfWave returns the sums of a wave's cells.
func (s Submission) OfWave(wave int) (sum Cell) {
	sum.ByZones, sum.Zones = Bookings{}, map[window.Zone]int{}
	for n, cell := range s.Check.Cells {
		if s.Plan.WaveOf(n) != wave {
			continue
		}
		sum.Parts, sum.Lines = sum.Parts+cell.Parts, sum.Lines+cell.Lines
		sum.Accepted, sum.Withheld = sum.Accepted+cell.Accepted, sum.Withheld+cell.Withheld
		sum.Classes.Add(cell.Classes)
		sum.Sent.Add(cell.Sent)
		for zones, classes := range cell.ByZones {
			sum.ByZones.add(zones, classes, len(sum.ByZones)+1)
		}
		for zone, n := range cell.Zones {
			sum.Zones[zone] += n
		}
	}
	return sum
}

// PeopleAfter returns the people of the waves after one.
func (s Submission) PeopleAfter(wave int) (n int) {
	for _, people := range s.Plan.People(s.Check.People())[wave:] {
		n += people
	}
	return n
}

// wavesEnd returns when what has not gone of a campaign in waves is discarded: rollout.MaxDuration after its first wave, or
// when its messages may not go any more. It is zero for other campaigns.
func (s Submission) wavesEnd() time.Time {
	if s.Sending.Wave() == 0 {
		return time.Time{}
	}
	end := campaign.Later(s.Sending.Waves[0].At, s.Due()).Add(rollout.MaxDuration)
	if until := s.Until(); !until.IsZero() && until.Before(end) {
		return until
	}
	return end
}

// Until returns when the messages may not go any more, zero for never.
func (s Submission) Until() time.Time {
	until, _ := localtime.Parse(s.NotAfter) // invalid times are refused before
	return until
}

// partName returns the name of a part's object, by its number in a cell. The file that is not divided has no cell.
func partName(cells campaign.Cells, part int) string {
	cell, number, divided := cells.Place(part)
	if !divided {
		return "part-" + strconv.Itoa(part)
	}
	return cellPartName(cell, number)
}

func cellPartName(cell, number int) string {
	return "part-" + strconv.Itoa(cell) + "-" + strconv.Itoa(number)
}

// withoutBookings returns the cells as a closed submission needs them.
func withoutBookings(cells []Cell) []Cell {
	slim := slices.Clone(cells)
	for n := range slim {
		slim[n].ByZones, slim[n].Zones = nil, nil
	}
	return slim
}
