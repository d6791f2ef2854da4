package sts

import (
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/awssim/internal/iam"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// This file says what permissions calls need (AWS: Service Authorization Reference,
// list_awssecuritytokenservice).

const service = "sts"

func registerAuthorization(reg *sim.Registry) {
	reg.Refuse(service, func(message string) *sim.Error { return sim.Errorf("AccessDenied", "%s", message).WithStatus(403) })
	// API_GetCallerIdentity: "No permissions are required", not even a Deny counts
	sim.AuthorizeFree(reg, service, "GetCallerIdentity")
	// the token and the role's trust policy decide
	sim.AuthorizeFree(reg, service, "AssumeRoleWithWebIdentity")
	sim.AuthorizeUnscoped(reg, service, "GetAccessKeyInfo")
	sim.Authorize(reg, service, "AssumeRole", askAssumeRole)
}

// askAssumeRole: within an account a trust policy that names the caller is permission enough; a
// role of another account needs both.
func askAssumeRole(c *sim.Call, in *sts.AssumeRoleInput) []sim.Question {
	question := sim.Question{Request: iampolicy.Request{Action: "sts:AssumeRole", Resource: str(in.RoleArn), Context: iampolicy.Context{}}}
	if arn := roleARNs.FindStringSubmatch(str(in.RoleArn)); arn != nil {
		if role, ok := iam.FindRole(c.Kernel.Account(arn[1]), arn[3]); ok {
			question.Context = sim.Tagged(question.Context, role.Tags, "iam")
			question.Granted = arn[1] == c.Account.ID && role.TrustsByName(c.Principal)
		}
	}
	if in.ExternalId != nil {
		question.Context["sts:ExternalId"] = []string{*in.ExternalId}
	}
	if in.RoleSessionName != nil {
		question.Context["sts:RoleSessionName"] = []string{*in.RoleSessionName}
	}
	return []sim.Question{question}
}
