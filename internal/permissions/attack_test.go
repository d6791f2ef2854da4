package permissions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim/iampolicy"
	"github.com/slipway-project/slipway/internal/fleet"
)

// This file models what the holder of a policy can do in an account: things with tags, and calls.
// Each call requires the same permissions as in the simulated AWS
// (awssim/internal/*/authorization.go). The model says what a call changes; it never says that a
// call fails for another reason than permissions.

const (
	region  = "eu-central-1"
	account = "111122223333"
	admin   = "arn:aws:iam::aws:policy/AdministratorAccess"
	cni     = "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"
	bound   = "arn:aws:iam::111122223333:policy/bound"
)

// thing is a resource. A thing is never edited in place.
type thing struct {
	name, kind, arn string
	tags            map[string]string
	// foreign things are neither Slipway's nor created by the holder, nor covered by a permission to adopt.
	foreign bool
	// may lists the changes that a policy allows by declaration; docs/reference/permissions.md names them.
	may []string
	// policies, boundary, and trusted are a role's: what is attached, and whether an outside
	// principal may assume it.
	policies []string
	boundary string
	trusted  bool
}

// key is the same for equal things.
func (t thing) key() string {
	text := &strings.Builder{}
	text.WriteString(t.name + "|" + t.boundary + "|" + strings.Join(slices.Sorted(slices.Values(t.policies)), ","))
	for _, key := range slices.Sorted(maps.Keys(t.tags)) {
		text.WriteString("|" + key + "=" + t.tags[key])
	}
	return text.String()
}

// call is something that the holder can ask of AWS about one thing.
type call struct {
	name     string
	requests []iampolicy.Request
	// on is what is changed, with no name if a thing is created; then is what it becomes, with no
	// name if it is deleted.
	on, then thing
	// deletes is true for the end of a thing, or of its instances.
	deletes bool
}

func arnOf(service, resource string) string {
	return "arn:aws:" + service + ":" + region + ":" + account + ":" + resource
}

func (t thing) context() iampolicy.Context {
	context := iampolicy.Context{}
	for key, value := range t.tags {
		context["aws:ResourceTag/"+key] = []string{value}
	}
	if t.boundary != "" {
		context["iam:PermissionsBoundary"] = []string{t.boundary}
	}
	return context
}

// request asks for an action on a thing, with further keys.
func (t thing) request(action string, more ...iampolicy.Context) iampolicy.Request {
	context := t.context()
	for _, keys := range more {
		maps.Copy(context, keys)
	}
	return iampolicy.Request{Action: action, Resource: t.arn, Context: context}
}

func tagging(tags map[string]string) iampolicy.Context {
	context := iampolicy.Context{}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		context["aws:RequestTag/"+key] = []string{tags[key]}
		context["aws:TagKeys"] = append(context["aws:TagKeys"], key)
	}
	return context
}

// owners are the owner tags by kind of thing.
var owners = map[string]string{
	"template": infrav1.TagLaunchConfig, "group": infrav1.TagMachinePool, "nodegroup": infrav1.TagManagedMachinePool, "role": infrav1.TagManagedMachinePool,
	"instance": fleet.TagCluster,
}

// tagSets are the tags that the holder tries on a kind of thing: its owner tag of this and of
// another cluster, alone and together with others and in capitals, and every tag that a condition
// of a policy is about.
func tagSets(kind string) []map[string]string {
	owner, here, there := owners[kind], "default/blue/x", "default/red/x"
	if kind == "instance" {
		here, there = "blue", "red"
	}
	capa := infrav1.TagProviderClusterPrefix + "blue-eks"
	sets := []map[string]string{{"team": "a"}, {capa: "owned", infrav1.TagKubernetesClusterPrefix + "blue-eks": "owned"}}
	if kind == "group" {
		sets = append(sets, map[string]string{tagEKSCluster: "blue-eks", tagEKSNodegroup: "default_a"})
	}
	if owner == "" {
		return sets
	}
	return append(sets, map[string]string{owner: here}, map[string]string{owner: there}, map[string]string{owner: here, "team": "a"},
		map[string]string{strings.ToUpper(owner): here})
}

// taggers are the actions that set and remove tags, by kind of thing.
var taggers = map[string][2]string{
	"template": {"ec2:CreateTags", "ec2:DeleteTags"}, "instance": {"ec2:CreateTags", "ec2:DeleteTags"},
	"group":     {"autoscaling:CreateOrUpdateTags", "autoscaling:DeleteTags"},
	"nodegroup": {"eks:TagResource", "eks:UntagResource"}, "role": {"iam:TagRole", "iam:UntagRole"},
	"parameter": {"ssm:AddTagsToResource", "ssm:RemoveTagsFromResource"},
}

// changes are the other actions that change or use things, which need only the thing itself;
// deletions delete the thing, or what runs in it.
var (
	changes = map[string][]string{
		"template": {"ec2:CreateFleet", "ec2:CreateLaunchTemplateVersion", "ec2:ModifyLaunchTemplate", "ec2:RunInstances"},
		"group": {"autoscaling:AttachLoadBalancerTargetGroups", "autoscaling:AttachTrafficSources", "autoscaling:CancelInstanceRefresh", "autoscaling:CompleteLifecycleAction",
			"autoscaling:DeleteLifecycleHook", "autoscaling:DeleteWarmPool", "autoscaling:DetachLoadBalancerTargetGroups", "autoscaling:DetachTrafficSources", "autoscaling:PutLifecycleHook",
			"autoscaling:PutWarmPool", "autoscaling:RecordLifecycleActionHeartbeat", "autoscaling:ResumeProcesses", "autoscaling:SetInstanceProtection",
			"autoscaling:SuspendProcesses", "autoscaling:UpdateAutoScalingGroup"},
		"nodegroup": {"eks:UpdateNodegroupConfig", "eks:UpdateNodegroupVersion"},
		"parameter": {"ssm:PutParameter"}, "object": {"s3:PutObject"}, "queue": {"sqs:ReceiveMessage"},
	}
	deletions = map[string][]string{
		"template": {"ec2:DeleteLaunchTemplate", "ec2:DeleteLaunchTemplateVersions"}, "instance": {"ec2:TerminateInstances"},
		"group":     {"autoscaling:DeleteAutoScalingGroup", "autoscaling:StartInstanceRefresh", "autoscaling:TerminateInstanceInAutoScalingGroup"},
		"nodegroup": {"eks:DeleteNodegroup"}, "role": {"iam:DeleteRole"},
		"parameter": {"ssm:DeleteParameters"}, "object": {"s3:DeleteObject"}, "queue": {"sqs:DeleteMessage"},
	}
)

// harmless are the actions that change nothing that exists, with the reason.
var harmless = map[string]string{
	"iam:CreateServiceLinkedRole": "creates a role that only AWS can use", "s3:GetObject": "reads", "s3:ListBucket": "reads", "sqs:GetQueueUrl": "reads",
	"eks:ListUpdates": "reads", "eks:ListNodegroups": "reads", "iam:GetInstanceProfile": "reads", "iam:GetRole": "reads", "iam:ListAttachedRolePolicies": "reads", "iam:SimulatePrincipalPolicy": "reads", "ssm:GetParameter": "reads", "ssm:GetParameters": "reads", "pricing:GetProducts": "reads",
}

// special are the actions that have calls of their own below.
var special = []string{
	"ec2:CreateLaunchTemplate", "autoscaling:CreateAutoScalingGroup", "eks:CreateNodegroup", "iam:CreateRole", "iam:PassRole", "sts:AssumeRole",
	"iam:AttachRolePolicy", "iam:DetachRolePolicy", "iam:PutRolePermissionsBoundary", "iam:DeleteRolePermissionsBoundary",
}

// calls returns everything that the holder can try on a thing.
func calls(t thing) []call {
	var all []call
	for _, action := range changes[t.kind] {
		all = append(all, call{name: action, requests: []iampolicy.Request{t.request(action)}, on: t, then: t})
	}
	for _, action := range deletions[t.kind] {
		all = append(all, call{name: action, requests: []iampolicy.Request{t.request(action)}, on: t, deletes: true})
	}
	all = append(all, tagCalls(t)...)
	if t.kind == "role" {
		all = append(all, roleCalls(t)...)
	}
	return all
}

func tagCalls(t thing) []call {
	actions, known := taggers[t.kind]
	if !known {
		return nil
	}
	var all []call
	for _, tags := range tagSets(t.kind) {
		changed := t
		changed.tags = maps.Clone(t.tags)
		if changed.tags == nil {
			changed.tags = map[string]string{}
		}
		maps.Copy(changed.tags, tags)
		name := fmt.Sprint(actions[0], " ", tags)
		all = append(all, call{name: name, requests: []iampolicy.Request{t.request(actions[0], tagging(tags))}, on: t, then: changed})
	}
	removals := [][]string{nil} // all tags, which EC2 removes if none is named
	for _, key := range slices.Sorted(maps.Keys(t.tags)) {
		removals = append(removals, []string{key})
	}
	for _, keys := range removals {
		changed, context := t, iampolicy.Context{}
		changed.tags = maps.Clone(t.tags)
		if len(keys) > 0 {
			context["aws:TagKeys"] = keys
			maps.DeleteFunc(changed.tags, func(key, _ string) bool { return slices.Contains(keys, key) })
		} else {
			changed.tags = nil
		}
		all = append(all, call{name: fmt.Sprint(actions[1], " ", keys), requests: []iampolicy.Request{t.request(actions[1], context)}, on: t, then: changed})
	}
	return all
}

func roleCalls(t thing) []call {
	var all []call
	add := func(name string, request iampolicy.Request, changed thing) {
		all = append(all, call{name: name, requests: []iampolicy.Request{request}, on: t, then: changed})
	}
	for _, policy := range []string{cni, admin, "arn:aws:iam::111122223333:policy/AmazonEKS_CNI_Policy"} {
		policyARN := iampolicy.Context{"iam:PolicyARN": {policy}}
		more, less := t, t
		if !slices.Contains(t.policies, policy) {
			more.policies = append(slices.Clone(t.policies), policy)
		}
		less.policies = slices.DeleteFunc(slices.Clone(t.policies), func(attached string) bool { return attached == policy })
		add("iam:AttachRolePolicy "+policy, t.request("iam:AttachRolePolicy", policyARN), more)
		add("iam:DetachRolePolicy "+policy, t.request("iam:DetachRolePolicy", policyARN), less)
	}
	for _, boundary := range []string{bound, admin} {
		changed := t
		changed.boundary = boundary
		add("iam:PutRolePermissionsBoundary "+boundary, t.request("iam:PutRolePermissionsBoundary", iampolicy.Context{"iam:PermissionsBoundary": {boundary}}), changed)
	}
	changed := t
	changed.boundary = ""
	add("iam:DeleteRolePermissionsBoundary", t.request("iam:DeleteRolePermissionsBoundary"), changed)
	add("sts:AssumeRole", t.request("sts:AssumeRole"), t)
	for _, service := range []string{"ec2.amazonaws.com", "eks.amazonaws.com", "autoscaling.amazonaws.com", "lambda.amazonaws.com"} {
		add("iam:PassRole to "+service, iampolicy.Request{Action: "iam:PassRole", Resource: t.arn, Context: iampolicy.Context{"iam:PassedToService": {service}}}, t)
	}
	return all
}

// creations are calls that create a thing, with each set of tags. A role can be created with any
// trust policy, because no condition key says what is in it. The thing that is created has no tags
// when it is asked for.
func creations(kind string) []call {
	var all []call
	add := func(made thing, tags map[string]string, requests ...iampolicy.Request) {
		if made.kind != kind {
			return
		}
		made.tags = tags
		all = append(all, call{name: fmt.Sprint("create ", made.arn, " ", made.boundary, " ", tags), requests: requests, then: made})
	}
	for _, tags := range append(tagSets("template"), nil) {
		made := thing{name: "new template", kind: "template", arn: arnOf("ec2", "launch-template/*")}
		requests := []iampolicy.Request{made.request("ec2:CreateLaunchTemplate", tagging(tags))}
		if len(tags) > 0 {
			requests = append(requests, made.request("ec2:CreateTags", tagging(tags), iampolicy.Context{"ec2:CreateAction": {"CreateLaunchTemplate"}}))
		}
		add(made, tags, requests...)
	}
	for _, tags := range append(tagSets("group"), nil) {
		made := thing{name: "new group", kind: "group", arn: arnOf("autoscaling", "autoScalingGroup:*:autoScalingGroupName/new")}
		add(made, tags, made.request("autoscaling:CreateAutoScalingGroup", tagging(tags)))
	}
	for _, tags := range append(tagSets("nodegroup"), nil) {
		made := thing{name: "new nodegroup", kind: "nodegroup", arn: arnOf("eks", "nodegroup/blue-eks/default_new/id")}
		cluster := thing{arn: arnOf("eks", "cluster/blue-eks")}
		requests := []iampolicy.Request{cluster.request("eks:CreateNodegroup", tagging(tags))}
		if len(tags) > 0 {
			requests = append(requests, made.request("eks:TagResource", tagging(tags)))
		}
		add(made, tags, requests...)
	}
	for _, tags := range append(tagSets("role"), nil) {
		for _, arn := range []string{"role/slipway/blue/new", "role/slipway/red/new", "role/new", "role/blue-eks-new_nodegroup-iam-service-role"} {
			for _, boundary := range []string{"", bound, admin} {
				made := thing{name: "new role", kind: "role", arn: "arn:aws:iam::" + account + ":" + arn, trusted: true}
				asked := made
				asked.boundary = boundary // the key is of the request
				requests := []iampolicy.Request{asked.request("iam:CreateRole", tagging(tags))}
				if len(tags) > 0 {
					requests = append(requests, made.request("iam:TagRole", tagging(tags)))
				}
				add(asked, tags, requests...)
			}
		}
	}
	return all
}
