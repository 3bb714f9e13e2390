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
}

// ReadFile reads a campaign. A .csv file has a line of column names, phone and
// uid among them; every other column is a variable of the template. A .json
// file is an object with messages and, optionally, a name and a templateId: the
// form of a dispatch call.
func ReadFile(path string) (Campaign, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the person's own choice
	if err != nil {
		return Campaign{}, fmt.Errorf("read the campaign: %w", err)
	}
	var c Campaign
	switch filepath.Ext(path) {
	case ".json":
		err = readJSON(text, &c)
	case ".csv":
		c.Messages, err = readCSV(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))) // spreadsheets write a mark
	default:
		err = errors.New("it is neither .csv nor .json")
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
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a number goes on as it was written
	return decoder.Decode(c)
}

func readCSV(text []byte) ([]Message, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	if first, _, _ := bytes.Cut(text, []byte("\n")); !bytes.Contains(first, []byte(",")) && bytes.Contains(first, []byte(";")) {
		reader.Comma = ';' // as spreadsheets write in Brazil
	}
	columns, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("read its column names: %w", err)
	}
	if !slices.Contains(columns, "phone") || !slices.Contains(columns, "uid") {
		return nil, errors.New("its first line does not name the columns phone and uid")
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
		messages = append(messages, messageOf(columns, row))
	}
}

func messageOf(columns, row []string) Message {
	m := Message{}
	for i, column := range columns {
		switch column {
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
