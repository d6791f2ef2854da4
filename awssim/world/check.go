package world

import (
	"fmt"
	"net/netip"
	"slices"
)

// check returns everything that is wrong with a world.
func (w *World) check() []error {
	var c checker
	if len(w.Regions) == 0 {
		c.fail("regions: there is none")
	}
	if len(w.InstanceTypes) == 0 {
		c.fail("instanceTypes: there is none (extends: default takes those of the default world)")
	}
	types := unique(&c, "instanceTypes", w.InstanceTypes, func(t InstanceType) string { return t.Name })
	for _, t := range w.InstanceTypes {
		c.instanceType(t)
	}
	roles := unique(&c, "roles", w.Roles, func(r Role) string { return r.Name })
	unique(&c, "instanceProfiles", w.InstanceProfiles, func(p InstanceProfile) string { return p.Name })
	for _, p := range w.InstanceProfiles {
		if p.Role != "" && !roles[p.Role] {
			c.fail("instanceProfiles[%s].role: there is no role %q", p.Name, p.Role)
		}
	}
	unique(&c, "regions", w.Regions, func(r Region) string { return r.Name })
	for _, r := range w.Regions {
		c.region(r, types)
	}
	return c.errs
}

type checker struct{ errs []error }

func (c *checker) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// unique checks that keys are there and differ, and returns them.
func unique[T any](c *checker, path string, list []T, key func(T) string) map[string]bool {
	keys := map[string]bool{}
	for i, e := range list {
		k := key(e)
		switch {
		case k == "":
			c.fail("%s[%d]: it has no name or id", path, i)
		case keys[k]:
			c.fail("%s: %q is there twice", path, k)
		}
		keys[k] = true
	}
	return keys
}

func (c *checker) cidr(path, cidr string) {
	if _, err := netip.ParsePrefix(cidr); err != nil {
		c.fail("%s.cidr: %v", path, err)
	}
}

func (c *checker) instanceType(t InstanceType) {
	if t.VCPUs < 1 || t.MemoryMiB < 1 || t.MaxENIs < 1 || t.IPv4PerENI < 1 {
		c.fail("instanceTypes[%s]: vcpus, memoryMiB, maxENIs and ipv4PerENI must be positive", t.Name)
	}
	if len(t.Architectures) == 0 {
		c.fail("instanceTypes[%s].architectures: there is none", t.Name)
	}
	for _, a := range t.Architectures {
		if !slices.Contains([]string{"i386", "x86_64", "arm64", "x86_64_mac", "arm64_mac"}, a) {
			c.fail("instanceTypes[%s].architectures: %q is none of i386, x86_64, arm64, x86_64_mac and arm64_mac", t.Name, a)
		}
	}
}

func (c *checker) events(path string, r Region) {
	queues := unique(c, path+".queues", r.Queues, func(q Queue) string { return q.Name })
	for _, q := range r.Queues {
		if q.VisibilityTimeoutSeconds < 0 || q.VisibilityTimeoutSeconds > 43200 {
			c.fail("%s.queues[%s].visibilityTimeoutSeconds: it must be from 0 to 43200", path, q.Name)
		}
	}
	unique(c, path+".eventRules", r.EventRules, func(e EventRule) string { return e.Name })
	for _, e := range r.EventRules {
		if len(e.Sources) == 0 || !queues[e.Queue] {
			c.fail("%s.eventRules[%s]: it needs sources and one of the region's queues", path, e.Name)
		}
	}
}

func (c *checker) region(r Region, types map[string]bool) {
	path := "regions[" + r.Name + "]"
	zones := unique(c, path+".zones", r.Zones, func(z Zone) string { return z.Name })
	if len(zones) == 0 {
		c.fail("%s.zones: there is none", path)
	}
	vpcs := unique(c, path+".vpcs", r.VPCs, func(v VPC) string { return v.ID })
	for _, v := range r.VPCs {
		c.cidr(path+".vpcs["+v.ID+"]", v.CIDR)
	}
	unique(c, path+".subnets", r.Subnets, func(s Subnet) string { return s.ID })
	for _, s := range r.Subnets {
		c.cidr(path+".subnets["+s.ID+"]", s.CIDR)
		if !vpcs[s.VPC] {
			c.fail("%s.subnets[%s].vpc: there is no VPC %q", path, s.ID, s.VPC)
		}
		if !zones[s.Zone] {
			c.fail("%s.subnets[%s].zone: there is no zone %q", path, s.ID, s.Zone)
		}
	}
	unique(c, path+".securityGroups", r.SecurityGroups, func(g SecurityGroup) string { return g.ID })
	unique(c, path+".securityGroups", r.SecurityGroups, func(g SecurityGroup) string { return g.VPC + "/" + g.Name })
	for _, g := range r.SecurityGroups {
		if !vpcs[g.VPC] {
			c.fail("%s.securityGroups[%s].vpc: there is no VPC %q", path, g.ID, g.VPC)
		}
	}
	unique(c, path+".keyPairs", r.KeyPairs, func(k KeyPair) string { return k.Name })
	unique(c, path+".images", r.Images, func(i Image) string { return i.ID })
	for _, i := range r.Images {
		if i.Name == "" || i.Architecture == "" || i.RootDeviceName == "" {
			c.fail("%s.images[%s]: name, architecture and a block device are needed", path, i.ID)
		}
	}
	unique(c, path+".parameters", r.Parameters, func(p Parameter) string { return p.Name })
	c.events(path, r)
	unique(c, path+".buckets", r.Buckets, func(b Bucket) string { return b.Name })
	for _, b := range r.Buckets {
		for _, e := range b.Expirations {
			if e.Days < 1 {
				c.fail("%s.buckets[%s].expirations: days must be positive", path, b.Name)
			}
		}
	}
	c.absences(path, r, types, zones)
	c.clusters(path, r)
}

func (c *checker) clusters(path string, r Region) {
	unique(c, path+".clusters", r.Clusters, func(k Cluster) string { return k.Name })
	for _, k := range r.Clusters {
		if _, err := minorOf(k.Version); err != nil || len(k.Subnets) == 0 {
			c.fail("%s.clusters[%s]: it needs a version such as 1.30, and subnets", path, k.Name)
		}
		vpcs := map[string]bool{}
		for _, id := range k.Subnets {
			i := slices.IndexFunc(r.Subnets, func(s Subnet) bool { return s.ID == id })
			if i < 0 {
				c.fail("%s.clusters[%s].subnets: there is no subnet %q", path, k.Name, id)
				continue
			}
			vpcs[r.Subnets[i].VPC] = true
		}
		if len(vpcs) > 1 {
			c.fail("%s.clusters[%s].subnets: they are not of one VPC", path, k.Name)
		}
	}
}

func (c *checker) absences(path string, r Region, types, zones map[string]bool) {
	for _, a := range r.NotOffered {
		if !types[a.InstanceType] {
			c.fail("%s.notOffered: there is no instance type %q", path, a.InstanceType)
		}
		for _, z := range a.Zones {
			if !zones[z] {
				c.fail("%s.notOffered[%s]: there is no zone %q", path, a.InstanceType, z)
			}
		}
	}
}
