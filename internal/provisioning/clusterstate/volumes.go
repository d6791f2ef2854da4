package clusterstate

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

// volumes finds what a cluster has of volumes by name.
type volumes struct {
	claims  map[types.NamespacedName]*corev1.PersistentVolumeClaim
	volumes map[string]*corev1.PersistentVolume
	classes map[string]*storagev1.StorageClass
	nodes   map[string]*storagev1.CSINode
	// users are the pods on Nodes that use claims which only one pod may use, by the claim.
	users map[types.NamespacedName]*corev1.Pod
	// attached are volumes by Node, those without a pod among them: one that is being detached, or
	// whose pod is gone.
	attached map[string][]attached
}

// volumes returns what the cluster has of volumes. It is indexed once.
func (c *Cluster) volumes() *volumes {
	if c.indexed == nil {
		c.indexed = indexVolumes(c)
	}
	return c.indexed
}

// indexVolumes finds what a cluster has of volumes.
func indexVolumes(c *Cluster) *volumes {
	v := &volumes{
		claims: map[types.NamespacedName]*corev1.PersistentVolumeClaim{}, volumes: map[string]*corev1.PersistentVolume{}, classes: map[string]*storagev1.StorageClass{},
		nodes: map[string]*storagev1.CSINode{}, attached: map[string][]attached{},
	}
	for i := range c.Claims {
		v.claims[types.NamespacedName{Namespace: c.Claims[i].Namespace, Name: c.Claims[i].Name}] = &c.Claims[i]
	}
	for i := range c.Volumes {
		v.volumes[c.Volumes[i].Name] = &c.Volumes[i]
	}
	for i := range c.Classes {
		v.classes[c.Classes[i].Name] = &c.Classes[i]
	}
	for i := range c.CSINodes {
		v.nodes[c.CSINodes[i].Name] = &c.CSINodes[i]
	}
	for i := range c.Attachments {
		spec := &c.Attachments[i].Spec
		if volume := v.volumes[ptr.Deref(spec.Source.PersistentVolumeName, "")]; volume != nil && volume.Spec.CSI != nil {
			v.attached[spec.NodeName] = append(v.attached[spec.NodeName], attached{spec.Attacher, volume.Spec.CSI.VolumeHandle})
		}
	}
	v.users = v.usersOf(c)
	return v
}

// usersOf returns the pods on Nodes that use claims which only one pod may use, nil if there is no
// such claim. The scheduler does not heed pods whose Node is gone.
func (v *volumes) usersOf(c *Cluster) map[types.NamespacedName]*corev1.Pod {
	exclusive := map[types.NamespacedName]bool{}
	for name, claim := range v.claims {
		if slices.Contains(claim.Spec.AccessModes, corev1.ReadWriteOncePod) {
			exclusive[name] = true
		}
	}
	if len(exclusive) == 0 {
		return nil
	}
	there := map[string]bool{}
	for i := range c.Nodes {
		there[c.Nodes[i].Name] = true
	}
	users := map[types.NamespacedName]*corev1.Pod{}
	for _, pod := range c.Pods {
		if !there[pod.Spec.NodeName] || done(pod) {
			continue
		}
		for _, name := range claimsOf(pod) {
			if exclusive[name] {
				users[name] = pod
			}
		}
	}
	return users
}

// Claims reports whether a pod has a PersistentVolumeClaim.
func Claims(pod corev1.Pod) bool { return len(claimsOf(&pod)) > 0 }

// claimsOf returns the names of a pod's claims.
func claimsOf(pod *corev1.Pod) []types.NamespacedName {
	var names []types.NamespacedName
	for i := range pod.Spec.Volumes {
		if name := claimName(pod, &pod.Spec.Volumes[i]); name != "" {
			names = append(names, namespaced(pod, name))
		}
	}
	return names
}

func namespaced(pod *corev1.Pod, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: pod.Namespace, Name: name}
}

// claimName returns the PersistentVolumeClaim of a volume; empty for a volume of another kind.
func claimName(pod *corev1.Pod, volume *corev1.Volume) string {
	switch {
	case volume.PersistentVolumeClaim != nil:
		return volume.PersistentVolumeClaim.ClaimName
	case volume.Ephemeral != nil:
		// Kubernetes: "Generic ephemeral volumes", PersistentVolumeClaim naming
		return pod.Name + "-" + volume.Name
	}
	return ""
}

// zonesOf returns the zones that a pod's volumes can be used in, nil for any.
func (v *volumes) zonesOf(pod *corev1.Pod) []string {
	var zones []string
	for _, name := range claimsOf(pod) {
		of := v.zonesOfClaim(name)
		switch {
		case of == nil:
		case zones == nil:
			zones = of
		default:
			zones = slices.DeleteFunc(slices.Clone(zones), func(zone string) bool { return !slices.Contains(of, zone) })
		}
	}
	return zones
}

// zonesOfClaim returns the zones that the volume of a claim can be used in, nil for any.
func (v *volumes) zonesOfClaim(name types.NamespacedName) []string {
	claim := v.claims[name]
	if claim == nil {
		return nil
	}
	if volume := v.volumes[claim.Spec.VolumeName]; volume != nil {
		return zonesOfVolume(volume)
	}
	class := v.classOf(claim)
	if class == nil {
		return nil
	}
	var zones []string
	for _, term := range class.AllowedTopologies {
		for _, expression := range term.MatchLabelExpressions {
			if isZone(expression.Key) {
				zones = append(zones, expression.Values...)
			}
		}
	}
	return zones
}

func (v *volumes) classOf(claim *corev1.PersistentVolumeClaim) *storagev1.StorageClass {
	if claim.Spec.StorageClassName == nil {
		return nil
	}
	return v.classes[*claim.Spec.StorageClassName]
}

// zonesOfVolume returns the zones that the node affinity and the labels of a volume admit, nil for any.
// The scheduler heeds both (Kubernetes: plugins/volumezone); a label may name several zones.
func zonesOfVolume(volume *corev1.PersistentVolume) []string {
	zones := zonesOfAffinity(volume)
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone} {
		label, has := volume.Labels[key]
		if !has {
			continue
		}
		labeled := strings.Split(label, "__")
		if zones == nil {
			zones = labeled
			continue
		}
		zones = slices.DeleteFunc(slices.Clone(zones), func(zone string) bool { return !slices.Contains(labeled, zone) })
	}
	return zones
}

// zonesOfAffinity returns the zones in any term of a volume's node affinity.
func zonesOfAffinity(volume *corev1.PersistentVolume) []string {
	if volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
		return nil
	}
	var zones []string
	for _, term := range volume.Spec.NodeAffinity.Required.NodeSelectorTerms {
		for _, expression := range term.MatchExpressions {
			if isZone(expression.Key) && expression.Operator == corev1.NodeSelectorOpIn {
				zones = append(zones, expression.Values...)
			}
		}
	}
	return zones
}

// isZone reports whether a label is one by which volumes name zones: Kubernetes's, or the label of
// the EBS driver.
func isZone(key string) bool {
	return key == corev1.LabelTopologyZone || key == corev1.LabelFailureDomainBetaZone || key == "topology.ebs.csi.aws.com/zone"
}

// attached is one volume, by its driver and the driver's name for it.
type attached struct{ driver, handle string }

// migrated maps drivers that were once part of Kubernetes to their successors (Kubernetes:
// csi-translation-lib).
var migrated = map[string]string{"kubernetes.io/aws-ebs": packing.EBSDriver}

// of returns the volumes that a pod has its node attach. A claim that is not bound yet stands for
// its volume, as for the scheduler (nodevolumelimits).
func (v *volumes) of(pod *corev1.Pod) []attached {
	var all []attached
	for _, name := range claimsOf(pod) {
		claim := v.claims[name]
		if claim == nil {
			continue
		}
		if volume := v.volumes[claim.Spec.VolumeName]; volume != nil {
			switch source := &volume.Spec.PersistentVolumeSource; {
			case source.CSI != nil:
				all = append(all, attached{source.CSI.Driver, source.CSI.VolumeHandle})
			case source.AWSElasticBlockStore != nil:
				all = append(all, attached{packing.EBSDriver, source.AWSElasticBlockStore.VolumeID})
			}
		} else if class := v.classOf(claim); class != nil {
			all = append(all, attached{cmp.Or(migrated[class.Provisioner], class.Provisioner), name.String()})
		}
	}
	return all
}

// count returns how many volumes a pod has its node attach, by driver.
func (v *volumes) count(pod *corev1.Pod) map[string]int64 {
	var counts map[string]int64
	for _, one := range v.of(pod) {
		if counts == nil {
			counts = map[string]int64{}
		}
		counts[one.driver]++
	}
	return counts
}

// leave sets how many volumes a node can attach in addition to the volumes of its pods. It takes
// the limits that the drivers report, and the limit of the instance type for drivers that report
// none yet.
func (v *volumes) leave(node *packing.Node, of *packing.InstanceType) {
	limits := map[string]int64{}
	if of != nil {
		if quantity, bounded := of.Capacity[packing.AttachableVolumes(packing.EBSDriver)]; bounded {
			limits[packing.EBSDriver] = quantity.Value()
		}
	}
	if said := v.nodes[node.Name]; said != nil {
		for _, driver := range said.Spec.Drivers {
			delete(limits, driver.Name)
			if driver.Allocatable != nil && driver.Allocatable.Count != nil {
				limits[driver.Name] = int64(*driver.Allocatable.Count)
			}
		}
	}
	if len(limits) == 0 {
		return
	}
	there := map[attached]bool{} // as the scheduler counts (nodevolumelimits)
	for _, one := range v.attached[node.Name] {
		there[one] = true
	}
	for _, pod := range node.Pods {
		for _, one := range v.of(pod) {
			there[one] = true
		}
	}
	for one := range there {
		if _, bounded := limits[one.driver]; bounded {
			limits[one.driver]--
		}
	}
	node.Allocatable = maps.Clone(node.Allocatable)
	if node.Allocatable == nil {
		node.Allocatable = corev1.ResourceList{}
	}
	for driver, left := range limits {
		node.Allocatable[packing.AttachableVolumes(driver)] = *resource.NewQuantity(max(left, 0), resource.DecimalSI)
	}
}
