package charts_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/lab"
)

const (
	approvedVersion = infrav1.ApprovedVersionAnnotation
	approvedBy      = infrav1.ApprovedByAnnotation
	theManager      = "system:serviceaccount:slipway-system:slipway-manager"
)

// approvals is an API server with the chart's policy of approvals, two users who may update pools,
// and the manager. Only one of the users may approve.
type approvals struct {
	*cluster
	users map[string]client.Client
}

func newApprovals(t *testing.T) *approvals {
	t.Helper()
	c := newCluster(t)
	install := action.NewInstall(c.helm)
	install.ReleaseName, install.Namespace, install.CreateNamespace = releaseName, releaseNamespace, true
	install.WaitStrategy = kube.HookOnlyStrategy
	values := map[string]any{"rolloutApproval": map[string]any{"enabled": true}, "webhook": map[string]any{"enabled": false}}
	if _, err := install.RunWithContext(t.Context(), load(t, "slipway"), values); err != nil {
		t.Fatalf("helm install: %v", err)
	}
	config, err := c.helm.RESTClientGetter.ToRESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	a := &approvals{cluster: c, users: map[string]client.Client{}}
	for _, name := range []string{"editor", "approver", theManager} {
		user := rest.CopyConfig(config)
		user.Impersonate.UserName = name
		if a.users[name], err = client.New(user, client.Options{Scheme: lab.NewScheme()}); err != nil {
			t.Fatal(err)
		}
	}
	a.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "blue"}})
	a.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "pools"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{infrav1.GroupVersion.Group}, Resources: []string{"awsmachinepools", "awsmanagedmachinepools", "awslaunchconfigs"},
		Verbs: []string{"get", "create", "update", "patch"},
	}}})
	a.bind("pools", "editor", "approver", theManager)
	a.bind("slipway-manager-rollout-approver", "approver")
	return a
}

func (a *approvals) create(object client.Object) {
	a.Helper()
	if err := a.Create(a.Context(), object); err != nil {
		a.Fatal(err)
	}
}

func (a *approvals) bind(role string, users ...string) {
	a.Helper()
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: role}}
	binding.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	for _, user := range users {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	a.create(binding)
}

// TestApprovals holds who may approve a version, that an approval names its user, and that an edit cannot
// get past an approval.
func TestApprovals(t *testing.T) {
	a := newApprovals(t)
	pool := &infrav1.AWSMachinePool{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "workers"}}
	pool.Spec.MinSize, pool.Spec.MaxSize = 1, 2
	pool.Spec.AWSLaunchTemplate = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}
	pool.Spec.Rollout = infrav1.LaunchConfigRolloutManual
	a.create(pool)
	managed := &infrav1.AWSManagedMachinePool{ObjectMeta: pool.ObjectMeta}
	managed.ResourceVersion, managed.UID = "", ""
	managed.Spec.AWSLaunchTemplate, managed.Spec.Rollout = &infrav1.AWSLaunchTemplate{InstanceType: "m5.large"}, infrav1.LaunchConfigRolloutManual
	a.create(managed)
	config := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "shared"}}
	config.Spec.ClusterName, config.Spec.InstanceType, config.Spec.Rollout = "blue", "m5.large", infrav1.LaunchConfigRolloutManual
	a.create(config)

	objects := map[string]client.Object{"awsmachinepools": pool, "awsmanagedmachinepools": managed, "awslaunchconfigs": config}
	for resource, object := range objects {
		a.awaitPolicy(object)
		for _, row := range []struct{ reason, user, patch, says string }{
			{"who may update may edit", "editor", `{"metadata":{"labels":{"team":"blue"}}}`, ""},
			{"who may update may not approve", "editor", annotations("2", "editor"), `cannot approve version 2: approving requires the verb approve on ` + resource + `/rollout`},
			{"nor have versions roll out without approval", "editor", `{"spec":{"rollout":"Automatic"}}`, "cannot change spec.rollout from Manual"},
			{"nor by removing the field", "editor", `{"spec":{"rollout":null}}`, "cannot change spec.rollout from Manual"},
			{"nor pin a version", "editor", `{"spec":{"pinnedVersion":2}}`, "cannot set spec.pinnedVersion"},
			{"nor forge who approved", "editor", `{"metadata":{"annotations":{"` + approvedBy + `":"approver"}}}`, "only with an approval"},
			{"an approval names its user", "approver", annotations("2", ""), `approved-by must be "approver"`},
			{"and no other", "approver", annotations("2", "editor"), `approved-by must be "approver"`},
			{"who may approve approves", "approver", annotations("2", "approver"), ""},
			{"and the record stays", "editor", `{"metadata":{"annotations":{"` + approvedBy + `":null}}}`, "only with an approval"},
			{"an object with an approval can be edited", "editor", `{"metadata":{"labels":{"team":"green"}}}`, ""},
			{"the manager copies approvals", theManager, annotations("3", "approver"), ""},
			{"an approval can be withdrawn", "editor", `{"metadata":{"annotations":{"` + approvedBy + `":null,"` + approvedVersion + `":null}}}`, ""},
			{"who may approve may pin", "approver", `{"spec":{"pinnedVersion":1}}`, ""},
			{"the pin can be removed: the version then waits for approval", "editor", `{"spec":{"pinnedVersion":null}}`, ""},
			{"who may approve may end manual roll-outs", "approver", `{"spec":{"rollout":null}}`, ""},
			{"without them, who may update may pin", "editor", `{"spec":{"pinnedVersion":1}}`, ""},
		} {
			err := a.users[row.user].Patch(t.Context(), object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(row.patch)))
			if (err == nil) != (row.says == "") || err != nil && !strings.Contains(err.Error(), row.says) {
				t.Errorf("%s: %s: error %v, want %q", resource, row.reason, err, row.says)
			}
		}
	}
	copied := &infrav1.AWSLaunchConfig{ObjectMeta: metav1.ObjectMeta{Namespace: "blue", Name: "copied", Annotations: map[string]string{approvedVersion: "2", approvedBy: "alice"}}}
	copied.Spec.ClusterName, copied.Spec.InstanceType, copied.Spec.PinnedVersion = "blue", "m5.large", ptr.To[int64](1)
	if err := a.users["editor"].Create(t.Context(), copied.DeepCopy()); err == nil || !strings.Contains(err.Error(), "cannot approve") {
		t.Errorf("who may update creates an object with an approval: error %v", err)
	}
	if err := a.users["approver"].Create(t.Context(), copied.DeepCopy()); err != nil {
		t.Errorf("who may approve cannot restore an object with the approval of another user: %v", err)
	}
}

// annotations returns a patch that approves a version as a user.
func annotations(version, user string) string {
	if user == "" {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, approvedVersion, version)
	}
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`, approvedVersion, version, approvedBy, user)
}

// awaitPolicy waits until the API server enforces the policy for a kind.
func (a *approvals) awaitPolicy(object client.Object) {
	a.Helper()
	err := wait.PollUntilContextTimeout(a.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		patch := client.RawPatch(types.MergePatchType, []byte(annotations("2", "editor")))
		err := a.users["editor"].Patch(ctx, object.DeepCopyObject().(client.Object), patch, client.DryRunAll)
		return err != nil && strings.Contains(err.Error(), "cannot approve"), nil
	})
	if err != nil {
		a.Fatalf("the policy is not enforced: %v", err)
	}
}
