// Package noderole keeps the IAM role of the nodes of a managed node group: made with the policies
// that nodes need, or given by the user and then left alone. It knows IAM, and nothing of the
// Kubernetes objects that ask for a role.
package noderole

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/tagdiff"
)

// DefaultPath begins the IAM paths of roles that Slipway creates if neither the pool nor the
// manager sets another path. Slipway's IAM policies are limited to this path, under which only
// Slipway creates roles.
const DefaultPath = "/slipway/"

// PathOf returns the IAM path of the roles of a cluster. Each cluster has its own, because tags
// cannot bound who may pass a role: an identity for one cluster passes the roles under its path.
func PathOf(prefix, cluster string) string { return prefix + cluster + "/" }

// Desired is the role that a pool asks for.
type Desired struct {
	Name string
	// Owner is the value of the ownership tag.
	Owner string
	// Path and Boundary are empty for IAM's defaults. The path of a role never changes.
	Path, Boundary string
	// Policies are the ARNs of policies that are attached in addition to NodePolicies, and
	// RetiredPolicies are the ARNs of policies that the pool attached earlier and no longer asks
	// for.
	Policies, RetiredPolicies []string
	// Partition is aws, aws-cn or aws-us-gov.
	Partition string
	// Tags are the role's own, and RetiredTags are keys that the pool set earlier and no longer asks for.
	Tags        map[string]string
	RetiredTags []string
}

// nodePolicies lists the policies that nodes need (AWS: EKS user guide, create-node-role). The
// policy for the registry is the wider of the two that AWS names, which CAPA attaches too. The
// policy for the network is needed where the CNI has no role of its own.
var nodePolicies = []string{"AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy", "AmazonEC2ContainerRegistryReadOnly"}

// NodePolicies returns the ARNs of the policies that nodes need.
func NodePolicies(partition string) []string {
	arns := make([]string, 0, len(nodePolicies))
	for _, name := range nodePolicies {
		arns = append(arns, fmt.Sprintf("arn:%s:iam::aws:policy/%s", partition, name))
	}
	return arns
}

// policies are all that is attached, sorted.
func (d Desired) policies() []string {
	all := slices.Concat(NodePolicies(d.Partition), d.Policies)
	slices.Sort(all)
	return slices.Compact(all)
}

// trust lets EC2 instances have the role (AWS: EKS user guide, create-node-role).
const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":["%s"]},"Action":["sts:AssumeRole"]}]}`

func trustPolicy(partition string) string {
	service := "ec2.amazonaws.com"
	if partition == "aws-cn" {
		service = "ec2.amazonaws.com.cn"
	}
	return fmt.Sprintf(trust, service)
}

// Role is a role as it was seen.
type Role struct {
	Name, ARN, Path, Boundary string
	Tags                      map[string]string
	// Policies are the ARNs of the attached policies, sorted.
	Policies []string
}

// OwnedBy is true for a role with the owner's tag.
func (r *Role) OwnedBy(owner string) bool { return r.Tags[infrav1.TagManagedMachinePool] == owner }

// NameOf is the name in a role's ARN, without the path.
func NameOf(arn string) string {
	return arn[strings.LastIndex(arn, "/")+1:]
}

// Partition returns the partition of an ARN, such as aws. It returns aws for a string that is not
// an ARN.
func Partition(arn string) string {
	if parts := strings.SplitN(arn, ":", 3); len(parts) == 3 && parts[0] == "arn" {
		return parts[1]
	}
	return "aws"
}

// PartitionOf is the partition of a region.
func PartitionOf(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	}
	return "aws"
}

// IAM is the part of the IAM API that this package calls.
type IAM interface {
	iam.ListAttachedRolePoliciesAPIClient
	Reader
	Writer
}

// Reader gets roles from IAM.
type Reader interface {
	GetRole(context.Context, *iam.GetRoleInput, ...func(*iam.Options)) (*iam.GetRoleOutput, error)
}

// Writer creates, changes, and deletes roles in IAM.
type Writer interface {
	CreateRole(context.Context, *iam.CreateRoleInput, ...func(*iam.Options)) (*iam.CreateRoleOutput, error)
	DeleteRole(context.Context, *iam.DeleteRoleInput, ...func(*iam.Options)) (*iam.DeleteRoleOutput, error)
	AttachRolePolicy(context.Context, *iam.AttachRolePolicyInput, ...func(*iam.Options)) (*iam.AttachRolePolicyOutput, error)
	DetachRolePolicy(context.Context, *iam.DetachRolePolicyInput, ...func(*iam.Options)) (*iam.DetachRolePolicyOutput, error)
	PutRolePermissionsBoundary(context.Context, *iam.PutRolePermissionsBoundaryInput, ...func(*iam.Options)) (*iam.PutRolePermissionsBoundaryOutput, error)
	DeleteRolePermissionsBoundary(context.Context, *iam.DeleteRolePermissionsBoundaryInput, ...func(*iam.Options)) (*iam.DeleteRolePermissionsBoundaryOutput, error)
	TagRole(context.Context, *iam.TagRoleInput, ...func(*iam.Options)) (*iam.TagRoleOutput, error)
	UntagRole(context.Context, *iam.UntagRoleInput, ...func(*iam.Options)) (*iam.UntagRoleOutput, error)
}

// Roles keeps roles in one account.
type Roles struct{ api IAM }

// NewRoles returns the roles that a client reaches.
func NewRoles(api IAM) *Roles { return &Roles{api: api} }

// Get returns a role with what is attached to it, nil if there is none of that name.
func (r *Roles) Get(ctx context.Context, name string) (*Role, error) {
	output, err := r.api.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	if aws.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading IAM role %q: %w", name, err)
	}
	role := roleOf(output.Role)
	pages := iam.NewListAttachedRolePoliciesPaginator(r.api, &iam.ListAttachedRolePoliciesInput{RoleName: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing the policies of IAM role %q: %w", name, err)
		}
		for _, policy := range page.AttachedPolicies {
			role.Policies = append(role.Policies, awssdk.ToString(policy.PolicyArn))
		}
	}
	slices.Sort(role.Policies)
	return &role, nil
}

func roleOf(role *iamtypes.Role) Role {
	seen := Role{
		Name: awssdk.ToString(role.RoleName), ARN: awssdk.ToString(role.Arn), Path: awssdk.ToString(role.Path), Tags: map[string]string{},
	}
	if role.PermissionsBoundary != nil {
		seen.Boundary = awssdk.ToString(role.PermissionsBoundary.PermissionsBoundaryArn)
	}
	for _, tag := range role.Tags {
		seen.Tags[awssdk.ToString(tag.Key)] = awssdk.ToString(tag.Value)
	}
	return seen
}

// Create makes a role. Its policies are attached by Ensure. If it exists already the error is AWS's
// EntityAlreadyExists.
func (r *Roles) Create(ctx context.Context, desired Desired) (*Role, error) {
	input := &iam.CreateRoleInput{
		RoleName: &desired.Name, AssumeRolePolicyDocument: awssdk.String(trustPolicy(desired.Partition)), Tags: tags(desired.Tags),
	}
	if desired.Path != "" {
		input.Path = &desired.Path
	}
	if desired.Boundary != "" {
		input.PermissionsBoundary = &desired.Boundary
	}
	output, err := r.api.CreateRole(ctx, input)
	if err != nil {
		return nil, fmt.Errorf("creating IAM role %q: %w", desired.Name, err)
	}
	role := roleOf(output.Role)
	role.Tags, role.Boundary = maps.Clone(desired.Tags), desired.Boundary
	return &role, nil
}

// Ensure updates a role of ours to the desired state, and returns human-readable descriptions of
// the changes. Policies and tags of others stay.
func (r *Roles) Ensure(ctx context.Context, desired Desired, seen Role) ([]string, error) {
	// Whose it is comes first: CAPA's role is owned before anything else of it is changed.
	done, err := r.ensureTags(ctx, desired, seen)
	if err != nil {
		return done, err
	}
	// The boundary comes before what it bounds: IAM policies may require it of a role that another
	// policy is attached to.
	bounded, err := r.ensureBoundary(ctx, desired, seen)
	done = append(done, bounded...)
	if err != nil {
		return done, err
	}
	for _, policy := range desired.policies() {
		if slices.Contains(seen.Policies, policy) {
			continue
		}
		if _, err := r.api.AttachRolePolicy(ctx, &iam.AttachRolePolicyInput{RoleName: &seen.Name, PolicyArn: &policy}); err != nil {
			return done, fmt.Errorf("attaching policy %s to IAM role %q: %w", policy, seen.Name, err)
		}
		done = append(done, policyAttached(policy))
	}
	for _, policy := range desired.detached() {
		if err := r.detach(ctx, seen.Name, policy); err != nil {
			return done, err
		}
		done = append(done, policyDetached(policy))
	}
	return done, nil
}

func (r *Roles) detach(ctx context.Context, name, policy string) error {
	_, err := r.api.DetachRolePolicy(ctx, &iam.DetachRolePolicyInput{RoleName: &name, PolicyArn: &policy})
	if err != nil && !aws.IsNotFound(err) {
		return fmt.Errorf("detaching policy %s from IAM role %q: %w", policy, name, err)
	}
	return nil
}

func (r *Roles) ensureBoundary(ctx context.Context, desired Desired, seen Role) ([]string, error) {
	if desired.Boundary == seen.Boundary {
		return nil, nil
	}
	if desired.Boundary == "" {
		_, err := r.api.DeleteRolePermissionsBoundary(ctx, &iam.DeleteRolePermissionsBoundaryInput{RoleName: &seen.Name})
		if err != nil && !aws.IsNotFound(err) {
			return nil, fmt.Errorf("removing the permissions boundary of IAM role %q: %w", seen.Name, err)
		}
		return []string{boundaryChanged("")}, nil
	}
	_, err := r.api.PutRolePermissionsBoundary(ctx, &iam.PutRolePermissionsBoundaryInput{RoleName: &seen.Name, PermissionsBoundary: &desired.Boundary})
	if err != nil {
		return nil, fmt.Errorf("setting the permissions boundary of IAM role %q: %w", seen.Name, err)
	}
	return []string{boundaryChanged(desired.Boundary)}, nil
}

func (r *Roles) ensureTags(ctx context.Context, desired Desired, seen Role) ([]string, error) {
	var done []string
	if stale := tagdiff.Stale(desired.Tags, seen.Tags); len(stale) > 0 {
		if _, err := r.api.TagRole(ctx, &iam.TagRoleInput{RoleName: &seen.Name, Tags: tags(stale)}); err != nil {
			return nil, fmt.Errorf("tagging IAM role %q: %w", seen.Name, err)
		}
		done = append(done, tagsSet)
	}
	if retired := tagdiff.Retired(desired.RetiredTags, desired.Tags); len(retired) > 0 {
		if _, err := r.api.UntagRole(ctx, &iam.UntagRoleInput{RoleName: &seen.Name, TagKeys: retired}); err != nil {
			return done, fmt.Errorf("removing tags %q of IAM role %q: %w", retired, seen.Name, err)
		}
		done = append(done, tagsRemoved)
	}
	return done, nil
}

// Changes describes what Ensure would change in a role, as Ensure describes it; none if the role is
// as desired.
func (d Desired) Changes(seen Role) []string {
	var changes []string
	if len(tagdiff.Stale(d.Tags, seen.Tags)) > 0 {
		changes = append(changes, tagsSet)
	}
	if len(tagdiff.Retired(d.RetiredTags, d.Tags)) > 0 {
		changes = append(changes, tagsRemoved)
	}
	if d.Boundary != seen.Boundary {
		changes = append(changes, boundaryChanged(d.Boundary))
	}
	for _, policy := range d.policies() {
		if !slices.Contains(seen.Policies, policy) {
			changes = append(changes, policyAttached(policy))
		}
	}
	for _, policy := range d.detached() {
		changes = append(changes, policyDetached(policy))
	}
	return changes
}

// The words for changes of a role.
const (
	tagsSet     = "tags are set"
	tagsRemoved = "tags are removed"
)

func policyAttached(policy string) string { return "policy " + policy + " is attached" }
func policyDetached(policy string) string { return "policy " + policy + " is detached" }

func boundaryChanged(boundary string) string {
	if boundary == "" {
		return "the permissions boundary is removed"
	}
	return "the permissions boundary is " + boundary
}

// Applied returns a role as Ensure leaves it.
func (d Desired) Applied(seen Role) Role {
	tags := map[string]string{}
	maps.Copy(tags, seen.Tags)
	maps.DeleteFunc(tags, func(key, _ string) bool { return slices.Contains(d.RetiredTags, key) })
	maps.Copy(tags, d.Tags)
	policies := slices.DeleteFunc(slices.Concat(seen.Policies, d.policies()), func(policy string) bool { return slices.Contains(d.detached(), policy) })
	slices.Sort(policies)
	seen.Tags, seen.Boundary, seen.Policies = tags, d.Boundary, slices.Compact(policies)
	return seen
}

// detached returns the policies to detach, listed or not: IAM may not list recent attachments yet.
func (d Desired) detached() []string {
	wanted := d.policies()
	return slices.DeleteFunc(slices.Clone(d.RetiredPolicies), func(policy string) bool { return slices.Contains(wanted, policy) })
}

// HandOver makes a role of ours another owner's.
func (r *Roles) HandOver(ctx context.Context, seen Role, owner string) error {
	_, err := r.api.TagRole(ctx, &iam.TagRoleInput{RoleName: &seen.Name, Tags: tags(map[string]string{infrav1.TagManagedMachinePool: owner})})
	if err != nil {
		return fmt.Errorf("handing IAM role %q over to %s: %w", seen.Name, owner, err)
	}
	return nil
}

// Delete takes everything from a role of ours that was attached to it, and deletes it. It is no
// error if it is gone.
func (r *Roles) Delete(ctx context.Context, seen Role) error {
	for _, policy := range seen.Policies {
		if err := r.detach(ctx, seen.Name, policy); err != nil {
			return err
		}
	}
	_, err := r.api.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: &seen.Name})
	if err != nil && !aws.IsNotFound(err) {
		return fmt.Errorf("deleting IAM role %q: %w", seen.Name, err)
	}
	return nil
}

func tags(wanted map[string]string) []iamtypes.Tag {
	var list []iamtypes.Tag
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		list = append(list, iamtypes.Tag{Key: &key, Value: awssdk.String(wanted[key])})
	}
	return list
}
