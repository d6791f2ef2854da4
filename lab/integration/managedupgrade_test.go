package integration

import (
	"errors"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// storedManaged is a managed pool as some release left it in the API server and in AWS.
type storedManaged struct {
	MachinePool *clusterv1.MachinePool
	Pool        *infrav1.AWSManagedMachinePool
	Config      *infrav1.AWSLaunchConfig

	Template  ec2types.LaunchTemplate
	Versions  []ec2types.LaunchTemplateVersion
	Nodegroup ekstypes.Nodegroup
	Role      iamtypes.Role
	Policies  []iamtypes.AttachedPolicy
}

var storedManagedPools = filepath.Join(storedPools, "managed")

// storedWorld has an EKS cluster of the same name in every test: it is in the tags of launch
// templates, and with them in their fingerprints.
func storedWorld(t *testing.T) *world {
	t.Helper()
	options := managedOptions()
	options.cluster.EKSName = "stored"
	return newWorldWith(t, options)
}

// TestManagedUpgrade is TestUpgrade for a managed pool, with the role of its nodes.
func TestManagedUpgrade(t *testing.T) {
	t.Parallel()
	if *recordRelease != "" {
		recordManaged(t, *recordRelease)
	}
	eachRelease(t, storedManagedPools, func(t *testing.T, content string) {
		w := storedWorld(t)
		w.stopManager()
		release := w.restoreManaged(content)
		before := w.inManagedRelease()
		instances := w.running()
		w.Cloud.AWS.ClearCalls()

		unchanged := func(when string) {
			t.Helper()
			w.Eventually(when+", the managed pool is settled", func() error { return w.managedSettled(2) })
			w.rest()
			if writes := w.writes(); len(writes) > 0 {
				t.Errorf("%s, AWS was written to: %q", when, writes)
			}
			if err := equals(w.running(), instances); err != nil {
				t.Errorf("%s, instances: %v", when, err)
			}
			if diff := cmp.Diff(before, w.inManagedRelease(), ignoreSerde); diff != "" {
				t.Errorf("%s, AWS holds (-before +after):\n%s", when, diff)
			}
			w.keepsAnnotations(when, release.Pool, w.mustManaged())
			w.keepsAnnotations(when, release.Config, w.managedConfig())
		}
		w.startManager()
		unchanged("after the upgrade")
		w.stopManager()
		w.writeManagedStatus(release)
		w.startManager()
		w.annotateManaged("touched", "once")
		unchanged("after going back and forth")

		w.editManagedType("m6i.large")
		w.Eventually("an edit replaces both", func() error { return w.managedReplaced(instances, 2) })
		w.expectCounts(map[string]int{"CreateLaunchTemplateVersion": 1, "UpdateNodegroupVersion": 1, "CreateRole": 0})
		w.deleteManaged()
	})
}

// inManagedRelease returns AWS's description of the managed pool, as far as releases may differ.
func (w *world) inManagedRelease() storedManaged {
	w.Helper()
	group := w.nodegroup()
	held := storedManaged{Nodegroup: *group}
	templates, err := w.ec2().DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{LaunchTemplateIds: []string{*group.LaunchTemplate.Id}})
	w.must(templates, err)
	held.Template = templates.LaunchTemplates[0]
	held.Versions = w.versionsOf(*group.LaunchTemplate.Id)
	name := roleIn(*group.NodeRole)
	role, err := w.iam().GetRole(w.Context(), &iam.GetRoleInput{RoleName: &name})
	w.must(role, err)
	held.Role = *role.Role
	policies, err := w.iam().ListAttachedRolePolicies(w.Context(), &iam.ListAttachedRolePoliciesInput{RoleName: &name})
	w.must(policies, err)
	held.Policies = policies.AttachedPolicies
	return held
}

// recordManaged writes the objects that this release creates from the example of a managed pool.
func recordManaged(t *testing.T, release string) {
	t.Helper()
	w := storedWorld(t)
	w.haveManaged()
	first := w.running()
	w.editManagedType("m5.large")
	w.Eventually("the edit replaces both", func() error { return w.managedReplaced(first, 2) })
	w.rest()
	content := w.inManagedRelease()
	content.MachinePool, content.Pool, content.Config = &clusterv1.MachinePool{}, w.mustManaged(), w.managedConfig()
	w.must(nil, w.Client.Get(w.Context(), w.managedKey(), content.MachinePool))
	w.writeRelease(filepath.Join(storedManagedPools, release+".json"), content, *content.Template.LaunchTemplateId)
}

// restoreManaged creates in AWS and in the API server what a release left there of a managed pool.
func (w *world) restoreManaged(content string) storedManaged {
	w.Helper()
	content = w.here(content)
	release := decoded[storedManaged](w, []byte(content))
	release = decoded[storedManaged](w, []byte(w.withTemplate(content, w.restoreTemplate(release.Template, release.Versions))))

	trust, err := url.QueryUnescape(*release.Role.AssumeRolePolicyDocument)
	w.must(trust, err)
	role := converted[iam.CreateRoleInput](w, release.Role)
	role.AssumeRolePolicyDocument = &trust
	w.must(w.iam().CreateRole(w.Context(), &role))
	for i := range release.Policies {
		w.must(w.iam().AttachRolePolicy(w.Context(), &iam.AttachRolePolicyInput{RoleName: role.RoleName, PolicyArn: release.Policies[i].PolicyArn}))
	}
	group := converted[eks.CreateNodegroupInput](w, release.Nodegroup)
	group.LaunchTemplate.Name = nil // the id is enough, and EKS takes one of them
	group.InstanceTypes = nil       // the template says them
	w.must(w.eks().CreateNodegroup(w.Context(), &group))
	w.Eventually("the node group is there", func() error {
		if status := w.nodegroup().Status; status != ekstypes.NodegroupStatusActive {
			return errors.New(string(status))
		}
		return nil
	})
	w.restoreObjects(release.Config, release.MachinePool, release.Pool)
	w.writeManagedStatus(release)
	return release
}

// writeManagedStatus writes the status of a release to the managed pool and its config. Cluster API
// may write to the pool meanwhile.
func (w *world) writeManagedStatus(release storedManaged) {
	w.Helper()
	w.Eventually("status is as the release wrote it", func() error {
		pool, config := w.mustManaged(), w.managedConfig()
		pool.Status, config.Status = release.Pool.Status, release.Config.Status
		return errors.Join(w.Client.Status().Update(w.Context(), pool), w.Client.Status().Update(w.Context(), config))
	})
}
