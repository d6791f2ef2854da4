package boundedhttp

import (
	"net"
	"net/netip"
	"syscall"
)

// AddressError reports an address that is never connected to on behalf of a tenant.
type AddressError struct{ Kind string }

// Error implements error.
func (e *AddressError) Error() string {
	return "the server's address is a " + e.Kind + " address, which Slipway does not connect to"
}

// metadata are addresses of instance metadata that are not link-local (AWS: "Instance metadata
// service", IPv6; "EKS Pod Identity").
var metadata = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("fd00:ec2::23")}

// CheckAddress returns an *AddressError for an address that leads to this machine or to its
// metadata and credentials, and not to a server in a network. Loopback addresses are allowed on
// request, for development.
func CheckAddress(address netip.Addr, allowLoopback bool) error {
	address = address.Unmap().WithZone("")
	switch {
	case address.IsLoopback() && allowLoopback:
		return nil
	case address.IsLoopback(), address.IsUnspecified():
		return &AddressError{Kind: "loopback"}
	case address.IsLinkLocalUnicast(), address.IsLinkLocalMulticast(), address.IsMulticast():
		return &AddressError{Kind: "link-local or multicast"}
	}
	for _, one := range metadata {
		if address == one {
			return &AddressError{Kind: "instance metadata"}
		}
	}
	return nil
}

// GuardDialer has a dialer refuse the addresses that CheckAddress refuses. It checks the address
// that a name was resolved to, right before the connection.
func GuardDialer(dialer *net.Dialer, allowLoopback bool) {
	dialer.Control = func(_, target string, _ syscall.RawConn) error {
		endpoint, err := netip.ParseAddrPort(target)
		if err != nil {
			return err
		}
		return CheckAddress(endpoint.Addr(), allowLoopback)
	}
}
