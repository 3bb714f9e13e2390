package webhook

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"syscall"

	"campaign-dispatch/internal/webhook/netguard"
)

// failureCode returns the stable code of a post without a response.
func failureCode(err error) string {
	switch {
	case errors.Is(err, netguard.ErrRefused):
		return "address_refused"
	case errors.Is(err, context.DeadlineExceeded) || os.IsTimeout(err):
		return "timeout"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection_refused"
	case isUnknownHost(err):
		return "unknown_host"
	}
	return certificateCode(err)
}

func isUnknownHost(err error) bool {
	lookup, ok := errors.AsType[*net.DNSError](err)
	return ok && lookup.IsNotFound
}

// certificateCode returns the code of an error about the server's certificate, or
// no_connection for any other error.
func certificateCode(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "certificate_host"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "certificate_untrusted"
	}
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	switch {
	case ok && invalid.Reason == x509.Expired:
		return "certificate_expired"
	case ok:
		return "certificate_untrusted"
	}
	return "no_connection"
}
