package submission

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign"
)

// Message is a line of a part's file.
type Message struct {
	Line  int    `json:"line"`
	Phone string `json:"phone"` // as in the file
	// Number has the digits of the phone number in E.164, country code included. It is 0 for an
	// invalid number.
	Number uint64            `json:"number,omitempty"`
	UID    string            `json:"uid"`
	Vars   map[string]string `json:"vars,omitempty"`
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

// EncodePart encodes the messages of a part that has a number of people.
func EncodePart(messages []Message, people int) []byte {
	var b bytes.Buffer
	b.WriteString(partHeader + strconv.Itoa(people) + "\n")
	lines := json.NewEncoder(&b)
	lines.SetEscapeHTML(false)
	for _, m := range messages {
		_ = lines.Encode(m) // texts and numbers always encode
	}
	return b.Bytes()
}

// DecodePart decodes a part's file. Erasures delete lines from it. people is the number of people
// when the part was checked. The error wraps campaign.ErrDamaged.
func DecodePart(body []byte) (messages []Message, people int, err error) {
	header, rest, _ := bytes.Cut(body, []byte("\n"))
	count, _ := strings.CutPrefix(string(header), partHeader)
	if people, err = strconv.Atoi(count); err != nil {
		return nil, 0, fmt.Errorf("a part of a submission: %w", campaign.ErrDamaged)
	}
	for line := range bytes.Lines(rest) {
		var m Message
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, 0, fmt.Errorf("a part of a submission: %w", campaign.ErrDamaged)
		}
		messages = append(messages, m)
	}
	return messages, people, nil
}
