package runner

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPortsAreChecked(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		ports Ports
		says  string // "" for no error
	}{
		"good":    {Ports{1, 2, 3, 65535}, ""},
		"zero":    {Ports{0, 2, 3, 4}, "no port 0 for the service: choose one from 1 to 65535 with PORT="},
		"too big": {Ports{1, 99999, 3, 4}, "AWS_PORT="},
		"less":    {Ports{1, 2, -5, 4}, "RCS_PORT="},
		"equal":   {Ports{1, 2, 3, 1}, "the service and the webhook sink cannot both have port 1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := test.ports.Check()
			if (err != nil) != (test.says != "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}

func TestATakenPortIsNamed(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	taken, _ := listener.Addr().(*net.TCPAddr)
	if err := (Ports{Base: taken.Port}).free(); err == nil || !strings.Contains(err.Error(), "for the service is taken") {
		t.Errorf("got %v", err)
	}
}

func TestAStackIsWholeOnceItIsDeployedAndSeeded(t *testing.T) {
	t.Parallel()
	s := Stack{Dir: t.TempDir()}
	held, err := lock(s.state(daemonLock)) // as its living background process
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = held.Close() })
	if err := writePID(held, os.Getpid()); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{s.state(portsFile), s.state(deployedFile), s.EnvFile()} {
		if s.whole() {
			t.Errorf("whole without %s", filepath.Base(path))
		}
		if err := writeFile(path, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if !s.whole() {
		t.Error("not whole, with all its files")
	}
}
