// Package jsonscan reads JSON text strictly and without building a tree: the
// caller pulls the values it wants and skips the rest. A text that it reads to
// the end was one RFC 8259 value in valid UTF-8, without lone surrogates,
// without a name twice in any object, and at most MaxDepth containers deep, in
// the skipped parts too.
//
//	s := jsonscan.New(data)
//	err := s.EnterObject()
//	for err == nil {
//		name, ok, err := s.NextMember()
//		if err != nil || !ok {
//			break
//		}
//		// read the value with String, Raw, EnterObject or EnterArray
//	}
//	err = s.End()
package jsonscan

import "fmt"

// MaxDepth is the number of objects and arrays that may stand in one another.
const MaxDepth = 64

// The codes of Error.
const (
	Malformed     = "malformed_json" // not the grammar of RFC 8259
	DuplicateName = "duplicate_name" // a name stands twice in an object
	InvalidUTF8   = "invalid_utf8"   // invalid UTF-8, or half of a surrogate pair
	TooDeep       = "too_deep"       // more than MaxDepth containers
	InvalidType   = "invalid_type"   // valid, but not the kind that was asked for
)

// Error says why and where a text was refused. It never carries any of the
// text.
type Error struct {
	Offset int // in bytes
	Code   string
	Detail string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.Code, e.Offset, e.Detail)
}

// Kind is the kind of a JSON value.
type Kind byte

// The kinds. Invalid stands for what begins no value, the end of the text too.
const (
	Invalid Kind = iota
	Object
	Array
	String
	Number
	Bool
	Null
)

// Scanner reads one JSON text. After an error it is of no more use.
type Scanner struct {
	data   []byte
	pos    int
	frames []frame  // the open containers
	names  [][]byte // of the open objects, one after another
	spare  []byte   // unused memory for unescaped strings
}

// New returns a scanner of data, which must not be changed while results of the
// scanner are in use.
func New(data []byte) *Scanner {
	return &Scanner{data: data, frames: make([]frame, 0, 8), names: make([][]byte, 0, 32)}
}

// Peek returns the kind of the next value and consumes nothing. It looks at the
// first character alone: reading the value may still fail.
func (s *Scanner) Peek() Kind {
	switch c := s.next(); c {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	default:
		if c == '-' || isDigit(c) {
			return Number
		}
		return Invalid
	}
}

// EnterObject opens an object. NextMember goes through it.
func (s *Scanner) EnterObject() error { return s.enter('{') }

// EnterArray opens an array. NextElement goes through it.
func (s *Scanner) EnterArray() error { return s.enter('[') }

// NextMember goes to the next member of the object that was opened last and
// returns its name; the value must then be read. It returns false after closing
// the object.
func (s *Scanner) NextMember() (name []byte, ok bool, err error) {
	more, err := s.advance('}')
	if err != nil || !more {
		return nil, false, err
	}
	if s.next() != '"' {
		return nil, false, s.malformed("a member's name was expected")
	}
	at := s.pos
	if name, err = s.quoted(); err != nil {
		return nil, false, err
	}
	if !s.unique(name) {
		return nil, false, &Error{at, DuplicateName, "an object has the same name twice"}
	}
	if s.next() != ':' {
		return nil, false, s.malformed("a colon was expected")
	}
	s.pos++
	return name, true, nil
}

// NextElement goes to the next element of the array that was opened last; the
// value must then be read. It returns false after closing the array.
func (s *Scanner) NextElement() (ok bool, err error) { return s.advance(']') }

// String reads a string and returns it unescaped: a part of the scanned data
// where it has no escapes, else memory of its own.
func (s *Scanner) String() ([]byte, error) {
	if s.next() != '"' {
		return nil, s.unexpected("a string was expected")
	}
	return s.quoted()
}

// Raw reads any value, validates all of it and returns it as it is written.
func (s *Scanner) Raw() ([]byte, error) {
	s.next()
	start := s.pos
	if err := s.skip(); err != nil {
		return nil, err
	}
	return s.data[start:s.pos:s.pos], nil
}

// End reports anything but white space after what was read.
func (s *Scanner) End() error {
	if s.next(); s.pos < len(s.data) {
		return s.malformed("the text goes on after its value")
	}
	return nil
}

func (s *Scanner) skip() error {
	switch s.Peek() {
	case Object:
		return s.skipObject()
	case Array:
		return s.skipArray()
	case String:
		_, err := s.quoted()
		return err
	case Number:
		return s.number()
	case Bool, Null:
		return s.literal()
	case Invalid:
	}
	return s.malformed("a value was expected")
}

func (s *Scanner) skipObject() error {
	if err := s.EnterObject(); err != nil {
		return err
	}
	for {
		_, ok, err := s.NextMember()
		if err != nil || !ok {
			return err
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}

func (s *Scanner) skipArray() error {
	if err := s.EnterArray(); err != nil {
		return err
	}
	for {
		ok, err := s.NextElement()
		if err != nil || !ok {
			return err
		}
		if err := s.skip(); err != nil {
			return err
		}
	}
}

// next skips white space and returns the character after it, which it leaves
// there, or 0 at the end.
func (s *Scanner) next() byte {
	for ; s.pos < len(s.data); s.pos++ {
		switch c := s.data[s.pos]; c {
		case ' ', '\n', '\r', '\t':
		default:
			return c
		}
	}
	return 0
}

func (s *Scanner) malformed(detail string) error {
	return &Error{s.pos, Malformed, detail}
}

// unexpected reports a value of another kind than the caller asked for, or
// what is no value.
func (s *Scanner) unexpected(detail string) error {
	if s.Peek() == Invalid {
		return s.malformed("a value was expected")
	}
	return &Error{s.pos, InvalidType, detail}
}
