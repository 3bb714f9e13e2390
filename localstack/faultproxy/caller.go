package faultproxy

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// process is a function's process at the other end of a connection. It is found in
// /proc, which makes this a matter of Linux.
type process struct {
	pid      int
	function string
}

var errNobody = errors.New("no process of a function has that connection")

// processes finds the processes of one stack's functions.
type processes struct {
	endpoint string // that they have for AWS, by which they are known

	mu    sync.Mutex
	known map[int]string // functions by process
}

// behind returns the process that has the connection from that address. The
// kernel's tables may leave something out while they change: they are read again.
func (ps *processes) behind(remote string) (found process, err error) {
	const looks, pause = 20, 5 * time.Millisecond
	for range looks {
		if found, err = ps.look(remote); err == nil {
			return found, nil
		}
		time.Sleep(pause)
	}
	return process{}, err
}

func (ps *processes) look(remote string) (process, error) {
	inode, err := socket(remote)
	if err != nil {
		return process{}, err
	}
	for pid, function := range ps.all() {
		if holds(pid, inode) {
			return process{pid, function}, nil
		}
	}
	return process{}, fmt.Errorf("%s: %w", remote, errNobody)
}

// all returns the functions' processes that live.
func (ps *processes) all() map[int]string {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	paths, _ := filepath.Glob("/proc/[0-9]*")
	living := make(map[int]string, len(paths))
	for _, path := range paths {
		pid, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		function, ok := ps.known[pid]
		if !ok {
			function, ok = ps.functionOf(pid)
		}
		if ok {
			living[pid] = function
		}
	}
	ps.known = living
	found := make(map[int]string, len(living))
	for pid, function := range living {
		if function != "" {
			found[pid] = function
		}
	}
	return found
}

// functionOf returns which function of the stack a process is, "" for none.
func (ps *processes) functionOf(pid int) (function string, ok bool) {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(environ) == 0 {
		return "", false
	}
	ours := false
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		name, value, _ := strings.Cut(string(variable), "=")
		switch name {
		case "AWS_LAMBDA_FUNCTION_NAME":
			function = value
		case "AWS_ENDPOINT_URL":
			ours = value == ps.endpoint
		}
	}
	if !ours {
		function = ""
	}
	return function, function != "" // others may still become one
}

// socket returns the inode of the socket with that local address.
func socket(local string) (string, error) {
	_, port, err := net.SplitHostPort(local)
	if err != nil {
		return "", err
	}
	n, err := strconv.Atoi(port)
	if err != nil {
		return "", err
	}
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return "", fmt.Errorf("faults need Linux: %w", err)
	}
	address := fmt.Sprintf(":%04X", n)
	for line := range strings.Lines(string(table)) {
		const localAddress, inode = 1, 9
		fields := strings.Fields(line)
		if len(fields) > inode && strings.HasSuffix(fields[localAddress], address) {
			return fields[inode], nil
		}
	}
	return "", fmt.Errorf("%s: %w", local, errNobody)
}

// holds tells whether the process has the socket.
func holds(pid int, inode string) bool {
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && target == "socket:["+inode+"]" {
			return true
		}
	}
	return false
}
