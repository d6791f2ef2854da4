package constraints

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
)

// Reference names a launch template, and the version to take. The zero Reference is the default
// launch template.
type Reference struct {
	// ID, Name and Config (namespace/name of an AWSLaunchConfig) are alternatives.
	ID, Name, Config string

	// Version is a number, latest or default.
	Version string
}

// IsDefault reports whether the reference is to the default launch template, which Slipway creates.
func (r Reference) IsDefault() bool { return r == Reference{} }

// String describes the reference for a user.
func (r Reference) String() string {
	if r.IsDefault() {
		return "the default launch template"
	}
	return "launch template " + cmp.Or(r.Name, r.ID, r.Config)
}

// Template holds the content of a launch template, as far as it matters to the choice of nodes.
type Template struct {
	// Name in EC2. Nodes carry it if it is a legal value of a label.
	Name string

	// Version is the number that the reference's version stands for.
	Version int64

	// Architecture of the image, as kubernetes.io/arch has it.
	Architecture string

	// InstanceTypes that the template names, or that suit what it requires. Provisioners and pods
	// that name types take precedence.
	InstanceTypes []string

	// Zones that the template can be launched in, if it fixes a subnet, a network interface or a zone.
	Zones []string

	// CapacityType that the template's market options fix.
	CapacityType string

	// EphemeralStorage is the size of the volume that has it, in bytes. 0: as the instance type says.
	EphemeralStorage int64

	// FixesSubnet says that instances are launched in a subnet, or a network interface, that the
	// template names.
	FixesSubnet bool

	// Refused are the offerings that EC2 does not launch from the version, though it launches
	// others.
	Refused Refused

	// Tags of the template itself, and InstanceProfile of its instances: a name or an ARN.
	Tags            map[string]string
	InstanceProfile string

	// Problem explains why nothing can be launched from the template.
	Problem string
}

// Templates are the launch templates that are known.
type Templates map[Reference]Template

// Provisioner is the layer of a provisioner.
type Provisioner struct {
	// Name of the provisioner.
	Name string

	// Template of pods that name none.
	Template Reference

	// Allowed are the templates that pods may name.
	Allowed Allowed

	// Labels of nodes, in addition to the labels that have fields here.
	Labels map[string]string

	// Taints of nodes.
	Taints []corev1.Taint

	// Zones and InstanceTypes that nodes may have; all if empty. Pods choose among them.
	Zones, InstanceTypes []string

	// SubnetZones are the zones with a subnet that nodes can be in. All zones have one if it is
	// nil.
	SubnetZones []string

	// SubnetProblem is why nodes can be in none of the subnets; empty if they can. It does not
	// matter where the launch template has the subnet.
	SubnetProblem string

	// DefaultProblems are why nothing can be launched from the default launch templates, by
	// architecture.
	DefaultProblems map[string]string

	// RefusedDefaults are the offerings that EC2 does not launch from the default launch template
	// for the architecture of their type.
	RefusedDefaults Refused

	// CapacityType of nodes whose pods do not say, if the provisioner says.
	CapacityType string

	// Architecture (as kubernetes.io/arch has it) of all nodes, if the provisioner says.
	Architecture string

	// Requirements of all nodes' labels, in addition to Zones, InstanceTypes, and Architecture.
	Requirements Requirements

	// Weight orders provisioners that suit the same pods: the highest launches.
	Weight int32

	// Resources that nodes from Template have in addition to the resources of their instance type.
	Resources corev1.ResourceList

	// Problem is why the provisioner can launch nothing now; empty if it can.
	Problem string

	// IgnoreIncompatible leaves pods alone whose architecture the template cannot serve.
	IgnoreIncompatible bool
}

// FromSpec returns the layer that the spec of a provisioner describes.
func FromSpec(name string, spec *provisioningv1.ProvisionerSpec) Provisioner {
	p := Provisioner{
		Name: name, Zones: spec.Zones, InstanceTypes: spec.InstanceTypes, Architecture: spec.Architecture.Label(),
		CapacityType:       cmp.Or(spec.Labels[provisioningv1.LabelCapacityType], spec.Labels[provisioningv1.LegacyLabelCapacityType]),
		IgnoreIncompatible: spec.IncompatibleArchitecturePolicy == provisioningv1.Ignore,
		Template:           templateOf(spec),
		Allowed:            allowedBy(spec),
		Labels:             maps.Clone(map[string]string(spec.Labels)),
		Requirements:       requirementsOf(spec.Requirements),
		Weight:             ptr.Deref(spec.Weight, 0),
		Resources:          resourcesOf(spec.ExtraResources),
	}
	for _, key := range slices.Concat(launchLabels, legacyLabels) {
		delete(p.Labels, key)
	}
	for _, taint := range spec.Taints {
		p.Taints = append(p.Taints, corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: corev1.TaintEffect(taint.Effect)})
	}
	return p
}

// requirementsOf returns the requirements of a spec. A requirement that the API server should have
// refused admits nothing, so that nothing is launched beyond it.
func requirementsOf(spec []provisioningv1.Requirement) Requirements {
	var all Requirements
	for i := range spec {
		if spec[i].Key == corev1.LabelOSStable {
			continue // all nodes run Linux, and the API server refuses anything else
		}
		set, err := SetOf(corev1.NodeSelectorRequirement{Key: string(spec[i].Key), Operator: corev1.NodeSelectorOperator(spec[i].Operator), Values: spec[i].Values})
		if err != nil {
			set = In()
		}
		if all == nil {
			all = Requirements{}
		}
		all.Narrow(string(spec[i].Key), set)
	}
	if all == nil {
		return nil
	}
	return Canonical(all)
}

// resourcesOf returns whole amounts: a device cannot be divided.
func resourcesOf(extra provisioningv1.ExtraResources) corev1.ResourceList {
	if len(extra) == 0 {
		return nil
	}
	list := corev1.ResourceList{}
	for name, quantity := range extra {
		if whole := quantity.MilliValue() / 1000; whole > 0 {
			list[name] = *resource.NewQuantity(whole, quantity.Format)
		}
	}
	return list
}

// Before orders provisioners that suit the same pods: by weight, the highest first, and then by name.
func Before(a, b *Provisioner) int {
	return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Name, b.Name))
}

var (
	launchLabels = []string{provisioningv1.LabelLaunchTemplateName, provisioningv1.LabelLaunchTemplateVersion, provisioningv1.LabelCapacityType}
	legacyLabels = []string{
		provisioningv1.LegacyLabelLaunchTemplateID, provisioningv1.LegacyLabelLaunchTemplateVersion, provisioningv1.LegacyLabelCapacityType,
	}
)

func templateOf(spec *provisioningv1.ProvisionerSpec) Reference {
	version := versionOf(cmp.Or(spec.Labels[provisioningv1.LabelLaunchTemplateVersion], spec.Labels[provisioningv1.LegacyLabelLaunchTemplateVersion]))
	switch {
	case spec.LaunchTemplateRef != nil:
		return Reference{ID: spec.LaunchTemplateRef.ID, Name: spec.LaunchTemplateRef.Name, Version: versionOf(spec.LaunchTemplateRef.Version)}
	case spec.LaunchConfigRef != nil:
		return Reference{Config: spec.LaunchConfigRef.Namespace + "/" + spec.LaunchConfigRef.Name, Version: provisioningv1.VersionLatest}
	case spec.Labels[provisioningv1.LabelLaunchTemplateName] != "":
		return Reference{Name: spec.Labels[provisioningv1.LabelLaunchTemplateName], Version: version}
	case spec.Labels[provisioningv1.LegacyLabelLaunchTemplateID] != "":
		return Reference{ID: spec.Labels[provisioningv1.LegacyLabelLaunchTemplateID], Version: version}
	}
	return Reference{}
}

// versionOf returns the version that a provisioner asks for, in one spelling.
func versionOf(said string) string {
	if said == "" || said == provisioningv1.VersionLatestOfDocument {
		return provisioningv1.VersionLatest
	}
	return said
}
