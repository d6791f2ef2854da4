package iam

import (
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// PolicyVersion is a version of a managed policy. Versions never change.
type PolicyVersion struct {
	ID       string    `json:"id"`       // such as v1
	Document string    `json:"document"` // JSON
	Created  time.Time `json:"created"`
}

// maxPolicyVersions cannot be raised (AWS: "IAM and AWS STS quotas", versions per managed policy).
const maxPolicyVersions = 5

// document returns the document that decides: the default version's.
func (p Policy) document() string {
	v, _ := p.version(p.DefaultVersion)
	return v.Document
}

func (p Policy) version(id string) (PolicyVersion, error) {
	i := slices.IndexFunc(p.Versions, func(v PolicyVersion) bool { return v.ID == id })
	if i < 0 { // the words are an inference from other simulators
		return PolicyVersion{}, noSuchEntity("Policy %s version %s does not exist or is not attachable.", p.ARN, id)
	}
	return p.Versions[i], nil
}

// updated returns when the newest version was created, or the policy if it has one version (AWS:
// API_Policy, UpdateDate).
func (p Policy) updated() *time.Time {
	if len(p.Versions) > 1 {
		return &p.Versions[len(p.Versions)-1].Created
	}
	return &p.Created
}

func (p *Policy) addVersion(document string, now time.Time, isDefault bool) PolicyVersion {
	p.LastVersion++
	v := PolicyVersion{ID: fmt.Sprintf("v%d", p.LastVersion), Document: document, Created: now}
	p.Versions = append(slices.Clone(p.Versions), v)
	if isDefault {
		p.DefaultVersion = v.ID
	}
	return v
}

// versionAnswer returns a version without its document, which only GetPolicyVersion answers with
// (AWS: API_PolicyVersion).
func (p Policy) versionAnswer(v PolicyVersion) types.PolicyVersion {
	return types.PolicyVersion{CreateDate: &v.Created, IsDefaultVersion: v.ID == p.DefaultVersion, VersionId: &v.ID}
}

func createPolicyVersion(c *sim.Call, in *iam.CreatePolicyVersionInput) (*iam.CreatePolicyVersionOutput, error) {
	return changePolicy(c, in.PolicyArn, func(p *Policy, out *iam.CreatePolicyVersionOutput) error {
		if err := checkPolicyDocument(str(in.PolicyDocument)); err != nil {
			return err
		}
		if len(p.Versions) >= maxPolicyVersions { // https://github.com/99designs/iamy/issues/21
			return conflict("LimitExceeded", "A managed policy can have up to %d versions. Before you create a new version, you must delete an existing version.",
				maxPolicyVersions)
		}
		answer := p.versionAnswer(p.addVersion(str(in.PolicyDocument), c.Now, in.SetAsDefault))
		out.PolicyVersion = &answer
		return nil
	})
}

func getPolicyVersion(c *sim.Call, in *iam.GetPolicyVersionInput) (*iam.GetPolicyVersionOutput, error) {
	p, err := of(c.Account).visiblePolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	v, err := p.version(str(in.VersionId))
	if err != nil {
		return nil, err
	}
	answer, document := p.versionAnswer(v), percentEncoded(v.Document)
	answer.Document = &document
	return &iam.GetPolicyVersionOutput{PolicyVersion: &answer}, nil
}

// listPolicyVersions lists the newest first, as in the AWS CLI's example of list-policy-versions.
func listPolicyVersions(c *sim.Call, in *iam.ListPolicyVersionsInput) (*iam.ListPolicyVersionsOutput, error) {
	p, err := of(c.Account).visiblePolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	versions := []types.PolicyVersion{}
	for _, v := range slices.Backward(p.Versions) {
		versions = append(versions, p.versionAnswer(v))
	}
	page, marker, err := paginate(versions, in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListPolicyVersionsOutput{Versions: page, Marker: marker, IsTruncated: marker != nil}, nil
}

func setDefaultPolicyVersion(c *sim.Call, in *iam.SetDefaultPolicyVersionInput) (*iam.SetDefaultPolicyVersionOutput, error) {
	return changePolicy(c, in.PolicyArn, func(p *Policy, _ *iam.SetDefaultPolicyVersionOutput) error {
		v, err := p.version(str(in.VersionId))
		p.DefaultVersion = v.ID
		return err
	})
}

func deletePolicyVersion(c *sim.Call, in *iam.DeletePolicyVersionInput) (*iam.DeletePolicyVersionOutput, error) {
	return changePolicy(c, in.PolicyArn, func(p *Policy, _ *iam.DeletePolicyVersionOutput) error {
		v, err := p.version(str(in.VersionId))
		if err != nil {
			return err
		}
		if v.ID == p.DefaultVersion { // https://github.com/redradrat/aws-iam-operator/issues/13
			return conflict("DeleteConflict", "Cannot delete the default version of a policy.")
		}
		p.Versions = slices.DeleteFunc(slices.Clone(p.Versions), func(other PolicyVersion) bool { return other.ID == v.ID })
		return nil
	})
}

func tagPolicy(c *sim.Call, in *iam.TagPolicyInput) (*iam.TagPolicyOutput, error) {
	return changePolicy(c, in.PolicyArn, func(p *Policy, _ *iam.TagPolicyOutput) error {
		tags, err := tagged(p.Tags, in.Tags)
		if err != nil {
			return err
		}
		p.Tags = tags
		return nil
	})
}

func untagPolicy(c *sim.Call, in *iam.UntagPolicyInput) (*iam.UntagPolicyOutput, error) {
	return changePolicy(c, in.PolicyArn, func(p *Policy, _ *iam.UntagPolicyOutput) error {
		p.Tags = untagged(p.Tags, in.TagKeys)
		return nil
	})
}

func listPolicyTags(c *sim.Call, in *iam.ListPolicyTagsInput) (*iam.ListPolicyTagsOutput, error) {
	p, err := of(c.Account).visiblePolicy(in.PolicyArn)
	if err != nil {
		return nil, err
	}
	page, marker, err := paginate(tagList(p.Tags), in.Marker, in.MaxItems)
	if err != nil {
		return nil, err
	}
	return &iam.ListPolicyTagsOutput{Tags: page, Marker: marker, IsTruncated: marker != nil}, nil
}
