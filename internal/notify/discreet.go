package notify

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
)

var errRequest = errors.New("the request failed")

// discreet is the part of a request's error that can be shown. An HTTP client
// quotes addresses, the one asked for as well as those a server names, and the
// address is a secret. So only what is known to speak of hosts alone gets through.
func discreet(err error) error {
	for _, known := range []error{
		context.DeadlineExceeded, context.Canceled, http.ErrSchemeMismatch, io.ErrUnexpectedEOF, io.EOF,
	} {
		if errors.Is(err, known) {
			return known
		}
	}
	if found, ok := errors.AsType[*net.DNSError](err); ok {
		return found
	}
	if found, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return found
	}
	if found, ok := errors.AsType[*net.OpError](err); ok {
		return found
	}
	return errRequest
}
