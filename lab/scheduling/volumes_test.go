package scheduling

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/slipway-project/slipway/internal/provisioning/packing/packtest"
	"github.com/slipway-project/slipway/lab/labtest"
)

// claimIn is the claim of a volume that can be used in some zones.
func claimIn(zones []string) string { return "in-" + strings.Join(zones, "-") }

// withVolumes is the pod with a claim of a volume in the zones, if there are any.
func withVolumes(pod *corev1.Pod, zones []string) *corev1.Pod {
	if zones == nil {
		return pod
	}
	with := pod.DeepCopy()
	with.Spec.Volumes = append(with.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claimIn(zones)},
	}})
	return with
}

// prepareVolumes makes a claim and its volume in each zone, in the namespace of the pods.
func prepareVolumes(env *labtest.Env) {
	env.Helper()
	for _, zone := range packtest.Zones {
		bindVolume(env, "default", claimIn([]string{zone}), []string{zone})
	}
}

// bindVolume makes a claim, and the volume that it is bound to. Binding them is otherwise the work of a controller.
func bindVolume(env *labtest.Env, namespace, name string, zones []string) {
	env.Helper()
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: namespace + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: namespace, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: namespace + "-" + name}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones}},
			}}}},
		},
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: size}, VolumeName: volume.Name, StorageClassName: ptr.To(""),
		},
	}
	if err := env.WorkloadClient.Create(env.Context(), volume); err != nil {
		env.Fatal(err)
	}
	if err := env.WorkloadClient.Create(env.Context(), claim); err != nil {
		env.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if err := env.WorkloadClient.Status().Update(env.Context(), claim); err != nil {
		env.Fatal(err)
	}
}
