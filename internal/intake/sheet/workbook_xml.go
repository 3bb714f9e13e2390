package sheet

import (
	"archive/zip"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode"

	"campaign-dispatch/internal/campaign/pattern"
	"campaign-dispatch/internal/intake/sheet/numberformat"
	"campaign-dispatch/internal/intake/submission"
)

type storage struct {
	ctx  context.Context //nolint:containedctx // io.ReaderAt has no context
	file io.ReaderAt
	left int64 // bytes that may be read
	err  error // of the storage, not of the file's content
}

func (s *storage) ReadAt(p []byte, offset int64) (int, error) {
	if offset < 0 { // a damaged list of parts
		return 0, broken("workbook_damaged")
	}
	if s.left -= int64(len(p)); s.left < 0 {
		return 0, broken("workbook_large")
	}
	n, err := s.file.ReadAt(p, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// fault returns the error of an invalid workbook. Errors of the storage and of the context
// remain.
func (s *storage) fault(err error) error {
	if err == nil {
		return nil
	}
	if _, known := errors.AsType[*submission.Fault](err); known {
		return err
	}
	if err := s.failure(); err != nil {
		return err
	}
	return broken("workbook_damaged")
}

// failure returns the error of the storage or of the context, nil if what failed is the content.
func (s *storage) failure() error { return cmp.Or(s.err, s.ctx.Err()) }

// tokens returns the XML tokens of a part of the workbook with at most size bytes.
func (s *storage) tokens(part io.Reader, size int64) *tokens {
	limit := &bounded{ctx: s.ctx, r: part, left: size, token: size}
	return &tokens{xml.NewDecoder(limit), limit}
}

// bounded refuses to read more than left bytes, or more than token bytes for one token. It
// ends with the context.
type bounded struct {
	ctx         context.Context //nolint:containedctx // io.Reader has no context
	r           io.Reader
	left, token int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	b.left, b.token = b.left-int64(n), b.token-int64(n)
	if b.left < 0 || b.token < 0 {
		return 0, broken("workbook_large")
	}
	return n, err
}

// tokens reads XML. Otherwise a single text could fill the memory.
type tokens struct {
	decoder *xml.Decoder
	limit   *bounded
}

func (t *tokens) next() (xml.Token, error) {
	t.limit.token = maxRecord
	return t.decoder.RawToken()
}

// until passes the tokens up to the end of an element to a function.
func (t *tokens) until(end string, see func(token xml.Token) error) error {
	for {
		token, err := t.next()
		if err != nil {
			return eofIsDamage(err)
		}
		if err := see(token); err != nil {
			return err
		}
		if e, ok := token.(xml.EndElement); ok && e.Name.Local == end {
			return nil
		}
	}
}

// text returns the texts of the elements t up to the end of an element. Phonetic hints are
// left out.
func (t *tokens) text(end string) (string, error) {
	var text strings.Builder
	inText, hints := false, 0
	err := t.until(end, func(token xml.Token) error {
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "t"
			if e.Name.Local == "rPh" {
				hints++
			}
		case xml.CharData:
			if inText && hints == 0 {
				text.Write(e)
			}
		case xml.EndElement:
			inText = false
			if e.Name.Local == "rPh" {
				hints--
			}
		}
		return tooLong(&text)
	})
	return unescape(text.String()), err
}

// tooLong refuses a text that would fill the memory.
func tooLong(text *strings.Builder) error {
	if text.Len() > maxRecord {
		return broken("workbook_large")
	}
	return nil
}

// escape matches a character that XML cannot hold, as workbooks write it: _x000D_ for a
// carriage return.
var escape = pattern.AtFirstUse(`_x([0-9A-Fa-f]{4})_`)

func unescape(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escape().ReplaceAllStringFunc(text, func(match string) string {
		code, _ := strconv.ParseUint(match[len("_x"):len(match)-1], 16, 16)
		if unicode.IsControl(rune(code)) && !unicode.IsSpace(rune(code)) {
			return ""
		}
		return string(rune(code))
	})
}

func eofIsDamage(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// Texts yields the texts and the numbers in all parts of a workbook, also those of its other
// sheets. The error is a *submission.Fault for an invalid workbook.
func Texts(ctx context.Context, file io.ReaderAt, size int64) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		content, archive, err := openArchive(ctx, file, size)
		if err != nil {
			yield("", err)
			return
		}
		for _, part := range archive.File {
			if !strings.HasSuffix(part.Name, ".xml") {
				continue
			}
			if err := content.texts(part, yield); err != nil {
				if !errors.Is(err, errStopped) {
					yield("", content.fault(err))
				}
				return
			}
		}
	}
}

var errStopped = errors.New("the reader stopped")

func (s *storage) texts(part *zip.File, yield func(string, error) bool) error {
	content, err := part.Open()
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // read only
	all := s.tokens(content, maxSheet)
	for {
		token, err := all.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if text, ok := token.(xml.CharData); ok && !yield(numberformat.Plain(string(text)), nil) {
			return errStopped
		}
	}
}
