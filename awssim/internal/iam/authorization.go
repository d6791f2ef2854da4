package iam

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference,
// list_awsidentityandaccessmanagementiam), and what policies sessions have.

const service = "iam"

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(service, func(message string) *sim.Error { return sim.Errorf("AccessDenied", "%s", message).WithStatus(403) })
	reg.OfRoles(permissionsOf)
	sim.AuthorizeUnscoped(reg, service, "ListRoles")
	authorizeProfiles(reg)
	sim.Authorize(reg, service, "CreateRole", askCreateRole)
	sim.Authorize(reg, service, "GetRole", func(c *sim.Call, in *iam.GetRoleInput) []sim.Question { return askRole(c, in.RoleName, nil) })
	sim.Authorize(reg, service, "DeleteRole", func(c *sim.Call, in *iam.DeleteRoleInput) []sim.Question { return askRole(c, in.RoleName, nil) })
	sim.Authorize(reg, service, "UpdateRole", func(c *sim.Call, in *iam.UpdateRoleInput) []sim.Question { return askRole(c, in.RoleName, nil) })
	sim.Authorize(reg, service, "UpdateAssumeRolePolicy", func(c *sim.Call, in *iam.UpdateAssumeRolePolicyInput) []sim.Question {
		return askRole(c, in.RoleName, nil)
	})
	sim.Authorize(reg, service, "UpdateRoleDescription", func(c *sim.Call, in *iam.UpdateRoleDescriptionInput) []sim.Question {
		return askRole(c, in.RoleName, nil)
	})
	sim.Authorize(reg, service, "ListRoleTags", func(c *sim.Call, in *iam.ListRoleTagsInput) []sim.Question { return askRole(c, in.RoleName, nil) })
	sim.Authorize(reg, service, "ListAttachedRolePolicies", func(c *sim.Call, in *iam.ListAttachedRolePoliciesInput) []sim.Question {
		return askRole(c, in.RoleName, nil)
	})
	sim.Authorize(reg, service, "AttachRolePolicy", func(c *sim.Call, in *iam.AttachRolePolicyInput) []sim.Question {
		return askRole(c, in.RoleName, iampolicy.Context{"iam:PolicyARN": {str(in.PolicyArn)}})
	})
	sim.Authorize(reg, service, "DetachRolePolicy", func(c *sim.Call, in *iam.DetachRolePolicyInput) []sim.Question {
		return askRole(c, in.RoleName, iampolicy.Context{"iam:PolicyARN": {str(in.PolicyArn)}})
	})
	sim.Authorize(reg, service, "PutRolePermissionsBoundary", func(c *sim.Call, in *iam.PutRolePermissionsBoundaryInput) []sim.Question {
		return askRole(c, in.RoleName, iampolicy.Context{"iam:PermissionsBoundary": {str(in.PermissionsBoundary)}})
	})
	sim.Authorize(reg, service, "DeleteRolePermissionsBoundary", func(c *sim.Call, in *iam.DeleteRolePermissionsBoundaryInput) []sim.Question {
		return askRole(c, in.RoleName, nil)
	})
	sim.Authorize(reg, service, "PutRolePolicy", func(c *sim.Call, in *iam.PutRolePolicyInput) []sim.Question { return askRole(c, in.RoleName, nil) })
	sim.Authorize(reg, service, "GetRolePolicy", func(c *sim.Call, in *iam.GetRolePolicyInput) []sim.Question { return askRole(c, in.RoleName, nil) })
	sim.Authorize(reg, service, "DeleteRolePolicy", func(c *sim.Call, in *iam.DeleteRolePolicyInput) []sim.Question {
		return askRole(c, in.RoleName, nil)
	})
	sim.Authorize(reg, service, "ListRolePolicies", func(c *sim.Call, in *iam.ListRolePoliciesInput) []sim.Question {
		return askRole(c, in.RoleName, nil)
	})
	sim.Authorize(reg, service, "TagRole", func(c *sim.Call, in *iam.TagRoleInput) []sim.Question {
		return askRole(c, in.RoleName, sim.Tagging(iampolicy.Context{}, tagMap(in.Tags)))
	})
	sim.Authorize(reg, service, "UntagRole", func(c *sim.Call, in *iam.UntagRoleInput) []sim.Question {
		return askRole(c, in.RoleName, sim.Untagging(iampolicy.Context{}, in.TagKeys))
	})
}

// askCreate asks for the permission to tag, too, if the resource is created with tags (IAM user guide,
// id_tags_roles, id_tags_customer-managed-policies, id_tags_instance-profiles, and id_tags_oidc).
func askCreate(create, tag, arn string, tags map[string]string) []sim.Question {
	asked := []sim.Question{{Request: iampolicy.Request{Action: "iam:" + create, Resource: arn, Context: sim.Tagging(iampolicy.Context{}, tags)}}}
	if len(tags) > 0 {
		asked = append(asked, sim.Question{Request: iampolicy.Request{Action: "iam:" + tag, Resource: arn, Context: sim.Tagging(iampolicy.Context{}, tags)}})
	}
	return asked
}

// askCreateRole has the permissions boundary of the role in the request for it.
func askCreateRole(c *sim.Call, in *iam.CreateRoleInput) []sim.Question {
	asked := askCreate("CreateRole", "TagRole", of(c.Account).arn("role", orSlash(str(in.Path)), str(in.RoleName)), tagMap(in.Tags))
	if in.PermissionsBoundary != nil {
		asked[0].Context["iam:PermissionsBoundary"] = []string{*in.PermissionsBoundary}
	}
	return asked
}

// askRole: the ARN of a role that does not exist follows from its name, and it has no tags.
func askRole(c *sim.Call, name *string, context iampolicy.Context) []sim.Question {
	role, ok := FindRole(c.Account, str(name))
	if !ok {
		role.ARN = of(c.Account).arn("role", "/", str(name))
	}
	request := role.request("iam:" + c.Action)
	if role.PermissionsBoundary != "" { // what is asked for wins, where the request has a boundary of its own
		request.Context["iam:PermissionsBoundary"] = []string{role.PermissionsBoundary}
	}
	maps.Copy(request.Context, context)
	return []sim.Question{{Request: request}}
}

func (r Role) request(action string) iampolicy.Request {
	return iampolicy.Request{Action: action, Resource: r.ARN, Context: sim.Tagged(iampolicy.Context{}, r.Tags, service)}
}

// Passed returns the permission to hand the role over to a service. Tags of the role do not matter
// (IAM user guide, id_roles_use_passrole: "You can't use the ResourceTag condition key to control
// permission to pass a role").
func (r Role) Passed(service string) iampolicy.Request {
	return iampolicy.Request{Action: "iam:PassRole", Resource: r.ARN, Context: iampolicy.Context{"iam:PassedToService": {service}}}
}

// ServiceLinkedRole returns the permissions of a caller whose call has AWS create a service-linked
// role: none if it exists (IAM user guide, id_roles_create-service-linked-role). Only for code
// under the kernel's lock.
func ServiceLinkedRole(a *sim.Account, name, service string) []sim.Question {
	if _, exists := FindRole(a, name); exists {
		return nil
	}
	return []sim.Question{{Request: iampolicy.Request{
		Action: "iam:CreateServiceLinkedRole", Resource: of(a).arn("role", "/aws-service-role/"+service+"/", name),
		Context: iampolicy.Context{"iam:AWSServiceName": {service}},
	}}}
}

// EnsureServiceLinkedRole has AWS create a service-linked role, unless it exists. Only for code
// under the kernel's lock.
func EnsureServiceLinkedRole(a *sim.Account, name, service string) {
	if _, exists := FindRole(a, name); exists {
		return
	}
	s, path := of(a), "/aws-service-role/"+service+"/"
	s.roles.Put(name, Role{
		Name: name, Path: path, ARN: s.arn("role", path, name), ID: s.newID("AROA"), Created: a.Kernel().Now(),
		TrustPolicy: fmt.Sprintf(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":[%q]},"Action":["sts:AssumeRole"]}]}`, service),
	})
}

// permissionsOf returns the role's inline policies and the account's own managed policies that are
// attached to the role of a session, and the one that is its permissions boundary. AWS's managed
// policies are not simulated, so they are left out: a role that has no others may do everything.
func permissionsOf(a *sim.Account, session string) (sim.Permissions, error) {
	_, name, _ := strings.Cut(session, ":assumed-role/")
	name, _, _ = strings.Cut(name, "/")
	role, _ := FindRole(a, name)
	policies, err := ownPolicies(a, role.Policies...)
	if err != nil {
		return sim.Permissions{}, err
	}
	inline, err := inlinePolicies(role)
	if err != nil {
		return sim.Permissions{}, err
	}
	policies = append(policies, inline...)
	boundary, err := ownPolicies(a, role.PermissionsBoundary)
	return sim.Permissions{Policies: policies, Boundary: boundary}, err
}

// ownPolicies returns the managed policies that are the account's own.
func ownPolicies(a *sim.Account, arns ...string) ([]iampolicy.Policy, error) {
	var policies []iampolicy.Policy
	for _, arn := range arns {
		own, ok := of(a).policies.Get(arn)
		if !ok {
			continue
		}
		policy, err := iampolicy.Parse(own.document())
		if err != nil {
			return nil, undecidable("policy "+arn, err)
		}
		policies = append(policies, policy)
	}
	return policies, nil
}

func inlinePolicies(role Role) ([]iampolicy.Policy, error) {
	var policies []iampolicy.Policy
	for _, name := range slices.Sorted(maps.Keys(role.InlinePolicies)) {
		policy, err := iampolicy.Parse(role.InlinePolicies[name])
		if err != nil {
			return nil, undecidable("policy "+name+" of role "+role.Name, err)
		}
		policies = append(policies, policy)
	}
	return policies, nil
}

func undecidable(what string, err error) error {
	return &sim.Error{Code: "NotImplemented", Status: 501, Message: fmt.Sprintf("The simulated AWS can not decide by %s: %v", what, err)}
}

// TrustsByName reports whether the trust policy names the caller himself, not his account: within
// an account that is enough to assume the role (IAM user guide,
// reference_policies_evaluation-logic, "Evaluating identity-based policies with resource-based
// policies").
func (r Role) TrustsByName(callerARN string) bool {
	p, err := parsePolicy(r.TrustPolicy)
	return err == nil && slices.ContainsFunc(p.Statement, func(s statement) bool {
		return s.Effect == "Allow" && (slices.Contains(s.Principal["AWS"], callerARN) || slices.Contains(s.Principal["AWS"], roleOfSession(callerARN)))
	})
}
