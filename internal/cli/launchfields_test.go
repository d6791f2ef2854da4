package cli

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// TestPlanOfLaunchField holds that an edit of a launch template that is refused, because the template is not set at the
// pool, is answered with the command that makes it.
func TestPlanOfLaunchField(t *testing.T) {
	t.Parallel()
	shared, templated := &infrav1.AWSMachinePool{ObjectMeta: in("shared")}, &infrav1.AWSMachinePool{ObjectMeta: in("templated")}
	shared.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "nodes"}
	templated.Spec.LaunchConfigTemplateRef = &infrav1.LaunchConfigTemplateReference{Name: "base"}
	group := &infrav1.AWSManagedMachinePool{ObjectMeta: in("group")}
	group.Spec.LaunchConfigRef = &infrav1.LaunchConfigReference{Name: "nodes"}
	own := &infrav1.AWSManagedMachinePool{ObjectMeta: in("own")}
	own.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{}
	w := newReadWorld(t, shared, templated, group, own)
	unknown := func(path string) error {
		return apierrors.NewBadRequest(`strict decoding error: unknown field "` + path + `"`)
	}
	rule := func(field, message string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Message: field + ": " + message, Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Field: field, Message: message}}},
		}}
	}
	const one = "exactly one of awsLaunchTemplate, launchConfigRef, and launchConfigTemplateRef must be set"
	for name, tc := range map[string]struct {
		pool     string
		settings []string
		refused  error
		want     string
	}{
		"Config": {
			pool: "shared", settings: []string{"spec.instanceType=m5.xlarge"}, refused: unknown("spec.instanceType"),
			want: "AWSMachinePool launches from AWSLaunchConfig nodes, so it has no spec.instanceType of its own. Use slipway plan awslaunchconfig/nodes -n blue --set spec.instanceType=m5.xlarge",
		},
		"Several": {
			pool: "shared", settings: []string{"spec.maxSize=5", "spec.awsLaunchTemplate.instanceType=m5.xlarge", "spec.awsLaunchTemplate.rootVolume={size: 60}"}, refused: rule("spec", one),
			want: "no spec.awsLaunchTemplate.instanceType and spec.awsLaunchTemplate.rootVolume of its own. Use slipway plan awslaunchconfig/nodes -n blue --set spec.instanceType=m5.xlarge --set 'spec.rootVolume={size: 60}'",
		},
		"Managed": {
			pool: "group", settings: []string{"spec.instanceType=m5.xlarge"}, refused: rule("spec.instanceType", "the launch template of the pool determines its instance type: remove instanceType, and set awsLaunchTemplate.instanceType, or instanceTypes"),
			want: "AWSManagedMachinePool launches from AWSLaunchConfig nodes, so it has no spec.instanceType of its own.",
		},
		"Pin": {
			pool: "shared", settings: []string{"spec.pinnedVersion=3"}, refused: rule("spec.launchConfigRef", "an AWSLaunchConfig has its own rollout and pinnedVersion: remove them, and set them there"),
			want: "awslaunchconfig/nodes -n blue --set spec.pinnedVersion=3",
		},
		"Template": {pool: "templated", settings: []string{"spec.ami.id=ami-1"}, refused: unknown("spec.ami"), want: "launches from AWSLaunchConfigTemplate base, so it has no spec.ami.id of its own. Edit the file of the template, and use slipway plan -f FILE"},
		"Own":      {pool: "workers", settings: []string{"spec.instanceType=m5.xlarge"}, refused: unknown("spec.instanceType"), want: "spec.instanceType is part of the launch template of the pool. Use --set spec.awsLaunchTemplate.instanceType=m5.xlarge"},
		"OwnOfManaged": {
			pool: "own", settings: []string{"spec.instanceType=m5.xlarge"}, refused: rule("spec.instanceType", "the launch template of the pool determines its instance type: remove instanceType, and set awsLaunchTemplate.instanceType, or instanceTypes"),
			want: "spec.instanceType is part of the launch template of the pool. Use --set spec.awsLaunchTemplate.instanceType=m5.xlarge",
		},
		"OwnValue":  {pool: "workers", settings: []string{"spec.awsLaunchTemplate.instanceType=5"}, refused: rule("spec.awsLaunchTemplate.instanceType", "must be a string"), want: "spec.awsLaunchTemplate.instanceType: must be a string"},
		"Reference": {pool: "shared", settings: []string{"spec.launchConfigRef=", "spec.awsLaunchTemplate.instanceType=a"}, refused: rule("spec.launchConfigRef", "a pool cannot switch"), want: "spec.launchConfigRef: a pool cannot switch"},
		"Size":      {pool: "shared", settings: []string{"spec.maxSize=-1"}, refused: rule("spec.maxSize", "must be positive"), want: "spec.maxSize: must be positive"},
		"Forbidden": {pool: "shared", settings: []string{"spec.instanceType=a"}, refused: apierrors.NewForbidden(infrav1.GroupVersion.WithResource("awsmachinepools").GroupResource(), "shared", errors.New("no rights")), want: "is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := planCluster{namespace: "blue", Client: interceptor.NewClient(w.client, interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return tc.refused
			}})}
			_, err := (&planFlags{set: tc.settings}).edits(t.Context(), nil, io.Discard, cluster, []string{tc.pool})
			if err == nil || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, tc.refused) {
				t.Errorf("edits of %s: got error %v, want %q", tc.pool, err, tc.want)
			}
		})
	}
}
