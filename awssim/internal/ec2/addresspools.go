package ec2

import (
	"encoding/binary"
	"net/netip"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// reservedAddresses counts the addresses of a subnet that cannot be used: the first four and the
// last (VPC User Guide, "Subnet sizing").
const reservedAddresses = 5

// addressPool hands out the private IPv4 addresses of one subnet, the lowest free one first.
type addressPool struct {
	prefix netip.Prefix
	used   map[netip.Addr]bool
}

func (ss *subnets) pool(subnet types.Subnet) *addressPool {
	id := val(subnet.SubnetId)
	if p, ok := ss.addresses[id]; ok {
		return p
	}
	// A world and CreateSubnet admit only subnets with a good CIDR block, so the zero prefix, which
	// has no addresses, is out of reach.
	prefix, _ := netip.ParsePrefix(val(subnet.CidrBlock))
	p := &addressPool{prefix: prefix.Masked(), used: map[netip.Addr]bool{}}
	ss.addresses[id] = p
	return p
}

func (p *addressPool) size() int {
	if !p.prefix.IsValid() || !p.prefix.Addr().Is4() {
		return 0
	}
	return max(1<<(32-p.prefix.Bits())-reservedAddresses, 0)
}

func (p *addressPool) free() int { return p.size() - len(p.used) }

// take reserves an address, the wanted one if it is given. It reports whether that was possible.
func (p *addressPool) take(wanted string) (netip.Addr, bool) {
	if wanted != "" {
		addr, err := netip.ParseAddr(wanted)
		if err != nil || !p.prefix.Contains(addr) || p.used[addr] {
			return netip.Addr{}, false
		}
		p.used[addr] = true
		return addr, true
	}
	base := p.prefix.Addr().As4()
	first := binary.BigEndian.Uint32(base[:]) + reservedAddresses - 1
	for i := range p.size() {
		var raw [4]byte
		binary.BigEndian.PutUint32(raw[:], first+uint32(i))
		if addr := netip.AddrFrom4(raw); !p.used[addr] {
			p.used[addr] = true
			return addr, true
		}
	}
	return netip.Addr{}, false
}

// check returns why a wanted address cannot be had, or nil.
func (p *addressPool) check(wanted string) error {
	addr, err := netip.ParseAddr(wanted)
	if err != nil || !p.prefix.Contains(addr) {
		return sim.Errorf("InvalidParameterValue", "Address %s does not fall within the subnet's address range", wanted)
	}
	if p.used[addr] {
		return sim.Errorf("InvalidIPAddress.InUse", "Address %s is in use.", wanted)
	}
	return nil
}

func (p *addressPool) release(address string) {
	if addr, err := netip.ParseAddr(address); err == nil {
		delete(p.used, addr)
	}
}

// refuseShared refuses to launch several instances with the same interface or private address, and
// a private address that is not free.
func (ss *subnets) refuseShared(interfaces []interfacePlan, count int) error {
	for _, n := range interfaces {
		if n.existing != nil && count > 1 {
			return invalidCombination("A network interface ID may only be specified when a single instance is launched.")
		}
		for _, wanted := range append(secondaryAddresses(n.spec), primaryAddress(n.spec)) {
			if wanted == "" {
				continue
			}
			if count > 1 {
				return invalidCombination("A private IP address may only be specified when a single instance is launched.")
			}
			if err := ss.pool(n.subnet).check(wanted); err != nil {
				return err
			}
		}
	}
	return nil
}
