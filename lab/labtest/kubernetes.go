package labtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// DefaultDeadline is the time for which Eventually waits on a machine that keeps up (see Kept).
	DefaultDeadline = 2 * time.Minute
	pollInterval    = 25 * time.Millisecond
	// fieldOwner is whom server-side apply takes a test for.
	fieldOwner = client.FieldOwner("labtest")
)

// Eventually polls until f returns nil. Past the deadline the test fails with the reason, which
// says what should have come about, and f's last error.
func (e *Env) Eventually(reason string, f func() error) {
	e.Helper()
	e.EventuallyWithin(DefaultDeadline, reason, f)
}

// EventuallyWithin does the same as Eventually, with the given deadline.
func (e *Env) EventuallyWithin(deadline time.Duration, reason string, f func() error) {
	e.Helper()
	began, end := e.Kept(), time.Now().Add(patience*deadline)
	for {
		err := f()
		if err == nil {
			return
		}
		if e.Kept()-began > deadline || time.Now().After(end) || e.Context().Err() != nil {
			e.Fatalf("after %v it was not so that %s: %v", deadline, reason, err)
		}
		time.Sleep(pollInterval)
	}
}

// Apply applies the objects of a YAML text with server-side apply. Objects without a namespace, and
// objects that name "default", go to the test's.
func (e *Env) Apply(text string) []*unstructured.Unstructured {
	e.Helper()
	objects, err := e.TryApply(text)
	if err != nil {
		e.Fatal(err)
	}
	return objects
}

// TryApply does the same as Apply, for objects that may be refused.
func (e *Env) TryApply(text string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var applied []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return applied, nil
		} else if err != nil {
			return applied, err
		}
		if len(object.Object) == 0 {
			continue
		}
		namespaced, err := e.Client.IsObjectNamespaced(object)
		if err != nil {
			return applied, err
		}
		if namespace := object.GetNamespace(); namespaced && (namespace == "" || namespace == "default") {
			object.SetNamespace(e.Namespace)
		}
		err = e.Client.Apply(e.Context(), client.ApplyConfigurationFromUnstructured(object), fieldOwner, client.ForceOwnership)
		if err != nil {
			return applied, err
		}
		applied = append(applied, object)
	}
}

// ApplyFile applies a file's objects like Apply. Pairs of old and new text are replaced first, such
// as "${AWS_REGION}".
func (e *Env) ApplyFile(path string, replacements ...string) []*unstructured.Unstructured {
	e.Helper()
	content, err := os.ReadFile(path) // #nosec G304 -- the file that the test names
	if err != nil {
		e.Fatal(err)
	}
	return e.Apply(strings.NewReplacer(replacements...).Replace(string(content)))
}

// RotateBootstrapToken rotates the join token of a pool's KubeadmConfig, and returns when its
// bootstrap data carries another one.
func (e *Env) RotateBootstrapToken(name string) {
	e.Helper()
	key := client.ObjectKey{Namespace: e.Namespace, Name: name}
	old, err := e.Lab.RotateBootstrapToken(e.Context(), key)
	if err != nil {
		e.Fatal(err)
	}
	e.Eventually("the bootstrap data carries a new token", func() error {
		data, err := e.bootstrapData(e.Context(), key)
		if err != nil {
			return err
		}
		if bytes.Contains(data, []byte(old)) {
			return errors.New("it still carries the old one")
		}
		return nil
	})
}

// BootstrapData returns the user data of a KubeadmConfig.
func (e *Env) BootstrapData(name string) []byte {
	e.Helper()
	data, err := e.bootstrapData(e.Context(), client.ObjectKey{Namespace: e.Namespace, Name: name})
	if err != nil {
		e.Fatal(err)
	}
	return data
}

func (e *Env) bootstrapData(ctx context.Context, key client.ObjectKey) ([]byte, error) {
	var config bootstrapv1.KubeadmConfig
	if err := e.Client.Get(ctx, key, &config); err != nil {
		return nil, err
	}
	if config.Status.DataSecretName == "" {
		return nil, errors.New("the KubeadmConfig has no data secret yet")
	}
	var secret corev1.Secret
	if err := e.Client.Get(ctx, client.ObjectKey{Namespace: key.Namespace, Name: config.Status.DataSecretName}, &secret); err != nil {
		return nil, err
	}
	return secret.Data["value"], nil
}

// WaitingPod returns a pod of the test's namespace that requests one CPU and 1 GiB of memory, and so waits
// for a node. It is not created.
func (e *Env) WaitingPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "none", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
			}}}},
			TerminationGracePeriodSeconds: ptr.To[int64](0), AutomountServiceAccountToken: ptr.To(false),
		},
	}
}
