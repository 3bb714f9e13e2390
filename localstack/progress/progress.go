// Package progress tells a person at a terminal, or a log, what is being done:
// a line for each finished step, and while steps run one live line with their
// bars. Where the output is no terminal the live line becomes a line now and
// then.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// quiet is how long a log that is no terminal waits between two lines about
// the steps that are still running.
const quiet = 2 * time.Second

// Log writes the steps of a command. Its methods may be called side by side.
type Log struct {
	out   io.Writer
	live  bool // the output is a terminal
	now   func() time.Time
	mu    sync.Mutex
	steps []*Step
	drawn time.Time
}

// New returns a log that writes to f.
func New(f *os.File, now func() time.Time) *Log {
	info, err := f.Stat()
	live := err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb"
	return &Log{out: f, live: live, now: now, drawn: now()}
}

// Line writes a line of its own.
func (l *Log) Line(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(fmt.Sprintf(format, args...))
}

// Clear forgets the steps that still run: whoever failed says why.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = nil
	if l.live {
		_, _ = fmt.Fprint(l.out, "\r\033[K")
	}
}

// Step begins a step. It ends with Done, or with the log's Clear.
func (l *Log) Step(name string) *Step {
	s := &Step{log: l, name: name, begun: l.now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, s)
	l.draw()
	return s
}

// Step is something that takes a while.
type Step struct {
	log         *Log
	name, note  string
	done, total int
	begun       time.Time
}

// Note says what the step is doing just now.
func (s *Step) Note(format string, args ...any) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.note = fmt.Sprintf(format, args...)
	s.log.draw()
}

// Bar says how much of the step is done, and a few words about it.
func (s *Step) Bar(done, total int, note string) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.done, s.total, s.note = min(done, total), total, note
	s.log.draw()
}

// Done ends the step with a line that says what came of it.
func (s *Step) Done(format string, args ...any) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.remove()
	s.log.write(fmt.Sprintf("✓ %-10s %s (%.1f s)", s.name, fmt.Sprintf(format, args...), s.log.now().Sub(s.begun).Seconds()))
}

func (s *Step) remove() {
	for i, other := range s.log.steps {
		if other == s {
			s.log.steps = append(s.log.steps[:i], s.log.steps[i+1:]...)
			return
		}
	}
}

func (s *Step) String() string {
	if s.total == 0 {
		return strings.TrimRight(s.name+" "+s.note, " ")
	}
	return fmt.Sprintf("%s %s %d/%d %s", s.name, bar(s.done, s.total), s.done, s.total, s.note)
}

func bar(done, total int) string {
	const width = 20
	full := width * done / total
	return "[" + strings.Repeat("█", full) + strings.Repeat("░", width-full) + "]"
}

// write puts a line above the live one.
func (l *Log) write(line string) {
	if l.live {
		_, _ = fmt.Fprint(l.out, "\r\033[K")
	}
	_, _ = fmt.Fprintln(l.out, line)
	if l.live {
		l.drawLive()
	}
}

func (l *Log) draw() {
	if l.live {
		l.drawLive()
		return
	}
	if len(l.steps) > 0 && l.now().Sub(l.drawn) >= quiet {
		l.drawn = l.now()
		_, _ = fmt.Fprintln(l.out, "… "+l.text())
	}
}

func (l *Log) drawLive() {
	const width = 78
	line := []rune(l.text())
	if len(line) > width {
		line = append(line[:width-1], '…')
	}
	_, _ = fmt.Fprintf(l.out, "\r\033[K%s", string(line))
}

func (l *Log) text() string {
	parts := make([]string, len(l.steps))
	for i, s := range l.steps {
		parts[i] = strings.TrimSpace(s.String())
	}
	return strings.Join(parts, " · ")
}
