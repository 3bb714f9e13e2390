package privacy

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"

	"campaign-dispatch/internal/campaign"
)

// The columns of an error file.
const (
	columnLine = iota
	columnPhone
	columnUID
	columnCode
	columnReason
	columns
)

const errorFiles = "errors/"

// errorLines returns the lines of a batch's error file that are about the person. A
// batch without a file has none.
func (p *person) errorLines(ctx context.Context, b campaign.Batch) (about [][]string, err error) {
	if b.ErrorFile == "" {
		return nil, nil
	}
	file, err := p.Blobs.Get(ctx, errorFiles+b.ErrorFile)
	if errors.Is(err, campaign.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	about, _, err = p.partErrors(b, file)
	return about, err
}

// partErrors splits a batch's error file into the lines about the person and the
// others.
func (p *person) partErrors(b campaign.Batch, file []byte) (about, others [][]string, err error) {
	r := csv.NewReader(bytes.NewReader(file))
	r.FieldsPerRecord = columns
	lines, err := r.ReadAll()
	if err != nil { // the error contains nothing of the file
		return nil, nil, fmt.Errorf("read the error file of batch %s: %w", b.BatchID, err)
	}
	for i, line := range lines {
		if i > 0 && p.rejected(line[columnPhone], line[columnReason]) {
			about = append(about, line)
		} else {
			others = append(others, line)
		}
	}
	return about, others, nil
}

func (e *erasure) eraseErrorFile(ctx context.Context, b campaign.Batch) error {
	if b.ErrorFile == "" {
		return nil
	}
	lines := 0
	err := e.Blobs.Change(ctx, errorFiles+b.ErrorFile, "text/csv; charset=utf-8", func(file []byte) ([]byte, error) {
		about, others, err := e.partErrors(b, file)
		if lines = len(about); err != nil || lines == 0 {
			return nil, err
		}
		if err := e.deleteExports(ctx, b.ID); err != nil {
			return nil, err
		}
		var left []byte
		for _, l := range others {
			left = campaign.ErrorLine{
				Line: l[columnLine], Phone: l[columnPhone], UID: l[columnUID], Code: l[columnCode], Reason: l[columnReason],
			}.AppendTo(left)
		}
		return left, nil
	})
	if errors.Is(err, campaign.ErrNotFound) {
		return nil
	}
	if err != nil || lines == 0 {
		return err
	}
	e.add(func(done *Erased) { done.Rejected += lines })
	return e.deleteExports(ctx, b.ID) // those that read the file before it was replaced
}
