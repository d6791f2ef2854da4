package awssim_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

const trustEC2 = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}}`

func TestRoles(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	c := iam.NewFromConfig(e.config(key))
	const boundary = "arn:aws:iam::aws:policy/PowerUserAccess"
	created := must[*iam.CreateRoleOutput](t)(c.CreateRole(t.Context(), &iam.CreateRoleInput{
		RoleName: aws.String("worker"), Path: aws.String("/pools/"), AssumeRolePolicyDocument: aws.String(trustEC2),
		Tags: []iamtypes.Tag{{Key: aws.String("a"), Value: aws.String("b")}}, PermissionsBoundary: aws.String(boundary),
	})).Role
	if want := "arn:aws:iam::" + account + ":role/pools/worker"; *created.Arn != want || !created.CreateDate.Equal(start) {
		t.Errorf("created %s at %v, want %s", *created.Arn, created.CreateDate, want)
	}
	got := must[*iam.GetRoleOutput](t)(c.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("worker")})).Role
	if document, err := url.PathUnescape(*got.AssumeRolePolicyDocument); err != nil || document != trustEC2 {
		t.Errorf("the trust policy reads %s, %v", document, err)
	}
	if b := got.PermissionsBoundary; b == nil || *b.PermissionsBoundaryArn != boundary || b.PermissionsBoundaryType != "Policy" {
		t.Errorf("the permissions boundary is %+v, want %s of the type Policy", b, boundary)
	}
	if used := got.RoleLastUsed; used == nil || used.LastUsedDate != nil || used.Region != nil {
		t.Errorf("a role that was never used was last used %+v, want an empty structure", used)
	}
	listed := must[*iam.ListRolesOutput](t)(c.ListRoles(t.Context(), &iam.ListRolesInput{PathPrefix: aws.String("/pools/")}))
	if len(listed.Roles) != 1 || listed.IsTruncated {
		t.Errorf("listed %+v", listed)
	}
	if r := listed.Roles[0]; r.PermissionsBoundary != nil || r.RoleLastUsed != nil || len(r.Tags) > 0 || len(got.Tags) != 1 {
		t.Errorf("listed are boundary %+v, use %+v, tags %+v, and got are tags %+v; want only the last", r.PermissionsBoundary, r.RoleLastUsed, r.Tags, got.Tags)
	}
	must[*iam.UpdateAssumeRolePolicyOutput](t)(c.UpdateAssumeRolePolicy(t.Context(), &iam.UpdateAssumeRolePolicyInput{
		RoleName: aws.String("worker"), PolicyDocument: aws.String(strings.Replace(trustEC2, "ec2", "eks", 1)),
	}))
	got = must[*iam.GetRoleOutput](t)(c.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("worker")})).Role
	if !strings.Contains(*got.AssumeRolePolicyDocument, "eks.amazonaws.com") {
		t.Errorf("the trust policy stayed %s", *got.AssumeRolePolicyDocument)
	}
	must[*iam.DeleteRoleOutput](t)(c.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: aws.String("worker")}))

	create := func(in iam.CreateRoleInput) error { _, err := c.CreateRole(t.Context(), &in); return err }
	rows := []struct {
		reason, want string
		err          error
	}{
		{"it is gone", "NoSuchEntity", func() error {
			_, err := c.GetRole(t.Context(), &iam.GetRoleInput{RoleName: aws.String("worker")})
			return err
		}()},
		{"deleting what is not there", "NoSuchEntity", func() error {
			_, err := c.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: aws.String("worker")})
			return err
		}()},
		{"deleting the role of a profile", "DeleteConflict", func() error {
			_, err := c.DeleteRole(t.Context(), &iam.DeleteRoleInput{RoleName: aws.String("nodes.cluster-api-provider-aws.sigs.k8s.io")})
			return err
		}()},
		{"names are unique without regard to case", "EntityAlreadyExists", create(iam.CreateRoleInput{
			RoleName: aws.String("NODES.cluster-api-provider-aws.sigs.k8s.io"), AssumeRolePolicyDocument: aws.String(trustEC2),
		})},
		{"a name with a space", "ValidationError", create(iam.CreateRoleInput{RoleName: aws.String("a b"), AssumeRolePolicyDocument: aws.String(trustEC2)})},
		{"a path without slashes", "ValidationError", create(iam.CreateRoleInput{RoleName: aws.String("r"), Path: aws.String("x"), AssumeRolePolicyDocument: aws.String(trustEC2)})},
		{"a trust policy that is no JSON", "MalformedPolicyDocument", create(iam.CreateRoleInput{RoleName: aws.String("r"), AssumeRolePolicyDocument: aws.String("{")})},
		{"a session longer than twelve hours", "ValidationError", create(iam.CreateRoleInput{
			RoleName: aws.String("r"), AssumeRolePolicyDocument: aws.String(trustEC2), MaxSessionDuration: aws.Int32(43201),
		})},
	}
	for _, row := range rows {
		if got := code(row.err); got != row.want {
			t.Errorf("%s: got %v, want %s", row.reason, row.err, row.want)
		}
	}
}

func TestInstanceProfiles(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	c := iam.NewFromConfig(e.config(key))
	name, role := aws.String("p"), aws.String("nodes.cluster-api-provider-aws.sigs.k8s.io")
	must[*iam.CreateInstanceProfileOutput](t)(c.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: name}))
	add := func() error {
		_, err := c.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: role})
		return err
	}
	if err := add(); err != nil {
		t.Fatal(err)
	}
	if got := code(add()); got != "LimitExceeded" {
		t.Errorf("a second role answered %q", got)
	}
	must[*iam.TagInstanceProfileOutput](t)(c.TagInstanceProfile(t.Context(), &iam.TagInstanceProfileInput{
		InstanceProfileName: name, Tags: []iamtypes.Tag{{Key: aws.String("k"), Value: aws.String("v")}, {Key: aws.String("l"), Value: aws.String("")}},
	}))
	must[*iam.UntagInstanceProfileOutput](t)(c.UntagInstanceProfile(t.Context(), &iam.UntagInstanceProfileInput{InstanceProfileName: name, TagKeys: []string{"l"}}))
	got := must[*iam.GetInstanceProfileOutput](t)(c.GetInstanceProfile(t.Context(), &iam.GetInstanceProfileInput{InstanceProfileName: name})).InstanceProfile
	if len(got.Roles) != 1 || *got.Roles[0].RoleName != *role || len(got.Tags) != 1 || *got.Tags[0].Key != "k" {
		t.Errorf("the profile is %+v", got)
	}
	all := must[*iam.ListInstanceProfilesOutput](t)(c.ListInstanceProfiles(t.Context(), &iam.ListInstanceProfilesInput{}))
	for _, p := range all.InstanceProfiles {
		if len(p.Tags) > 0 {
			t.Errorf("profile %s is listed with the tags %+v, want none", *p.InstanceProfileName, p.Tags)
		}
	}
	forRole := must[*iam.ListInstanceProfilesForRoleOutput](t)(c.ListInstanceProfilesForRole(t.Context(), &iam.ListInstanceProfilesForRoleInput{RoleName: role}))
	if len(forRole.InstanceProfiles) != 2 {
		t.Errorf("%d profiles hold the role, want two", len(forRole.InstanceProfiles))
	}
	if _, err := c.DeleteInstanceProfile(t.Context(), &iam.DeleteInstanceProfileInput{InstanceProfileName: name}); code(err) != "DeleteConflict" {
		t.Errorf("deleting a profile with a role: %v", err)
	}
	must[*iam.RemoveRoleFromInstanceProfileOutput](t)(c.RemoveRoleFromInstanceProfile(t.Context(),
		&iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: role}))
	if _, err := c.RemoveRoleFromInstanceProfile(t.Context(), &iam.RemoveRoleFromInstanceProfileInput{InstanceProfileName: name, RoleName: role}); code(err) != "NoSuchEntity" {
		t.Errorf("removing a role twice: %v", err)
	}
	must[*iam.DeleteInstanceProfileOutput](t)(c.DeleteInstanceProfile(t.Context(), &iam.DeleteInstanceProfileInput{InstanceProfileName: name}))

	var names []string
	pages := iam.NewListInstanceProfilesPaginator(c, &iam.ListInstanceProfilesInput{MaxItems: aws.Int32(1)})
	for pages.HasMorePages() {
		page := must[*iam.ListInstanceProfilesOutput](t)(pages.NextPage(t.Context()))
		if len(page.InstanceProfiles) != 1 {
			t.Fatalf("a page has %d profiles, want one", len(page.InstanceProfiles))
		}
		names = append(names, *page.InstanceProfiles[0].InstanceProfileName)
	}
	if len(names) != len(world.Default().InstanceProfiles) {
		t.Errorf("pages list %v", names)
	}
}

// assumable is a role and what its trust policy says.
func assumable(name, principal, externalID string) world.Role {
	return world.Role{Name: name, TrustedPrincipals: []string{principal}, ExternalID: externalID}
}

func TestAssumeRole(t *testing.T) {
	t.Parallel()
	w := *world.Default()
	caller := "arn:aws:iam::" + account + ":user/" + key
	w.Roles = append(append([]world.Role{}, w.Roles...),
		assumable("by-account", account, ""), assumable("by-user", caller, ""), assumable("by-root", "arn:aws:iam::"+account+":root", ""),
		assumable("external", account, "secret"), assumable("other", "999999999999", ""), world.Role{Name: "own-account"},
		assumable("chained", "arn:aws:iam::222222222222:role/by-account", ""))
	e := serve(t, awssim.Options{World: &w})
	assume := func(c *sts.Client, arn, externalID string, seconds int32) (*sts.AssumeRoleOutput, error) {
		in := &sts.AssumeRoleInput{RoleArn: &arn, RoleSessionName: aws.String("test")}
		if externalID != "" {
			in.ExternalId = &externalID
		}
		if seconds != 0 {
			in.DurationSeconds = &seconds
		}
		return c.AssumeRole(t.Context(), in)
	}
	client := sts.NewFromConfig(e.config(key))
	const other = "arn:aws:iam::222222222222:role/"
	rows := []struct {
		reason, arn, externalID string
		seconds                 int32
		want                    string
	}{
		{"the caller's account is trusted", other + "by-account", "", 0, ""},
		{"the caller is trusted", other + "by-user", "", 0, ""},
		{"the root of the caller's account is trusted", other + "by-root", "", 0, ""},
		{"the external id is right", other + "external", "secret", 0, ""},
		{"the external id is wrong", other + "external", "guess", 0, "AccessDenied"},
		{"the external id is missing", other + "external", "", 0, "AccessDenied"},
		{"another account is trusted", other + "other", "", 0, "AccessDenied"},
		{"only a service is trusted", other + "nodes.cluster-api-provider-aws.sigs.k8s.io", "", 0, "AccessDenied"},
		{"a role that trusts its own account", other + "own-account", "", 0, "AccessDenied"},
		{"the same from within the account", "arn:aws:iam::" + account + ":role/own-account", "", 0, ""},
		{"there is no such role", other + "none", "", 0, "AccessDenied"},
		{"the path is not the role's", other + "path/by-account", "", 0, "AccessDenied"},
		{"an ARN that is none", "by-account-of-222222222222", "", 0, "ValidationError"},
		{"fifteen minutes", other + "by-account", "", 900, ""},
		{"less than fifteen minutes", other + "by-account", "", 899, "ValidationError"},
		{"more than the role allows", other + "by-account", "", 3601, "ValidationError"},
	}
	for _, row := range rows {
		if _, err := assume(client, row.arn, row.externalID, row.seconds); code(err) != row.want {
			t.Errorf("%s: got %v, want %q", row.reason, err, row.want)
		}
	}

	out := must[*sts.AssumeRoleOutput](t)(assume(client, other+"by-account", "", 0))
	c := e.config("")
	c.Credentials = credentials.NewStaticCredentialsProvider(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	session := sts.NewFromConfig(c)
	who := must[*sts.GetCallerIdentityOutput](t)(session.GetCallerIdentity(t.Context(), nil))
	const arn = "arn:aws:sts::222222222222:assumed-role/by-account/test"
	if *who.Arn != arn || *who.Account != "222222222222" || *who.UserId != *out.AssumedRoleUser.AssumedRoleId || *out.AssumedRoleUser.Arn != arn {
		t.Errorf("the caller is %s of %s (%s)", *who.Arn, *who.Account, *who.UserId)
	}
	calls := e.Calls()
	if last := calls[len(calls)-1]; last.Principal != arn || last.Account != "222222222222" {
		t.Errorf("the log says %+v", last)
	}
	if !out.Credentials.Expiration.Equal(start.Add(time.Hour)) {
		t.Errorf("the credentials expire at %v", out.Credentials.Expiration)
	}
	must[*sts.AssumeRoleOutput](t)(assume(session, "arn:aws:iam::333333333333:role/chained", "", 0))
	info := must[*sts.GetAccessKeyInfoOutput](t)(client.GetAccessKeyInfo(t.Context(), &sts.GetAccessKeyInfoInput{AccessKeyId: out.Credentials.AccessKeyId}))
	if *info.Account != "222222222222" {
		t.Errorf("the key belongs to %s", *info.Account)
	}
	e.Clock().Step(time.Hour)
	if _, err := session.GetCallerIdentity(t.Context(), nil); code(err) != "ExpiredToken" {
		t.Errorf("expired credentials got %v", err)
	}
}

func TestGetCallerIdentity(t *testing.T) {
	t.Parallel()
	e := serve(t, awssim.Options{})
	for accessKey, want := range map[string]string{key: account, "test": awssim.DefaultAccount} {
		out := must[*sts.GetCallerIdentityOutput](t)(sts.NewFromConfig(e.config(accessKey)).GetCallerIdentity(t.Context(), nil))
		if *out.Account != want || *out.UserId != accessKey {
			t.Errorf("%s is %s of %s", accessKey, *out.UserId, *out.Account)
		}
	}
}
