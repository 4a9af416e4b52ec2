// Package gate is the one door out of a sandbox: a policy that says which
// destinations may be reached, and a forward proxy that obeys it. Everything
// that comes in through the proxy is hostile; everything in the policy was
// written by the user.
//
// # The policy
//
// A Policy has a Mode and two lists of rules. In mode none nothing is reached,
// in mode allowlist what an allow rule names (so an empty list denies
// everything), in mode allow-all every public destination. A deny rule beats
// every allow rule, in every mode. A Decision names the rule that made it, or
// the reason why none did.
//
// A rule is one of
//
//	example.com             this name alone, on ports 80 and 443
//	*.example.com           every name below it, at any depth, not example.com itself
//	example.com:8443        this name on this port alone; so for the other forms
//	192.0.2.7   2001:db8::7 an address
//	192.0.2.0/24:8080       a range of addresses, on this port
//	[2001:db8::7]:8080      IPv6 with a port stands in brackets,
//	[2001:db8::/32]:8080    a range as well
//	tcp://example.com:22    any bytes, not TLS or HTTP alone; needs a port
//	@npm  or  npm           a preset: every rule in it (see Presets)
//
// A deny rule without a port denies every port. Refused when the policy is
// made: a bare *, a * anywhere but in front, a wildcard over a public suffix
// (*.com, *.co.uk), a range wider than /8 (IPv6: /16), and the host's own
// loopback without a port. All bad rules are reported at once.
//
// Names are normalised before they are compared, in rules and in requests
// alike: upper case, one trailing dot, brackets, Unicode (to punycode), the
// octal, hexadecimal and short spellings of IPv4 (0x7f.1 is 127.0.0.1) and
// IPv4 written as IPv6 (::ffff:127.0.0.1). What is no valid name after that is
// denied.
//
// # Addresses
//
// A name that is allowed is resolved on the host, and every address of the
// answer is classified. One address that is not public (loopback, private,
// link-local, cloud metadata, carrier NAT, multicast, reserved, an IPv6 address
// that carries an IPv4 one, ...) refuses them all, unless an allow rule names
// that address or a range around it, with that port. So a name on the user's
// own network takes two rules, for the name and for where it may lead:
//
//	git.corp.example   10.20.0.0/16
//
// Metadata services need a rule for the very address; a range does not open
// them. Services on the host itself need a rule with a port: localhost:8080 or
// 127.0.0.1:8080. The address that was vetted is the one that is dialled;
// nothing is resolved twice, and a name that the policy does not allow is never
// resolved at all, for the question alone would carry data out.
//
// # The proxy
//
// Proxy serves CONNECT and plain HTTP/1.1 requests in absolute form, one
// request a connection. A tunnel must begin with a TLS ClientHello whose server
// name is the name of the CONNECT, in the clear: a hello with Encrypted Client
// Hello is refused. Plain HTTP in a tunnel is opened and held to the
// rules of plain HTTP, but not on port 443. Any other bytes need a tcp rule. In
// mode allow-all the check is made on port 443 alone.
//
// Plain requests are refused when their Host header names something else than
// the URL, when the URL holds a user name, and when the head has one of the
// shapes that two parsers read differently (two lengths, folded lines, bare line
// feeds, ...). Redirects are the client's business and go through the policy
// again. Upgrade is not forwarded: a WebSocket goes through a tunnel.
//
// What is not seen: inside TLS the Host header may differ from the server name.
// A host that serves strangers under its own name (a CDN, object storage) is as
// wide a hole as its tenants make it.
//
// # Credentials
//
// A Credential is bound to hosts. For those alone, on those ports, TLS ends at
// the gate, under a certificate of an authority that is made for the run, can
// vouch for these hosts only and has its key in memory only. Package trust tells
// programs in a sandbox of it. Every other tunnel stays closed.
//
// NewCredentials checks credentials against the policy: nothing is injected where
// egress is not enforced (allow-all), and a credential does not allow its host.
// The rules decide as ever, and a deny rule wins. A host that is opened stays so
// under a tcp rule, and is not reached by plain HTTP.
//
// Each request inside is served on its own: it must name the host, have the shape
// that plain requests must have, and be taken by a credential of the host, the
// first that names its method and path. Without one it is refused, or passed on
// anonymously if all credentials of the host say so. A credential without a
// secret is a limit alone: git's fetches but not its pushes, say.
//
// A path pattern is a path in which * stands for any part of one segment and
// ** at the end for all the rest, so that /repos/acme/** has all below
// /repos/acme/ but not /repos/acme. Letters count as they are. Where a credential of
// the host has paths, a path is refused that servers read in different ways: dot
// and empty segments, backslashes, parameters (;), escapes of characters that
// need none, escapes within escapes, escaped slashes. A pattern may spell out an
// escaped slash, as in /projects/acme%2Frepo/**.
//
// On an opened host the client's own credentials are taken away, whichever
// credential is used or none: with a token of its own an agent could make a host
// that the user allowed its mailbox. So are headers that change what a request
// means (X-HTTP-Method-Override, X-Original-URL, ...). Refused are well-known
// credentials in the query, TRACE, and Upgrade. A secret that cannot be had fails
// the request; it is never sent without. The upstream is verified against the
// system's roots, its address vetted as any other.
//
// A response must not bring the secret back. Its headers, trailers and body are
// searched for the secret as it is, in hexadecimal, base64, and as URLs and JSON
// escape it, and it ends before the first byte of that would pass. For this the
// request asks for no compression and no range, and a response that is compressed
// all the same is refused. Cookies are kept back: a session is a credential.
//
// What is not seen: a secret that comes back encoded in another way, in pieces or
// in another response; a token that an endpoint hands out (keep such paths out);
// a credential or a method override in a request's body, so that a host which
// heeds _method in forms is limited by path and not by method.
//
// Phantoms are what stands for secrets inside a sandbox. A plain or opened request
// to a host other than the one they are meant for is refused when its head holds
// one.
//
// # Why the standard library
//
// net/http and httputil.ReverseProxy do the HTTP, crypto/tls reads the
// ClientHello. The proxy library that was weighed, elazarl/goproxy, saves the
// accept loop and the man-in-the-middle set-up; but what makes this proxy is
// what such a library does not do: vet the address that is dialled, look at the
// hello before relaying it, relay between the bare connections, limit
// everything and account for each decision. All of that would sit in its hooks,
// on the same net/http underneath.
package gate
