package campaign

import (
	"errors"
	"iter"
	"strconv"
	"strings"

	"campaign-dispatch/internal/campaign/content"
	"campaign-dispatch/internal/campaign/pattern"
)

// Currency is the currency of all amounts.
const Currency = "BRL"

// Money is an amount in millionths of Currency.
type Money int64

// Cent is a hundredth of Currency.
const Cent Money = unitOfMoney / 100

const (
	unitOfMoney   = 1_000_000
	moneyDecimals = 6
	// MaxMoney is the largest amount of a limit.
	MaxMoney Money = 1_000_000_000 * unitOfMoney
	// MaxPrice is the largest price of a message.
	MaxPrice Money = 1_000 * unitOfMoney
)

// String returns the amount as a decimal number with 2 to 6 decimals, such as "0.075".
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	decimals := strconv.FormatInt(int64(m%unitOfMoney)+unitOfMoney, 10)[1:]
	for len(decimals) > 2 && strings.HasSuffix(decimals, "0") {
		decimals = decimals[:len(decimals)-1]
	}
	return sign + strconv.FormatInt(int64(m/unitOfMoney), 10) + "." + decimals
}

// Cents returns the amount rounded to a hundredth of Currency.
func (m Money) Cents() Money { return (m + Cent/2) / Cent * Cent }

// Per returns the amount for each of n, to a thousandth of Currency.
func (m Money) Per(n int) Money {
	const least = unitOfMoney / 1000
	of := Money(n) * least
	return (m + of/2) / of * least
}

// MarshalText returns String, so that JSON contains the amount as a string.
func (m Money) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads the result of MarshalText.
func (m *Money) UnmarshalText(text []byte) (err error) {
	*m, err = parseMoney(string(text))
	return err
}

// Entry returns the amount as ParseMoney reads it.
func (m Money) Entry() string {
	if text := m.String(); thousands().MatchString(text) {
		return text + "0"
	}
	return m.String()
}

var (
	errMoney = errors.New("use an amount like 0.075, 1500,00 or 1.500,00")

	amount    = pattern.AtFirstUse(`^(\d{1,10})(?:[.,](\d{1,6}))?$`)
	thousands = pattern.AtFirstUse(`^[1-9]\d{0,2}[.,]\d{3}$`)
	grouped   = pattern.AtFirstUse(`^[1-9]\d{0,2}(?:(?:\.\d{3})+(?:,\d{1,6})?|(?:,\d{3})+(?:\.\d{1,6})?)$`)
)

// ParseMoney parses an amount as people type it, such as "1500,5", "R$ 1.500,00" or "1,500.00". A
// text like 1.000, which can mean one or a thousand, is refused.
func ParseMoney(text string) (Money, error) {
	text = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "R$"))
	if thousands().MatchString(text) {
		return 0, errMoney
	}
	if grouped().MatchString(text) {
		separator := text[strings.IndexAny(text, ".,")]
		text = strings.ReplaceAll(text, string(separator), "")
	}
	return parseMoney(text)
}

func parseMoney(text string) (Money, error) {
	m := amount().FindStringSubmatch(text)
	if m == nil {
		return 0, errMoney
	}
	n, err := strconv.ParseInt(m[1]+(m[2] + strings.Repeat("0", moneyDecimals))[:moneyDecimals], 10, 64)
	if err != nil || Money(n) > MaxMoney {
		return 0, errMoney
	}
	return Money(n), nil
}

// Prices are the prices of a delivered message by billing class. The zero Prices means that no prices are set.
type Prices struct{ Basic, Single Money }

// Set reports whether there are prices.
func (p Prices) Set() bool { return p != Prices{} }

// Cost returns the price of the messages.
func (p Prices) Cost(n ClassCounts) Money { return Money(n.Basic)*p.Basic + Money(n.Single)*p.Single }

// ClassCounts are numbers of messages by billing class.
type ClassCounts struct {
	Basic  int `json:"basic"`
	Single int `json:"single"`
}

// Add adds the numbers of other messages.
func (n *ClassCounts) Add(more ClassCounts) {
	n.Basic, n.Single = n.Basic+more.Basic, n.Single+more.Single
}

// Less returns the numbers without some of the messages.
func (n ClassCounts) Less(some ClassCounts) ClassCounts {
	return ClassCounts{n.Basic - some.Basic, n.Single - some.Single}
}

// Classes are the billing classes of a batch's messages.
type Classes struct {
	Basic int // number of basic messages; the others are single
	// Bits has a set bit for each basic message, by index. It is nil if all messages have the same class.
	Bits []byte
}

// NewClasses returns the classes of messages.
func NewClasses(each iter.Seq[content.Class]) Classes {
	var c Classes
	messages := 0
	for class := range each {
		if messages%8 == 0 {
			c.Bits = append(c.Bits, 0)
		}
		if class == content.Basic {
			c.Basic++
			c.Bits[messages/8] |= 1 << (messages % 8)
		}
		messages++
	}
	if c.Basic == 0 || c.Basic == messages {
		c.Bits = nil
	}
	return c
}

// Mixed reports whether the messages have both classes.
func (c Classes) Mixed() bool { return len(c.Bits) > 0 }

func (c Classes) basic(index int) bool {
	if !c.Mixed() {
		return c.Basic > 0
	}
	return index/8 < len(c.Bits) && c.Bits[index/8]&(1<<(index%8)) != 0
}

// At returns the class of the message at an index.
func (c Classes) At(index int) ClassCounts {
	if c.basic(index) {
		return ClassCounts{Basic: 1}
	}
	return ClassCounts{Single: 1}
}

// ClassCounts returns the number of messages of each class.
func (b Batch) ClassCounts() ClassCounts {
	return ClassCounts{b.Classes.Basic, b.Accepted - b.Classes.Basic}
}

// Delivered returns how many messages of each class were delivered. outcome returns the outcome of a message.
func (b Batch) Delivered(outcome func(index int) Outcome) (n ClassCounts) {
	for i := range b.Accepted {
		switch o := outcome(i); {
		case o != OutcomeDelivered && o != OutcomeRead:
		case b.Classes.basic(i):
			n.Basic++
		default:
			n.Single++
		}
	}
	return n
}

// Billed returns how many messages of each class were delivered.
func (p BatchProgress) Billed() ClassCounts {
	delivered := p.Head.Counts[OutcomeDelivered] + p.Head.Counts[OutcomeRead]
	switch {
	case p.Classes.Mixed():
		return ClassCounts{p.DeliveredBasic, delivered - p.DeliveredBasic}
	case p.Classes.Basic > 0:
		return ClassCounts{Basic: delivered}
	}
	return ClassCounts{Single: delivered}
}
