package eks

// rolePrincipal returns the caller of the other services: a session of the role that EKS creates
// itself (UG using-service-linked-roles-eks-nodegroups).
func (s *service) rolePrincipal() string {
	return "arn:aws:sts::" + s.region.Account.ID + ":assumed-role/AWSServiceRoleForAmazonEKSNodegroup/EKS"
}

// call calls an action of another service in the user's account.
func call[O any](s *service, service, action string, in any) (*O, error) {
	out, err := s.kernel.Invoke(s.region, s.rolePrincipal(), service, action, in)
	if err != nil {
		return nil, err
	}
	return out.(*O), nil
}
