package v1beta2

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// maxNodegroupName is how long the name of a node group may be (AWS: API_CreateNodegroup, nodegroupName).
const maxNodegroupName = 63

// DefaultNodegroupName is the name of the node group of a pool whose spec.eksNodegroupName is empty: CAPA's, which is
// <namespace>_<name> with _ for every dot, where that is not too long, else its beginning and a hash. (CAPA has another form for
// long names, and writes it into spec, so that a pool that it made keeps it.)
func DefaultNodegroupName(namespace, name string) string {
	full := namespace + "_" + strings.ReplaceAll(name, ".", "_")
	if len(full) <= maxNodegroupName {
		return full
	}
	hash := sha256.Sum256([]byte(namespace + "/" + name))
	short := hex.EncodeToString(hash[:])[:8]
	return full[:maxNodegroupName-len(short)-1] + "-" + short
}

// DeprecatedUntil is until when deprecated fields work at least: the rule of Kubernetes for fields of a beta version is nine
// months or three releases, whichever is longer (Kubernetes: deprecation-policy).
const DeprecatedUntil = "September 2027"

// DeprecatedField is a field that will go away in pools without a launch template, and where the same is said in pools that have one.
type DeprecatedField struct{ Field, Use string }

// DeprecatedFields are the fields of the pool that will go away: those that describe instances beside a launch template, in a pool
// that has none (seed of the design: "Launch Templates for Managed Machine Pools"). In a pool with a launch template without an
// image, amiType and amiVersion stay: they choose among the images of EKS. The default of amiType is nobody's wish.
func (s *AWSManagedMachinePoolSpec) DeprecatedFields() []DeprecatedField {
	if s.AWSLaunchTemplate != nil || s.LaunchConfigRef != nil {
		return nil
	}
	var found []DeprecatedField
	if s.AMIType != nil && *s.AMIType != AMITypeAL2X86 {
		found = append(found, DeprecatedField{Field: "amiType", Use: "amiType"})
	}
	if s.AMIVersion != nil {
		found = append(found, DeprecatedField{Field: "amiVersion", Use: "amiVersion"})
	}
	if s.DiskSize != nil {
		found = append(found, DeprecatedField{Field: "diskSize", Use: "awsLaunchTemplate.rootVolume.size"})
	}
	if s.InstanceType != nil && *s.InstanceType != "" {
		found = append(found, DeprecatedField{Field: "instanceType", Use: "awsLaunchTemplate.instanceType"})
	}
	return found
}

// DeprecationMessage says in one sentence which deprecated fields the pool uses, what to use and until when; empty if there are
// none. It is the warning at admission, the message of the condition and the line in the log.
func (s *AWSManagedMachinePoolSpec) DeprecationMessage() string {
	found := s.DeprecatedFields()
	if len(found) == 0 {
		return ""
	}
	var fields, uses []string
	for _, field := range found {
		fields = append(fields, field.Field)
		if field.Use != field.Field {
			uses = append(uses, field.Use)
		}
	}
	use := strings.Join(append(uses, "awsLaunchTemplate")[:max(len(uses), 1)], " and ")
	return fmt.Sprintf("spec.%s: without a launch template until %s at least; make a new pool with %s, and move to it",
		strings.Join(fields, ", "), DeprecatedUntil, use)
}
