package boundedhttp

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
)

func responseOf(status int, length int64, encoding, content string) *http.Response {
	return &http.Response{
		StatusCode: status, ContentLength: length, Header: http.Header{"Content-Encoding": {encoding}}, Body: io.NopCloser(strings.NewReader(content)),
	}
}

func TestBound(t *testing.T) {
	t.Parallel()
	limits := Limits{Body: 10, Failure: 4}
	var large *TooLargeError
	var encoded *EncodedError
	for _, row := range []struct {
		reason   string
		response *http.Response
		want     string
		target   any
	}{
		{"a body of the limit", responseOf(200, -1, "", "0123456789"), "0123456789", nil},
		{"a body without end", responseOf(200, -1, "", "0123456789a"), "0123456789", &large},
		{"a body that announces its length", responseOf(200, 11, "", "0123456789a"), "", &large},
		{"an empty body", responseOf(204, 0, "", ""), "", nil},
		{"a failure has a limit of its own", responseOf(400, -1, "", "01234"), "0123", &large},
		{"a redirect is no success", responseOf(302, -1, "", "01234"), "0123", &large},
		{"a compressed body", responseOf(200, -1, "gzip", "0"), "", &encoded},
		{"an encoding that is none", responseOf(200, -1, "identity", "0"), "0", nil},
	} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{
			"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader,
		} {
			response := *row.response
			content, _ := io.ReadAll(row.response.Body)
			response.Body = io.NopCloser(wrap(strings.NewReader(string(content))))
			row.response.Body = io.NopCloser(strings.NewReader(string(content)))
			bounded, err := Bound(&response, limits)
			var got []byte
			if err == nil {
				got, err = io.ReadAll(bounded.Body)
			}
			if string(got) != row.want || (row.target == nil) != (err == nil) || row.target != nil && !errors.As(err, row.target) {
				t.Errorf("%s, %s: read %q, error %v", row.reason, name, got, err)
			}
			if row.target != nil && Explain(err) != err.Error() {
				t.Errorf("%s: explained as %q, want %q", row.reason, Explain(err), err)
			}
		}
	}
}

func TestCheckAddress(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, address        string
		loopback, allowed, all bool
	}{
		{reason: "the metadata of an instance", address: "169.254.169.254"},
		{reason: "the credentials of a container", address: "169.254.170.23"},
		{reason: "the metadata in IPv6", address: "fd00:ec2::254"},
		{reason: "the credentials in IPv6", address: "fd00:ec2::23"},
		{reason: "IPv4 in IPv6", address: "::ffff:169.254.169.254"},
		{reason: "link-local", address: "fe80::1%eth0"},
		{reason: "this machine", address: "127.0.0.1", loopback: true},
		{reason: "this machine by another of its addresses", address: "127.8.8.8", loopback: true},
		{reason: "this machine in IPv6", address: "::1", loopback: true},
		{reason: "this machine, by IPv4 in IPv6", address: "::ffff:127.0.0.1", loopback: true},
		{reason: "any address of this machine", address: "0.0.0.0"},
		{reason: "any in IPv6", address: "::"},
		{reason: "multicast", address: "224.0.0.1"},
		{reason: "a private network, where clusters are", address: "10.0.0.1", allowed: true},
		{reason: "a private network in IPv6", address: "fd00::1", allowed: true},
		{reason: "a public address", address: "203.0.113.1", allowed: true},
	} {
		address := netip.MustParseAddr(row.address)
		if err := CheckAddress(address, false); (err == nil) != row.allowed {
			t.Errorf("%s: %v", row.reason, err)
		}
		if err := CheckAddress(address, true); (err == nil) != (row.allowed || row.loopback) {
			t.Errorf("%s, in development: %v", row.reason, err)
		}
	}
}

// TestGuardDialer resolves a name, as a tenant's DNS server would answer for it.
func TestGuardDialer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	dialer := &net.Dialer{}
	GuardDialer(dialer, false)
	var refused *AddressError
	if connection, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", port)); !errors.As(err, &refused) {
		t.Errorf("connection %v, error %v", connection, err)
	}
	GuardDialer(dialer, true)
	connection, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.Close()
}
