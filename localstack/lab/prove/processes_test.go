package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"campaign-dispatch/localstack/procnet"
	"campaign-dispatch/localstack/stackenv"
)

// processes watches the resource use of the stack's functions in /proc of Linux.
type processes struct {
	finder procnet.Finder

	mu   sync.Mutex
	seen map[procnet.Process]*usage
}

// usage is what a process had used when it was last seen.
type usage struct {
	spent time.Duration
	peak  int64 // bytes of memory
}

// watchProcesses reads the processes several times a second until it is stopped.
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
	return &processes{
		finder: procnet.Finder{Stack: env["STACK_NAME"], Endpoint: env["AWS_ENDPOINT_URL"]}, seen: map[procnet.Process]*usage{},
	}
}

func (p *processes) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, name := range p.finder.All() {
		process := procnet.Process{ID: id, Function: name}
		if p.seen[process] == nil {
			p.seen[process] = &usage{}
		}
		p.seen[process].read(fmt.Sprintf("/proc/%d", id))
	}
}

// tick is the unit of processor times in /proc.
const tick = 10 * time.Millisecond

// read changes nothing if the process is gone.
func (u *usage) read(path string) {
	stat, err := os.ReadFile(filepath.Join(path, "stat"))
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
	status, err := os.ReadFile(filepath.Join(path, "status"))
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
	for process, u := range p.seen {
		if process.Function == function {
			sum += u.spent
		}
	}
	return sum
}

// peaks are the peak memory of a process of each function, in bytes.
func (p *processes) peaks() map[string]int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	peaks := map[string]int64{}
	for process, u := range p.seen {
		peaks[process.Function] = max(peaks[process.Function], u.peak)
	}
	return peaks
}

// endProcesses kills the processes of a function, as Lambda may at any time. The next call
// starts another.
func endProcesses(env stackenv.Env, function string) error {
	p := newProcesses(env)
	for id, name := range p.finder.All() {
		if name != function {
			continue
		}
		if err := syscall.Kill(id, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}
