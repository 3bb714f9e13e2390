package campaign

import (
	"fmt"
	"strconv"
	"strings"
)

// Cell is a range of buckets, see rollout/bucket, whose people are in parts of their own. It begins where the cell before
// it ends.
type Cell struct {
	Until int // the first bucket after the cell
	Parts int
	Wave  int // the wave with which its parts go, from 1; 0 for a campaign that goes at once
}

// Cells are the cells of a campaign's file, in the order in which their parts are numbered and sent. A file that was not
// divided has none.
type Cells []Cell

// String returns the cells as ParseCells reads them.
func (c Cells) String() string {
	var texts []string
	for _, cell := range c {
		texts = append(texts, fmt.Sprintf("%d:%d:%d", cell.Until, cell.Parts, cell.Wave))
	}
	return strings.Join(texts, " ")
}

// ParseCells reads the result of String. It returns none for a text that is not one.
func ParseCells(text string) Cells {
	var all Cells
	for field := range strings.FieldsSeq(text) {
		cell, ok := parseCell(strings.Split(field, ":"))
		if !ok {
			return nil
		}
		all = append(all, cell)
	}
	return all
}

func parseCell(numbers []string) (c Cell, ok bool) {
	of := []*int{&c.Until, &c.Parts, &c.Wave}
	if len(numbers) != len(of) {
		return c, false
	}
	for n, digits := range numbers {
		var err error
		if *of[n], err = strconv.Atoi(digits); err != nil {
			return c, false
		}
	}
	return c, true
}

// Place returns the cell of a part and its number in the cell, both from 0 and 1. The part is numbered from 1. ok is false
// for a file without cells, and for a part that it does not have.
func (c Cells) Place(part int) (cell, number int, ok bool) {
	for n, of := range c {
		if part <= of.Parts {
			return n, part, part > 0
		}
		part -= of.Parts
	}
	return 0, 0, false
}

// Waves returns the number of waves, 0 for a campaign that goes at once.
func (c Cells) Waves() int {
	if len(c) == 0 {
		return 0
	}
	return c[len(c)-1].Wave
}

// WaveOf returns the wave of a part, from 1. It is 0 for a campaign that goes at once, and for a part that it does not have.
func (c Cells) WaveOf(part int) int {
	cell, _, ok := c.Place(part)
	if !ok {
		return 0
	}
	return c[cell].Wave
}

// WaveOfBatch returns the wave of a batch, from 1. It is 0 for a campaign that goes at once, and for a batch that is no part
// of the file: one of the API.
func (c Cells) WaveOfBatch(b Batch) int {
	if b.Part == "" {
		return 0
	}
	part, _ := strconv.Atoi(b.Name) // parts are named by their numbers
	return c.WaveOf(part)
}

// LastPart returns the number of the last part of a wave, 0 for a wave that the campaign does not have.
func (c Cells) LastPart(wave int) (part int) {
	last := 0
	for _, cell := range c {
		if part += cell.Parts; cell.Wave == wave {
			last = part
		}
	}
	return last
}

// Buckets returns the range of buckets of a wave: the first one, and the first one after it.
func (c Cells) Buckets(wave int) (from, until int) {
	for _, cell := range c {
		switch {
		case cell.Wave < wave:
			from = cell.Until
		case cell.Wave == wave:
			until = cell.Until
		}
	}
	return from, until
}

// EndedIn returns the wave after which the rest of a campaign in waves was discarded, 0 for another campaign.
func (t SubmissionTotals) EndedIn() (wave int) {
	if t.PartsToCome > 0 || t.PartsDone == t.Parts {
		return 0
	}
	return t.Cells.WaveOf(t.PartsDone)
}

// Holding returns the wave that a person has to open next, 0 if none waits: the parts of all waves before it are accepted,
// and none of its own.
func (t SubmissionTotals) Holding() (wave int) {
	if t.PartsToCome == 0 || t.PartsDone == 0 {
		return 0
	}
	if before := t.Cells.WaveOf(t.PartsDone); t.Cells.LastPart(before) == t.PartsDone {
		return t.Cells.WaveOf(t.PartsDone + 1)
	}
	return 0
}
