package iam

import (
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file simulates SimulatePrincipalPolicy (AWS: IAM API reference, API_SimulatePrincipalPolicy).
// It decides by package iampolicy, as the authorization of calls does. Answers do not name the
// statements that matched. Parameters that would change the decision, and policies whose content is
// not known, are refused.

// administrator is the document of AdministratorAccess (AWS: AWS managed policy reference guide,
// AdministratorAccess).
const administrator = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`

// registerSimulation registers the simulation of policies. It is authorized on the user, group, or
// role whose policies are simulated (AWS: Service Authorization Reference,
// list_awsidentityandaccessmanagementiam).
func registerSimulation(reg *sim.Registry) {
	sim.Handle(reg, service, "SimulatePrincipalPolicy", simulatePrincipalPolicy)
	sim.Authorize(reg, service, "SimulatePrincipalPolicy", func(c *sim.Call, in *iam.SimulatePrincipalPolicyInput) []sim.Question {
		arn := str(in.PolicySourceArn)
		if role, found := of(c.Account).roleByARN(arn); found {
			return []sim.Question{{Request: role.request("iam:SimulatePrincipalPolicy")}}
		}
		return []sim.Question{{Request: iampolicy.Request{Action: "iam:SimulatePrincipalPolicy", Resource: arn}}}
	})
}

func simulatePrincipalPolicy(c *sim.Call, in *iam.SimulatePrincipalPolicyInput) (*iam.SimulatePrincipalPolicyOutput, error) {
	if err := checkSimulation(in); err != nil {
		return nil, err
	}
	held, err := of(c.Account).simulated(c, str(in.PolicySourceArn))
	if err != nil {
		return nil, err
	}
	resource := "*"
	if len(in.ResourceArns) > 0 {
		resource = in.ResourceArns[0]
	}
	context := iampolicy.Context{}
	for _, entry := range in.ContextEntries {
		context[str(entry.ContextKeyName)] = entry.ContextKeyValues
	}
	results := []types.EvaluationResult{}
	for _, action := range in.ActionNames {
		results = append(results, held.result(iampolicy.Request{Action: action, Resource: resource, Context: context}))
	}
	page, marker, err := paginate(results, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.SimulatePrincipalPolicyOutput{EvaluationResults: page, Marker: marker, IsTruncated: marker != nil}, nil
}

// checkSimulation refuses what AWS refuses, and what is not simulated.
func checkSimulation(in *iam.SimulatePrincipalPolicyInput) error {
	for _, action := range in.ActionNames {
		// AWS: API_SimulatePrincipalPolicy, ActionNames: "Each operation must include the service identifier";
		// "This operation does not support using wildcards (*) in an action name". The words are an inference.
		if prefix, name, found := strings.Cut(action, ":"); !found || prefix == "" || name == "" || strings.ContainsAny(action, "*?") {
			return sim.Errorf("InvalidInput", "Invalid Action Name: %s", action)
		}
	}
	for _, arn := range in.ResourceArns {
		// https://github.com/aws-containers/amazon-ecs-exec-checker/issues/35 has the message.
		if arn != "*" && (!strings.HasPrefix(arn, "arn:") || strings.Count(arn, ":") < 5) {
			return sim.Errorf("InvalidInput", "ResourceNames are not in a valid ARN format: %s.", arn)
		}
	}
	for _, parameter := range []struct {
		name  string
		given bool
	}{
		{"more than one element in ResourceArns", len(in.ResourceArns) > 1},
		{"PolicyInputList", len(in.PolicyInputList) > 0},
		{"PermissionsBoundaryPolicyInputList", len(in.PermissionsBoundaryPolicyInputList) > 0},
		{"ResourcePolicy", in.ResourcePolicy != nil},
		{"ResourceOwner", in.ResourceOwner != nil},
		{"CallerArn", in.CallerArn != nil},
		{"ResourceHandlingOption", in.ResourceHandlingOption != nil},
	} {
		if parameter.given {
			return &sim.Error{Code: "NotImplemented", Status: 501, Message: "The simulated AWS does not simulate policies with " + parameter.name}
		}
	}
	return nil
}

// simulatedPolicies are the policies of a principal. A role without policies may do nothing. The
// authorization of calls treats its sessions as administrators instead.
type simulatedPolicies struct {
	identity []iampolicy.Policy
	boundary []iampolicy.Policy // nil for none
}

// simulated returns the policies of a role, or of the caller if it is a user: the simulated AWS has
// no other users, and no groups.
func (s *state) simulated(c *sim.Call, arn string) (simulatedPolicies, error) {
	if err := checkARN(arn); err != nil {
		return simulatedPolicies{}, err
	}
	segments := strings.SplitN(arn, ":", 6)
	kind, _, _ := strings.Cut(segments[5], "/")
	if segments[2] != service || !slices.Contains([]string{"role", "user", "group"}, kind) {
		// https://github.com/newrelic/newrelic-lambda-cli/issues/96 has the message.
		return simulatedPolicies{}, sim.Errorf("InvalidInput", "Invalid Entity Arn: %s does not clearly define entity type and name.", arn)
	}
	if arn == c.Principal {
		held := c.Permissions()
		if len(held.Policies)+len(held.Boundary) == 0 { // the account's administrator: see Permissions
			policy, err := iampolicy.Parse(administrator)
			return simulatedPolicies{identity: []iampolicy.Policy{policy}}, err
		}
		return simulatedPolicies{identity: held.Policies, boundary: held.Boundary}, nil
	}
	role, found := s.roleByARN(arn)
	if !found { // the words are an inference from other actions of IAM
		return simulatedPolicies{}, noSuchEntity("The %s with name %s cannot be found.", kind, arn[strings.LastIndex(arn, "/")+1:])
	}
	return s.policiesOfRole(role)
}

// roleByARN returns the role with exactly that ARN, path included.
func (s *state) roleByARN(arn string) (Role, bool) {
	role, found := s.roles.Get(arn[strings.LastIndex(arn, "/")+1:])
	return role, found && role.ARN == arn
}

func (s *state) policiesOfRole(role Role) (simulatedPolicies, error) {
	inline, err := inlinePolicies(role)
	if err != nil {
		return simulatedPolicies{}, err
	}
	held := simulatedPolicies{identity: inline}
	for _, arn := range role.Policies {
		policy, err := s.parsedPolicy(arn)
		if err != nil {
			return simulatedPolicies{}, err
		}
		held.identity = append(held.identity, policy)
	}
	if role.PermissionsBoundary != "" {
		boundary, err := s.parsedPolicy(role.PermissionsBoundary)
		if err != nil {
			return simulatedPolicies{}, err
		}
		held.boundary = []iampolicy.Policy{boundary}
	}
	return held, nil
}

// parsedPolicy reads a managed policy. Of AWS's own, only the content of AdministratorAccess is known.
func (s *state) parsedPolicy(arn string) (iampolicy.Policy, error) {
	document := administrator
	if arn != awsPolicyPrefix+"AdministratorAccess" {
		policy, found := s.policies.Get(arn)
		if !found {
			return iampolicy.Policy{}, &sim.Error{Code: "NotImplemented", Status: 501, Message: "The simulated AWS does not know what policy " + arn + " allows"}
		}
		document = policy.document()
	}
	policy, err := iampolicy.Parse(document)
	if err != nil {
		return iampolicy.Policy{}, undecidable("policy "+arn, err)
	}
	return policy, nil
}

// result decides a request (AWS: IAM user guide, "Permissions boundaries for IAM entities": both the
// policies and the boundary must allow a request, and a Deny of either wins).
func (p simulatedPolicies) result(request iampolicy.Request) types.EvaluationResult {
	decision := iampolicy.Evaluate(p.identity, request)
	var bounded *types.PermissionsBoundaryDecisionDetail
	if p.boundary != nil {
		within := iampolicy.Evaluate(p.boundary, request)
		bounded = &types.PermissionsBoundaryDecisionDetail{AllowedByPermissionsBoundary: within == iampolicy.Allowed}
		switch {
		case within == iampolicy.ExplicitlyDenied:
			decision = iampolicy.ExplicitlyDenied
		case within != iampolicy.Allowed && decision == iampolicy.Allowed:
			decision = iampolicy.ImplicitlyDenied
		}
	}
	result := types.EvaluationResult{
		EvalActionName: &request.Action, EvalResourceName: &request.Resource, EvalDecision: types.PolicyEvaluationDecisionType(decision),
		PermissionsBoundaryDecisionDetail: bounded,
	}
	missing := p.missing(request.Context)
	if request.Resource == "*" {
		result.MissingContextValues = missing
		return result
	}
	// AWS: API_EvaluationResult, MissingContextValues: "If you include a list of resources, then any missing
	// context values are instead included under the ResourceSpecificResults section."
	result.ResourceSpecificResults = []types.ResourceSpecificResult{{
		EvalResourceName: &request.Resource, EvalResourceDecision: result.EvalDecision, MissingContextValues: missing, PermissionsBoundaryDecisionDetail: bounded,
	}}
	return result
}

// missing returns the condition keys of the policies that the request has no value for, sorted (AWS:
// API_EvaluationResult, MissingContextValues: "context keys that are required by the included input policies but
// that were not provided by one of the input parameters"). That keys of statements about other actions are among
// them is an inference.
func (p simulatedPolicies) missing(context iampolicy.Context) []string {
	given := func(key string) bool {
		for name := range context {
			if strings.EqualFold(name, key) {
				return true
			}
		}
		return false
	}
	missing := []string{}
	for _, policy := range slices.Concat(p.identity, p.boundary) {
		for _, statement := range policy.Statements {
			for _, keys := range statement.Condition {
				for key := range keys {
					if !given(key) {
						missing = append(missing, key)
					}
				}
			}
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}
