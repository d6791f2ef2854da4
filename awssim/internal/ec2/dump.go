package ec2

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// dump returns the content of EC2 by kind and ID, with which a test compares whole worlds. It
// leaves out resources that cannot change. Images and networks of the world are included only if
// they differ from it, so that the dump of a new account is small.
func dump(r *sim.Region) any {
	s := stateOf(r)
	return dumpNetwork(s, map[string]any{
		"launch-template": dumpTable(s.templates.All(), func(t template) string { return t.id }, dumpTemplate),
		"instance":        dumpTable(s.instances.All(), instance.id, dumpInstance),
		"volume":          dumpTable(s.volumes.All(), func(v types.Volume) string { return *v.VolumeId }, compact[types.Volume]),
		"placement-group": dumpTable(s.placements.All(), func(p types.PlacementGroup) string { return *p.GroupId }, compact[types.PlacementGroup]),
		"fleet":           dumpTable(s.fleets.allLive(s.fleets.All()), func(f fleet) string { return f.id }, func(f fleet) any { return compact(f.data()) }),
		"key-pair":        dumpKeyPairs(s),
		"image":           dumpImages(s),
		"vpc":             dumpVPCs(s),
		"subnet":          dumpSubnets(s),
		"security-group":  dumpGroups(s),
	})
}

// dumpNetwork dumps what belongs to VPCs, where it differs from a new account.
func dumpNetwork(s *state, into map[string]any) map[string]any {
	fresh := newState(s.region)
	into["security-group-rule"] = dumpOwn(fresh.groups.rules, s.groups.rules, ruleListing.id)
	into["network-acl"] = dumpOwn(fresh.acls.Table, s.acls.Table, aclListing.id)
	into["route-table"] = dumpOwn(fresh.routeTables.Table, s.routeTables.Table, routeTableListing.id)
	into["internet-gateway"] = dumpOwn(fresh.internetGateways.Table, s.internetGateways.Table, gatewayListing.id)
	into["dhcp-options"] = dumpOwn(fresh.dhcpOptions.Table, s.dhcpOptions.Table, dhcpListing.id)
	into["network-interface"] = dumpOwn(fresh.interfaces.Table, s.interfaces.Table, interfaceListing.id)
	into["nat-gateway"] = dumpOwn(fresh.natGateways.Table, s.natGateways.Table, natListing.id)
	into["elastic-ip"] = dumpOwn(fresh.elastics.Table, s.elastics.Table, addressID)
	settings := map[string]any{}
	for _, vpc := range s.vpcs.All() {
		now, _ := s.vpcs.settings.Get(*vpc.VpcId)
		if was, ok := fresh.vpcs.settings.Get(*vpc.VpcId); !ok || was != now {
			settings[*vpc.VpcId] = map[string]any{"dnsSupport": now.dnsSupport, "dnsHostnames": now.dnsHostnames, "usageMetrics": now.usageMetrics}
		}
	}
	into["vpc-attributes"] = settings
	if tasks := dumpTable(s.rootTasks.All(), rootTaskListing.id, func(t rootTask) any { return compact(t.api) }); len(tasks) > 0 {
		into["replace-root-volume-task"] = tasks
	}
	return into
}

func dumpOwn[V any](fresh, now *sim.Table[V], id func(V) string) map[string]any {
	return changed(dumpTable(fresh.All(), id, compact[V]), dumpTable(now.All(), id, compact[V]))
}

func dumpTable[V any](items []V, id func(V) string, show func(V) any) map[string]any {
	shown := map[string]any{}
	for _, item := range items {
		shown[id(item)] = show(item)
	}
	return shown
}

func dumpTemplate(t template) any {
	versions := map[string]any{}
	for _, v := range t.versions.All() {
		versions[versionKey(v.number)] = map[string]any{
			"description": v.description, "createTime": v.createTime, "createdBy": v.createdBy, "data": compact(v.data),
		}
	}
	return map[string]any{
		"name": t.name, "createTime": t.createTime, "createdBy": t.createdBy, "tags": dumpTags(t.tags),
		"defaultVersion": t.defaultVersion, "latestVersion": t.latestVersion, "versions": versions,
	}
}

func dumpInstance(i instance) any {
	shown := compact(i.api).(map[string]any)
	shown["ReservationId"], shown["UserData"], shown["Booted"] = i.reservation, i.encodedData, i.booted
	shown["DisableApiTermination"], shown["Tags"] = i.keepAlive, dumpTags(i.api.Tags)
	return shown
}

func dumpTags(tags []types.Tag) map[string]string {
	shown := map[string]string{}
	for _, tag := range tags {
		shown[val(tag.Key)] = val(tag.Value)
	}
	return shown
}

// compact writes a structure of the SDK as its members that are set, by name.
func compact[V any](v V) any { return compactValue(reflect.ValueOf(v)) }

func compactValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		return compactValue(v.Elem())
	case reflect.Slice:
		list := make([]any, v.Len())
		for i := range v.Len() {
			list[i] = compactValue(v.Index(i))
		}
		return list
	case reflect.Struct:
		members := map[string]any{}
		exported := 0
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			exported++
			if !v.Field(i).IsZero() {
				members[v.Type().Field(i).Name] = compactValue(v.Field(i))
			}
		}
		if exported == 0 {
			return v.Interface() // a time
		}
		return members
	default:
		return v.Interface()
	}
}

func dumpKeyPairs(s *state) map[string]any {
	original := map[string]any{}
	for _, p := range s.region.World().KeyPairs {
		original[p.ID] = compact(keyPairFromWorld(p))
	}
	return changed(original, dumpTable(s.keyPairs.All(), func(p types.KeyPairInfo) string { return *p.KeyPairId }, compact[types.KeyPairInfo]))
}

func dumpImages(s *state) map[string]any {
	original := map[string]any{}
	for _, i := range s.region.World().Images {
		if !i.Private || i.OwnerID == s.region.Account.ID {
			original[i.ID] = compact(imageFromWorld(i))
		}
	}
	return changed(original, dumpTable(s.images.All(), func(i types.Image) string { return *i.ImageId }, compact[types.Image]))
}

func dumpVPCs(s *state) map[string]any {
	original := map[string]any{}
	for _, v := range s.region.World().VPCs {
		original[v.ID] = compact(s.vpcs.fromWorld(v))
	}
	return changed(original, dumpTable(s.vpcs.All(), func(v types.Vpc) string { return *v.VpcId }, compact[types.Vpc]))
}

func dumpSubnets(s *state) map[string]any {
	original := map[string]any{}
	for _, v := range s.region.World().Subnets {
		original[v.ID] = compact(s.subnets.fromWorld(v))
	}
	return changed(original, dumpTable(s.subnets.All(), func(v types.Subnet) string { return *v.SubnetId }, compact[types.Subnet]))
}

func dumpGroups(s *state) map[string]any {
	original := map[string]any{}
	for _, g := range s.region.World().SecurityGroups {
		original[g.ID] = compact(s.groups.fromWorld(g))
	}
	return changed(original, dumpTable(s.groups.All(), func(g types.SecurityGroup) string { return *g.GroupId }, compact[types.SecurityGroup]))
}

// changed returns the resources that differ from the world that the account began with; a deleted
// resource is null.
func changed(original, now map[string]any) map[string]any {
	for id, was := range original {
		is, here := now[id]
		switch {
		case !here:
			now[id] = nil
		case reflect.DeepEqual(was, is):
			delete(now, id)
		}
	}
	return now
}
