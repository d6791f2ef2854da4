package clusterstate_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/clusterstate"
	"github.com/slipway-project/slipway/internal/provisioning/packing"
)

func claims(names ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		for _, name := range names {
			p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
			}})
		}
	}
}

// TestAttachedVolumes holds how many volumes pods have nodes attach, and how many nodes can attach
// in addition to the volumes of their pods: as their drivers report, and else by their type.
func TestAttachedVolumes(t *testing.T) {
	t.Parallel()
	claim := func(name, bound, class string) corev1.PersistentVolumeClaim {
		return corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: bound, StorageClassName: &class},
		}
	}
	volume := func(name string, source corev1.PersistentVolumeSource) corev1.PersistentVolume {
		return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: source}}
	}
	class := func(name, provisioner string) storagev1.StorageClass {
		return storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)}
	}
	node := func(name string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}}}
	}
	says := func(name string, drivers ...storagev1.CSINodeDriver) storagev1.CSINode {
		return storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: storagev1.CSINodeSpec{Drivers: drivers}}
	}
	attachment := func(node, volume string) storagev1.VolumeAttachment {
		return storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{
			Attacher: packing.EBSDriver, NodeName: node, Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &volume},
		}}
	}
	cluster := clusterstate.Cluster{
		// pv-1 is a pod's too, and counts once; pv-4 belongs to no pod, and counts; pv-5 is gone.
		Attachments: []storagev1.VolumeAttachment{attachment("says", "pv-1"), attachment("says", "pv-4"), attachment("says-nothing", "pv-5")},
		Claims: []corev1.PersistentVolumeClaim{
			claim("one", "pv-1", ""), claim("same", "pv-1", ""), claim("old", "pv-2", ""), claim("shared", "pv-3", ""), claim("later", "", "ebs"), claim("later-old", "", "old"),
		},
		Volumes: []corev1.PersistentVolume{
			volume("pv-1", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: packing.EBSDriver, VolumeHandle: "vol-1"}}),
			volume("pv-2", corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-2"}}),
			volume("pv-3", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "efs.csi.aws.com", VolumeHandle: "fs-1"}}),
			volume("pv-4", corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: packing.EBSDriver, VolumeHandle: "vol-4"}}),
		},
		Classes: []storagev1.StorageClass{class("ebs", packing.EBSDriver), class("old", "kubernetes.io/aws-ebs")},
		Nodes:   []corev1.Node{node("says"), node("says-nothing"), node("unbounded"), node("full")},
		CSINodes: []storagev1.CSINode{
			says("says", storagev1.CSINodeDriver{Name: packing.EBSDriver, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](10)}}),
			says("unbounded", storagev1.CSINodeDriver{Name: packing.EBSDriver}),
			says("full", storagev1.CSINodeDriver{Name: packing.EBSDriver, Allocatable: &storagev1.VolumeNodeResources{Count: ptr.To[int32](1)}}),
		},
		Pods: []*corev1.Pod{
			pod("waits", claims("one", "old", "shared", "later", "later-old")),
			// one and same are one volume
			pod("a", on("says"), claims("one", "old")), pod("b", on("says"), claims("same", "shared")),
			pod("c", on("says-nothing"), claims("one")), pod("d", on("full"), claims("one", "old")),
		},
	}
	types := types1()
	types[0].Name, types[0].Capacity = "m5.large", corev1.ResourceList{packing.AttachableVolumes(packing.EBSDriver): resource.MustParse("24")}
	problem := cluster.Problem(nil, types)
	if diff := cmp.Diff(map[string]int64{packing.EBSDriver: 4, "efs.csi.aws.com": 1}, problem.Pods[0].Volumes); diff != "" {
		t.Errorf("the pod that waits attaches (-want +got):\n%s", diff)
	}
	left := map[string]int64{}
	for _, node := range problem.Nodes {
		if quantity, bounded := node.Allocatable[packing.AttachableVolumes(packing.EBSDriver)]; bounded {
			left[node.Name] = quantity.Value()
		}
	}
	if diff := cmp.Diff(map[string]int64{"says": 7, "says-nothing": 23, "full": 0}, left); diff != "" {
		t.Errorf("nodes can attach (-want +got):\n%s", diff)
	}
}

// TestVolumeZones holds where a pod can be for its volumes' sake.
func TestVolumeZones(t *testing.T) {
	t.Parallel()
	zone := func(key string, zones ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: zones}}}
	}
	volume := func(name string, term corev1.NodeSelectorTerm) corev1.PersistentVolume {
		return corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{term}}},
		}}
	}
	claim := func(name, bound, class string) corev1.PersistentVolumeClaim {
		c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Spec: corev1.PersistentVolumeClaimSpec{VolumeName: bound}}
		if class != "" {
			c.Spec.StorageClassName = &class
		}
		return c
	}
	labeled := func(volume corev1.PersistentVolume, key, zones string) corev1.PersistentVolume {
		volume.Labels = map[string]string{key: zones}
		return volume
	}
	cluster := clusterstate.Cluster{
		Claims: []corev1.PersistentVolumeClaim{
			claim("labeled", "pv-labeled", ""), claim("labeled-long-ago", "pv-labeled-long-ago", ""), claim("labeled-too", "pv-labeled-too", ""),
			claim("in-a", "pv-a", ""), claim("in-a-or-b", "pv-ab", ""), claim("later", "", "wait"), claim("some-zones", "", "zones"), claim("at-once", "", "immediate"),
		},
		Volumes: []corev1.PersistentVolume{
			volume("pv-a", zone("topology.ebs.csi.aws.com/zone", "a")), volume("pv-ab", zone(corev1.LabelTopologyZone, "a", "b")),
			labeled(corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-labeled"}}, corev1.LabelTopologyZone, "b"),
			labeled(corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-labeled-long-ago"}}, corev1.LabelFailureDomainBetaZone, "b__c"),
			labeled(volume("pv-labeled-too", zone(corev1.LabelTopologyZone, "a", "b")), corev1.LabelTopologyZone, "b"),
		},
		Classes: []storagev1.StorageClass{
			{ObjectMeta: metav1.ObjectMeta{Name: "wait"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)},
			{ObjectMeta: metav1.ObjectMeta{Name: "zones"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer), AllowedTopologies: []corev1.TopologySelectorTerm{
				{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{{Key: corev1.LabelTopologyZone, Values: []string{"b", "c"}}}},
			}},
			{ObjectMeta: metav1.ObjectMeta{Name: "immediate"}, VolumeBindingMode: ptr.To(storagev1.VolumeBindingImmediate)},
		},
	}
	for _, row := range []struct {
		reason string
		claims []string
		want   string
	}{
		{"no volume", nil, "[]"},
		{"bound, by the label of the driver", []string{"in-a"}, "[a]"},
		{"bound, by a label of the volume", []string{"labeled"}, "[b]"},
		{"by a former label with several zones", []string{"labeled-long-ago"}, "[b c]"},
		{"by a label and by node affinity", []string{"labeled-too"}, "[b]"},
		{"bound to either of two", []string{"in-a-or-b"}, "[a b]"},
		{"both", []string{"in-a-or-b", "in-a"}, "[a]"},
		{"made where the pod comes to be", []string{"later"}, "[]"},
		{"in some zones", []string{"some-zones"}, "[b c]"},
		{"no zone has all", []string{"in-a", "some-zones"}, "[]!"},
		{"is bound before the pod is scheduled", []string{"at-once"}, "not packed"},
		{"there is no claim", []string{"missing"}, "not packed"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			one := cluster
			one.Pods = []*corev1.Pod{pod("p", claims(row.claims...))}
			got := "not packed"
			if packed := one.Problem(nil, types1()).Pods; len(packed) > 0 {
				got = fmt.Sprint(packed[0].Zones)
				if packed[0].Zones != nil && len(packed[0].Zones) == 0 {
					got += "!"
				}
			}
			if got != row.want {
				t.Errorf("zones are %s, want %s", got, row.want)
			}
		})
	}
}

// TestPodsOfLocalVolumesWaitForNoNode holds that a pod whose bound volume is part of one Node waits
// for no other node, by whatever label the volume names its Node, and that a volume of a group of
// nodes is no such volume.
func TestPodsOfLocalVolumesWaitForNoNode(t *testing.T) {
	t.Parallel()
	node := func(name, key, value string) corev1.Node {
		node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{key: value, corev1.LabelHostname: name + ".internal"}}}
		node.Spec.ProviderID = "aws:///us-east-1a/i-" + name
		return node
	}
	const driver = "disks.example.com/place"
	for _, row := range []struct {
		reason string
		// keys are the keys in the terms of the volume's node affinity.
		keys  []string
		nodes []corev1.Node
		label string // of the Provisioner
		tied  bool
		node  string
	}{
		{reason: "a local disk", keys: []string{corev1.LabelHostname}, tied: true},
		{reason: "a volume of a zone", keys: []string{corev1.LabelTopologyZone}},
		{reason: "a volume of TopoLVM", keys: []string{"topology.topolvm.io/node"}, tied: true},
		{reason: "one of OpenEBS", keys: []string{"openebs.io/nodename"}, tied: true},
		{reason: "one whose Node is there", keys: []string{"openebs.io/nodename"}, nodes: []corev1.Node{node("a", "openebs.io/nodename", "own")}, tied: true, node: "a"},
		{reason: "a driver names Nodes by their names", keys: []string{driver}, nodes: []corev1.Node{node("a", driver, "a"), node("b", driver, "b")}, tied: true},
		{reason: "by their host names", keys: []string{driver}, nodes: []corev1.Node{node("a", driver, "a.internal")}, tied: true},
		{reason: "by their instances", keys: []string{driver}, nodes: []corev1.Node{node("a", driver, "i-a")}, tied: true},
		{reason: "a label of which nothing is known", keys: []string{driver}},
		{reason: "a label of groups, of which each has one Node", keys: []string{"example.com/rack"}, nodes: []corev1.Node{node("a", "example.com/rack", "1"), node("b", "example.com/rack", "2")}},
		{reason: "a label that Nodes share, whatever its key", keys: []string{"example.com/node"}, nodes: []corev1.Node{node("a", "example.com/node", "1"), node("b", "example.com/node", "1")}},
		{reason: "a label that a Provisioner gives", keys: []string{"example.com/node"}, label: "example.com/node"},
		{reason: "a volume that a zone can have too", keys: []string{corev1.LabelHostname, corev1.LabelTopologyZone}},
		{reason: "a disk of two Nodes", keys: []string{corev1.LabelHostname, "openebs.io/nodename"}, tied: true},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			waiting := pod("p", func(p *corev1.Pod) {
				p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
			})
			claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}}
			claim.Spec.VolumeName = "disk"
			volume := corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "disk"}}
			required := &corev1.NodeSelector{}
			for _, key := range row.keys {
				required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{"own"}}},
				})
			}
			volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: required}
			cluster := clusterstate.Cluster{Pods: []*corev1.Pod{waiting}, Claims: []corev1.PersistentVolumeClaim{claim}, Volumes: []corev1.PersistentVolume{volume}, Nodes: row.nodes}
			if row.label != "" {
				cluster.Provisioners = []provisioningv1.Provisioner{{Spec: provisioningv1.ProvisionerSpec{Labels: map[string]string{row.label: "own"}}}}
			}
			want := 1
			if row.tied {
				want = 0
			}
			if got := len(cluster.Waiting()); got != want {
				t.Errorf("%d pods wait for a node, want %d", got, want)
			}
			if got := len(cluster.Problem(nil, types1()).Pods); got != want {
				t.Errorf("%d pods are packed, want %d", got, want)
			}
			tied := cluster.Tied()
			if len(tied) != 1-want || row.tied && tied[0].Node != row.node {
				t.Errorf("the pods that are tied to a Node are %+v", tied)
			}
		})
	}
}
