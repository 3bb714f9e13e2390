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
	"campaign-dispatch/internal/intake/submission"
	"campaign-dispatch/internal/phone"
	"campaign-dispatch/internal/recipients"
)

const (
	// partWeight is the size in bytes of the values from which a part has no more messages.
	partWeight = 3 << 20
	// maxUID is the maximum number of characters of a uid.
	maxUID = 1000
)

// reader reads the file of one submission. The Submission is the one that is stored.
type reader struct {
	*Worker
	submission.Submission
	source   Source
	columns  recipients.Columns
	seen     map[uint64]struct{} // the numbers so far
	optedOut func(phone string) bool
	silent   map[int]bool // the lines of the part whose numbers opted out
}

// read continues to read a file, until it is read or the time is over.
func (w *Worker) read(ctx context.Context, sub submission.Submission) error {
	starting, cancel := withMargin(ctx)
	defer cancel()
	r, rows, err := w.open(ctx, starting, sub)
	if err != nil {
		return readFault(ctx, starting, err)
	}
	for {
		more, err := r.readPart(ctx, rows)
		if r.Version > sub.Version && outOfTime(ctx, starting, err) {
			return queue(ctx, w.Tasks, sub.ID, 0)
		}
		switch {
		case err != nil:
			return readFault(ctx, starting, err)
		case !more:
			return r.finish(ctx)
		case starting.Err() != nil:
			return queue(ctx, w.Tasks, sub.ID, 0)
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

// open opens the file of a submission after the lines that are in its parts.
func (w *Worker) open(ctx, starting context.Context, sub submission.Submission) (*reader, *recipients.File, error) {
	r := &reader{Worker: w, Submission: sub, seen: map[uint64]struct{}{}, silent: map[int]bool{}, columns: columnsOf(sub)}
	file, size, err := w.Open(ctx, sub.FileKey(), sub.File.Tag)
	if err != nil {
		return nil, nil, err
	}
	r.source = file
	rows, err := recipients.Open(starting, file, size)
	if err != nil {
		return nil, nil, err
	}
	if r.optedOut, err = w.OptOuts.Of(ctx, sub.Tenant); err != nil {
		return nil, nil, err
	}
	var findings submission.Findings // of the skipped lines, which are known
	for range sub.Check.Rows {
		row, err := rows.Next()
		if err != nil {
			return nil, nil, err
		}
		r.take(&findings, row)
	}
	return r, rows, nil
}

func columnsOf(sub submission.Submission) recipients.Columns {
	c := recipients.Columns{Phone: sub.Columns.Phone, UID: sub.Columns.UID}
	for _, v := range sub.Columns.Values {
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
	next := r.Submission
	next.Check.Findings = clone(next.Check.Findings)
	clear(r.silent)
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
		if next.Check.Rows++; next.Check.Rows > submission.MaxLines {
			return false, &fault{code: faultTooManyLines, args: []string{strconv.Itoa(submission.MaxLines)}}
		}
		if m, ok := r.take(&next.Check.Findings, row); ok {
			p = append(p, m)
			weight += m.Weight()
		}
	}
	next.Check.ANSI, next.Check.Bytes = rows.ANSI(), r.source.BytesRead()
	if len(p) > 0 {
		if err := r.writePart(ctx, &next, p); err != nil {
			return false, err
		}
	}
	r.Submission, err = r.save(ctx, next)
	return more, err
}

// clone returns findings whose lists can be changed.
func clone(f submission.Findings) submission.Findings {
	f.General, f.Omitted, f.Rejected = slices.Clone(f.General), slices.Clone(f.Omitted), slices.Clone(f.Rejected)
	return f
}

// take returns the message of a line. It returns false if the line is left out, because of a
// problem or because an earlier line has its number. A repeated call finds the same.
func (r *reader) take(f *submission.Findings, row recipients.Row) (submission.Message, bool) {
	m := submission.Message{Line: row.Line, Phone: phone.Tidy(row.Cell(r.Columns.Phone)), UID: row.Cell(r.Columns.UID), Vars: r.columns.Variables(row)}
	if code, column := r.problem(m); code != "" {
		f.Omitted = submission.Count(f.Omitted, m.Line, code, column)
		return m, false
	}
	number, rejection := phone.Parse([]byte(m.Phone))
	if rejection != nil {
		f.Rejected = submission.Count(f.Rejected, m.Line, rejection.Code, "")
		return m, true // the error file lists it
	}
	if _, repeated := r.seen[uint64(number)]; repeated {
		f.Repeated.Add(m.Line)
		return m, false
	}
	r.seen[uint64(number)] = struct{}{}
	if r.optedOut(strconv.FormatUint(uint64(number), 10)) {
		f.OptedOut++
		r.silent[m.Line] = true
	}
	return m, true
}

// problem returns why a line cannot be sent, and the column.
func (r *reader) problem(m submission.Message) (code, column string) {
	if campaign.Blank(m.UID) {
		return "missing_uid", "uid"
	}
	if utf8.RuneCountInString(m.UID) > maxUID {
		return "too_long", "uid"
	}
	for _, v := range r.Columns.Values {
		if m.Vars[v.Name] == "" {
			return "missing_variable", v.Name
		}
	}
	return "", ""
}

// writePart checks a part and writes it.
func (r *reader) writePart(ctx context.Context, next *submission.Submission, p part) error {
	people := len(p) - (next.Check.Findings.Invalid() - r.Check.Findings.Invalid())
	body := submission.EncodePart(p, people)
	next.Check.Parts++
	next.Check.Hash = chain(next.Check.Hash, body)
	steps, ctx := errgroup.WithContext(ctx)
	key := next.PartKey(next.Check.Parts)
	steps.Go(func() error { return r.Blobs.PutOnce(ctx, key, body, "application/x-ndjson") })
	var v dispatch.Verdict
	steps.Go(func() (err error) {
		v, err = r.Dispatch.Check(ctx, p.call(*next, next.Check.Parts, people))
		return err
	})
	if err := steps.Wait(); err != nil {
		return err
	}
	r.addVerdict(&next.Check.Findings, v, p)
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
// Whether the budget has room is judged when the campaign is shown and sent.
func (r *reader) addVerdict(f *submission.Findings, v dispatch.Verdict, p part) {
	f.Accepted += v.Accepted
	f.Classes.Add(v.Classes)
	if v.Classes != (campaign.ClassCounts{}) {
		f.OptedOutClasses.Add(r.silentClasses(v, p))
	}
	for _, why := range v.Faults {
		if why.Code != campaign.CodeBudgetExceeded && !slices.Contains(f.General, why.Code) {
			f.General = append(f.General, why.Code)
		}
	}
	for _, message := range v.InvalidURLs {
		f.BadURLs.Add(p[message].Line)
	}
}

// silentClasses returns the classes of the accepted messages to numbers that opted out.
func (r *reader) silentClasses(v dispatch.Verdict, p part) (n campaign.ClassCounts) {
	rejected := 0 // of the messages so far
	for at, m := range p {
		switch {
		case rejected < len(v.Rejected) && v.Rejected[rejected].Message == at:
			rejected++
		case r.silent[m.Line]:
			n.Add(v.EachClass.Of(at - rejected))
		}
	}
	return n
}

// finish offers the campaign for confirmation.
func (r *reader) finish(ctx context.Context) error {
	if _, _, err := r.Open(ctx, r.FileKey(), r.File.Tag); err != nil { // an erasure deletes the file
		return fileFault(err)
	}
	next := r.Submission
	next.State, next.Check.Bytes, next.Check.At = submission.StateReady, next.File.Size, r.Now()
	_, err := r.save(ctx, next)
	return err
}
