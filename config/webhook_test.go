package config

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestWebhooksAreReached follows the way of the API server: configuration, service, certificate for its name, files of the manager.
func TestWebhooksAreReached(t *testing.T) {
	t.Parallel()
	objects := build(t, "default")
	certificate := objects["Certificate slipway-webhook"]
	names, _, err := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	if err != nil {
		t.Fatal(err)
	}
	issuer, _, _ := unstructured.NestedString(certificate.Object, "spec", "issuerRef", "name")
	if objects["Issuer "+issuer] == nil {
		t.Errorf("issuer %q is not there", issuer)
	}
	configuration := as[admissionv1.ValidatingWebhookConfiguration](t, objects["ValidatingWebhookConfiguration slipway-validating-webhook"])
	if got, want := configuration.Annotations["cert-manager.io/inject-ca-from"], certificate.GetNamespace()+"/"+certificate.GetName(); got != want {
		t.Errorf("the authority is taken from %q, want %q", got, want)
	}
	for _, webhook := range configuration.Webhooks {
		service := webhook.ClientConfig.Service
		if service == nil || objects["Service "+service.Name] == nil {
			t.Errorf("%s is asked at %+v, which does not exist", webhook.Name, service)
			continue
		}
		if host := service.Name + "." + service.Namespace + ".svc"; !slices.Contains(names, host) {
			t.Errorf("%s is asked at %s, and the certificate is for %q", webhook.Name, host, names)
		}
		if webhook.FailurePolicy == nil || *webhook.FailurePolicy != admissionv1.Ignore {
			t.Errorf("%s blocks writes while no manager answers, although it only returns warnings", webhook.Name)
		}
	}

	pod := as[appsv1.Deployment](t, objects["Deployment slipway-manager"]).Spec.Template.Spec
	secret, _, _ := unstructured.NestedString(certificate.Object, "spec", "secretName")
	if len(pod.Volumes) != 1 || pod.Volumes[0].Secret == nil || pod.Volumes[0].Secret.SecretName != secret {
		t.Fatalf("volumes are %+v, want Secret %q", pod.Volumes, secret)
	}
	mount := pod.Containers[0].VolumeMounts[0]
	if mount.Name != pod.Volumes[0].Name || !slices.Contains(pod.Containers[0].Args, "--webhook-cert-dir="+mount.MountPath) {
		t.Errorf("the certificate is mounted as %+v, and arguments are %q", mount, pod.Containers[0].Args)
	}
}

// TestApprovalIsOfTheManager holds that the policy of approvals lets the manager copy them, which it knows
// by its ServiceAccount, and that its binding enforces it.
func TestApprovalIsOfTheManager(t *testing.T) {
	t.Parallel()
	account := build(t, "default")["ServiceAccount slipway-manager"]
	objects := build(t, "approval")
	policy := as[admissionv1.ValidatingAdmissionPolicy](t, objects["ValidatingAdmissionPolicy slipway-rollout-approval"])
	binding := as[admissionv1.ValidatingAdmissionPolicyBinding](t, objects["ValidatingAdmissionPolicyBinding slipway-rollout-approval"])
	want := "request.userInfo.username != 'system:serviceaccount:" + account.GetNamespace() + ":" + account.GetName() + "'"
	if conditions := policy.Spec.MatchConditions; len(conditions) != 1 || conditions[0].Expression != want {
		t.Errorf("the policy is for requests that match %+v, want %q", conditions, want)
	}
	if binding.Spec.PolicyName != policy.Name || !slices.Equal(binding.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) {
		t.Errorf("the binding is %+v", binding.Spec)
	}
}
