package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"campaign-dispatch/localstack/stackenv"
)

// processes watches what the stack's functions use, by Linux's /proc.
type processes struct {
	endpoint string            // which tells the stack's processes from others
	names    map[string]string // of the functions, by what the stack calls them

	mu   sync.Mutex
	seen map[string]*usage // by process
}

// usage is what a process has used by when it was last seen.
type usage struct {
	function string // "" for a process that is none
	spent    time.Duration
	peak     int64 // bytes of memory
}

// watchProcesses looks at the processes several times a second until it is stopped.
func watchProcesses(ctx context.Context, env stackenv.Env) (p *processes, stop func()) {
	p = newProcesses(env)
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for ctx.Err() == nil {
			p.look()
			select {
			case <-ctx.Done():
			case <-time.After(300 * time.Millisecond):
			}
		}
	})
	return p, func() { cancel(); watching.Wait() }
}

func newProcesses(env stackenv.Env) *processes {
	p := &processes{endpoint: env["AWS_ENDPOINT_URL"], names: map[string]string{}, seen: map[string]*usage{}}
	for key, value := range env {
		if name, ok := strings.CutSuffix(key, "_FUNCTION"); ok {
			p.names[value] = strings.ToLower(name)
		}
	}
	return p
}

func (p *processes) look() {
	paths, _ := filepath.Glob("/proc/[0-9]*")
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, path := range paths {
		u, known := p.seen[path]
		if !known {
			u = &usage{function: p.functionOf(path)}
			p.seen[path] = u
		}
		if u.function != "" {
			u.read(path)
		}
	}
}

// functionOf returns which of the stack's functions a process runs, or "".
func (p *processes) functionOf(path string) string {
	environ, err := os.ReadFile(filepath.Join(path, "environ")) //nolint:gosec // of Linux
	if err != nil {
		return ""
	}
	name, ours := "", false
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		key, value, _ := strings.Cut(string(variable), "=")
		switch key {
		case "AWS_LAMBDA_FUNCTION_NAME":
			name = p.names[value]
		case "AWS_ENDPOINT_URL":
			ours = value == p.endpoint
		}
	}
	if !ours {
		return ""
	}
	return name
}

// tick is the unit of processor times in /proc.
const tick = 10 * time.Millisecond

// read leaves what was known of a process that is gone.
func (u *usage) read(path string) {
	stat, err := os.ReadFile(filepath.Join(path, "stat")) //nolint:gosec // of Linux
	if err != nil {
		return
	}
	// After the name in brackets come the fields from the third on.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return
	}
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	u.spent = max(u.spent, time.Duration(user+system)*tick)
	status, err := os.ReadFile(filepath.Join(path, "status")) //nolint:gosec // of Linux
	if err != nil {
		return
	}
	if _, after, found := strings.Cut(string(status), "VmHWM:"); found {
		kilobytes, _ := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
		u.peak = max(u.peak, kilobytes*1024)
	}
}

// spent is the processor time of a function's processes so far.
func (p *processes) spent(function string) (sum time.Duration) {
	p.look()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.seen {
		if u.function == function {
			sum += u.spent
		}
	}
	return sum
}

// peaks are the most that a process of each function has had of memory, in bytes.
func (p *processes) peaks() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	peaks := map[string]int64{}
	for _, u := range p.seen {
		if u.function != "" {
			peaks[u.function] = max(peaks[u.function], u.peak)
		}
	}
	return peaks
}

// endProcesses kills the processes of a function, which Lambda may do at any time:
// the next call starts another.
func endProcesses(env stackenv.Env, function string) error {
	p := newProcesses(env)
	p.look()
	for path, u := range p.seen {
		if u.function != function {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			return err
		}
		if err := syscall.Kill(id, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}
