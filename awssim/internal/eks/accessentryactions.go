package eks

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/shape"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// accessEntryActions serves the actions about access entries.
type accessEntryActions struct {
	tokens        *tokens
	accessEntries *accessEntries
}

func (api *accessEntryActions) create(c *sim.Call, in *eks.CreateAccessEntryInput) (*eks.CreateAccessEntryOutput, error) {
	k, err := api.accessEntries.cluster(in.ClusterName)
	if err != nil {
		return nil, err
	}
	request := shape.Clone(*in)
	if out, err := replay[eks.CreateAccessEntryOutput](api.tokens, c.Action, in.ClientRequestToken, request); out != nil || err != nil {
		return out, err
	}
	kind := val(in.Type)
	if kind == "" {
		kind = typeStandard
	}
	if _, known := entryTypes[kind]; !known {
		return nil, invalid("%s is not a valid value for type", kind)
	}
	principal := principalARN.FindStringSubmatch(val(in.PrincipalArn))
	// the wording is from terraform-provider-aws issues
	if principal == nil || kind != typeStandard && principal[2] != "role" {
		return nil, invalid("The specified principalArn is invalid: invalid principal.")
	}
	if k.entries[*in.PrincipalArn] != nil {
		return nil, inUse("The specified access entry resource is already in use on this cluster.")
	}
	if err := checkEntry(kind, in.KubernetesGroups, in.Username); err != nil {
		return nil, err
	}
	if err := checkTags(in.Tags); err != nil {
		return nil, err
	}
	e := api.accessEntries.add(k, *in.PrincipalArn, kind)
	e.tags = merged(in.Tags)
	e.set(in.KubernetesGroups, in.Username)
	api.accessEntries.publish(e)
	out := &eks.CreateAccessEntryOutput{AccessEntry: e.view()}
	api.tokens.remember(c.Action, in.ClientRequestToken, request, out)
	return out, nil
}

// checkEntry refuses Kubernetes groups and a username for entries of nodes (SDK
// CreateAccessEntryInput.Type), and names with a prefix that is reserved for Kubernetes or AWS (UG
// creating-access-entries). The wording is an inference.
func checkEntry(kind string, groups []string, username *string) error {
	if kind != typeStandard && (len(groups) > 0 || username != nil) {
		return invalid("kubernetesGroups and username cannot be specified for type %s.", kind)
	}
	if len(groups) > maxKubeGroups {
		return invalid("At most %d kubernetesGroups can be specified.", maxKubeGroups)
	}
	for _, name := range append(slices.Clone(groups), val(username)) {
		for _, reserved := range []string{"system:", "eks:", "aws:", "amazon:", "iam:"} {
			if strings.HasPrefix(name, reserved) {
				return invalid("%q must not begin with %s", name, reserved)
			}
		}
	}
	return nil
}

func (api *accessEntryActions) update(c *sim.Call, in *eks.UpdateAccessEntryInput) (*eks.UpdateAccessEntryOutput, error) {
	e, err := api.accessEntries.find(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	if err := checkEntry(e.kind, in.KubernetesGroups, in.Username); err != nil {
		return nil, err
	}
	e.set(in.KubernetesGroups, in.Username)
	e.modified = c.Now
	api.accessEntries.publish(e)
	return &eks.UpdateAccessEntryOutput{AccessEntry: e.view()}, nil
}

func (api *accessEntryActions) delete(_ *sim.Call, in *eks.DeleteAccessEntryInput) (*eks.DeleteAccessEntryOutput, error) {
	e, err := api.accessEntries.find(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	delete(e.cluster.entries, e.principal)
	api.accessEntries.views.Delete(e.key())
	return &eks.DeleteAccessEntryOutput{}, nil
}

func (api *accessEntryActions) describe(_ *sim.Call, in *eks.DescribeAccessEntryInput) (*eks.DescribeAccessEntryOutput, error) {
	entry, err := api.accessEntries.visible(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	return &eks.DescribeAccessEntryOutput{AccessEntry: entry.AccessEntry}, nil
}

func (api *accessEntryActions) list(_ *sim.Call, in *eks.ListAccessEntriesInput) (*eks.ListAccessEntriesOutput, error) {
	if _, err := api.accessEntries.cluster(in.ClusterName); err != nil {
		return nil, err
	}
	principals := []string{}
	for _, e := range api.accessEntries.views.VisibleAll() {
		if *e.ClusterName != *in.ClusterName {
			continue
		}
		if p := val(in.AssociatedPolicyArn); p != "" && !slices.ContainsFunc(e.policies, func(a types.AssociatedAccessPolicy) bool { return *a.PolicyArn == p }) {
			continue
		}
		principals = append(principals, *e.PrincipalArn)
	}
	page, next, err := pageOfNames(principals, in.NextToken, in.MaxResults)
	if err != nil {
		return nil, err
	}
	return &eks.ListAccessEntriesOutput{AccessEntries: page, NextToken: next}, nil
}

// associatePolicy adds a policy to an access entry, or changes the scope of a policy that the entry
// already has.
func (api *accessEntryActions) associatePolicy(c *sim.Call, in *eks.AssociateAccessPolicyInput) (*eks.AssociateAccessPolicyOutput, error) {
	e, err := api.accessEntries.find(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	scope := in.AccessScope
	switch { // the wording is an inference
	case !policyARN.MatchString(val(in.PolicyArn)):
		return nil, invalid("The policyArn parameter format is not valid")
	case e.kind != typeStandard && e.kind != "EC2": // SDK CreateAccessEntryInput.Type
		return nil, badRequest("Access policies cannot be associated with access entries of type %s.", e.kind)
	case scope == nil || !slices.Contains(scope.Type.Values(), scope.Type):
		return nil, invalid("accessScope must have the type cluster or namespace.")
	case (scope.Type == types.AccessScopeTypeNamespace) != (len(scope.Namespaces) > 0):
		return nil, invalid("namespaces must be specified for an accessScope of type namespace, and for no other.")
	}
	shown := &types.AccessScope{Type: scope.Type, Namespaces: append([]string{}, scope.Namespaces...)}
	associated := e.associate(*in.PolicyArn, shown, c.Now)
	api.accessEntries.publish(e)
	return &eks.AssociateAccessPolicyOutput{ClusterName: ptr(e.cluster.Name), PrincipalArn: ptr(e.principal), AssociatedAccessPolicy: &associated}, nil
}

func (api *accessEntryActions) disassociatePolicy(_ *sim.Call, in *eks.DisassociateAccessPolicyInput) (*eks.DisassociateAccessPolicyOutput, error) {
	e, err := api.accessEntries.find(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	if _, ok := e.policies[val(in.PolicyArn)]; !ok {
		// the wording is an inference
		return nil, sim.Errorf(codeNotFound, "The specified policyArn is not associated with the access entry: %s", val(in.PolicyArn)).WithStatus(404)
	}
	e.policies = maps.Clone(e.policies)
	delete(e.policies, *in.PolicyArn)
	api.accessEntries.publish(e)
	return &eks.DisassociateAccessPolicyOutput{}, nil
}

func (api *accessEntryActions) listPolicies(_ *sim.Call, in *eks.ListAssociatedAccessPoliciesInput) (*eks.ListAssociatedAccessPoliciesOutput, error) {
	entry, err := api.accessEntries.visible(in.ClusterName, in.PrincipalArn)
	if err != nil {
		return nil, err
	}
	page, next, err := pageOf(entry.policies, in.NextToken, in.MaxResults, func(p types.AssociatedAccessPolicy) string { return *p.PolicyArn })
	if err != nil {
		return nil, err
	}
	return &eks.ListAssociatedAccessPoliciesOutput{ClusterName: in.ClusterName, PrincipalArn: in.PrincipalArn, AssociatedAccessPolicies: page, NextToken: next}, nil
}
