package nodegroup

import (
	"fmt"
	"slices"
	"strings"

	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// fixedDiffers returns the differences from the desired node group that EKS cannot change: no field
// of UpdateNodegroupConfig or UpdateNodegroupVersion holds it (AWS: API_UpdateNodegroupConfig,
// API_UpdateNodegroupVersion; EKS user guide, launch-templates). An edit cannot ask for such a
// change, because the API server refuses it; a node group that is taken over may have such
// differences. Settings that the pool leaves out are not compared. A template with another ID has
// an obstacle of its own.
func fixedDiffers(desired Desired, seen Nodegroup) []string {
	var reasons []string
	differs := func(what, has, wanted string) {
		if wanted != "" && has != wanted {
			reasons = append(reasons, fmt.Sprintf("%s is %s, but the spec has %s", what, has, wanted))
		}
	}
	if desired.Template != nil && seen.LaunchTemplateID == "" {
		differs("launch template", "none", desired.Template.ID)
	}
	imageType := desired.AMIType
	if desired.OwnImage {
		imageType = string(ekstypes.AMITypesCustom)
	}
	differs("AMI type", orNone(seen.AMIType), imageType)
	if seen.CapacityType != "" {
		differs("capacity type", seen.CapacityType, desired.CapacityType)
	}
	differs("node role", seen.roleName(), desired.RoleName)
	differs("list of instance types", set(seen.InstanceTypes), optionalSet(desired.InstanceTypes))
	differs("list of subnets", set(seen.SubnetIDs), optionalSet(desired.SubnetIDs))
	if desired.DiskSize != 0 {
		differs("disk size", fmt.Sprint(seen.DiskSize), fmt.Sprint(desired.DiskSize))
	}
	if seen.LaunchTemplateID == "" && desired.Template == nil { // a template has a key and groups of its own
		has, wanted := remoteAccessDiffers(desired.RemoteAccess, seen.RemoteAccess)
		differs("remote access", has, wanted)
	}
	return reasons
}

// switchesImage reports whether the launch template's next version would bring an image of its own
// to a node group of EKS's, or take it away.
func switchesImage(desired Desired, seen Nodegroup) bool {
	return desired.Template != nil && seen.AMIType != "" && desired.OwnImage != seen.OwnImage()
}

func (n *Nodegroup) roleName() string { return n.RoleARN[strings.LastIndex(n.RoleARN, "/")+1:] }

// remoteAccessDiffers returns twice the same if the two let the same in. Of groups those count that
// the pool names itself: the cluster's come and go.
func remoteAccessDiffers(wanted, seen *RemoteAccess) (string, string) {
	same := wanted == nil && seen == nil || wanted != nil && seen != nil && wanted.KeyName == seen.KeyName &&
		(len(wanted.SecurityGroups) == 0) == (len(seen.SecurityGroups) == 0) &&
		!slices.ContainsFunc(wanted.Named, func(group string) bool { return !slices.Contains(seen.SecurityGroups, group) })
	if same {
		return "", ""
	}
	return seen.text(), wanted.text()
}

// text says who may connect.
func (a *RemoteAccess) text() string {
	switch {
	case a == nil:
		return "none"
	case len(a.SecurityGroups) == 0:
		return "by key " + orNone(a.KeyName) + " from everywhere"
	}
	return "by key " + orNone(a.KeyName) + " from " + set(a.SecurityGroups)
}

// set returns the text of a list whose order does not matter.
func set(values []string) string {
	return "[" + strings.Join(slices.Sorted(slices.Values(values)), " ") + "]"
}

// optionalSet does the same as set, but returns "" for a list that is not given.
func optionalSet(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return set(values)
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
