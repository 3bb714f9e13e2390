// Package procnet finds the function of a local stack at the other end of a connection, in /proc of Linux.
package procnet

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Process is a function's process, or this one.
type Process struct {
	ID       int
	Function string // its short name, "" for this process
}

var errNoProcess = errors.New("no process of a function has that connection")

// Finder finds the processes of the functions of one stack.
type Finder struct {
	Stack    string // prefix of their names
	Endpoint string // their address of AWS, which identifies them

	mu    sync.Mutex
	known map[int]string // functions by process

	reading sync.Mutex // held during a read of the callers
	begun   time.Time  // when the last read began
	callers map[string]Process
}

// Behind returns the process of the connection from an address. The kernel's tables may be
// incomplete while they change, so a missing connection is looked up again.
func (f *Finder) Behind(remote string) (found Process, err error) {
	const looks, pause = 20, 5 * time.Millisecond
	for range looks {
		if found, err = f.look(remote); err == nil {
			return found, nil
		}
		time.Sleep(pause)
	}
	return Process{}, err
}

func (f *Finder) look(remote string) (Process, error) {
	from, err := tableAddress(remote)
	if err != nil {
		return Process{}, err
	}
	callers, err := f.callersNow()
	if err != nil {
		return Process{}, err
	}
	found, known := callers[from]
	if !known {
		return Process{}, fmt.Errorf("%s: %w", remote, errNoProcess)
	}
	return found, nil
}

// callersNow returns the processes with connections to the endpoint, by their own port. Lookups that come together
// share a read: the kernel's table takes milliseconds, however short it is.
func (f *Finder) callersNow() (map[string]Process, error) {
	arrived := time.Now()
	f.reading.Lock()
	defer f.reading.Unlock()
	if f.begun.After(arrived) {
		return f.callers, nil
	}
	f.begun = time.Now()
	var err error
	f.callers, err = f.readCallers()
	return f.callers, err
}

func (f *Finder) readCallers() (map[string]Process, error) {
	ports, err := f.sockets()
	if err != nil {
		return nil, err
	}
	callers := map[string]Process{}
	addCallers(callers, ports, Process{ID: os.Getpid()})
	for _, processes := range []func() map[int]string{f.last, f.All} { // most have no new process
		for pid := range processes() {
			if len(ports) == 0 {
				return callers, nil
			}
			if function := f.functionOf(pid); function != "" { // the id may have been reused
				addCallers(callers, ports, Process{pid, function})
			}
		}
	}
	return callers, nil
}

// addCallers moves the sockets of a process from the ports by inode to the callers by port.
func addCallers(callers map[string]Process, ports map[string]string, process Process) {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", process.ID))
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil {
			continue
		}
		if port, ok := ports[target]; ok {
			callers[port] = process
			delete(ports, target)
		}
	}
}

// last returns the functions of the processes that All has found last, without a look at every process of the machine.
func (f *Finder) last() map[int]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.known)
}

// All returns the functions of the running processes.
func (f *Finder) All() map[int]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	paths, _ := filepath.Glob("/proc/[0-9]*")
	running := make(map[int]string, len(paths))
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		function := f.known[pid]
		if function == "" {
			function = f.functionOf(pid)
		}
		if function != "" {
			running[pid] = function
		}
	}
	f.known = running
	return maps.Clone(running)
}

// functionOf returns the function of a process, "" for none: its name in the template, in
// lower case and without "function".
func (f *Finder) functionOf(pid int) (function string) {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	matches := false
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		name, value, _ := strings.Cut(string(variable), "=")
		switch name {
		case "AWS_LAMBDA_FUNCTION_NAME":
			function = value
		case "AWS_ENDPOINT_URL":
			matches = value == f.Endpoint
		}
	}
	if !matches {
		return "" // may become one by exec
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(function, f.Stack+"-"), "-")
	return strings.ToLower(strings.TrimSuffix(name, "Function"))
}

// sockets returns the ports of the sockets that are connected to the endpoint, by the link of their descriptors.
func (f *Finder) sockets() (map[string]string, error) {
	to, err := tableAddress(strings.TrimPrefix(f.Endpoint, "http://"))
	if err != nil {
		return nil, err
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return nil, fmt.Errorf("find callers in /proc (Linux is needed): %w", err)
	}
	ports := map[string]string{}
	for line := range strings.Lines(string(table)) {
		if !strings.Contains(line, to) { // to split all of them takes long
			continue
		}
		const localAddress, remoteAddress, inode = 1, 2, 9
		fields := strings.Fields(line)
		if len(fields) > inode && strings.HasSuffix(fields[remoteAddress], to) && fields[inode] != "0" { // 0: closed
			ports["socket:["+fields[inode]+"]"] = portOf(fields[localAddress])
		}
	}
	return ports, nil
}

// portOf returns the end of an address of the table that tableAddress returns too.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':'):] }

// tableAddress is the end of an address in the kernel's table: its port.
func tableAddress(address string) (string, error) {
	found, err := netip.ParseAddrPort(address)
	return fmt.Sprintf(":%04X", found.Port()), err
}

var signedBy = regexp.MustCompile(`Credential=([^/]+)/`)

// Key returns the access key that signs a request, "" for none. Each function has the key of its own role.
func Key(r *http.Request) string {
	if m := signedBy.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		return m[1]
	}
	return ""
}
