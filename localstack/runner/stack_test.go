package runner

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPorts_Check(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ports Ports
		want  string // part of the error, "" for none
	}{
		"valid":     {Ports{1, 2, 3, 65535}, ""},
		"zero":      {Ports{0, 2, 3, 4}, "port 0 for the service is out of range: set PORT to a port from 1 to 65535"},
		"too large": {Ports{1, 99999, 3, 4}, "set AWS_PORT "},
		"negative":  {Ports{1, 2, -5, 4}, "set RCS_PORT "},
		"equal":     {Ports{1, 2, 3, 1}, "the service and the webhook sink have the same port 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.ports.Check()
			if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestPorts_FreePortInUse(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	taken, _ := listener.Addr().(*net.TCPAddr)
	if err := (Ports{Base: taken.Port}).free(); err == nil || !strings.Contains(err.Error(), "for the service is in use") {
		t.Errorf("got %v, want an error that names the port's use", err)
	}
}

func TestStack_Complete(t *testing.T) {
	t.Parallel()
	s := Stack{Dir: t.TempDir()}
	held, err := lock(s.state(daemonLock)) // as the background process does
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	if err := writePID(held, os.Getpid()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{s.state(portsFile), s.state(deployedFile), s.EnvFile()} {
		if s.deployedAndSeeded() {
			t.Errorf("complete without %s", filepath.Base(path))
		}
		if err := writeFile(path, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if !s.deployedAndSeeded() {
		t.Error("not complete with all files")
	}
}
