package launchtemplate_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// TestNothingIsWrittenWithoutTheOwnerTag holds that a template without the owner's tag is neither
// changed nor deleted, whatever a caller believes to have seen.
func TestNothingIsWrittenWithoutTheOwnerTag(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	theirs := ownedBy("other/cluster/pool", r.wanted("c5.large", firstToken))
	theirs.Tags[infrav1.ClusterTagKey("c")] = infrav1.TagValueOwned
	r.ensure(theirs)
	seen := r.observe(theirs)
	wanted := r.wanted("m5.xlarge", firstToken)
	for _, owner := range []string{owner, ""} {
		wanted.Owner = owner
		for reason, write := range map[string]func(context.Context) error{
			"a version that becomes the default": func(ctx context.Context) error {
				_, _, _, err := r.templates.Ensure(ctx, wanted, seen)
				return err
			},
			"a version that is held back": func(ctx context.Context) error {
				_, err := r.beside(ctx, wanted, seen)
				return err
			},
			"a version for CAPA": func(ctx context.Context) error {
				_, _, err := r.templates.Release(ctx, owner, wanted.Input, seen)
				return err
			},
			"the deletion of versions": func(ctx context.Context) error {
				_, _, err := r.templates.Prune(ctx, owner, seen, []int64{1})
				return err
			},
			"the removal of tags": func(ctx context.Context) error { return r.templates.Disown(ctx, owner, *seen.Template) },
			"the deletion":        func(ctx context.Context) error { return r.templates.Delete(ctx, owner, *seen.Template) },
		} {
			r.sim.ClearCalls()
			err := write(t.Context())
			var refused *launchtemplate.NotOwnedError
			if !errors.As(err, &refused) || refused.Template.ID != seen.Template.ID {
				t.Errorf("%s, as %q: error %v", reason, owner, err)
			}
			r.wrote()
		}
	}
}

// TestAdoptionBeginsWithTheOwnerTag holds that a template that was proven is tagged before any
// other write to it.
func TestAdoptionBeginsWithTheOwnerTag(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	made, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: awssdk.String("pool"), LaunchTemplateData: &ec2types.RequestLaunchTemplateData{InstanceType: "m5.large"},
	})
	if err != nil {
		t.Fatal(err)
	}
	template, err := r.templates.One(t.Context(), *made.LaunchTemplate.LaunchTemplateId, "")
	if err != nil {
		t.Fatal(err)
	}
	seen := launchtemplate.Observation{Template: template}
	if seen.Versions, err = r.templates.Versions(t.Context(), template.ID); err != nil {
		t.Fatal(err)
	}
	wanted := r.wanted("m5.xlarge", firstToken)
	wanted.Adopt = template.ID
	r.sim.ClearCalls()
	if _, _, change, err := r.templates.Ensure(t.Context(), wanted, seen); err != nil || !change.Adopted {
		t.Fatalf("change %+v, error %v", change, err)
	}
	r.wrote("CreateTags", "CreateLaunchTemplateVersion", "ModifyLaunchTemplate")
}

// TestTokenCoversTheObject holds that an object that is created again with the same name and spec
// gets a template of its own, although EC2 was sent the same content before.
func TestTokenCoversTheObject(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first := r.wanted("m5.large", firstToken)
	first.UID = "1"
	r.ensure(first)
	before := *r.observe(first).Template
	if err := r.templates.Delete(t.Context(), owner, before); err != nil {
		t.Fatal(err)
	}
	second := r.wanted("m5.large", firstToken)
	second.UID = "2"
	r.ensure(second)
	if again := *r.observe(second).Template; again.ID == before.ID {
		t.Errorf("the request was taken for a repeat of the one for %s", before.ID)
	}
}

// TestOwnersFitIntoTags holds that every owner fits into the value of a tag, names its namespace, and
// is another's nowhere, and that an owner that always did fit is written out.
func TestOwnersFitIntoTags(t *testing.T) {
	t.Parallel()
	namespace, cluster := strings.Repeat("n", 63), strings.Repeat("c", 63)
	owners := map[string]string{}
	for length := 1; length <= 253; length++ {
		for _, last := range []string{"a", "b"} {
			name := strings.Repeat("x", length-1) + last
			owner := launchtemplate.OwnerNamed(namespace, cluster, name)
			if before, taken := owners[owner]; taken {
				t.Fatalf("%s and %s have the owner %s", before, name, owner)
			}
			owners[owner] = name
			whole := namespace + "/" + cluster + "/" + name
			if len(owner) > 256 || len(whole) <= 256 && owner != whole {
				t.Errorf("the owner of %d characters is %s", len(whole), owner)
			}
			template := launchtemplate.Template{Tags: map[string]string{infrav1.TagLaunchConfig: owner}}
			if other := template.OtherOwner(namespace); other != "" {
				t.Errorf("%s is of another owner: %s", owner, other)
			}
		}
	}
}
