package submission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"campaign-dispatch/internal/campaign"
	"campaign-dispatch/internal/httpapi/jsonscan"
)

// Message is a line of a part's file: JSON with the names of the fields in lower case. Empty ones are left out, except for
// line, phone and uid. Cell is not stored.
type Message struct {
	Line  int
	Phone string // in a form that a call may have
	// Written is the number as in the file, if a person or AddNine has changed it.
	Written string
	Cell    string // the number as in the file
	// Number has the digits of the phone number in E.164, country code included. It is 0 for an
	// invalid number.
	Number uint64
	UID    string
	Vars   map[string]string
	ANSI   bool // whether the line is not UTF-8
}

// Weight returns the size of the message's values in bytes.
func (m Message) Weight() int {
	n := len(m.Phone) + len(m.UID)
	for _, value := range m.Vars {
		n += len(value)
	}
	return n
}

// partHeader begins the first line of a part's file. The number of people when it was checked ends
// the line. A message in JSON follows in each further line.
const partHeader = "campaign-dispatch part 1 people "

// EncodePart encodes the messages of a part that has a number of people. It writes JSON itself: encoding/json takes a fifth
// of the time of a file's check. The names of variables are in order, so the same messages have the same bytes.
func EncodePart(messages []Message, people int) []byte {
	b := strconv.AppendInt([]byte(partHeader), int64(people), 10)
	b = append(b, '\n')
	for _, m := range messages {
		b = append(m.append(b), '\n')
	}
	return b
}

func (m Message) append(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"line":`...), int64(m.Line), 10)
	b = appendText(append(b, `,"phone":`...), m.Phone)
	if m.Written != "" {
		b = appendText(append(b, `,"written":`...), m.Written)
	}
	if m.Number != 0 {
		b = strconv.AppendUint(append(b, `,"number":`...), m.Number, 10)
	}
	b = appendText(append(b, `,"uid":`...), m.UID)
	if len(m.Vars) > 0 {
		b = appendTexts(append(b, `,"vars":`...), m.Vars)
	}
	if m.ANSI {
		b = append(b, `,"ansi":true`...)
	}
	return append(b, '}')
}

// appendTexts appends an object of texts in the order of their names.
func appendTexts(b []byte, texts map[string]string) []byte {
	separator := byte('{')
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b = appendText(append(b, separator), name)
		b = appendText(append(b, ':'), texts[name])
		separator = ','
	}
	return append(b, '}')
}

// appendText appends a string. What is not UTF-8 becomes U+FFFD.
func appendText(b []byte, text string) []byte {
	plain := utf8.ValidString(text)
	for i := 0; plain && i < len(text); i++ {
		plain = text[i] >= ' ' && text[i] != '"' && text[i] != '\\'
	}
	if plain {
		return append(append(append(b, '"'), text...), '"')
	}
	quoted, _ := json.Marshal(text) // a string always encodes
	return append(b, quoted...)
}

// DecodePart decodes a part's file. Erasures delete lines from it. people is the number of people
// when the part was checked. The error wraps campaign.ErrDamaged.
func DecodePart(body []byte) (messages []Message, people int, err error) {
	people, rest, err := splitPart(body)
	if err != nil {
		return nil, 0, err
	}
	for line := range bytes.Lines(rest) {
		m, err := decodeMessage(line)
		if err != nil {
			return nil, 0, err
		}
		messages = append(messages, m)
	}
	return messages, people, nil
}

// DecodeOne decodes only the message at a position in a part's file, from 0. It returns the last one if
// the file has fewer lines. The error wraps campaign.ErrNotFound if it has none, or campaign.ErrDamaged.
func DecodeOne(body []byte, at int) (Message, error) {
	_, rest, err := splitPart(body)
	if err != nil {
		return Message{}, err
	}
	var found []byte
	for line := range bytes.Lines(rest) {
		found = line
		if at--; at < 0 {
			break
		}
	}
	if found == nil {
		return Message{}, campaign.ErrNotFound
	}
	return decodeMessage(found)
}

// splitPart returns the number of people of a part and its lines.
func splitPart(body []byte) (people int, lines []byte, err error) {
	header, lines, _ := bytes.Cut(body, []byte("\n"))
	count, _ := strings.CutPrefix(string(header), partHeader)
	if people, err = strconv.Atoi(count); err != nil {
		return 0, nil, errDamagedPart
	}
	return people, lines, nil
}

func decodeMessage(line []byte) (m Message, err error) {
	scan := jsonscan.New(line)
	if scan.Peek() != jsonscan.Object {
		return Message{}, errDamagedPart
	}
	if err = scan.Members(func(name []byte) error { return m.readField(scan, name) }); err == nil {
		err = scan.End()
	}
	if err != nil {
		return Message{}, errDamagedPart
	}
	return m, nil
}

// readField reads a field of a message. A later release may have others.
func (m *Message) readField(scan *jsonscan.Scanner, name []byte) (err error) {
	switch string(name) {
	case "line":
		var line uint64
		line, err = readNumber(scan)
		m.Line = int(line) //nolint:gosec // EncodePart wrote an int
	case "phone":
		m.Phone, err = readText(scan)
	case "written":
		m.Written, err = readText(scan)
	case "number":
		m.Number, err = readNumber(scan)
	case "uid":
		m.UID, err = readText(scan)
	case "vars":
		m.Vars, err = readTexts(scan)
	case "ansi":
		var raw []byte
		raw, err = scan.Raw()
		m.ANSI = string(raw) == "true"
	default:
		_, err = scan.Raw()
	}
	return err
}

func readNumber(scan *jsonscan.Scanner) (uint64, error) {
	raw, err := scan.Raw()
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(string(raw), 10, 64)
}

func readText(scan *jsonscan.Scanner) (string, error) {
	text, err := scan.String()
	return string(text), err
}

func readTexts(scan *jsonscan.Scanner) (map[string]string, error) {
	texts := map[string]string{}
	err := scan.Members(func(name []byte) (err error) {
		of := string(name)
		texts[of], err = readText(scan)
		return err
	})
	return texts, err
}

var errDamagedPart = fmt.Errorf("a part of a submission: %w", campaign.ErrDamaged)
