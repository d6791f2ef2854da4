package region

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/provisioning/catalog"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
	"github.com/slipway-project/slipway/internal/provisioning/launcher"
)

// Places returns the subnets that were found for a provisioner, and the subnets that its nodes can
// be launched into. Subnets that had no free address are described again after a while. All subnets
// that were last seen before notBefore are described again, because a user may have changed them
// since.
func (r *Region) Places(
	ctx context.Context, provisioner *provisioningv1.Provisioner, shortages *catalog.Shortages, nodes []provisioningv1.ProvisionedNode, now, notBefore time.Time,
) (launcher.Places, []discovery.Subnet, error) {
	found, err := r.Subnets(ctx, provisioner)
	if stale := outdated(found, shortages.ShortSubnet, now, notBefore); err == nil && len(stale) > 0 {
		r.Discovery.ForgetSubnets(stale...)
		found, err = r.Subnets(ctx, provisioner)
	}
	if err != nil {
		return nil, nil, err
	}
	shortages.Described(found)
	return launcher.NewPlaces(found, shortages.ShortSubnet, nodes), found, nil
}

// outdated returns the subnets without a free address that were described a while ago, and the
// subnets that were described before a time.
func outdated(found []discovery.Subnet, short func(id string) bool, now, notBefore time.Time) []string {
	var ids []string
	for _, subnet := range found {
		full := subnet.Free == 0 && !subnet.Seen.IsZero() || short(subnet.ID)
		if full && now.Sub(subnet.Seen) >= launcher.RetryInterval || subnet.Seen.Before(notBefore) {
			ids = append(ids, subnet.ID)
		}
	}
	return ids
}

// Offers returns the offerings by which nodes of a provisioner can be had from a launch template,
// for pods that ask for nothing else than the way, whether or not AWS has any now. If there is
// none, it returns nil and why.
func (r *Region) Offers(
	ctx context.Context, provisioner *provisioningv1.Provisioner, layer *constraints.Provisioner, templates constraints.Templates, reference constraints.Reference, way constraints.Requirements,
) (offers iter.Seq[catalog.Offer], why string, err error) {
	facts, err := r.Facts(ctx, []*provisioningv1.Provisioner{provisioner})
	if err != nil {
		return nil, "", err
	}
	ask, why := constraints.Plain(layer, templates, reference, way)
	if why != "" {
		return nil, why, nil
	}
	offers, some := catalog.Offers(facts, &ask), false
	offers(func(catalog.Offer) bool { some = true; return false })
	if !some {
		return nil, unoffered(facts, &ask), nil
	}
	return offers, "", nil
}

// unoffered returns why AWS offers nothing by which a node can be had that is asked for.
func unoffered(facts catalog.Facts, ask *constraints.Ask) string {
	var types, zones []string
	for t := range catalog.Suitable(facts, ask) {
		types = append(types, t.Name)
		zones = append(zones, facts.Zones[t.Name]...)
	}
	slices.Sort(zones)
	zones = slices.Compact(zones)
	wanted, asked := ask.Requirements.Get(corev1.LabelTopologyZone), ask.Requirements.Get(provisioningv1.LabelCapacityType)
	there, finite := wanted.Values()
	switch {
	case len(types) == 0:
		return "no instance type of this region is within its limits and compatible with its launch template"
	case finite && !slices.ContainsFunc(there, func(zone string) bool { return slices.Contains(zones, zone) }):
		return fmt.Sprintf("AWS offers %s not in %s, where its subnets are, but in %s. No node is launched. "+
			"Allow other instance types, or add a subnet in one of these zones",
			launcher.List(types, "or"), launcher.List(there, "or"), cmp.Or(launcher.List(zones, "and"), "no zone"))
	}
	return fmt.Sprintf("AWS does not offer %s as %s in %s. No node is launched. Allow other instance types or "+
		"capacity types", launcher.List(types, "or"), asked, launcher.List(there, "or"))
}
