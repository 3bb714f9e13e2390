// Package netguard keeps webhooks on the public internet: it judges addresses
// when they are registered, and again when they are dialled, where a name has
// become a number.
package netguard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// ErrRefused says that an address is not on the public internet. No connection
// was made.
var ErrRefused = errors.New("the address is not on the public internet")

// numeric matches hosts that are addresses in a form that resolvers accept
// beside the usual one: decimal, octal and hexadecimal numbers, and short forms.
var numeric = regexp.MustCompile(`(?i)^(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*$`)

// PublicHost reports whether a host may be on the public internet, by its name
// alone.
func PublicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return PublicIP(ip)
	}
	if numeric.MatchString(host) || !strings.Contains(host, ".") {
		return false
	}
	for _, suffix := range []string{".localhost", ".local", ".internal", ".home.arpa", ".lan"} {
		if strings.HasSuffix(host, suffix) {
			return false
		}
	}
	return true
}

// LoopbackHost reports whether a host is this machine, by its name alone.
func LoopbackHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// globalUnicast is all of IPv6 that IANA has given out for use on the internet.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// reserved are the blocks of IANA's special-purpose registries that lie among the
// unicast addresses of IPv4 and within globalUnicast. Those that the registries
// call globally reachable are listed too: they serve one protocol each, mostly by
// anycast, and no webhook is received there.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

func prefixes(blocks ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(blocks))
	for i, b := range blocks {
		list[i] = netip.MustParsePrefix(b)
	}
	return list
}

// PublicIP reports whether an address is global unicast and not reserved. An
// IPv4-mapped address is judged as the IPv4 address that it means.
func PublicIP(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !globalUnicast.Contains(ip) {
		return false
	}
	for _, block := range reserved {
		if block.Contains(ip) {
			return false
		}
	}
	return true
}

// Guard says what may be dialled.
type Guard struct {
	// Local permits the addresses of this machine too. It is for a local stack
	// only.
	Local bool
}

// Control is for net.Dialer: it judges the address that is about to be connected
// to, whatever name led to it.
func (g Guard) Control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial: %w", ErrRefused)
	}
	ip := at.Addr()
	if PublicIP(ip) || g.Local && ip.Unmap().IsLoopback() {
		return nil
	}
	return fmt.Errorf("dial: %w", ErrRefused)
}

// idleFor is how long a connection that is not used stays open.
const idleFor = 30 * time.Second

// Client returns an HTTP client that connects only to what the guard permits, by
// no proxy, follows no redirect, and waits for one answer no longer than timeout.
// It keeps up to perHost idle connections to a host.
func (g Guard) Client(perHost int, timeout time.Duration) *http.Client {
	dialer := &net.Dialer{Timeout: timeout / 3, Control: g.Control}
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext:            dialer.DialContext,
			TLSHandshakeTimeout:    timeout / 3,
			MaxIdleConns:           8 * perHost,
			MaxIdleConnsPerHost:    perHost,
			IdleConnTimeout:        idleFor,
			MaxResponseHeaderBytes: 64 << 10,
			ForceAttemptHTTP2:      true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
