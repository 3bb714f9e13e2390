// Package demo sends a campaign through a running stack and prints its outcomes.
package demo

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
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

// ReadFile reads a campaign file in UTF-8. The first line of a .csv file has the
// column names. The columns phone and uid are required; every other column is a
// variable of the template. Blank rows are ignored. A .json file is a JSON object
// with messages and, optionally, a name and a templateId, as in a dispatch request.
func ReadFile(path string) (Campaign, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the user selects the file
	if err != nil {
		return Campaign{}, fmt.Errorf("read the campaign: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // spreadsheets write a byte order mark
	var c Campaign
	switch kind := strings.ToLower(filepath.Ext(path)); {
	case kind != ".json" && kind != ".csv":
		err = errors.New("want a .csv or .json file")
	case len(bytes.TrimSpace(text)) == 0:
		err = errors.New("the file is empty")
	case !utf8.Valid(text):
		err = errors.New("the file is not in UTF-8: save it as CSV UTF-8")
	case kind == ".json":
		err = readJSON(text, &c)
	default:
		c.Messages, err = readCSV(text)
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
	if text = bytes.TrimSpace(text); text[0] != '{' {
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

func readCSV(text []byte) ([]Message, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = -1 // checked below, with the line number
	if first, _, _ := bytes.Cut(text, []byte("\n")); !bytes.Contains(first, []byte(",")) && bytes.Contains(first, []byte(";")) {
		reader.Comma = ';' // the separator of Brazilian spreadsheets
	}
	columns, err := readColumns(reader)
	if err != nil {
		return nil, err
	}
	var messages []Message
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return messages, nil
		}
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(row, func(cell string) bool { return strings.TrimSpace(cell) != "" }) {
			continue
		}
		line, _ := reader.FieldPos(0)
		if len(row) != len(columns) {
			return nil, fmt.Errorf("line %d has %d cells, want %d as in the first line", line, len(row), len(columns))
		}
		message := messageOf(columns, row)
		message.place = fmt.Sprintf("line %d", line)
		messages = append(messages, message)
	}
}

// readColumns reads the column names. The names phone and uid are case-insensitive.
func readColumns(reader *csv.Reader) ([]string, error) {
	columns, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("read the column names: %w", err)
	}
	seen := map[string]bool{}
	for i, column := range columns {
		column = strings.TrimSpace(column)
		if lower := strings.ToLower(column); lower == "phone" || lower == "uid" {
			column = lower
		}
		if column != "" && seen[column] {
			return nil, fmt.Errorf("the first line has the column %s twice", column)
		}
		columns[i], seen[column] = column, true
	}
	if !seen["phone"] || !seen["uid"] {
		return nil, fmt.Errorf("the first line must have the columns phone and uid, got: %s", strings.Join(columns, ", "))
	}
	return columns, nil
}

func messageOf(columns, row []string) Message {
	m := Message{}
	for i, column := range columns {
		switch column {
		case "": // a column without a name is ignored
		case "phone":
			m.Phone = row[i]
		case "uid":
			m.UID = row[i]
		default:
			if m.Vars == nil {
				m.Vars = map[string]any{}
			}
			m.Vars[column] = row[i]
		}
	}
	return m
}
