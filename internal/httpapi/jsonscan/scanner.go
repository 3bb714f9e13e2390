// Package jsonscan reads JSON text strictly, without building a tree: the caller reads
// the values that it needs and skips the rest. A text read to its end is one RFC 8259
// value in valid UTF-8, without lone surrogates, without repeated names in an object,
// and at most MaxDepth containers deep. Skipped parts are validated too.
//
//	s := jsonscan.New(data)
//	err := s.Members(func(name []byte) error {
//		// read the value with String, Raw, Members or Elements
//	})
//	if err == nil {
//		err = s.End()
//	}
package jsonscan

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxDepth is the maximum nesting depth of objects and arrays.
const MaxDepth = 64

// The codes of Error.
const (
	Malformed     = "malformed_json" // not the grammar of RFC 8259
	DuplicateName = "duplicate_name" // repeated name in an object
	InvalidUTF8   = "invalid_utf8"   // invalid UTF-8, or half of a surrogate pair
	TooDeep       = "too_deep"       // more than MaxDepth containers
	InvalidType   = "invalid_type"   // valid, but not of the requested kind
)

// Error is a syntax error with its position. It contains none of the text.
type Error struct {
	Offset int // in bytes
	Code   string
	Detail string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.Code, e.Offset, e.Detail)
}

// NotJSON reports whether the error is that of a text which is not JSON at all. data is the text.
func (e *Error) NotJSON(data []byte) bool { return e.Code == Malformed || !utf8.Valid(data) }

// Check returns the error of a text that is not one JSON value, or nil.
func Check(data []byte) *Error {
	s := New(data)
	_, err := s.Raw()
	if err == nil {
		err = s.End()
	}
	malformed, _ := errors.AsType[*Error](err)
	return malformed
}

// Pointer returns the JSON pointer (RFC 6901) of the reference tokens. Without tokens
// it is "", the whole document.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(t, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// Kind is the kind of a JSON value.
type Kind byte

// The kinds. Invalid is anything that does not start a value, and the end of the text.
const (
	Invalid Kind = iota
	Object
	Array
	String
	Number
	Bool
	Null
)

// Scanner reads one JSON text. It must not be used after an error.
type Scanner struct {
	data   []byte
	pos    int
	frames []frame  // open containers
	names  [][]byte // names of the open objects, concatenated
	spare  []byte   // free buffer for unescaped strings

	replaced bool // the last string contains U+FFFD as written
}

// New returns a scanner of data. data must not be changed while results of the scanner
// are in use.
func New(data []byte) *Scanner {
	return &Scanner{data: data, frames: make([]frame, 0, 8), names: make([][]byte, 0, 32)}
}

// Peek returns the kind of the next value without consuming it. It examines the first
// character only, so reading the value may still fail.
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

// Members reads an object. read is called with the name of each member, and must read its value.
func (s *Scanner) Members(read func(name []byte) error) error {
	if err := s.enter('{'); err != nil {
		return err
	}
	for {
		name, ok, err := s.nextMember()
		if err != nil || !ok {
			return err
		}
		if err := read(name); err != nil {
			return err
		}
	}
}

// Elements reads an array. read must read one element.
func (s *Scanner) Elements(read func() error) error {
	if err := s.enter('['); err != nil {
		return err
	}
	for {
		ok, err := s.advance(']')
		if err != nil || !ok {
			return err
		}
		if err := read(); err != nil {
			return err
		}
	}
}

func (s *Scanner) nextMember() (name []byte, ok bool, err error) {
	more, err := s.advance('}')
	if err != nil || !more {
		return nil, false, err
	}
	if s.next() != '"' {
		return nil, false, s.malformed("expected a member name")
	}
	at := s.pos
	if name, err = s.quoted(); err != nil {
		return nil, false, err
	}
	if !s.unique(name) {
		return nil, false, &Error{at, DuplicateName, "an object has the same name twice"}
	}
	if s.next() != ':' {
		return nil, false, s.malformed("expected a colon")
	}
	s.pos++
	return name, true, nil
}

// String reads a string and unescapes it. The result is part of the scanned data unless
// the string has escapes.
func (s *Scanner) String() ([]byte, error) {
	if s.next() != '"' {
		return nil, s.unexpected("a string was expected")
	}
	return s.quoted()
}

// Replaced reports whether the string that was read last contains the character U+FFFD itself: a program that does not
// know the encoding of a text writes it in place of a letter. The escape \ufffd is no such sign.
func (s *Scanner) Replaced() bool { return s.replaced }

// Raw reads and validates a value of any kind, and returns it as written.
func (s *Scanner) Raw() ([]byte, error) {
	s.next()
	start := s.pos
	if err := s.skip(); err != nil {
		return nil, err
	}
	return s.data[start:s.pos:s.pos], nil
}

// End returns an error if anything but white space follows.
func (s *Scanner) End() error {
	if s.next(); s.pos < len(s.data) {
		return s.malformed("unexpected text after the value")
	}
	return nil
}

func (s *Scanner) skip() error {
	switch s.Peek() {
	case Object:
		return s.Members(func([]byte) error { return s.skip() })
	case Array:
		return s.Elements(s.skip)
	case String:
		_, err := s.quoted()
		return err
	case Number:
		return s.number()
	case Bool, Null:
		return s.literal()
	case Invalid:
	}
	return s.malformed("expected a value")
}

// next skips white space and returns the next character without consuming it, or 0 at
// the end.
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

// unexpected returns an error for a value of another kind, or for malformed text.
func (s *Scanner) unexpected(detail string) error {
	if s.Peek() == Invalid {
		return s.malformed("expected a value")
	}
	return &Error{s.pos, InvalidType, detail}
}
