package webhooks

import (
	"fmt"
	"strings"

	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// managedSubject is a managed pool and its surroundings.
type managedSubject struct {
	pool *infrav1.AWSManagedMachinePool
	wanted
	// controlPlaneVersion is the Kubernetes version of the EKS cluster, empty if it is not known.
	controlPlaneVersion string
}

// managedPoolRules are by their ids in the validation matrix; each returns a warning that says what
// to do, or nothing.
var managedPoolRules = map[string]func(managedSubject) string{
	"EK11W": someTypeIsNamed,
	"EK33":  taintsComeInTime,
	"EK34":  containersReachMetadata,
	"SL23":  fieldsStay,
	"SL25":  familyIsAlive,
	"SL26":  unavailableNodesExist,
	"SL27":  managedReplicasFit,
	"SL32":  versionIsTaken,
}

func managedPoolWarnings(s managedSubject) []string {
	said := []string{}
	if template := s.pool.Spec.AWSLaunchTemplate; template != nil {
		said = launchTemplateWarnings("spec.awsLaunchTemplate", template)
	}
	for _, rule := range sorted(managedPoolRules) {
		if warning := managedPoolRules[rule](s); warning != "" {
			said = append(said, warning)
		}
	}
	return said
}

// someTypeIsNamed: without any instance type EKS takes t3.medium (AWS: API_CreateNodegroup, instanceTypes).
//
// +slipway:warning=EK11W
func someTypeIsNamed(s managedSubject) string {
	spec := &s.pool.Spec
	inTemplate := spec.LaunchConfigRef != nil || spec.LaunchConfigTemplateRef != nil || spec.AWSLaunchTemplate != nil && spec.AWSLaunchTemplate.InstanceType != ""
	if inTemplate || ptr.Deref(spec.InstanceType, "") != "" || len(spec.InstanceTypes) > 0 {
		return ""
	}
	return "spec.instanceTypes: no instance type is set, so EKS launches t3.medium: set the types to use"
}

// taintsComeInTime: EKS taints nodes with an image of one's own after they have joined (AWS:
// launch-templates, "Specifying an AMI").
//
// +slipway:warning=EK33
func taintsComeInTime(s managedSubject) string {
	if len(s.pool.Spec.Taints) == 0 || !s.pool.Spec.OwnImage() {
		return ""
	}
	return "spec.taints: with your own image, EKS taints nodes only after they have joined, so pods may be " +
		"scheduled before that: also set --register-with-taints in the bootstrap data"
}

// containersReachMetadata: an answer with a session token has one hop to the instance and one into
// a container (AWS: launch-templates, "Considerations").
//
// +slipway:warning=EK34
func containersReachMetadata(s managedSubject) string {
	template := s.pool.Spec.AWSLaunchTemplate
	if template == nil || template.InstanceMetadataOptions == nil {
		return ""
	}
	options := template.InstanceMetadataOptions
	if options.HTTPEndpoint == infrav1.InstanceMetadataDisabled || options.HTTPPutResponseHopLimit != 1 {
		return ""
	}
	return "spec.awsLaunchTemplate.instanceMetadataOptions.httpPutResponseHopLimit: the default is 1, so " +
		"containers outside the host network cannot get an IMDSv2 token: set it to 2"
}

// fieldsStay: deprecated fields work for a while.
//
// +slipway:warning=SL23
func fieldsStay(s managedSubject) string { return s.pool.Spec.DeprecationMessage() }

// familyIsAlive: Amazon EKS published its last Amazon Linux 2 image on 26 November 2025, and none
// for Kubernetes 1.33 and later (AWS: eks-ami-deprecation-faqs).
//
// +slipway:warning=SL25
func familyIsAlive(s managedSubject) string {
	family := ptr.Deref(s.pool.Spec.AMIType, infrav1.AMITypeAL2X86)
	if s.pool.Spec.OwnImage() || !strings.HasPrefix(string(family), "AL2_") {
		return ""
	}
	successor := map[infrav1.ManagedMachineAMIType]infrav1.ManagedMachineAMIType{
		infrav1.AMITypeAL2ARM: infrav1.AMITypeAL2023ARM, infrav1.AMITypeAL2X86GPU: infrav1.AMITypeAL2023X86Nvidia,
	}[family]
	if successor == "" {
		successor = infrav1.AMITypeAL2023X86
	}
	return fmt.Sprintf("spec.amiType: %s, the default of CAPA, has received no new images since November 2025, "+
		"and has none for Kubernetes 1.33 and later: use %s", family, successor)
}

// unavailableNodesExist: EKS refuses more unavailable nodes than there may be ("max-unavailable must
// be within the range 1 and max size of the node group", terraform-provider-aws#26535).
//
// +slipway:warning=SL26
func unavailableNodesExist(s managedSubject) string {
	update, scaling := s.pool.Spec.UpdateConfig, s.pool.Spec.Scaling
	if update == nil || update.MaxUnavailable == nil || scaling == nil || scaling.MaxSize == nil || *update.MaxUnavailable <= *scaling.MaxSize {
		return ""
	}
	return fmt.Sprintf("spec.updateConfig.maxUnavailable: %d is more than scaling.maxSize, which is %d, so EKS "+
		"rejects it: use a smaller number, or increase scaling.maxSize",
		*update.MaxUnavailable, *scaling.MaxSize)
}

// managedReplicasFit: EKS refuses a desired size that is out of bounds; the controller says so in a
// condition, later.
//
// +slipway:warning=SL27
func managedReplicasFit(s managedSubject) string {
	replicas, known := s.replicas()
	scaling := ptr.Deref(s.pool.Spec.Scaling, infrav1.ManagedMachinePoolScaling{})
	low, high := ptr.Deref(scaling.MinSize, replicas), ptr.Deref(scaling.MaxSize, replicas)
	if !known || replicas >= low && replicas <= high {
		return ""
	}
	return fmt.Sprintf("spec.scaling: spec.replicas of MachinePool %q is %d, which is not between minSize and "+
		"maxSize: change one of them", s.machinePool.Name, replicas)
}
