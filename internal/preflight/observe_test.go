package preflight

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// TestCertificateOfTheManager holds which Secret a Deployment names, by each of its flags.
func TestCertificateOfTheManager(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, want string
		args         []string
	}{
		{"a certificate that the manager makes", "other/slipway-webhook-authority", []string{"manager", "--webhook-cert-secret=other/slipway-webhook-authority"}},
		{"a mounted certificate", "slipway-system/certificate", []string{"manager", "--webhook-cert-dir=/etc/certificate"}},
		{"a mounted certificate, as two arguments", "slipway-system/certificate", []string{"manager", "--webhook-cert-dir", "/etc/certificate/"}},
		{"the last value counts", "other/two", []string{"--webhook-cert-secret=other/one", "--webhook-cert-secret=other/two"}},
		{"an empty Secret, and a directory", "slipway-system/certificate", []string{"--webhook-cert-secret=", "--webhook-cert-dir=/etc/certificate"}},
		{"a flag without its value", "", []string{"--webhook-cert-dir"}},
		{"a directory that is no Secret", "", []string{"--webhook-cert-dir=/tmp"}},
		{"no webhook", "", []string{"manager", "--leader-elect"}},
		{"a Secret without its namespace", "", []string{"--webhook-cert-secret=authority"}},
		{"a Secret without its name", "", []string{"--webhook-cert-secret=other/"}},
		{"no arguments", "", nil},
	} {
		deployment := deploymentOf(&appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: "slipway-manager"},
			Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Volumes: []corev1.Volume{
					{Name: "certificate", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "certificate"}}}, {Name: "scratch"},
				},
				Containers: []corev1.Container{{
					Command: []string{"/slipway"}, Args: row.args,
					VolumeMounts: []corev1.VolumeMount{{Name: "certificate", MountPath: "/etc/certificate"}, {Name: "scratch", MountPath: "/tmp"}},
				}},
			}}},
		})
		key, found := deployment.certificateSecret()
		if found != (row.want != "") || found && key.String() != row.want {
			t.Errorf("%s: the Secret is %s (%t), want %q", row.reason, key, found, row.want)
		}
		if deployment.Replicas != 2 {
			t.Errorf("%s: there are %d replicas", row.reason, deployment.Replicas)
		}
	}
}

// TestFailuresAreDescribed holds that an error without a status is not taken for a lack of permissions.
func TestFailuresAreDescribed(t *testing.T) {
	t.Parallel()
	if failure(nil) != nil {
		t.Error("no error is a failure")
	}
	if got := failure(errors.New("broken")); got.Denied || got.Text != "broken" {
		t.Errorf("the failure is %+v", got)
	}
}
