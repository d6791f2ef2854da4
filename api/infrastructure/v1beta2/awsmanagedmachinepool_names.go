package v1beta2

import (
	"fmt"
	"strings"

	"golang.org/x/crypto/blake2b"
)

// longestCAPAName is the longest name that CAPA leaves as it is. Names of node groups may be no
// longer (AWS: API_CreateNodegroup); names of roles might have one character more (AWS:
// API_CreateRole).
const longestCAPAName = 63

// Parts that the names derived for AWS have in common.
const (
	// NodeRoleSuffix is the last part of the names of node roles that are derived, and not hashed.
	NodeRoleSuffix = "_nodegroup-iam-service-role"
	// HashedNamePrefix begins derived names that would be too long.
	HashedNamePrefix = "capa_"
)

// DefaultNodegroupName returns the name of the node group of a pool whose spec.eksNodegroupName is
// empty. It is the name that CAPA chooses: <namespace>_<name> with _ for every dot or, if that has
// more than 63 characters, capa_ and a hash of it.
func DefaultNodegroupName(namespace, name string) string {
	return capaName(namespace + "_" + strings.ReplaceAll(name, ".", "_"))
}

// DefaultNodeRoleName returns the name of the node role of a pool whose spec.roleName is empty. It
// is the name of the role that CAPA creates with its feature gate EKSEnableIAM: <EKS cluster>-<node
// group>_nodegroup-iam-service-role or, if that has more than 63 characters, capa_ and a hash of
// it.
func DefaultNodeRoleName(eksCluster, nodegroup string) string {
	return capaName(eksCluster + "-" + nodegroup + NodeRoleSuffix)
}

// capaName returns the name that CAPA gives a resource in EKS (CAPA: pkg/eks, GenerateEKSName;
// pkg/hash, Base36TruncatedHash).
func capaName(full string) string {
	const digits, length = "0123456789abcdefghijklmnopqrstuvwxyz", 32
	if len(full) <= longestCAPAName {
		return full
	}
	hasher, err := blake2b.New(length-len(HashedNamePrefix), nil)
	if err != nil {
		panic(err) // only for a size or a key that BLAKE2b does not have
	}
	_, _ = hasher.Write([]byte(full)) // never fails
	name := []byte(HashedNamePrefix)
	for _, value := range hasher.Sum(nil) {
		name = append(name, digits[int(value)%len(digits)])
	}
	return string(name)
}

// DeprecatedUntil is until when deprecated fields work at least: the rule of Kubernetes for fields
// of a beta version is nine months or three releases, whichever is longer (Kubernetes:
// deprecation-policy).
const DeprecatedUntil = "September 2027"

// DeprecatedField is a field that will go away in pools without a launch template, and where the
// same is said in pools that have one.
type DeprecatedField struct{ Field, Use string }

// DeprecatedFields returns the fields of the pool that will be removed: the fields that describe
// instances in a pool without a launch template. In a pool with a launch template without an image,
// amiType and amiVersion stay: they select one of the images of EKS. The default of amiType does
// not count, because no user chose it.
func (s *AWSManagedMachinePoolSpec) DeprecatedFields() []DeprecatedField {
	if s.Templated() {
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

// DeprecationMessage says in one sentence which deprecated fields the pool uses, what to use and
// until when; empty if there are none. It is the warning at admission, the message of the condition
// and the line in the log.
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
