package intake

import (
	"context"
	"errors"
	"io"
	"strconv"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/rollout"
	"campaign-dispatch/internal/rollout/bucket"
)

// maxWaiting is the size in bytes of the values of all lines that wait for their part. Beyond it, the largest cell gets a
// short part.
const maxWaiting = 24 << 20

// waiting are the lines of a cell that are in no part yet. A file that is not divided has one cell.
type waiting struct {
	lines   []waitingLine
	numbers map[uint64]struct{}
	kept    int                  // lines that are not repeated
	unread  []submission.LeftOut // lines that the sheet leaves out
	weight  int                  // bytes of their values
	passed  int                  // lines of the cell that are in its parts or left out, as read again
}

// add adds a line. seen are the numbers of the parts.
func (w *waiting) add(l waitingLine, seen map[uint64]struct{}) {
	if l.repeated = repeats(l.number, seen, w.numbers); !l.repeated {
		w.kept++
	}
	w.lines = append(w.lines, l)
}

func (w *waiting) len() int { return len(w.lines) + len(w.unread) }

// full reports whether the lines make a part.
func (w *waiting) full(partLines int) bool {
	return w.kept >= partLines || w.len() >= 2*partLines || w.weight >= partWeight
}

// beginDivided begins the check of a file once more, divided into cells: it has so many people that its campaign can go in
// waves.
func beginDivided(sub *submission.Submission) {
	beginCheck(sub, sub.TemplateVersion)
	sub.Check.Cells = make([]submission.Cell, rollout.Cells())
}

// dividable reports whether the file has so many people that it is divided, or clearly will have: most files are divided
// after their first part.
func (r *reader) dividable() bool {
	return !r.Check.Divided() && (r.large() || r.WavesFrom > 0 && r.expected() >= 2*r.WavesFrom)
}

// large reports whether the campaign can go in waves.
func (r *reader) large() bool { return r.WavesFrom > 0 && r.Check.Findings.Accepted >= r.WavesFrom }

// expected returns how many people the file has if the rest is as what was read. It is 0 before the first part.
func (r *reader) expected() int {
	return int(int64(r.Check.Findings.Accepted) * r.File.Size / max(1, r.Check.Bytes))
}

// prepare makes the waiting lines of each cell.
func (r *reader) prepare() {
	r.cells = make([]*waiting, max(1, len(r.Check.Cells)))
	for n := range r.cells {
		r.cells[n] = &waiting{numbers: map[uint64]struct{}{}}
	}
	r.scope = bucket.Wave(r.CampaignID)
}

// cellOf returns the cell of a number, from 0. Invalid numbers are in the last one.
func (r *reader) cellOf(number e164.Number) int {
	switch {
	case !r.Check.Divided():
		return 0
	case number == 0:
		return len(r.cells) - 1
	}
	return rollout.CellOf(bucket.Of(r.scope, number))
}

// readLines reads lines until a cell has those of a part. It returns the cell, and after the last line one that has lines
// left, or false if none has.
func (r *reader) readLines(rows *sheet.File) (cell int, found bool, err error) {
	for !r.ended {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			r.ended = true
			break
		}
		if err != nil {
			return 0, false, err
		}
		if r.lines++; r.lines > submission.MaxLines {
			return 0, false, &submission.Fault{Code: faultTooManyLines, Args: []string{strconv.Itoa(submission.MaxLines)}}
		}
		if cell, full := r.take(row); full {
			return cell, true, nil
		}
	}
	for n, w := range r.cells {
		if w.len() > 0 {
			return n, true, nil
		}
	}
	return 0, false, nil
}

// take adds a line to those that wait in its cell, unless it is in a part already. It returns the cell that has the lines of
// a part.
func (r *reader) take(row sheet.Row) (cell int, full bool) {
	number, written := r.numberOf(row)
	cell = r.cellOf(number.Number)
	w := r.cells[cell]
	if w.passed < r.Check.LinesOf(cell) {
		w.passed++
		r.pass(row.Line, uint64(number.Number))
		return cell, false
	}
	l, weight := r.lineOf(row, number, written)
	w.weight, r.weight = w.weight+weight, r.weight+weight
	if row.Fault != "" {
		w.unread = append(w.unread, leftOut(r.messageOf(l), submission.KindFaulty, row.Fault, ""))
	} else {
		w.add(l, r.seen)
	}
	if r.weight >= maxWaiting {
		return r.heaviest(), true
	}
	return cell, w.full(r.PartLines)
}

func (r *reader) heaviest() (cell int) {
	for n, w := range r.cells {
		if w.weight > r.cells[cell].weight {
			cell = n
		}
	}
	return cell
}

// pass remembers a number that gets a message in a part that is written.
func (r *reader) pass(line int, number uint64) {
	if len(r.out) > 0 && r.out[0] == line {
		r.out = r.out[1:]
	} else {
		r.see(number)
	}
}

// drop takes the lines of a cell that are in a part now.
func (r *reader) drop(cell int) {
	w := r.cells[cell]
	r.weight -= w.weight
	w.passed += w.len()
	clear(w.lines)
	clear(w.numbers)
	w.lines, w.unread, w.kept, w.weight = w.lines[:0], nil, 0, 0
}

// countCell counts a part of a cell, which has lines and what was judged of them.
func countCell(c *submission.Check, cell, lines int, j judged) {
	c.Rows += lines
	if len(j.part) > 0 {
		c.Parts++
	}
	if !c.Divided() {
		return
	}
	of := &c.Cells[cell]
	of.Lines += lines
	of.Accepted += j.verdict.Accepted
	of.Withheld += len(j.verdict.Withheld)
	if len(j.part) > 0 {
		of.Parts++
	}
	if j.verdict.Accepted > 0 {
		of.AddPart(j.in, j.verdict.Classes, j.sent(), j.zones)
	}
}

// restartDivided checks the file once more from its beginning, divided into cells.
func (r *reader) restartDivided(ctx context.Context) error {
	next := r.Submission
	beginDivided(&next)
	return r.again(ctx, next)
}
