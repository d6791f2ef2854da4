package nodegroup

import (
	"fmt"
	"strconv"
	"strings"
)

// RefusedVersion returns why EKS runs no node group of its own images at the Kubernetes version
// that a MachinePool asks for, empty if it may. Cluster is the version of the control plane, and
// present the node group's, empty for a new one. EKS creates a node group only with the cluster's
// version, and takes it forward to that (AWS: API_CreateNodegroup, API_UpdateNodegroupVersion). It
// takes a node group back by one minor version, before the control plane goes back, within seven
// days of the cluster's upgrade (AWS: EKS user guide, rollback-cluster); whether these days have
// passed is for EKS to say. A version that is not known is not refused.
func RefusedVersion(wanted, cluster, present string) string {
	asked, most, has := minorOf(wanted), minorOf(cluster), minorOf(present)
	const field = "spec.template.spec.version of the MachinePool"
	const alone = "EKS rolls back a node group only by one minor version, and only from the version of its cluster"
	switch {
	case asked == 0:
		return ""
	case has != 0 && asked < has-1:
		return fmt.Sprintf("%s requests Kubernetes 1.%d, but the node group runs 1.%d: %s. Its nodes stay as "+
			"they are. Set the version to 1.%d, or create another pool and migrate to it", field, asked, has, alone, has)
	case has != 0 && asked < has && most > has:
		return fmt.Sprintf("%s requests Kubernetes 1.%d, but the node group runs 1.%d and its cluster 1.%d: %s. "+
			"Its nodes stay as they are. Set the version to 1.%d or 1.%d, or create another pool and migrate "+
			"to it", field, asked, has, most, alone, has, has+1)
	case most == 0:
		return ""
	case asked > most:
		return fmt.Sprintf("%s requests Kubernetes 1.%d, but the EKS cluster runs 1.%d, and nodes must not be "+
			"newer than the control plane. %s Upgrade the control plane, or set the version to 1.%d", field, asked, most, consequence(has), most)
	case has == 0 && asked < most:
		return fmt.Sprintf("%s requests Kubernetes 1.%d, but EKS creates a node group only with the version of "+
			"the cluster, which is 1.%d. %s Set the version to 1.%d", field, asked, most, consequence(has), most)
	}
	return ""
}

func consequence(present int) string {
	if present == 0 {
		return "No node group is created, and no node is launched."
	}
	return "Nodes stay at 1." + strconv.Itoa(present) + " until then."
}

// AheadOf reports whether a Kubernetes version is a later minor one than the control plane's.
func AheadOf(wanted, cluster string) bool {
	return minorOf(cluster) != 0 && minorOf(wanted) > minorOf(cluster)
}

// Minor returns the minor version, such as 1.34, of a Kubernetes version, such as v1.34.2; empty if
// there is none.
func Minor(version string) string {
	if minor := minorOf(version); minor != 0 {
		return fmt.Sprintf("1.%d", minor)
	}
	return ""
}

// minorOf returns the 34 of v1.34.2; 0 if there is none.
func minorOf(version string) int {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 || parts[0] != "1" {
		return 0
	}
	minor, err := strconv.Atoi(parts[1])
	if err != nil {
		return 0
	}
	return minor
}
