package ec2

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// The errors that several actions share. Codes are from AWS's page "error codes"; messages follow
// EC2's answers as users have reported them.

func missingParameter(name string) error {
	return sim.Errorf("MissingParameter", "The request must contain the parameter %s", name)
}

func invalidValue(parameter string, value any, why string) error {
	return sim.Errorf("InvalidParameterValue", "Value (%v) for parameter %s is invalid. %s", value, parameter, why)
}

func invalidCombination(format string, args ...any) error {
	return sim.Errorf("InvalidParameterCombination", format, args...)
}

// dryRun is the answer to a request with DryRun that would have succeeded (API reference, every
// action's DryRun parameter). EC2 sends HTTP status 412 with it.
func dryRun() error {
	return &sim.Error{Code: "DryRunOperation", Message: "Request would have succeeded, but DryRun flag is set.", Status: 412}
}

// idKind is a kind of resource id: its prefix and the error codes that EC2 uses for it.
type idKind struct {
	prefix    string
	malformed string // code when the id does not look like one
	notFound  string // code when there is no such resource
	noun      string // as the message names it
	// absent is the message for an id that names nothing, if it is not "The <noun> '<id>' does not exist".
	absent string
}

var (
	launchTemplateID    = idKind{"lt", "InvalidLaunchTemplateId.Malformed", "InvalidLaunchTemplateId.NotFound", "launch template ID", ""}
	imageID             = idKind{"ami", "InvalidAMIID.Malformed", "InvalidAMIID.NotFound", "image id", ""}
	instanceID          = idKind{"i", "InvalidInstanceID.Malformed", "InvalidInstanceID.NotFound", "instance ID", ""}
	subnetID            = idKind{"subnet", "InvalidSubnetID.Malformed", "InvalidSubnetID.NotFound", "subnet ID", ""}
	vpcID               = idKind{"vpc", "InvalidVpcID.Malformed", "InvalidVpcID.NotFound", "vpc ID", ""}
	securityGroupID     = idKind{"sg", "InvalidGroupId.Malformed", "InvalidGroup.NotFound", "security group", ""}
	securityGroupRuleID = idKind{"sgr", "InvalidSecurityGroupRuleId.Malformed", "InvalidSecurityGroupRuleId.NotFound", "security group rule ID", ""}
	allocationID        = idKind{"eipalloc", "InvalidAllocationID.Malformed", "InvalidAllocationID.NotFound", "allocation ID", ""}
	dhcpOptionsID       = idKind{"dopt", "InvalidDhcpOptionsId.Malformed", "InvalidDhcpOptionID.NotFound", "dhcpOption ID", ""}
	internetGatewayID   = idKind{"igw", "InvalidInternetGatewayId.Malformed", "InvalidInternetGatewayID.NotFound", "internetGateway ID", ""}
	natGatewayID        = idKind{"nat", "NatGatewayMalformed", "NatGatewayNotFound", "NAT gateway", "The Nat Gateway %s was not found"}
	networkACLID        = idKind{"acl", "InvalidNetworkAclId.Malformed", "InvalidNetworkAclID.NotFound", "networkAcl ID", ""}
	routeTableID        = idKind{"rtb", "InvalidRouteTableId.Malformed", "InvalidRouteTableID.NotFound", "routeTable ID", ""}
	networkInterfaceID  = idKind{"eni", "InvalidNetworkInterfaceId.Malformed", "InvalidNetworkInterfaceID.NotFound", "networkInterface ID", ""}
	volumeID            = idKind{"vol", "InvalidVolumeID.Malformed", "InvalidVolume.NotFound", "volume", ""}
	keyPairID           = idKind{"key", "InvalidKeyPairID.Malformed", "InvalidKeyPair.NotFound", "key pair ID", ""}
	snapshotID          = idKind{"snap", "InvalidSnapshotID.Malformed", "InvalidSnapshot.NotFound", "snapshot", ""}
	fleetID             = idKind{"fleet", "InvalidFleetId.Malformed", "InvalidFleetId.NotFound", "fleet ID", ""}
)

var (
	idSuffix    = regexp.MustCompile(`^[0-9a-f]{8}$|^[0-9a-f]{17}$`)
	fleetSuffix = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// check refuses an id that is not the kind's prefix followed by 8 or 17 hexadecimal digits (error
// codes: "ensure that you provide the full instance ID in the request, in the form i-xxxxxxxx or
// i-xxxxxxxxxxxxxxxxx"), or in the case of fleets by a UUID.
func (k idKind) check(id string) error {
	pattern := idSuffix
	if k == fleetID {
		pattern = fleetSuffix
	}
	suffix, found := strings.CutPrefix(id, k.prefix+"-")
	if !found || !pattern.MatchString(suffix) {
		return sim.Errorf(k.malformed, "Invalid id: %q (expecting \"%s-...\")", id, k.prefix)
	}
	return nil
}

// missing is the error for ids that name nothing.
func (k idKind) missing(ids ...string) error {
	if k.absent != "" {
		return sim.Errorf(k.notFound, k.absent, strings.Join(ids, ", "))
	}
	if len(ids) == 1 {
		end := ""
		if k == volumeID {
			end = "." // recorded answers of AWS have the period for volumes only
		}
		return sim.Errorf(k.notFound, "The %s '%s' does not exist%s", k.noun, ids[0], end)
	}
	return sim.Errorf(k.notFound, "The %ss '%s' do not exist", k.noun, strings.Join(ids, ", "))
}

// selectByID returns the items whose ids are asked for, in the order of items, or all when none is
// asked for. It refuses malformed ids first and ids that name nothing second, as EC2 does.
func selectByID[V any](kind idKind, items []V, id func(V) string, wanted []string) ([]V, error) {
	if len(wanted) == 0 {
		return items, nil
	}
	missing := make(map[string]bool, len(wanted))
	for _, w := range wanted {
		if err := kind.check(w); err != nil {
			return nil, err
		}
		missing[w] = true
	}
	var chosen []V
	asked := setOf(wanted)
	for _, item := range items {
		if asked[id(item)] {
			chosen = append(chosen, item)
			delete(missing, id(item))
		}
	}
	if len(missing) > 0 {
		return nil, kind.missing(keepOrder(wanted, missing)...)
	}
	return chosen, nil
}

func setOf(list []string) map[string]bool {
	set := make(map[string]bool, len(list))
	for _, s := range list {
		set[s] = true
	}
	return set
}

// keepOrder returns the distinct members of list that are in set, in the order of list.
func keepOrder(list []string, set map[string]bool) []string {
	var out []string
	seen := map[string]bool{}
	for _, s := range list {
		if set[s] && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// checkEnum refuses a value that the enumeration does not have. The empty value means "not given".
func checkEnum[E ~string](parameter string, value E, known []E) error {
	if value == "" {
		return nil
	}
	for _, k := range known {
		if k == value {
			return nil
		}
	}
	if len(known) > 12 {
		return invalidValue(parameter, value, "It is not a known value.")
	}
	return invalidValue(parameter, value, fmt.Sprintf("Valid values: %s", joinEnum(known)))
}

func joinEnum[E ~string](known []E) string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = string(k)
	}
	return strings.Join(names, ", ")
}
