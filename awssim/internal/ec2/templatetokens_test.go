package ec2_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-project/slipway/awssim"
)

func TestClientTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	create := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("pool"), LaunchTemplateData: typed("m5.large"), ClientToken: aws.String("create")}
	first, err := r.ec2.CreateLaunchTemplate(t.Context(), create)
	if err != nil {
		t.Fatal(err)
	}
	again, err := r.ec2.CreateLaunchTemplate(t.Context(), create)
	if err != nil || *again.LaunchTemplate.LaunchTemplateId != *first.LaunchTemplate.LaunchTemplateId {
		t.Errorf("the same token must give the same template: %v, %v", again, err)
	}
	create.LaunchTemplateData = typed("m5.xlarge")
	_, err = r.ec2.CreateLaunchTemplate(t.Context(), create)
	wantError(t, err, "IdempotentParameterMismatch", "")

	id := first.LaunchTemplate.LaunchTemplateId
	version := &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: id, LaunchTemplateData: typed("m5.xlarge"), ClientToken: aws.String("version")}
	for range 3 {
		out, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), version)
		if err != nil || *out.LaunchTemplateVersion.VersionNumber != 2 {
			t.Errorf("the same token must give version 2: %v, %v", out, err)
		}
	}
	if got := r.describe(*id); *got.LatestVersionNumber != 2 {
		t.Errorf("three calls with one token made %d versions, want 2", *got.LatestVersionNumber)
	}
	version.VersionDescription = aws.String("changed")
	_, err = r.ec2.CreateLaunchTemplateVersion(t.Context(), version)
	wantError(t, err, "IdempotentParameterMismatch", "")

	modify := &ec2.ModifyLaunchTemplateInput{LaunchTemplateId: id, DefaultVersion: aws.String("2"), ClientToken: aws.String("create")}
	if _, err := r.ec2.ModifyLaunchTemplate(t.Context(), modify); err != nil {
		t.Errorf("a token counts per action: %v", err)
	}
	modify.DefaultVersion = aws.String("1")
	_, err = r.ec2.ModifyLaunchTemplate(t.Context(), modify)
	wantError(t, err, "IdempotentParameterMismatch", "")
	modify.ClientToken = aws.String(strings.Repeat("t", 129))
	_, err = r.ec2.ModifyLaunchTemplate(t.Context(), modify)
	wantError(t, err, "InvalidClientToken", "128")
}

// TestTokensOfDeletedTemplates repeats requests whose template or version was deleted, with both
// answers that EC2 may give.
func TestTokensOfDeletedTemplates(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason  string
		forget  bool
		version int64
		sameID  bool
	}{
		{"EC2 remembers the tokens of what was deleted", false, 2, true},
		{"EC2 forgets the tokens of what was deleted", true, 3, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, withBehavior(awssim.Behavior{ForgetTokens: row.forget}))
			create := &ec2.CreateLaunchTemplateInput{LaunchTemplateName: aws.String("pool"), LaunchTemplateData: typed("m5.large"), ClientToken: aws.String("create")}
			first, err := r.ec2.CreateLaunchTemplate(t.Context(), create)
			if err != nil {
				t.Fatal(err)
			}
			id := first.LaunchTemplate.LaunchTemplateId
			add := &ec2.CreateLaunchTemplateVersionInput{LaunchTemplateId: id, LaunchTemplateData: typed("m5.xlarge"), ClientToken: aws.String("version")}
			expect := func(want int64) {
				t.Helper()
				out, err := r.ec2.CreateLaunchTemplateVersion(t.Context(), add)
				if err != nil || *out.LaunchTemplateVersion.VersionNumber != want {
					t.Errorf("version %v, error %v, want version %d", out, err, want)
				}
			}
			expect(2)
			expect(2)
			if _, err := r.ec2.DeleteLaunchTemplateVersions(t.Context(), &ec2.DeleteLaunchTemplateVersionsInput{LaunchTemplateId: id, Versions: []string{"2"}}); err != nil {
				t.Fatal(err)
			}
			expect(row.version)
			if _, err := r.ec2.DeleteLaunchTemplate(t.Context(), &ec2.DeleteLaunchTemplateInput{LaunchTemplateId: id}); err != nil {
				t.Fatal(err)
			}
			again, err := r.ec2.CreateLaunchTemplate(t.Context(), create)
			if err != nil || (*again.LaunchTemplate.LaunchTemplateId == *id) != row.sameID {
				t.Errorf("template %v, error %v; the first was %s", again, err, *id)
			}
		})
	}
}
