// Package iam owns the simulated IAM: roles with their trust policies and the managed policies
// attached to them, and instance profiles. It knows as much of IAM as launches, AssumeRole, EKS and
// the SDKs ask for.
package iam

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// Role is an IAM role.
type Role struct {
	Name               string            `json:"name"`
	Path               string            `json:"path"`
	ARN                string            `json:"arn"`
	ID                 string            `json:"id"`
	Description        string            `json:"description,omitempty"`
	TrustPolicy        string            `json:"trustPolicy"` // JSON
	MaxSessionDuration time.Duration     `json:"maxSessionDuration"`
	Created            time.Time         `json:"created"`
	Tags               map[string]string `json:"tags,omitempty"`
	// Policies are the ARNs of the managed policies that are attached, in the order in which they were.
	Policies []string `json:"policies,omitempty"`
	// InlinePolicies are the documents of the policies that are embedded in the role, by name.
	InlinePolicies      map[string]string `json:"inlinePolicies,omitempty"`
	PermissionsBoundary string            `json:"permissionsBoundary,omitempty"` // ARN of a managed policy
}

// InstanceProfile is an IAM instance profile.
type InstanceProfile struct {
	Name    string            `json:"name"`
	Path    string            `json:"path"`
	ARN     string            `json:"arn"`
	ID      string            `json:"id"`
	Role    string            `json:"role,omitempty"` // name; empty if it holds none
	Created time.Time         `json:"created"`
	Tags    map[string]string `json:"tags,omitempty"`
}

// state holds the state of an account.
type state struct {
	account  *sim.Account
	roles    *sim.Table[Role]
	profiles *sim.Table[InstanceProfile]
	policies *sim.Table[Policy] // the account's own, by ARN
	// providers are the OpenID Connect providers, by ARN.
	providers *sim.Table[OpenIDConnectProvider]
}

func of(a *sim.Account) *state { return sim.AccountStore(a, build) }

func build(a *sim.Account) *state {
	k := a.Kernel()
	s := &state{
		account: a, roles: sim.NewTable[Role](k), profiles: sim.NewTable[InstanceProfile](k), policies: sim.NewTable[Policy](k),
		providers: sim.NewTable[OpenIDConnectProvider](k),
	}
	for _, r := range k.World().Roles {
		path := orSlash(r.Path)
		s.roles.Put(r.Name, Role{
			Name: r.Name, Path: path, ARN: s.arn("role", path, r.Name), ID: worldID("AROA", a.ID, r.Name),
			Description: r.Description, TrustPolicy: trustPolicyOf(a.ID, r),
			MaxSessionDuration: time.Hour, Created: world.Born, Tags: r.Tags, Policies: r.Policies,
		})
	}
	for _, p := range k.World().InstanceProfiles {
		path := orSlash(p.Path)
		s.profiles.Put(p.Name, InstanceProfile{
			Name: p.Name, Path: path, ARN: s.arn("instance-profile", path, p.Name), ID: worldID("AIPA", a.ID, p.Name),
			Role: p.Role, Created: world.Born, Tags: p.Tags,
		})
	}
	return s
}

// worldID returns the identifier of something that the account has from the start.
func worldID(prefix, account, name string) string {
	return strings.ToUpper(world.HashID(prefix, account, name))
}

func orSlash(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

func (s *state) arn(kind, path, name string) string {
	return "arn:aws:iam::" + s.account.ID + ":" + kind + path + name
}

// newID returns an identifier such as AROA0123456789ABCDEF0 (AWS: "IAM identifiers").
func (s *state) newID(prefix string) string {
	return strings.ToUpper(s.account.Kernel().NewID(prefix, 17))
}

// FindRole returns the account's role of that name. Only for code under the kernel's lock.
func FindRole(a *sim.Account, name string) (Role, bool) { return of(a).roles.Get(name) }

// FindInstanceProfile returns the account's instance profile with that name or, if it begins with
// "arn:", that ARN. Only for code under the kernel's lock.
func FindInstanceProfile(a *sim.Account, nameOrARN string) (InstanceProfile, bool) {
	s := of(a)
	if !strings.HasPrefix(nameOrARN, "arn:") {
		return s.profiles.Get(nameOrARN)
	}
	profile, ok := s.profiles.Get(nameOrARN[strings.LastIndex(nameOrARN, "/")+1:])
	return profile, ok && profile.ARN == nameOrARN
}

// Register registers the handlers.
func Register(reg *sim.Registry) {
	sim.Handle(reg, "iam", "CreateRole", createRole)
	sim.Handle(reg, "iam", "GetRole", getRole)
	sim.Handle(reg, "iam", "ListRoles", listRoles)
	sim.Handle(reg, "iam", "DeleteRole", deleteRole)
	sim.Handle(reg, "iam", "UpdateAssumeRolePolicy", updateAssumeRolePolicy)
	sim.Handle(reg, "iam", "UpdateRole", updateRole)
	sim.Handle(reg, "iam", "UpdateRoleDescription", updateRoleDescription)
	sim.Handle(reg, "iam", "TagRole", tagRole)
	sim.Handle(reg, "iam", "UntagRole", untagRole)
	sim.Handle(reg, "iam", "ListRoleTags", listRoleTags)
	sim.Handle(reg, "iam", "AttachRolePolicy", attachRolePolicy)
	sim.Handle(reg, "iam", "DetachRolePolicy", detachRolePolicy)
	sim.Handle(reg, "iam", "ListAttachedRolePolicies", listAttachedRolePolicies)
	sim.Handle(reg, "iam", "PutRolePermissionsBoundary", putRolePermissionsBoundary)
	sim.Handle(reg, "iam", "DeleteRolePermissionsBoundary", deleteRolePermissionsBoundary)
	sim.Handle(reg, "iam", "PutRolePolicy", putRolePolicy)
	sim.Handle(reg, "iam", "GetRolePolicy", getRolePolicy)
	sim.Handle(reg, "iam", "DeleteRolePolicy", deleteRolePolicy)
	sim.Handle(reg, "iam", "ListRolePolicies", listRolePolicies)
	sim.Handle(reg, "iam", "CreateInstanceProfile", createInstanceProfile)
	sim.Handle(reg, "iam", "GetInstanceProfile", getInstanceProfile)
	sim.Handle(reg, "iam", "ListInstanceProfiles", listInstanceProfiles)
	sim.Handle(reg, "iam", "ListInstanceProfilesForRole", listInstanceProfilesForRole)
	sim.Handle(reg, "iam", "DeleteInstanceProfile", deleteInstanceProfile)
	sim.Handle(reg, "iam", "AddRoleToInstanceProfile", addRoleToInstanceProfile)
	sim.Handle(reg, "iam", "RemoveRoleFromInstanceProfile", removeRoleFromInstanceProfile)
	sim.Handle(reg, "iam", "TagInstanceProfile", tagInstanceProfile)
	sim.Handle(reg, "iam", "UntagInstanceProfile", untagInstanceProfile)
	registerPolicies(reg)
	registerOpenIDConnect(reg)
	registerSimulation(reg)
	reg.State("iam", dump)
	registerAuthorization(reg)
}

func dump(r *sim.Region) any {
	s := of(r.Account)
	roles, profiles := map[string]any{}, map[string]any{}
	for _, role := range s.roles.All() {
		roles[role.Name] = role
	}
	for _, profile := range s.profiles.All() {
		profiles[profile.Name] = profile
	}
	policies := map[string]any{}
	for _, policy := range s.policies.All() {
		policies[policy.ARN] = policy
	}
	providers := map[string]any{}
	for _, provider := range s.providers.All() {
		providers[provider.ARN] = provider
	}
	return map[string]any{"roles": roles, "instanceProfiles": profiles, "policies": policies, "openIDConnectProviders": providers}
}

// tagsOf checks and converts tags (AWS: "Tags for IAM resources": up to 50, keys of 1 to 128, values of
// up to 256 characters, no prefix aws:).
func tagsOf(list []types.Tag) (map[string]string, error) {
	tags := make(map[string]string, len(list))
	for _, t := range list {
		key, value := str(t.Key), str(t.Value)
		if key == "" || len(key) > 128 || len(value) > 256 || strings.HasPrefix(strings.ToLower(key), "aws:") {
			return nil, sim.Errorf("ValidationError", "Value '%s' at 'tags' failed to satisfy constraint for tag keys and values", key)
		}
		if _, twice := tags[key]; twice {
			return nil, sim.Errorf("InvalidInput", "Duplicate tag keys found. Please note that Tag keys are case insensitive.")
		}
		tags[key] = value
	}
	return tags, checkTagCount(tags)
}

func checkTagCount(tags map[string]string) error {
	if len(tags) > 50 {
		return conflict("LimitExceeded", "The number of tags has reached the maximum limit.")
	}
	return nil
}

// tagged returns tags with others added to them.
func tagged(had map[string]string, added []types.Tag) (map[string]string, error) {
	checked, err := tagsOf(added)
	if err != nil {
		return nil, err
	}
	tags := map[string]string{}
	maps.Copy(tags, had)
	maps.Copy(tags, checked)
	return tags, checkTagCount(tags)
}

// untagged returns tags without some keys.
func untagged(had map[string]string, keys []string) map[string]string {
	tags := maps.Clone(had)
	for _, key := range keys {
		delete(tags, key)
	}
	return tags
}

func tagList(tags map[string]string) []types.Tag {
	list := []types.Tag{}
	for key, value := range tags {
		list = append(list, types.Tag{Key: &key, Value: &value})
	}
	slices.SortFunc(list, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return list
}

func tagMap(list []types.Tag) map[string]string {
	tags := make(map[string]string, len(list))
	for _, tag := range list {
		tags[str(tag.Key)] = str(tag.Value)
	}
	return tags
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func noSuchEntity(format string, args ...any) error {
	return sim.Errorf("NoSuchEntity", format, args...).WithStatus(404)
}

func conflict(code, format string, args ...any) error {
	return sim.Errorf(code, format, args...).WithStatus(409)
}
