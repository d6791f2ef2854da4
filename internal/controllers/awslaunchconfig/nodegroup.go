package awslaunchconfig

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/controllers/common"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/userdata"
)

// eksChooses is true for a config whose template has no image, because EKS chooses it (AWS: EKS user guide, launch-templates).
func eksChooses(spec *infrav1.AWSLaunchConfigSpec) bool {
	return spec.Nodegroup != nil && spec.Nodegroup.AMIType != infrav1.AMITypeCustom
}

// rootDevice is that of EKS's images of a family (AWS: EKS user guide, eks-optimized-amis).
func rootDevice(family infrav1.ManagedMachineAMIType) string {
	if strings.HasPrefix(string(family), "WINDOWS") {
		return "/dev/sda1"
	}
	return "/dev/xvda"
}

// nodegroupContradiction says that the instance type can not run the family of images that EKS chooses from.
func nodegroupContradiction(spec *infrav1.AWSLaunchConfigSpec, instanceType discovery.InstanceType) (reason, message string) {
	if !eksChooses(spec) || instanceType.Name == "" {
		return "", ""
	}
	architecture := "x86_64"
	if strings.Contains(string(spec.Nodegroup.AMIType), "ARM_64") {
		architecture = "arm64"
	}
	if slices.Contains(instanceType.Architectures, architecture) {
		return "", ""
	}
	return infrav1.ArchitectureMismatchReason, fmt.Sprintf("images of amiType %s are for %s, and instance type %s runs %v: change one of them",
		spec.Nodegroup.AMIType, architecture, instanceType.Name, instanceType.Architectures)
}

// renderNodegroup makes the user data of a config that a node group launches from: what EKS merges into its own, or, for an image of the template's, all that a
// node needs to join. It returns an outcome if it can not.
func (r *Reconciler) renderNodegroup(ctx context.Context, p *pass, image discovery.Image) *reconciling.Outcome {
	if p.config.Spec.Nodegroup == nil {
		return nil
	}
	stop := func(o reconciling.Outcome) *reconciling.Outcome { return &o }
	group := userdata.Nodegroup{OwnImage: !eksChooses(&p.config.Spec)}
	if group.OwnImage {
		found, err := p.cloud.Discovery.EKSCluster(ctx, p.facts.KubernetesName)
		if err != nil {
			return stop(outcome.Of(p.config, infrav1.ResolvedCondition, reasonOr(err, infrav1.WaitingForControlPlaneReason), err))
		}
		group.Cluster = userdata.EKSCluster(found)
		group.Family, _ = userdata.FamilyOfImage(image.Name)
	} else {
		group.Family, _ = userdata.FamilyOf(string(p.config.Spec.Nodegroup.AMIType))
	}
	rendered, err := userdata.RenderNodegroup(p.nodegroupData, p.nodegroupFormat, group)
	if err == nil {
		p.delivery = delivery{userData: rendered.Bytes}
		said := userdata.NodegroupWarnings(p.nodegroupData, group)
		if left := spaceLeft(len(rendered.Bytes)); left != "" {
			said = append(said, left)
		}
		reconciling.True(p.config, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, strings.Join(said, "; "))
		return nil
	}
	reason, message := infrav1.UserDataInvalidReason, err.Error()
	var tooLarge *userdata.TooLargeError
	if errors.As(err, &tooLarge) {
		reason = infrav1.UserDataTooLargeReason
	}
	if bootstrap := p.config.Spec.Bootstrap; bootstrap != nil {
		message = fmt.Sprintf("Secret %q: %v", bootstrap.DataSecretName, err)
	}
	return stop(notBootstrapped(p, reason, message))
}

// consumingPools are the AWSManagedMachinePools that launch from the config.
func (r *Reconciler) consumingPools(ctx context.Context, config *infrav1.AWSLaunchConfig) ([]*infrav1.AWSManagedMachinePool, error) {
	pools := &infrav1.AWSManagedMachinePoolList{}
	if err := r.Client.List(ctx, pools, client.InNamespace(config.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the managed pools of launch config %q: %w", config.Name, err)
	}
	var consuming []*infrav1.AWSManagedMachinePool
	for i := range pools.Items {
		pool := &pools.Items[i]
		reference := pool.Spec.LaunchConfigRef
		if reference != nil && reference.Name == config.Name || reference == nil && metav1.IsControlledBy(config, pool) {
			consuming = append(consuming, pool)
		}
	}
	return consuming, nil
}

// nodegroupVersions adds the versions of a template that node groups were made from. EKS launches from a copy, and is not well without the original (AWS:
// API_Issue, SourceEc2LaunchTemplateNotFound), so it is EKS that has to be asked. While EKS is doing something with a node group it may yet go back: every version
// that is known counts as used then.
func (r *Reconciler) nodegroupVersions(ctx context.Context, cloud *clouds.Cloud, config *infrav1.AWSLaunchConfig, templateID string, known []int64, inUse map[int64]bool) error {
	pools, err := r.consumingPools(ctx, config)
	if err != nil {
		return err
	}
	for _, pool := range pools {
		cluster := pool.Annotations[common.EKSClusterAnnotation]
		if cluster == "" {
			continue // nothing was ever made for it
		}
		for _, name := range common.NodegroupNames(pool, config.Spec.ClusterName) {
			group, err := cloud.Nodegroups.Describe(ctx, cluster, name)
			if err != nil {
				return err
			}
			if group == nil || group.LaunchTemplateID != templateID {
				continue
			}
			inUse[group.Version] = true
			for _, version := range known {
				inUse[version] = inUse[version] || group.Busy()
			}
			if _, _, replaced := common.ReplacedNodegroups(pool); !replaced {
				break // a pool has two node groups only while one replaces the other
			}
		}
	}
	return nil
}
