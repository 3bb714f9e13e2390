// Package progress prints the steps of a command: a line for each finished step, and
// on a terminal one live line with the bars of the running steps. Without a terminal
// it prints the running steps every two seconds instead.
package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// quiet is the minimum time between two lines about running steps if the output is not a terminal.
const quiet = 2 * time.Second

// Log writes the steps of a command. Its methods are safe for concurrent use.
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

// Line writes a line.
func (l *Log) Line(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(fmt.Sprintf(format, args...))
}

// Clear removes the running steps from the live line.
func (l *Log) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = nil
	if l.live {
		_, _ = fmt.Fprint(l.out, "\r\033[K")
	}
}

// Step starts a step. Done or Clear ends it.
func (l *Log) Step(name string) *Step {
	s := &Step{log: l, name: name, begun: l.now()}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, s)
	l.draw()
	return s
}

// Step is a step of a command.
type Step struct {
	log         *Log
	name, note  string
	done, total int
	begun       time.Time
}

// Note sets the step's note in the live line.
func (s *Step) Note(format string, args ...any) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.note = fmt.Sprintf(format, args...)
	s.log.draw()
}

// Bar sets the step's bar and note in the live line.
func (s *Step) Bar(done, total int, note string) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.done, s.total, s.note = min(done, total), total, note
	s.log.draw()
}

// Done ends the step and prints a line with its result and duration.
func (s *Step) Done(format string, args ...any) {
	s.log.mu.Lock()
	defer s.log.mu.Unlock()
	s.log.steps = slices.DeleteFunc(s.log.steps, func(other *Step) bool { return other == s })
	s.log.write(fmt.Sprintf("✓ %-10s %s (%.1f s)", s.name, fmt.Sprintf(format, args...), s.log.now().Sub(s.begun).Seconds()))
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

// write prints a line above the live line.
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
