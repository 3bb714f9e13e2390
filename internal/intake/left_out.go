package intake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"golang.org/x/sync/errgroup"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/intake/submission"
)

// LeftOut yields the lines that get no message, in the order of the file.
func (s *Service) LeftOut(ctx context.Context, sub submission.Submission) iter.Seq2[submission.LeftOut, error] {
	return eachLeftOut(ctx, s.Uploads, sub, allOuts(sub))
}

// FirstLines returns the first lines of each kind that get no message or are noted, up to most of each. Of a large file it
// reads only what has the beginning of the kinds. Erasures delete lines.
func (s *Service) FirstLines(ctx context.Context, sub submission.Submission, most int) (first []submission.LeftOut, err error) {
	seen := map[submission.Cause]int{}
	for l, err := range eachLeftOut(ctx, remaining{s.Uploads}, sub, located(sub.Check)) {
		if err != nil {
			return nil, err
		}
		if seen[l.Cause()]++; seen[l.Cause()] <= most {
			first = append(first, l)
		}
	}
	return first, nil
}

// remaining reads a file that was deleted as one without lines.
type remaining struct{ Blobs }

func (r remaining) Get(ctx context.Context, key string) ([]byte, error) {
	body, err := r.Blobs.Get(ctx, key)
	return body, campaign.IgnoreNotFound(err)
}

// mostLocated is the maximum number of files in which a kind of lines begins, for FirstLines.
const mostLocated = 8

// locate remembers the file of lines that is written next if it has a kind of line that none before has.
func locate(c *submission.Check, before submission.Findings) {
	if c.Findings.Kinds() > before.Kinds() && len(c.Findings.Outs) < mostLocated {
		c.Findings.Outs = append(c.Findings.Outs, c.Outs+1)
	}
}

// located returns the numbers of the files of left out lines in which a kind begins, each with the next one.
func located(c submission.Check) (outs []int) {
	for _, n := range append([]int{1}, c.Findings.Outs...) {
		outs = append(outs, n, n+1)
	}
	slices.Sort(outs)
	return slices.DeleteFunc(slices.Compact(outs), func(n int) bool { return n > c.Outs })
}

// eachLeftOut yields the lines that were left out, in the order of the file, of some of their files. Erasures delete lines.
func eachLeftOut(ctx context.Context, blobs Blobs, sub submission.Submission, numbers []int) iter.Seq2[submission.LeftOut, error] {
	return func(yield func(submission.LeftOut, error) bool) {
		for some := range slices.Chunk(numbers, atOnce) {
			lines, err := readOuts(ctx, blobs, sub, some)
			if err != nil {
				yield(submission.LeftOut{}, err)
				return
			}
			for line := range bytes.Lines(lines) {
				var l submission.LeftOut
				if err := json.Unmarshal(line, &l); err != nil {
					yield(l, fmt.Errorf("lines of a submission: %w", campaign.ErrDamaged))
					return
				}
				if !yield(l, nil) {
					return
				}
			}
		}
	}
}

// allOuts returns the numbers of all files of lines that were left out.
func allOuts(sub submission.Submission) (numbers []int) {
	for n := range sub.Check.Outs {
		numbers = append(numbers, n+1)
	}
	return numbers
}

// readOuts returns the lines of some files at once: a large list has a thousand of them.
func readOuts(ctx context.Context, blobs Blobs, sub submission.Submission, numbers []int) ([]byte, error) {
	files := make([][]byte, len(numbers))
	all, ctx := errgroup.WithContext(ctx)
	for i, number := range numbers {
		all.Go(func() (err error) {
			files[i], err = blobs.Get(ctx, sub.OutKey(number))
			return err
		})
	}
	err := all.Wait()
	return bytes.Join(files, nil), err
}
