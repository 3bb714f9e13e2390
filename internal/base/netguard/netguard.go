// Package netguard restricts webhooks and the files of media to the public internet. It checks
// hosts at registration, and resolved addresses when dialing.
package netguard

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"campaign-dispatch/internal/campaign/pattern"
)

// ErrRefused reports that an address is not on the public internet. No connection was made.
var ErrRefused = errors.New("the address is not on the public internet")

// numeric matches IP addresses in unusual notations that resolvers accept: decimal, octal
// and hexadecimal numbers, and short forms.
var numeric = pattern.AtFirstUse(`(?i)^(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*$`)

// PublicHost reports whether a host can be on the public internet, judged by its name.
func PublicHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if ip, err := netip.ParseAddr(host); err == nil {
		return PublicIP(ip)
	}
	if numeric().MatchString(host) || !strings.Contains(host, ".") {
		return false
	}
	private := []string{".localhost", ".local", ".internal", ".home.arpa", ".lan"}
	return !slices.ContainsFunc(private, func(suffix string) bool { return strings.HasSuffix(host, suffix) })
}

// LoopbackHost reports whether a host is the local machine, judged by its name.
func LoopbackHost(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// globalUnicast is the IPv6 space allocated by IANA for the internet.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// reserved lists the unicast blocks of IANA's special-purpose registries for IPv4 and
// within globalUnicast. It includes globally reachable ones: each serves a single protocol,
// mostly by anycast, and no webhook receiver uses them.
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

// PublicIP reports whether an address is global unicast and not reserved. An IPv4-mapped
// address counts as its IPv4 address.
func PublicIP(ip netip.Addr) bool {
	if ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !globalUnicast.Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(block netip.Prefix) bool { return block.Contains(ip) })
}

// Guard configures the permitted addresses.
type Guard struct {
	// Local also permits loopback addresses. Use it only in a local stack.
	Local bool
}

// Control implements net.Dialer.Control. It checks the resolved address before the connection is made.
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

// idleFor is the idle timeout of connections.
const idleFor = 30 * time.Second

// Client returns an HTTP client that connects only to permitted addresses, uses no proxy
// and follows no redirects. timeout applies to each request. It keeps up to perHost idle
// connections per host.
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
