package iam

import (
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

func (s *state) profile(name *string) (InstanceProfile, error) {
	p, ok := s.profiles.Get(str(name))
	if !ok {
		return p, noSuchEntity("Instance Profile %s cannot be found.", str(name))
	}
	return p, nil
}

func (s *state) answer(p InstanceProfile) types.InstanceProfile {
	answer := types.InstanceProfile{
		Arn: &p.ARN, CreateDate: &p.Created, InstanceProfileId: &p.ID, InstanceProfileName: &p.Name, Path: &p.Path,
		Roles: []types.Role{}, Tags: tagList(p.Tags),
	}
	if role, ok := s.roles.Get(p.Role); ok {
		answer.Roles = append(answer.Roles, role.answer())
	}
	return answer
}

func createInstanceProfile(c *sim.Call, in *iam.CreateInstanceProfileInput) (*iam.CreateInstanceProfileOutput, error) {
	s := of(c.Account)
	name, path := str(in.InstanceProfileName), orSlash(str(in.Path))
	tags, err := tagsOf(in.Tags)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(s.profiles.All(), func(p InstanceProfile) bool { return strings.EqualFold(p.Name, name) }) {
		return nil, conflict("EntityAlreadyExists", "Instance Profile %s already exists.", name)
	}
	p := InstanceProfile{
		Name: name, Path: path, ARN: s.arn("instance-profile", path, name), ID: s.newID("AIPA"),
		Created: c.Now, Tags: tags,
	}
	s.profiles.Put(name, p)
	answer := s.answer(p)
	return &iam.CreateInstanceProfileOutput{InstanceProfile: &answer}, nil
}

func getInstanceProfile(c *sim.Call, in *iam.GetInstanceProfileInput) (*iam.GetInstanceProfileOutput, error) {
	s := of(c.Account)
	p, ok := s.profiles.Visible(str(in.InstanceProfileName))
	if !ok {
		return nil, noSuchEntity("Instance Profile %s cannot be found.", str(in.InstanceProfileName))
	}
	answer := s.answer(p)
	return &iam.GetInstanceProfileOutput{InstanceProfile: &answer}, nil
}

func listInstanceProfiles(c *sim.Call, in *iam.ListInstanceProfilesInput) (*iam.ListInstanceProfilesOutput, error) {
	s := of(c.Account)
	list := s.list(func(p InstanceProfile) bool { return strings.HasPrefix(p.Path, str(in.PathPrefix)) })
	for i := range list {
		list[i].Tags = nil // a list does not have them (AWS: ListInstanceProfiles)
	}
	page, marker, err := paginate(list, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListInstanceProfilesOutput{InstanceProfiles: page, Marker: marker, IsTruncated: marker != nil}, nil
}

func listInstanceProfilesForRole(c *sim.Call, in *iam.ListInstanceProfilesForRoleInput) (*iam.ListInstanceProfilesForRoleOutput, error) {
	s := of(c.Account)
	if _, ok := s.roles.Visible(str(in.RoleName)); !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	list := s.list(func(p InstanceProfile) bool { return p.Role == str(in.RoleName) })
	page, marker, err := paginate(list, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListInstanceProfilesForRoleOutput{InstanceProfiles: page, Marker: marker, IsTruncated: marker != nil}, nil
}

func (s *state) list(wanted func(InstanceProfile) bool) []types.InstanceProfile {
	list := []types.InstanceProfile{}
	for _, p := range s.profiles.VisibleAll() {
		if wanted(p) {
			list = append(list, s.answer(p))
		}
	}
	slices.SortFunc(list, func(a, b types.InstanceProfile) int {
		return strings.Compare(*a.InstanceProfileName, *b.InstanceProfileName)
	})
	return list
}

// paginate cuts a page out of a list. The marker is the index of the next element; a page has up to
// 100 elements unless up to 1000 are asked for (AWS: ListRoles, MaxItems).
func paginate[T any](list []T, marker *string, maxItems *int32) (page []T, next *string, err error) {
	size := 100
	if maxItems != nil {
		size = int(*maxItems)
	}
	start := 0
	if marker != nil {
		if start, err = strconv.Atoi(*marker); err != nil || start < 0 || start > len(list) {
			return nil, nil, sim.Errorf("ValidationError", "Invalid Marker.")
		}
	}
	end := min(start+size, len(list))
	if end < len(list) {
		text := strconv.Itoa(end)
		next = &text
	}
	return list[start:end], next, nil
}

func deleteInstanceProfile(c *sim.Call, in *iam.DeleteInstanceProfileInput) (*iam.DeleteInstanceProfileOutput, error) {
	s := of(c.Account)
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.Role != "" {
		return nil, conflict("DeleteConflict", "Cannot delete entity, must remove roles from instance profile first.")
	}
	s.profiles.Delete(p.Name)
	return &iam.DeleteInstanceProfileOutput{}, nil
}

func addRoleToInstanceProfile(c *sim.Call, in *iam.AddRoleToInstanceProfileInput) (*iam.AddRoleToInstanceProfileOutput, error) {
	s := of(c.Account)
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	role, ok := s.roles.Get(str(in.RoleName))
	if !ok {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	if p.Role != "" { // the quota is one role per instance profile and cannot be raised
		return nil, conflict("LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1")
	}
	p.Role = role.Name
	s.profiles.Put(p.Name, p)
	return &iam.AddRoleToInstanceProfileOutput{}, nil
}

func removeRoleFromInstanceProfile(c *sim.Call, in *iam.RemoveRoleFromInstanceProfileInput) (*iam.RemoveRoleFromInstanceProfileOutput, error) {
	s := of(c.Account)
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if _, there := s.roles.Get(str(in.RoleName)); !there {
		return nil, noSuchEntity("The role with name %s cannot be found.", str(in.RoleName))
	}
	if p.Role == "" || p.Role != str(in.RoleName) {
		return nil, noSuchEntity("The role %s is not in instance profile %s.", str(in.RoleName), p.Name)
	}
	p.Role = ""
	s.profiles.Put(p.Name, p)
	return &iam.RemoveRoleFromInstanceProfileOutput{}, nil
}

func tagInstanceProfile(c *sim.Call, in *iam.TagInstanceProfileInput) (*iam.TagInstanceProfileOutput, error) {
	s := of(c.Account)
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	if p.Tags, err = tagged(p.Tags, in.Tags); err != nil {
		return nil, err
	}
	s.profiles.Put(p.Name, p)
	return &iam.TagInstanceProfileOutput{}, nil
}

func untagInstanceProfile(c *sim.Call, in *iam.UntagInstanceProfileInput) (*iam.UntagInstanceProfileOutput, error) {
	s := of(c.Account)
	p, err := s.profile(in.InstanceProfileName)
	if err != nil {
		return nil, err
	}
	p.Tags = untagged(p.Tags, in.TagKeys)
	s.profiles.Put(p.Name, p)
	return &iam.UntagInstanceProfileOutput{}, nil
}
