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

	"campaign-dispatch/internal/netguard"
)

func TestAddresses(t *testing.T) {
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

// A name that was public when it was registered is judged by what it means when
// it is dialled.
func TestANameThatChangesItsAddress(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was reached") }))
	t.Cleanup(server.Close)
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	dialer := &net.Dialer{Timeout: time.Second, Control: netguard.Guard{}.Control, Resolver: resolver(t)}
	if _, err := dialer.DialContext(t.Context(), "tcp", "hooks.example.com:"+port); !errors.Is(err, netguard.ErrRefused) {
		t.Errorf("got %v, want it refused", err)
	}
	if !netguard.PublicHost("hooks.example.com") {
		t.Error("the name itself is not refused when it is registered")
	}
}

// resolver answers every question with 127.0.0.1.
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

// answer writes a DNS answer: the address for a question of type A, none else.
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

func TestTheClientFollowsNoRedirect(t *testing.T) {
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
	response, err := netguard.Guard{Local: true}.Client(1, time.Second).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusPermanentRedirect || reached != 1 {
		t.Errorf("status %d after %d requests, want the redirect itself", response.StatusCode, reached)
	}
}
