package cli

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/spf13/cobra"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/permissions"
	"github.com/slipway-project/slipway/internal/plan"
	"github.com/slipway-project/slipway/internal/plan/plantest"
	"github.com/slipway-project/slipway/internal/plan/plantest/owners"
)

// prepare prepares plans and simulations of a pool of three nodes: an AWSMachinePool that goes back from a
// configuration which fails, or the AWSManagedMachinePool system. The nodes of the first run pods with
// PodDisruptionBudgets.
func (w *readWorld) prepare(_ context.Context, f *planFlags, _ *cobra.Command, args []string) (*plan.Planner, []client.Object, error) {
	if err := f.check(args); err != nil {
		return nil, nil, err
	}
	var world *plantest.World
	var pool, edited client.Object
	if args[0] == owners.ManagedKey.Name {
		world = plantest.NewManaged(w, 3, nil)
		pool, edited = world.Managed(), &infrav1.AWSManagedMachinePool{}
		world.Workload().Pod(0, "web").Pod(1, "web").Budget("web", "web", 0, 2, 2, 2)
	} else {
		world = plantest.New(w, 3, func(pool *infrav1.AWSMachinePool) {
			pool.Spec.RefreshPreferences = &infrav1.RefreshPreferences{InstanceWarmup: ptr.To[int64](300), Rollback: true}
		})
		pool, edited = world.Pool(), &infrav1.AWSMachinePool{}
		world.Workload().Pod(0, "web").Pod(0, "web").Pod(1, "web").Budget("web", "web", 0, 2, 2, 3).Pod(2, "db").Budget("db", "db", 0, 1, 1, 1)
	}
	w.createRole(world.AWS)
	patch, err := patchOf(f.set)
	if err != nil {
		return nil, nil, err
	}
	before, err := json.Marshal(pool)
	w.check(err)
	after, err := jsonpatch.MergePatch(before, patch)
	w.check(err)
	w.check(json.Unmarshal(after, edited))
	return world.Planner, []client.Object{edited}, nil
}

// createRole creates the role of a manager, which may do everything for pools but start instance refreshes.
func (w *readWorld) createRole(config awssdk.Config) {
	w.Helper()
	actions := slices.DeleteFunc(permissions.Actions(permissions.MachinePools), func(action string) bool { return action == "autoscaling:StartInstanceRefresh" })
	actions = append(actions, permissions.Actions(permissions.ManagedPools)...)
	policy, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": map[string]any{"Effect": "Allow", "Action": actions, "Resource": "*"}})
	w.check(err)
	client := iam.NewFromConfig(config)
	_, err = client.CreateRole(w.Context(), &iam.CreateRoleInput{
		RoleName:                 ptr.To("slipway-manager"),
		AssumeRolePolicyDocument: ptr.To(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
	})
	w.check(err)
	_, err = client.PutRolePolicy(w.Context(), &iam.PutRolePolicyInput{RoleName: ptr.To("slipway-manager"), PolicyName: ptr.To("pools"), PolicyDocument: ptr.To(string(policy))})
	w.check(err)
}

func TestSimulate(t *testing.T) {
	t.Parallel()
	w := &readWorld{TB: t}
	const largerType = "spec.awsLaunchTemplate.instanceType=m5.xlarge"
	for name, tc := range map[string]struct {
		reason string
		args   []string
		out    string
		code   int
	}{
		"Nothing":    {reason: "An edit that changes nothing is not simulated.", args: []string{"--set", "metadata.labels.team=blue"}, out: "Nothing changes in AWS"},
		"JSON":       {reason: "The result is also data.", args: []string{"--set", "spec.maxSize=9", "-o", "json"}, out: `"outcome": "RolledOut"`, code: exitChanges},
		"YAML":       {reason: "The result is also data.", args: []string{"--set", "spec.maxSize=9", "-o", "yaml"}, out: "outcome: RolledOut", code: exitChanges},
		"Unfinished": {reason: "A pool that is not at rest at the end is a failure.", args: []string{"--set", largerType, "--length", "1m"}, out: "Unfinished after", code: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, _, err := w.run(t.Context(), append([]string{"simulate", "workers"}, tc.args...)...)
			code := 0
			if err != nil {
				code = exitCode(err)
			}
			if code != tc.code || !strings.Contains(out, tc.out) {
				t.Errorf("%s slipway simulate %v: got exit code %d, error %v, and %s; want %d and %q", tc.reason, tc.args, code, err, out, tc.code, tc.out)
			}
		})
	}
}

func TestSimulateFlags(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Nothing":  {reason: "There must be an edit.", want: "nothing to plan"},
		"NoShare":  {reason: "A share is a number.", args: []string{"workers", "--fail-at", "half"}, want: "--fail-at"},
		"TooMuch":  {reason: "A share is at most everything.", args: []string{"workers", "--fail-at", "101%"}, want: "from 0% to 100%"},
		"Negative": {reason: "Time passes.", args: []string{"workers", "--drain-time", "-1s"}, want: "must not be negative"},
		"NoLength": {reason: "A simulation has a length.", args: []string{"workers", "--length", "0s"}, want: "--length must be positive"},
		"Format":   {reason: "The format is checked before anything is read.", args: []string{"workers", "-o", "table"}, want: "--output"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := New()
			command.SetArgs(append([]string{"simulate"}, tc.args...))
			if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), tc.want) || exitCode(err) != 1 {
				t.Errorf("%s slipway simulate %v: got error %v, want one with %q", tc.reason, tc.args, err, tc.want)
			}
		})
	}
}
