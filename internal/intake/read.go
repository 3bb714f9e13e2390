package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/base/port"
	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/phone/e164"
	"campaign-dispatch/internal/rollout"
)

// partWeight is the size in bytes of the values from which a part has no more messages.
const partWeight = 3 << 20

// reader reads the file of one submission. The Submission is the one that is stored.
type reader struct {
	*Worker
	submission.Submission
	source port.File
	size   int64               // of source
	edges  []content.Edge      // of the template's texts
	seen   map[uint64]struct{} // the numbers so far
	out    []int               // lines of written parts whose number can have another line, in order

	cells  []*waiting
	texts  []byte // of the line that is read
	scope  string // of the cells' buckets
	lines  int    // read so far
	weight int    // of all cells
	ended  bool   // all lines are read
}

// read continues to read a file, until it is read or the time is over.
func (w *Worker) read(ctx, starting context.Context, sub submission.Submission) error {
	r, rows, err := w.open(ctx, starting, sub)
	if err != nil {
		return readFault(ctx, starting, err)
	}
	for !r.dividable() {
		more, err := r.readPart(ctx, rows)
		if r.Version > sub.Version && outOfTime(ctx, starting, err) {
			return queue(ctx, w.Tasks, sub.ID, 0)
		}
		switch {
		case errors.Is(err, errOtherPart):
			return r.restart(ctx)
		case errors.Is(err, errUnknownEncoding):
			return r.findEncoding(ctx, starting)
		case err != nil:
			return readFault(ctx, starting, err)
		case !more:
			return r.finish(ctx)
		case starting.Err() != nil:
			return queue(ctx, w.Tasks, sub.ID, 0)
		}
	}
	return r.restartDivided(ctx)
}

// outOfTime reports whether reading failed because no part may begin any more.
func outOfTime(ctx, starting context.Context, err error) bool {
	return ctx.Err() == nil && starting.Err() != nil && errors.Is(err, starting.Err())
}

// readFault returns the fault of a file that is invalid or cannot be read in time, or the
// error.
func readFault(ctx, starting context.Context, err error) error {
	if outOfTime(ctx, starting, err) {
		return &submission.Fault{Code: faultTooLarge}
	}
	return fileFault(err)
}

// open opens the file of a submission after the lines that are in its parts.
func (w *Worker) open(ctx, starting context.Context, sub submission.Submission) (*reader, *sheet.File, error) {
	r := &reader{Worker: w, Submission: sub, seen: map[uint64]struct{}{}}
	file, size, err := w.Open(ctx, sub.FileKey(), sub.File.Tag)
	if err != nil {
		return nil, nil, err
	}
	r.source, r.size = file, size
	rows, err := sheet.Open(starting, file, size, sub.Reading)
	if err != nil {
		return nil, nil, err
	}
	if r.out, err = r.leftOut(ctx); err != nil {
		return nil, nil, err
	}
	r.prepare()
	t, err := w.Store.Template(ctx, sub.TemplateID)
	r.edges = t.Edges()
	return r, rows, campaign.IgnoreNotFound(err) // dispatch refuses a template that was deleted
}

// leftOut returns the lines whose number can have another line, in order.
func (r *reader) leftOut(ctx context.Context) (lines []int, err error) {
	for l, err := range eachLeftOut(ctx, r.Blobs, r.Submission, allOuts(r.Submission)) {
		if err != nil {
			return nil, err
		}
		if !l.Kind.Accepted() {
			lines = append(lines, l.Line)
		}
	}
	slices.Sort(lines)
	return lines, nil
}

// see remembers a number that gets a message. 0 is none.
func (r *reader) see(number uint64) {
	if number != 0 {
		r.seen[number] = struct{}{}
	}
}

func valueOf(cell string) string {
	if sheet.NoValue(cell) {
		return ""
	}
	return cell
}

// numberOf returns the phone number of a line, and how it is written if it was changed.
func (r *reader) numberOf(row sheet.Row) (number phone.Typed, written string) {
	return sheet.NumberOf(r.Reading, row.Line, row.ID(r.Columns.Phone))
}

// fileFault returns the fault of a file that is gone, or the error.
func fileFault(err error) error {
	if errors.Is(err, campaign.ErrNotFound) {
		return &submission.Fault{Code: faultFileGone}
	}
	return err
}

// readPart reads, checks and writes the next part. It returns false after the last one.
func (r *reader) readPart(ctx context.Context, rows *sheet.File) (more bool, err error) {
	cell, found, err := r.readLines(rows)
	if err != nil {
		return false, err
	}
	if rows.ANSI() && r.Reading.Encoding == "" {
		return false, errUnknownEncoding
	}
	next := r.Submission
	next.Check.ANSI, next.Check.Bytes = rows.ANSI(), r.source.BytesRead()
	if !found {
		r.Submission = next // finish saves it
		return false, nil
	}
	next.Check = next.Check.Clone()
	w := r.cells[cell]
	j, err := r.judge(ctx, next, w)
	if err != nil {
		return false, err
	}
	j.addTo(&next.Check.Findings)
	r.addDoubled(&next.Check.Findings, j.part)
	locate(&next.Check, r.Check.Findings)
	noteAccents(&next, cell, j.part)
	if err := r.write(ctx, &next, cell, j); err != nil {
		return false, err
	}
	countCell(&next.Check, cell, w.len(), j)
	for _, m := range j.part {
		r.see(m.Number)
	}
	r.drop(cell)
	r.Submission, err = r.save(ctx, next)
	return true, err
}

// maxSymbol is the maximum number of characters of a word that a value repeats.
const maxSymbol = 20

// addDoubled counts the messages in which a value repeats the word next to its variable.
func (r *reader) addDoubled(f *submission.Findings, messages part) {
	for _, m := range messages {
		for _, e := range r.edges {
			if m.Number != 0 && e.Doubles(m.Vars[e.Variable]) {
				f.Doubled = submission.Count(f.Doubled, m.Line, sheet.Cut(e.Text, maxSymbol), e.Variable)
				break
			}
		}
	}
}

// write writes the next part of a cell, and the lines that were left out.
func (r *reader) write(ctx context.Context, next *submission.Submission, cell int, j judged) error {
	steps, ctx := errgroup.WithContext(ctx)
	put := func(key string, body []byte) {
		steps.Go(func() error { return r.Blobs.PutOnce(ctx, key, body, "application/x-ndjson") })
	}
	if len(j.part) > 0 {
		body := submission.EncodePart(j.part, j.verdict.Accepted)
		next.Check.Hash = chain(next.Check.Hash, body)
		put(next.CellPartKey(cell, next.Check.PartsOf(cell)+1), body)
	}
	if len(j.out) > 0 {
		next.Check.Outs++
		put(next.OutKey(next.Check.Outs), submission.EncodeLeftOut(j.out))
	}
	err := steps.Wait()
	if errors.Is(err, campaign.ErrLostRace) {
		err = errOtherPart
	}
	return err
}

// errOtherPart means that a part was written with another content before a death. What a part contains
// has changed since: the template, or this program.
var errOtherPart = errors.New("another content was written")

// restart checks the file once more from its beginning, with parts of other names.
func (r *reader) restart(ctx context.Context) error {
	next := r.Submission
	beginCheck(&next, next.TemplateVersion)
	return r.again(ctx, next)
}

// again queues the task of a check that begins again.
func (r *reader) again(ctx context.Context, next submission.Submission) error {
	if _, err := r.save(ctx, next); err != nil {
		return err
	}
	return queue(ctx, r.Tasks, r.ID, 0)
}

func chain(before string, body []byte) string {
	sum := sha256.New()
	sum.Write([]byte(before))
	sum.Write(body)
	return hex.EncodeToString(sum.Sum(nil))
}

func (r *reader) finish(ctx context.Context) error {
	if _, _, err := r.Open(ctx, r.FileKey(), r.File.Tag); err != nil { // an erasure deletes the file
		return fileFault(err)
	}
	next := r.Submission
	next.State, next.Check.Bytes, next.Check.At = submission.StateReady, next.File.Size, r.Now()
	if next.Check.Divided() && r.large() {
		next.Plan = rollout.Proposed(next.Check.People())
	}
	_, err := r.save(ctx, next)
	return err
}

const maxHeader = 200 // characters of a column's name that are stored

// readHeader reads the columns of a file and finds the values in them. It begins the check if all of
// them are clear.
func (w *Worker) readHeader(ctx, starting context.Context, sub submission.Submission) (submission.Submission, error) {
	file, size, err := w.Open(ctx, sub.FileKey(), sub.File.Tag)
	if err != nil {
		return sub, fileFault(err)
	}
	rows, err := sheet.Open(starting, file, size, sub.Reading)
	if err != nil {
		return sub, readFault(ctx, starting, err)
	}
	if beginsWithPerson(rows.Columns) {
		return sub, &submission.Fault{Code: faultNoHeader}
	}
	t, err := w.Store.Template(ctx, sub.TemplateID)
	t, err = campaign.OwnTemplate(sub.Tenant, t, err)
	if errors.Is(err, campaign.ErrNotFound) { // an upload that began as a draft's chose any
		return sub, &submission.Fault{Code: faultTemplateGone}
	}
	if err != nil {
		return sub, err
	}
	known, err := w.Store.KnownColumns(ctx, sub.Tenant)
	if err != nil {
		return sub, err
	}
	next := sub
	if rows, err = readFirst(ctx, file, size, rows, &next); err != nil {
		return sub, readFault(ctx, starting, err)
	}
	match(&next, rows, t.Variables(), known)
	chooseSheet(&next, rows)
	next.State = submission.StateColumns
	if len(next.Columns.Missing()) == 0 && !next.Undecided() {
		beginCheck(&next, t.Version)
	}
	return w.save(ctx, next)
}

// chooseSheet notes the sheet of a workbook that is read, and the others that a person can choose.
func chooseSheet(next *submission.Submission, rows *sheet.File) {
	if next.Columns.Sheet, next.Columns.Sheets = rows.Sheet, nil; len(rows.Sheets) > 1 {
		next.Columns.Sheets = rows.Sheets
	}
}

func beginCheck(sub *submission.Submission, version int) {
	sub.State, sub.TemplateVersion, sub.Plan = submission.StateChecking, version, rollout.Plan{}
	sub.Check = submission.Check{Number: sub.Check.Number + 1}
}

// beginsWithPerson reports whether the first line of a file is a person: one of its cells is a phone number, or is
// refused as one and no cell names the column of phone numbers.
func beginsWithPerson(header []string) bool {
	named := sheet.Match(header, nil).Phone >= 0
	return slices.ContainsFunc(header, func(name string) bool {
		_, rejection := phone.ParseTyped(name)
		return rejection == nil || !named && rejection.Code != e164.InvalidForm && phone.MayBeNumber(name)
	})
}

// match sets the columns of a submission: those of a name that the tenant has confirmed before,
// and else by their names. A sheet that is read in another way keeps its columns, also if their names are in another
// encoding now: a person may have chosen them.
func match(sub *submission.Submission, rows *sheet.File, variables []string, known map[string]string) {
	header := rows.Columns
	found := sheet.Match(header, variables)
	found.Each(func(value string, column *int) {
		name, ok := known[value]
		if !ok || slices.Contains(header, value) {
			return
		}
		if at := slices.IndexFunc(header, func(c string) bool { return sheet.Fold(c) == name }); at >= 0 {
			*column = at
		}
	})
	var names []string
	for _, name := range header {
		names = append(names, sheet.Cut(name, maxHeader))
	}
	if rows.Sheet == sub.Columns.Sheet && len(names) == len(sub.Columns.Header) {
		found = keeping(sub.Columns.Chosen, found)
	}
	sub.Columns.Chosen, sub.Columns.Header = found, names
}

// keeping returns found columns, with those that were chosen before in their place.
func keeping(before, found submission.Chosen) submission.Chosen {
	chosen := func(column, other int) int {
		if column >= 0 {
			return column
		}
		return other
	}
	found.Phone, found.UID = chosen(before.Phone, found.Phone), chosen(before.UID, found.UID)
	for n, v := range found.Values {
		for _, earlier := range before.Values {
			if earlier.Name == v.Name {
				found.Values[n].Column = chosen(earlier.Column, v.Column)
			}
		}
	}
	return found
}
