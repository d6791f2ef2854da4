package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/permissions/simulator"
)

// quotaWarning is the share of the quota of Auto Scaling groups, in percent, from which a warning is due.
const quotaWarning = 90

func decideCredentials(o Observed) Finding {
	if why := o.Account.Unreachable; why != nil && o.Account.NoCredentials {
		return Finding{
			Result: Failed, Message: "No AWS credentials were found: " + why.Text,
			Nodes:  "A manager without credentials does not start. Existing nodes keep running.",
			Remedy: "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign in again (`aws sso login`). Without access to AWS, skip the checks of it with --skip.",
		}
	}
	if why := o.Account.Unreachable; why != nil {
		return Finding{
			Result: Failed, Message: fmt.Sprintf("AWS did not accept the credentials in region %s: %s", o.Account.Region, why.Text),
			Nodes: "A manager with these credentials creates and updates nothing. Existing nodes keep running.",
			Remedy: "Check AWS_ACCESS_KEY_ID, AWS_PROFILE, or the role of this machine, that the region is enabled for the account, " +
				"and that its endpoint of STS can be reached.",
		}
	}
	return ok("AWS accepts the credentials of %s in region %s.", o.Account.Caller, o.Account.Region)
}

func decidePermissions(o Observed) Finding {
	p := o.Account.Permissions
	const nodes = "Without these permissions, Slipway reports AWS's refusal as a condition, and does not create or update the resource. Existing nodes keep running."
	switch {
	case p.Principal == "":
		return Finding{
			Result: Warning, Message: fmt.Sprintf("The policies of %s cannot be simulated, because it is neither a user nor a role.", o.Account.Caller),
			Nodes: "It is not known whether Slipway's identity may do what it needs to. Nodes are not affected by this check.", Remedy: "Name the role of the manager with --role-arn.",
		}
	case p.Foreign != "":
		return Finding{
			Result: Warning,
			Message: fmt.Sprintf("The policies of %s cannot be simulated: it is in account %s, and the credentials of %s are in another account.",
				p.Principal, p.Foreign, o.Account.Caller),
			Nodes:  "It is not known whether Slipway's identity may do what it needs to. Nodes are not affected by this check.",
			Remedy: fmt.Sprintf("Run the check with credentials of account %s. Run it once for each account that has clusters, with the role that Slipway uses there.", p.Foreign),
		}
	case p.Missing:
		return Finding{
			Result: Failed, Message: fmt.Sprintf("IAM does not know %s in the account of the credentials.", p.Principal), Nodes: nodes,
			Remedy: "Name an existing role with --role-arn, with its path, as `aws iam get-role` prints it, and use credentials of its account.",
		}
	case p.Unread != nil && p.Unread.Denied:
		return Finding{
			Result: Warning, Message: fmt.Sprintf("The policies of %s could not be simulated: %s", p.Principal, p.Unread.Text),
			Nodes:  "It is not known whether Slipway's identity may do what it needs to. Nodes are not affected by this check.",
			Remedy: "Attach the policy of `slipway iam policy --feature preflight` to your own identity, or skip the check with --skip.",
		}
	case p.Unread != nil:
		return unread("The simulation of the policies of "+p.Principal, p.Unread)
	case len(p.Denied) > 0:
		return Finding{
			Result:  Failed,
			Message: fmt.Sprintf("The policies of %s deny %d of %d requests that Slipway sends: %s.", p.Principal, len(p.Denied), p.Requests, list(denials(p.Denied))),
			Nodes:   nodes,
			Remedy: fmt.Sprintf("Attach all policies that `%s` prints to the identity. "+
				"If they are attached, a permissions boundary, a service control policy, or a Deny of another policy prevents the actions.", p.Command),
		}
	}
	return ok("The policies of %s allow all %d requests that Slipway sends.", p.Principal, p.Requests)
}

// denials describes denied requests. An action that several statements would allow is named once.
func denials(denied []simulator.Denial) []string {
	var texts []string
	for _, denial := range denied {
		text := fmt.Sprintf("%s (statement %s; %s)", denial.Action, strings.TrimRight(denial.Statement, "0123456789"), denial.Reason)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
	}
	return texts
}

func decideQuota(o Observed) Finding {
	quota := o.Account.Quota
	if quota.Unread != nil {
		finding := unread("The quota of Auto Scaling groups", quota.Unread)
		if quota.Unread.Denied {
			finding.Remedy = "Attach the policy of `slipway iam policy --feature preflight` to your own identity, or skip the check with --skip."
		}
		return finding
	}
	finding := Finding{
		Message: fmt.Sprintf("%d of %d Auto Scaling groups are in use in region %s.", quota.Groups, quota.MaxGroups, o.Account.Region),
		Nodes:   "Each AWSMachinePool and each EKS node group needs a group. Pools beyond the quota get no nodes. Existing nodes keep running.",
		Remedy:  "Request a higher quota of Auto Scaling groups per region from AWS Service Quotas, or delete unused groups.",
	}
	switch {
	case quota.Groups >= quota.MaxGroups:
		finding.Result = Failed
	case int64(quota.Groups)*100 >= int64(quota.MaxGroups)*quotaWarning:
		finding.Result = Warning
	default:
		return ok("%s", finding.Message)
	}
	return finding
}
