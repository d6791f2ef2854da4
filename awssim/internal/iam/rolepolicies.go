package iam

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// maxInlineCharacters bounds the inline policies of a role together, white space apart (AWS: "IAM and AWS
// STS quotas": "Role policy size can't exceed 10,240 characters").
const maxInlineCharacters = 10240

// putRolePolicy adds a policy, or replaces the one of the same name.
func putRolePolicy(c *sim.Call, in *iam.PutRolePolicyInput) (*iam.PutRolePolicyOutput, error) {
	return changeRole[iam.PutRolePolicyOutput](c, (*state).ownRole, in.RoleName, func(_ *state, role *Role) error {
		name, document := str(in.PolicyName), str(in.PolicyDocument)
		if !json.Valid([]byte(document)) {
			return sim.Errorf("MalformedPolicyDocument", "Syntax errors in policy.")
		}
		policies := map[string]string{}
		maps.Copy(policies, role.InlinePolicies)
		policies[name] = document
		characters := 0
		for _, text := range policies {
			characters += iampolicy.Characters(text)
		}
		// https://github.com/gchq/sleeper/issues/1459 has the message and the status
		if characters > maxInlineCharacters {
			return conflict("LimitExceeded", "Maximum policy size of %d bytes exceeded for role %s", maxInlineCharacters, role.Name)
		}
		role.InlinePolicies = policies
		return nil
	})
}

func noRolePolicy(name *string) error {
	return noSuchEntity("The role policy with name %s cannot be found.", str(name))
}

func getRolePolicy(c *sim.Call, in *iam.GetRolePolicyInput) (*iam.GetRolePolicyOutput, error) {
	role, ok := of(c.Account).roles.Visible(str(in.RoleName))
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	document, ok := role.InlinePolicies[str(in.PolicyName)]
	if !ok {
		return nil, noRolePolicy(in.PolicyName)
	}
	document = percentEncoded(document)
	return &iam.GetRolePolicyOutput{RoleName: &role.Name, PolicyName: in.PolicyName, PolicyDocument: &document}, nil
}

func deleteRolePolicy(c *sim.Call, in *iam.DeleteRolePolicyInput) (*iam.DeleteRolePolicyOutput, error) {
	return changeRole[iam.DeleteRolePolicyOutput](c, (*state).ownRole, in.RoleName, func(_ *state, role *Role) error {
		if _, ok := role.InlinePolicies[str(in.PolicyName)]; !ok {
			return noRolePolicy(in.PolicyName)
		}
		role.InlinePolicies = maps.Clone(role.InlinePolicies)
		delete(role.InlinePolicies, *in.PolicyName)
		return nil
	})
}

func listRolePolicies(c *sim.Call, in *iam.ListRolePoliciesInput) (*iam.ListRolePoliciesOutput, error) {
	role, ok := of(c.Account).roles.Visible(str(in.RoleName))
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	names := slices.Sorted(maps.Keys(role.InlinePolicies))
	if names == nil {
		names = []string{}
	}
	page, marker, err := paginate(names, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListRolePoliciesOutput{PolicyNames: page, Marker: marker, IsTruncated: marker != nil}, nil
}
