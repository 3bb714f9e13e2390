package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"campaign-dispatch/internal/base/netguard"
)

func TestGuard_Addresses(t *testing.T) {
	t.Parallel()
	for address, public := range map[string]bool{
		"93.184.216.34": true, "8.8.8.8": true, "2606:2800:220:1::1": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "10.0.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": false,
		"::1": false, "::": false, "::ffff:10.0.0.1": false, "::ffff:169.254.169.254": false, "::127.0.0.1": false,
		"fe80::1": false, "fd00:ec2::254": false, "64:ff9b::a9fe:a9fe": false, "2002:7f00:1::": false, "fe80::1%eth0": false,
	} {
		ip := netip.MustParseAddr(address)
		if got := netguard.PublicIP(ip); got != public {
			t.Errorf("PublicIP(%s) = %v", address, got)
		}
		err := netguard.Guard{}.Control("tcp", netip.AddrPortFrom(ip, 443).String(), nil)
		if got := !errors.Is(err, netguard.ErrRefused); got != public {
			t.Errorf("dialling %s: %v", address, err)
		}
		local := netguard.Guard{Local: true}.Control("tcp", netip.AddrPortFrom(ip, 443).String(), nil)
		if got := local == nil; got != (public || ip.Unmap().IsLoopback()) {
			t.Errorf("dialling %s in a local stack: %v", address, local)
		}
	}
}

// edges are the refused blocks by their first and last address. The neighbours of a block
// pass if they are public.
var edges = []struct {
	first, last   string
	before, after bool // whether the neighbour passes
}{
	{"0.0.0.0", "0.255.255.255", false, true},
	{"10.0.0.0", "10.255.255.255", true, true},
	{"100.64.0.0", "100.127.255.255", true, true},
	{"127.0.0.0", "127.255.255.255", true, true},
	{"169.254.0.0", "169.254.255.255", true, true},
	{"172.16.0.0", "172.31.255.255", true, true},
	{"192.0.0.0", "192.0.0.255", true, true},
	{"192.0.2.0", "192.0.2.255", true, true},
	{"192.31.196.0", "192.31.196.255", true, true},
	{"192.52.193.0", "192.52.193.255", true, true},
	{"192.88.99.0", "192.88.99.255", true, true},
	{"192.168.0.0", "192.168.255.255", true, true},
	{"192.175.48.0", "192.175.48.255", true, true},
	{"198.18.0.0", "198.19.255.255", true, true},
	{"198.51.100.0", "198.51.100.255", true, true},
	{"203.0.113.0", "203.0.113.255", true, true},
	{"224.0.0.0", "255.255.255.255", true, false},

	{"::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false, true},
	{"2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", true, true},
	{"2001::", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", true, false},      // Teredo
	{"2001:1::1", "2001:1::3", false, false},                             // anycast of single services
	{"2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", false, false},      // benchmarking
	{"2001:3::", "2001:3:ffff:ffff:ffff:ffff:ffff:ffff", false, false},   // AMT
	{"2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", false, false}, // ORCHID
	{"2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", false, false}, // ORCHIDv2
	{"2001:30::", "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", false, false}, // drones
	{"2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", true, true},
	{"2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true, true},
	{"2620:4f:8000::", "2620:4f:8000:ffff:ffff:ffff:ffff:ffff", true, true},
	{"3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", true, true},
	{"4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true, false},
	{"64:ff9b::", "64:ff9b::ffff:ffff", false, false}, // NAT64
	{"64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff", false, false},
	{"5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false, false}, // segment routing
	{"fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false, false},
	{"fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false, false},
	{"fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false, false},
}

func TestPublicIP_EdgesOfReservedBlocks(t *testing.T) {
	t.Parallel()
	check := func(ip netip.Addr, want bool) {
		t.Helper()
		if got := netguard.PublicIP(ip); got != want {
			t.Errorf("PublicIP(%s) = %v", ip, got)
		}
		if !ip.Is4() {
			return
		}
		if mapped := netip.AddrFrom16(ip.As16()); netguard.PublicIP(mapped) != want {
			t.Errorf("PublicIP(%s) = %v", mapped, !want)
		}
	}
	for _, block := range edges {
		first, last := netip.MustParseAddr(block.first), netip.MustParseAddr(block.last)
		check(first, false)
		check(last, false)
		if before := first.Prev(); before.IsValid() {
			check(before, block.before)
		}
		if after := last.Next(); after.IsValid() {
			check(after, block.after)
		}
	}
}

// IPv6 addresses that map to a private IPv4 address through a translator, a tunnel or an
// old notation.
func TestPublicIP_EmbeddedIPv4(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"::ffff:10.0.0.1", "::ffff:127.0.0.1", "::10.0.0.1", "::ffff:0:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::10.0.0.1",
		"2001:0:a00:1::", "2002:a00:1::", "fe80::5efe:10.0.0.1", "::ffff:169.254.169.254", "64:ff9b::8.8.8.8", "2002:808:808::",
	} {
		if netguard.PublicIP(netip.MustParseAddr(address)) {
			t.Errorf("PublicIP(%s) = true", address)
		}
		if netguard.PublicHost(address) {
			t.Errorf("PublicHost(%s) = true", address)
		}
	}
}

// A host name that was public at registration is checked again when dialing.
func TestGuard_DNSRebinding(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	dialer := &net.Dialer{Timeout: time.Minute, Control: netguard.Guard{}.Control, Resolver: resolver(t)}
	if _, err := dialer.DialContext(t.Context(), "tcp", "hooks.example.com:"+port); !errors.Is(err, netguard.ErrRefused) {
		t.Errorf("got %v, want it refused", err)
	}
	if !netguard.PublicHost("hooks.example.com") {
		t.Error("the name itself is not refused when it is registered")
	}
}

// resolver resolves every name to 127.0.0.1.
func resolver(t *testing.T) *net.Resolver {
	t.Helper()
	server, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	go func() {
		question := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			_, _ = server.WriteTo(answer(question[:n]), from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answer writes a DNS response with the address for type A, without one for other types.
func answer(question []byte) []byte {
	end := 12
	for question[end] != 0 {
		end += int(question[end]) + 1
	}
	end += 5
	reply := append([]byte{}, question[:end]...)
	reply[2], reply[3] = 0x81, 0x80
	copy(reply[6:12], make([]byte, 6))
	if question[end-3] == 1 {
		reply[7] = 1
		reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
	}
	return reply
}

func TestClient_Redirect(t *testing.T) {
	t.Parallel()
	reached := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reached++
		http.Redirect(w, r, "/elsewhere", http.StatusPermanentRedirect)
	}))
	t.Cleanup(server.Close)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("x"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := netguard.Guard{Local: true}.Client(1, time.Minute).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusPermanentRedirect || reached != 1 {
		t.Errorf("status %d after %d requests, want the redirect itself", response.StatusCode, reached)
	}
}
