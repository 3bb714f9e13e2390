package sheet

import (
	"bytes"
	"errors"
	"io"
)

// lines divides a file into lines. Their ends are \n, \r\n, \r\r\n and \r, also mixed. It holds few bytes more than
// maxRecord.
type lines struct {
	r          io.Reader
	buf        []byte
	start, end int // of what is read and not used
	ended      bool
	// No \n is from searched to feed. There is one at feed, or was unread.
	searched, feed int
	feeds          bool // whether a line ended with \n
}

func newLines(r io.Reader) *lines { return &lines{r: r, buf: make([]byte, headSize)} }

// span is a line, by offsets of what is not used.
type span struct {
	from int
	to   int // end of its content
	next int // where the next one begins
}

var errLongLine = errors.New("a line is too long")

// ends are the ends of lines. One that begins with another is before it.
var ends = [][]byte{[]byte("\r\r\n"), []byte("\r\n"), []byte("\r"), []byte("\n")}

const longestEnd = 3

// at returns the line at an offset. The error is io.EOF if there is none, and errLongLine if the content up to its end
// has more than maxRecord bytes.
func (l *lines) at(offset int) (span, error) {
	for {
		found, known := l.find(offset)
		switch unused := l.end - l.start; {
		case known && found.to > maxRecord, !known && unused > maxRecord+longestEnd:
			return span{}, errLongLine
		case known:
			return found, nil
		case l.ended && unused > offset:
			return span{offset, unused, unused}, nil
		case l.ended:
			return span{}, io.EOF
		}
		if err := l.fill(); err != nil {
			return span{}, err
		}
	}
}

// find returns the line at an offset. It is unknown as long as its end is not read.
func (l *lines) find(offset int) (found span, known bool) {
	from := l.start + offset
	if from < l.searched || from > l.feed {
		l.searched, l.feed = from, from
	}
	if l.feed < l.end && l.buf[l.feed] != '\n' {
		if at := bytes.IndexByte(l.buf[l.feed:l.end], '\n'); at >= 0 {
			l.feed += at
		} else {
			l.feed = l.end
		}
	}
	to := l.feed
	if at := bytes.IndexByte(l.buf[from:to], '\r'); at >= 0 {
		to = from + at
	}
	size, known := l.endAt(to)
	return span{offset, to - l.start, to + size - l.start}, known
}

// endAt returns the size of the line end at a position. It is unknown as long as too little is read.
func (l *lines) endAt(at int) (size int, known bool) {
	ahead := l.buf[at:min(at+longestEnd, l.end)]
	for _, end := range ends {
		if bytes.HasPrefix(ahead, end) {
			return len(end), true
		}
		if !l.ended && bytes.HasPrefix(end, ahead) {
			return 0, false
		}
	}
	return 0, false
}

// fill reads more.
func (l *lines) fill() error {
	if l.start > 0 {
		copy(l.buf, l.buf[l.start:l.end])
		l.searched, l.feed = max(0, l.searched-l.start), max(0, l.feed-l.start)
		l.start, l.end = 0, l.end-l.start
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, len(l.buf))...)
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	if errors.Is(err, io.EOF) {
		l.ended, err = true, nil
	}
	return err
}

// text returns what is not used, up to an offset. It is valid until the next call of at.
func (l *lines) text(to int) []byte { return l.buf[l.start : l.start+to] }

// use takes what is not used up to an offset.
func (l *lines) use(to int) {
	l.start += to
	l.feeds = l.feeds || to > 0 && l.buf[l.start-1] == '\n'
}

// skip takes a line that is too long.
func (l *lines) skip() error {
	for {
		found, known := l.find(0)
		switch {
		case known:
			l.use(found.next)
			return nil
		case l.ended:
			l.use(l.end - l.start)
			return nil
		}
		l.start = max(l.start, l.end-longestEnd) // which may begin its end
		if err := l.fill(); err != nil {
			return err
		}
	}
}
