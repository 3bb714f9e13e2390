package ephemeralstack_test

import (
	"strconv"
	"testing"

	"campaign-dispatch/localstack/lab/ephemeralstack"
)

// A connection of any program may take a port from 32768 on, between the choice of the port
// and its use.
func TestPorts_NotThoseOfConnections(t *testing.T) {
	t.Parallel()
	ports, err := ephemeralstack.Ports(t.Context(), 20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range ports {
		n, err := strconv.Atoi(p)
		if err != nil || n >= 32768 || n < 1024 || seen[p] {
			t.Errorf("port %q", p)
		}
		seen[p] = true
	}
}
