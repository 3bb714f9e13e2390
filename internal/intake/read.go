package intake

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/dispatch"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/recipients"
)

const (
	// partWeight is the size in bytes of the values from which a part has no more messages.
	partWeight = 3 << 20
	// maxUID is the maximum number of characters of a uid.
	maxUID = 1000
)

// reader reads the file of one import. The Import is the one that is stored.
type reader struct {
	*Worker
	campaign.Import
	source   Source
	columns  recipients.Columns
	seen     map[uint64]struct{} // the numbers so far
	optedOut func(phone string) bool
}

// read continues to read a file, until it is read or the time is over.
func (w *Worker) read(ctx context.Context, i campaign.Import) error {
	starting, cancel := withMargin(ctx)
	defer cancel()
	r, rows, err := w.open(ctx, starting, i)
	if err != nil {
		return readFault(ctx, starting, err)
	}
	for {
		more, err := r.readPart(ctx, rows)
		if r.Version > i.Version && outOfTime(ctx, starting, err) {
			return queue(ctx, w.Tasks, i.ID, 0)
		}
		switch {
		case err != nil:
			return readFault(ctx, starting, err)
		case !more:
			return r.finish(ctx)
		case starting.Err() != nil:
			return queue(ctx, w.Tasks, i.ID, 0)
		}
	}
}

// outOfTime reports whether reading failed because no part may begin any more.
func outOfTime(ctx, starting context.Context, err error) bool {
	return ctx.Err() == nil && starting.Err() != nil && errors.Is(err, starting.Err())
}

// readFault returns the fault of a file that is invalid or cannot be read in time, or the
// error.
func readFault(ctx, starting context.Context, err error) error {
	if outOfTime(ctx, starting, err) {
		return &fault{code: faultTooLarge}
	}
	return fileFault(err)
}

// open opens the file of an import after the lines that are in its parts.
func (w *Worker) open(ctx, starting context.Context, i campaign.Import) (*reader, *recipients.File, error) {
	r := &reader{Worker: w, Import: i, seen: map[uint64]struct{}{}, columns: columnsOf(i)}
	file, size, err := w.Open(ctx, i.Blob(), i.Tag)
	if err != nil {
		return nil, nil, err
	}
	r.source = file
	rows, err := recipients.Open(starting, file, size)
	if err != nil {
		return nil, nil, err
	}
	if r.optedOut, err = w.OptOuts.Of(ctx, i.Tenant); err != nil {
		return nil, nil, err
	}
	var findings campaign.ImportFindings // of the skipped lines, which are known
	for range i.Read.Rows {
		row, err := rows.Next()
		if err != nil {
			return nil, nil, err
		}
		r.take(&findings, row)
	}
	return r, rows, nil
}

func columnsOf(i campaign.Import) recipients.Columns {
	c := recipients.Columns{Phone: i.Phone, UID: i.UID}
	for _, v := range i.Values {
		c.Values = append(c.Values, recipients.Value(v))
	}
	return c
}

// fileFault returns the fault of an invalid file, or the error.
func fileFault(err error) error {
	wrong, ok := errors.AsType[*recipients.Error](err)
	if !ok {
		if errors.Is(err, campaign.ErrNotFound) {
			return &fault{code: faultFileGone}
		}
		return err
	}
	f := &fault{code: wrong.Code}
	for _, arg := range wrong.Args {
		f.args = append(f.args, cut(fmt.Sprint(arg), maxCell))
	}
	return f
}

// readPart reads, checks and writes the next part. It returns false after the last one.
func (r *reader) readPart(ctx context.Context, rows *recipients.File) (more bool, err error) {
	next := r.Import
	next.Findings = clone(next.Findings)
	var p part
	more = true
	for weight := 0; len(p) < r.PartLines && weight < partWeight; {
		row, err := rows.Next()
		if errors.Is(err, io.EOF) {
			more = false
			break
		}
		if err != nil {
			return false, err
		}
		if next.Read.Rows++; next.Read.Rows > campaign.MaxImportRows {
			return false, &fault{code: faultTooManyLines, args: []string{strconv.Itoa(campaign.MaxImportRows)}}
		}
		if m, ok := r.take(&next.Findings, row); ok {
			p = append(p, m)
			weight += m.weight()
		}
	}
	next.Read.ANSI, next.Read.Bytes = rows.ANSI(), r.source.BytesRead()
	if len(p) > 0 {
		if err := r.writePart(ctx, &next, p); err != nil {
			return false, err
		}
	}
	r.Import, err = r.Store.SaveImport(ctx, next)
	return more, err
}

// clone returns findings whose lists can be changed.
func clone(f campaign.ImportFindings) campaign.ImportFindings {
	f.General, f.LeftOut, f.Rejected = slices.Clone(f.General), slices.Clone(f.LeftOut), slices.Clone(f.Rejected)
	return f
}

// take returns the message of a line. It returns false if the line is left out, because of a
// problem or because an earlier line has its number. A repeated call finds the same.
func (r *reader) take(f *campaign.ImportFindings, row recipients.Row) (message, bool) {
	m := message{Line: row.Line, Phone: phone.Tidy(row.Cell(r.Phone)), UID: row.Cell(r.UID), Vars: r.columns.Variables(row)}
	if code, column := r.problem(m); code != "" {
		f.LeftOut = campaign.Count(f.LeftOut, m.Line, code, column)
		return m, false
	}
	number, rejection := phone.Parse([]byte(m.Phone))
	if rejection != nil {
		f.Rejected = campaign.Count(f.Rejected, m.Line, rejection.Code, "")
		return m, true // the error file lists it
	}
	if _, repeated := r.seen[uint64(number)]; repeated {
		f.Repeated.Add(m.Line)
		return m, false
	}
	r.seen[uint64(number)] = struct{}{}
	if r.optedOut(strconv.FormatUint(uint64(number), 10)) {
		f.OptedOut++
	}
	return m, true
}

// problem returns why a line cannot be sent, and the column.
func (r *reader) problem(m message) (code, column string) {
	if campaign.Blank(m.UID) {
		return "missing_uid", "uid"
	}
	if utf8.RuneCountInString(m.UID) > maxUID {
		return "too_long", "uid"
	}
	for _, v := range r.Values {
		if m.Vars[v.Name] == "" {
			return "missing_variable", v.Name
		}
	}
	return "", ""
}

// writePart checks a part and writes it.
func (r *reader) writePart(ctx context.Context, next *campaign.Import, p part) error {
	people := len(p) - (next.Findings.Invalid() - r.Findings.Invalid())
	body := p.encode(people)
	next.Read.Parts++
	next.Read.Hash = chain(next.Read.Hash, body)
	steps, ctx := errgroup.WithContext(ctx)
	key := next.PartBlob(next.Read.Parts)
	steps.Go(func() error { return r.Blobs.Put(ctx, key, body, "application/x-ndjson") })
	var v dispatch.Verdict
	steps.Go(func() (err error) {
		v, err = r.Dispatch.Check(ctx, p.call(*next, next.Read.Parts, people))
		return err
	})
	if err := steps.Wait(); err != nil {
		return err
	}
	addVerdict(&next.Findings, v, p)
	return nil
}

// chain returns the hash of the parts so far.
func chain(before string, body []byte) string {
	sum := sha256.New()
	sum.Write([]byte(before))
	sum.Write(body)
	return hex.EncodeToString(sum.Sum(nil))
}

// addVerdict adds the verdict of a part to the findings of the file.
func addVerdict(f *campaign.ImportFindings, v dispatch.Verdict, p part) {
	f.Accepted += v.Accepted
	f.Classes.Add(v.Classes)
	for _, why := range v.Faults {
		if !slices.Contains(f.General, why.Code) {
			f.General = append(f.General, why.Code)
		}
	}
	for _, message := range v.InvalidURLs {
		f.BadURLs.Add(p[message].Line)
	}
	if !v.Priced {
		return
	}
	f.Priced = true
	f.Price += v.Price
	if v.Budget != nil {
		f.Budget = v.Budget
	}
	if f.Budget != nil {
		f.Budget.Cost = f.Price
	}
}

// finish offers the campaign for confirmation.
func (r *reader) finish(ctx context.Context) error {
	if _, _, err := r.Open(ctx, r.Blob(), r.Tag); err != nil { // an erasure deletes the file
		return fileFault(err)
	}
	next := r.Import
	next.State, next.Read.Bytes = campaign.ImportReady, next.Size
	next.Findings = clone(next.Findings)
	if b := next.Findings.Budget; b != nil && b.Exceeded() && !slices.Contains(next.Findings.General, campaign.CodeBudgetExceeded) {
		next.Findings.General = append(next.Findings.General, campaign.CodeBudgetExceeded)
	}
	_, err := r.Store.SaveImport(ctx, next)
	return err
}
