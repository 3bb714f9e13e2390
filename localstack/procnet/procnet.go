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
	inode, err := f.socket(remote)
	if err != nil {
		return Process{}, err
	}
	if own := os.Getpid(); holds(own, inode) {
		return Process{ID: own}, nil
	}
	for _, processes := range []func() map[int]string{f.last, f.All} {
		for pid := range processes() {
			if !holds(pid, inode) {
				continue
			}
			if function := f.functionOf(pid); function != "" { // the id may have been reused
				return Process{pid, function}, nil
			}
		}
	}
	return Process{}, fmt.Errorf("%s: %w", remote, errNoProcess)
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

// socket returns the inode of the socket from an address to the endpoint. Connections to
// other addresses may have the same port.
func (f *Finder) socket(local string) (string, error) {
	from, err := tableAddress(local)
	if err != nil {
		return "", err
	}
	to, err := tableAddress(strings.TrimPrefix(f.Endpoint, "http://"))
	if err != nil {
		return "", err
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return "", fmt.Errorf("find callers in /proc (Linux is needed): %w", err)
	}
	for line := range strings.Lines(string(table)) {
		if !strings.Contains(line, from) { // almost all: to split them takes long
			continue
		}
		const localAddress, remoteAddress, inode = 1, 2, 9
		fields := strings.Fields(line)
		if len(fields) > inode && strings.HasSuffix(fields[localAddress], from) && strings.HasSuffix(fields[remoteAddress], to) {
			return fields[inode], nil
		}
	}
	return "", fmt.Errorf("%s: %w", local, errNoProcess)
}

// tableAddress is the end of an address in the kernel's table: its port.
func tableAddress(address string) (string, error) {
	found, err := netip.ParseAddrPort(address)
	return fmt.Sprintf(":%04X", found.Port()), err
}

// holds reports whether the process has the socket.
func holds(pid int, inode string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}

var signedBy = regexp.MustCompile(`Credential=([^/]+)/`)

// Key returns the access key that signs a request, "" for none. Each function has the key of its own role.
func Key(r *http.Request) string {
	if m := signedBy.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		return m[1]
	}
	return ""
}
