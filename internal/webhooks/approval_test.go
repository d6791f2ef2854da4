package webhooks

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestApproval holds that the approval of a version that does not exist is refused, on a pool of
// either kind and on the launch config itself, and that nothing else is held up.
func TestApproval(t *testing.T) {
	t.Parallel()
	config := func(approved string, pending int64, numbers ...int64) *infrav1.AWSLaunchConfig {
		config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "workers", Annotations: approving(approved)}}
		config.Status.PendingVersion = pending
		for _, number := range numbers {
			config.Status.Versions = append(config.Status.Versions, infrav1.LaunchTemplateVersionStatus{Number: number})
		}
		return config
	}
	for _, row := range []struct {
		reason        string
		before, after string
		config        *infrav1.AWSLaunchConfig
		says          string
	}{
		{"the version that waits", "", "2", config("", 2, 2, 1), ""},
		{"one that exists", "2", "1", config("", 2, 2, 1), ""},
		{"one that does not exist", "", "7", config("", 2, 2, 1), "version 2 waits for approval"},
		{"one that does not exist, while none waits", "", "7", config("", 0, 2, 1), "no version waits"},
		{"what is no number", "", "latest", config("", 2, 2, 1), "no version with this number"},
		{"zero, which is no version", "", "0", config("", 0, 2, 1), "no version waits"},
		{"before there is a launch template", "", "1", config("", 0), "the launch template has no version yet"},
		{"before there is a launch config", "", "1", nil, "the launch template has no version yet"},
		{"an approval that was taken back", "7", "", config("", 2, 2, 1), ""},
		{"an approval of a version that is gone holds up no later edit", "7", "7", config("", 2, 2, 1), ""},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			scheme := runtime.NewScheme()
			if err := infrav1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			var objects []client.Object
			if row.config != nil {
				objects = append(objects, row.config)
			}
			reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
			meta := func(approved string) metav1.ObjectMeta {
				return metav1.ObjectMeta{Namespace: "blue", Name: "workers", Annotations: approving(approved)}
			}
			_, self := (&machinePools{reader: reader}).ValidateUpdate(t.Context(),
				&infrav1.AWSMachinePool{ObjectMeta: meta(row.before)}, &infrav1.AWSMachinePool{ObjectMeta: meta(row.after)})
			_, managed := (&managedPools{reader: reader}).ValidateUpdate(t.Context(),
				&infrav1.AWSManagedMachinePool{ObjectMeta: meta(row.before)}, &infrav1.AWSManagedMachinePool{ObjectMeta: meta(row.after)})
			errors := map[string]error{"AWSMachinePool": self, "AWSManagedMachinePool": managed}
			if row.config != nil {
				before, after := row.config.DeepCopy(), row.config.DeepCopy()
				before.Annotations, after.Annotations = approving(row.before), approving(row.after)
				_, errors["AWSLaunchConfig"] = launchConfigs{nothing{}}.ValidateUpdate(t.Context(), before, after)
			}
			for kind, err := range errors {
				if (err == nil) != (row.says == "") || err != nil && (!strings.Contains(err.Error(), row.says) || !strings.Contains(err.Error(), infrav1.ApprovedVersionAnnotation)) {
					t.Errorf("%s: error %v, want %q", kind, err, row.says)
				}
			}
		})
	}
}

func approving(version string) map[string]string {
	if version == "" {
		return nil
	}
	return map[string]string{infrav1.ApprovedVersionAnnotation: version}
}
