// Package demo sends a campaign through a running stack and prints its outcomes.
package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"campaign-dispatch/internal/intake/sheet"
	"campaign-dispatch/internal/intake/submission"
)

// Campaign is a campaign file.
type Campaign struct {
	Name       string    `json:"name"`
	TemplateID string    `json:"templateId"`
	Messages   []Message `json:"messages"`
}

// Message is one message of a campaign.
type Message struct {
	Phone string         `json:"phone"`
	UID   string         `json:"uid"`
	Vars  map[string]any `json:"vars,omitempty"`
	// place is the message's line or index in the file.
	place string
}

// ReadFile reads a campaign file: a CSV file or an Excel workbook, as the dashboard reads it, whose
// columns are phone, uid and the variables of the template. Or a .json file with an object of
// messages and, optionally, a name and a templateId, as in a dispatch request.
func ReadFile(ctx context.Context, path string) (Campaign, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the user selects the file
	if err != nil {
		return Campaign{}, fmt.Errorf("read the campaign: %w", err)
	}
	var c Campaign
	switch strings.ToLower(filepath.Ext(path)) {
	case ".json":
		err = readJSON(text, &c)
	case ".csv", ".xlsx":
		c.Messages, err = readSheet(ctx, text)
	default:
		err = errors.New("want a .csv, .xlsx or .json file")
	}
	if err == nil && len(c.Messages) == 0 {
		err = errors.New("the file has no messages")
	}
	if err != nil {
		return Campaign{}, fmt.Errorf("read the campaign %s: %w", path, err)
	}
	if c.Name == "" {
		c.Name = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	}
	return c, nil
}

func readJSON(text []byte, c *Campaign) error {
	if text = bytes.TrimSpace(text); !bytes.HasPrefix(text, []byte("{")) {
		return errors.New("the file is not a JSON object with messages, see events/demo-campaign.json")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keeps numbers as written
	if err := decoder.Decode(c); err != nil {
		return explain(text, err)
	}
	for i := range c.Messages {
		c.Messages[i].place = fmt.Sprintf("message %d", i+1)
	}
	return nil
}

// explain adds the line to an error of the JSON decoder.
func explain(text []byte, err error) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("line %d: %s must not be a %s", lineAt(text, kind.Offset), kind.Field, kind.Value)
	}
	offset := int64(len(text)) // for an unexpected end
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	return fmt.Errorf("line %d: %w", lineAt(text, offset), err)
}

func lineAt(text []byte, offset int64) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

// openSheet opens a file that leaves no choice.
func openSheet(ctx context.Context, text []byte) (*sheet.File, error) {
	content, size := bytes.NewReader(text), int64(len(text))
	choices, err := sheet.Encodings(ctx, content, size)
	if err != nil {
		return nil, err
	}
	if len(choices) > 1 {
		return nil, errors.New("the encoding of the accents is not clear: save the file in UTF-8")
	}
	reading := submission.Reading{}
	for _, choice := range choices {
		reading.Encoding = choice.Name
	}
	file, err := sheet.Open(ctx, content, size, reading)
	if err != nil {
		return nil, err
	}
	err = file.Chosen("")
	return file, err
}

func readSheet(ctx context.Context, text []byte) (messages []Message, err error) {
	file, err := openSheet(ctx, text)
	if err != nil {
		return nil, withDetails(err)
	}
	if !slices.Contains(file.Columns, "phone") || !slices.Contains(file.Columns, "uid") {
		return nil, fmt.Errorf("the first line must have the columns phone and uid, got: %s", strings.Join(file.Columns, ", "))
	}
	for {
		row, err := file.Next()
		if errors.Is(err, io.EOF) {
			return messages, nil
		}
		if err != nil {
			return nil, withDetails(err)
		}
		if row.Fault == sheet.HiddenRow { // nobody sees it
			continue
		}
		if row.Fault != "" {
			return nil, fmt.Errorf("line %d: %s", row.Line, row.Fault)
		}
		messages = append(messages, messageOf(file.Columns, row))
	}
}

// withDetails adds the lines, numbers and names of a file's error, as the dashboard's text of its code has them.
func withDetails(err error) error {
	if fault, ok := errors.AsType[*submission.Fault](err); ok && len(fault.Args) > 0 {
		return fmt.Errorf("%w %v", err, fault.Args)
	}
	return err
}

func messageOf(columns []string, row sheet.Row) Message {
	m := Message{place: fmt.Sprintf("line %d", row.Line)}
	for i, column := range columns {
		switch column {
		case "": // a column without a name is ignored
		case "phone":
			m.Phone = row.ID(i)
		case "uid":
			m.UID = row.ID(i)
		default:
			if m.Vars == nil {
				m.Vars = map[string]any{}
			}
			m.Vars[column] = row.Cell(i)
		}
	}
	return m
}
