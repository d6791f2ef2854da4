package eks

import (
	"slices"
	"strings"

	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// roles checks the IAM roles of clusters and node groups.
type roles struct {
	region *sim.Region
}

// find returns the role that an ARN names, and false if there is none.
func (rs *roles) find(arn string) (iam.Role, bool) {
	role, ok := iam.FindRole(rs.region.Account, arn[strings.LastIndex(arn, "/")+1:])
	return role, ok && role.ARN == arn
}

// requiredPolicies lists the managed policies of node roles (UG create-node-role). A role must have
// at least one policy from each list.
var requiredPolicies = [][]string{
	{"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy", "arn:aws:iam::aws:policy/AmazonEKSWorkerNodeMinimalPolicy"},
	{"arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryReadOnly", "arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPullOnly",
		"arn:aws:iam::aws:policy/AmazonEC2ContainerRegistryPowerUser", "arn:aws:iam::aws:policy/AdministratorAccess"},
}

// checkNodeRole requires a role that EC2 may assume and that has the policies of nodes. The wording
// is from aws-k8s-tester and eksctl's manual.
func (rs *roles) checkNodeRole(arn string) error {
	if !strings.HasPrefix(arn, "arn:") {
		return invalid("Invalid Node Role ARN %q.", arn)
	}
	role, ok := rs.find(arn)
	if !ok {
		return invalid("The role with name %s cannot be found. (Service: AmazonIdentityManagement; Status Code: 404; Error Code: NoSuchEntity)",
			arn[strings.LastIndex(arn, "/")+1:])
	}
	if !role.TrustsService("ec2.amazonaws.com") {
		return invalid("Following required service principals [ec2.amazonaws.com] were not found in the trust relationships of nodeRole %s", arn)
	}
	var missing []string
	for _, alternatives := range requiredPolicies {
		if !slices.ContainsFunc(alternatives, func(p string) bool { return slices.Contains(role.Policies, p) }) {
			missing = append(missing, alternatives[0])
		}
	}
	if len(missing) > 0 {
		return invalid("The provided role doesn't have the Amazon EKS Managed Policies associated with it. Please ensure the following policies [%s] are attached",
			strings.Join(missing, ", "))
	}
	return nil
}

// checkClusterRole requires a role that EKS may assume (UG cluster-iam-role). That EKS does not
// check its policies is an inference. The wording is from issues of terraform-aws-eks and eksctl.
func (rs *roles) checkClusterRole(arn string) error {
	if !strings.HasPrefix(arn, "arn:") {
		return invalid("Invalid Role ARN %q.", arn)
	}
	if role, ok := rs.find(arn); !ok || !role.TrustsService(clusterService) {
		return invalid("Role with arn: %s, could not be assumed because it does not exist or the trusted entity is not correct", arn)
	}
	return nil
}

func roleName(arn string) string { return arn[strings.LastIndex(arn, "/")+1:] }
