package eks

import "github.com/slipway-project/slipway/awssim/internal/sim"

// rolePrincipal returns the principal that calls the other services: a session of the role that EKS
// itself creates (UG using-service-linked-roles-eks-nodegroups).
func rolePrincipal(r *sim.Region) string {
	return "arn:aws:sts::" + r.Account.ID + ":assumed-role/AWSServiceRoleForAmazonEKSNodegroup/EKS"
}

// call calls an action of another service in the user's account.
func call[O any](r *sim.Region, service, action string, in any) (*O, error) {
	out, err := r.Kernel().Invoke(r, rolePrincipal(r), service, action, in)
	if err != nil {
		return nil, err
	}
	return out.(*O), nil
}

// arnOf returns the ARN of a resource of EKS in a Region.
func arnOf(r *sim.Region, resource string) string {
	return "arn:aws:eks:" + r.Name + ":" + r.Account.ID + ":" + resource
}
