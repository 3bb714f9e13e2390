// Package demo sends a campaign through a running stack as a client does, and
// shows what becomes of it.
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

// Campaign is a campaign as a file describes it.
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
	// place is where in its file it stands.
	place string
}

// ReadFile reads a campaign, which is UTF-8. A .csv file has a line of column
// names, phone and uid among them; every other column is a variable of the
// template. Rows that are blank, as spreadsheets write them, are left out. A .json
// file is an object with messages and, optionally, a name and a templateId: the
// form of a dispatch call.
func ReadFile(path string) (Campaign, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the person's own choice
	if err != nil {
		return Campaign{}, fmt.Errorf("read the campaign: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")) // spreadsheets write a mark
	var c Campaign
	switch kind := strings.ToLower(filepath.Ext(path)); {
	case kind != ".json" && kind != ".csv":
		err = errors.New("it is neither .csv nor .json")
	case len(bytes.TrimSpace(text)) == 0:
		err = errors.New("it is empty")
	case !utf8.Valid(text):
		err = errors.New("it is not UTF-8: save it as CSV UTF-8")
	case kind == ".json":
		err = readJSON(text, &c)
	default:
		c.Messages, err = readCSV(text)
	}
	if err == nil && len(c.Messages) == 0 {
		err = errors.New("it has no messages")
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
		return errors.New("it is no JSON object with messages, see events/demo-campaign.json")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a number goes on as it was written
	if err := decoder.Decode(c); err != nil {
		return explain(text, err)
	}
	for i := range c.Messages {
		c.Messages[i].place = fmt.Sprintf("message %d", i+1)
	}
	return nil
}

// explain names the line of what is wrong with JSON.
func explain(text []byte, err error) error {
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("line %d: %s is a %s, which it may not be", lineAt(text, kind.Offset), kind.Field, kind.Value)
	}
	offset := int64(len(text)) // where it ended too early
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = syntax.Offset
	}
	return fmt.Errorf("line %d: %w", lineAt(text, offset), err)
}

// lineAt returns the number of the line that the byte at offset is in.
func lineAt(text []byte, offset int64) int { return 1 + bytes.Count(text[:offset], []byte("\n")) }

func readCSV(text []byte) ([]Message, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	reader.FieldsPerRecord = -1 // we count them ourselves
	if first, _, _ := bytes.Cut(text, []byte("\n")); !bytes.Contains(first, []byte(",")) && bytes.Contains(first, []byte(";")) {
		reader.Comma = ';' // as spreadsheets write in Brazil
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
			return nil, fmt.Errorf("line %d has %d cells where the first line names %d columns", line, len(row), len(columns))
		}
		message := messageOf(columns, row)
		message.place = fmt.Sprintf("line %d", line)
		messages = append(messages, message)
	}
}

// readColumns reads the names of the columns. Those that every file has are
// known in any case.
func readColumns(reader *csv.Reader) ([]string, error) {
	columns, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("read its column names: %w", err)
	}
	seen := map[string]bool{}
	for i, column := range columns {
		column = strings.TrimSpace(column)
		if lower := strings.ToLower(column); lower == "phone" || lower == "uid" {
			column = lower
		}
		if column != "" && seen[column] {
			return nil, fmt.Errorf("its first line names the column %s twice", column)
		}
		columns[i], seen[column] = column, true
	}
	if !seen["phone"] || !seen["uid"] {
		return nil, fmt.Errorf("its first line must name the columns phone and uid, it names: %s", strings.Join(columns, ", "))
	}
	return columns, nil
}

func messageOf(columns, row []string) Message {
	m := Message{}
	for i, column := range columns {
		switch column {
		case "": // no variable has this name
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
