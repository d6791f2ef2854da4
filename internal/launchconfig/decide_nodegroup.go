package launchconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/discovery"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
	"github.com/slipway-project/slipway/internal/userdata"
)

// eksChooses is true for a config whose template has no image, because EKS chooses it (AWS: EKS
// user guide, launch-templates).
func eksChooses(spec *infrav1.AWSLaunchConfigSpec) bool {
	return spec.Nodegroup != nil && spec.Nodegroup.AMIType != infrav1.AMITypeCustom
}

// rootDevice returns the root device of EKS's images of a family (AWS: EKS user guide,
// eks-optimized-amis).
func rootDevice(family infrav1.ManagedMachineAMIType) string {
	if strings.HasPrefix(string(family), "WINDOWS") {
		return "/dev/sda1"
	}
	return "/dev/xvda"
}

// nodegroupContradiction says that the instance type cannot run the family of images that EKS chooses from.
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
	return infrav1.ArchitectureMismatchReason, fmt.Sprintf("images of amiType %s are built for %s, but instance "+
		"type %s is %s. No launch template version is created, and running nodes are kept. Change one of them",
		spec.Nodegroup.AMIType, architecture, instanceType.Name, strings.Join(instanceType.Architectures, ", "))
}

// decideNodegroupData makes the user data of a config that a node group launches from: what EKS
// merges into its own, or, for an image of the template's, all that a node needs to join.
func decideNodegroupData(in Input, plan *reconcile.Plan) (delivery, bool) {
	config := in.Object
	group := userdata.Nodegroup{OwnImage: !eksChooses(&config.Spec)}
	if group.OwnImage {
		found := in.Seen.EKSCluster
		if found == nil {
			plan.Need(needCluster)
			return delivery{}, false
		}
		if found.Err != nil {
			unresolved(in, plan, infrav1.WaitingForControlPlaneReason, found.Err)
			return delivery{}, false
		}
		group.Cluster = userdata.EKSCluster(found.Value)
		group.Family, _ = userdata.FamilyOfImage(in.Seen.Image.Name)
	} else {
		group.Family, _ = userdata.FamilyOf(string(config.Spec.Nodegroup.AMIType))
	}
	data, format := nodegroupData(in)
	rendered, err := userdata.RenderNodegroup(data, format, group)
	if err == nil {
		said := userdata.NodegroupWarnings(data, group)
		if left := spaceLeft(len(rendered.Bytes)); left != "" {
			said = append(said, left)
		}
		reconciling.True(config, infrav1.BootstrapDataReadyCondition, infrav1.ReadyReason, strings.Join(said, "; "))
		return delivery{userData: rendered.Bytes}, true
	}
	reason, message := infrav1.UserDataInvalidReason, err.Error()
	var tooLarge *userdata.TooLargeError
	if errors.As(err, &tooLarge) {
		reason = infrav1.UserDataTooLargeReason
	}
	if bootstrap := config.Spec.Bootstrap; bootstrap != nil {
		message = fmt.Sprintf("Secret %q: %v", bootstrap.DataSecretName, err)
	}
	notBootstrapped(in, reason, message)
	return delivery{}, false
}

// nodegroupData is the bootstrap data of a config that a node group launches from, and its format;
// nothing without any.
func nodegroupData(in Input) ([]byte, userdata.Format) {
	if in.Object.Spec.Bootstrap == nil || in.Seen.Bootstrap == nil {
		return nil, ""
	}
	format, _ := userdata.ParseFormat(in.Seen.Bootstrap.Format) // checked before
	return in.Seen.Bootstrap.Value, format
}
