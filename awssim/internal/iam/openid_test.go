package iam_test

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/google/go-cmp/cmp"
)

// TestInlineRolePolicies walks through the life of a role's inline policies, from the first to the
// role's deletion.
func TestInlineRolePolicies(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	role := aws.String("nodes")
	if _, err := c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: role, AssumeRolePolicyDocument: aws.String(trust)}); err != nil {
		t.Fatal(err)
	}
	put := func(name, document string) error {
		_, err := c.PutRolePolicy(ctx, &iam.PutRolePolicyInput{RoleName: role, PolicyName: &name, PolicyDocument: &document})
		return err
	}
	document := func(size int) string {
		const shell = `{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"s3:GetObject","Resource":"arn:aws:s3:::"}}`
		return strings.Replace(shell, ":::", ":::"+strings.Repeat("x", size-len(shell)), 1)
	}
	steps := []struct {
		reason string
		do     func() error
		want   string
	}{
		{"a policy", func() error { return put("b", document(200)) }, ""},
		{"another", func() error { return put("a", document(200)) }, ""},
		{"no JSON", func() error { return put("a", "{") }, "MalformedPolicyDocument"},
		{"together they are longer than they may be", func() error { return put("a", document(10041)) }, "LimitExceeded"},
		{"they are as long as they may be; white space does not count", func() error { return put("a", strings.Repeat(" ", 100)+document(10040)) }, ""},
		{"replacing it makes room", func() error { return put("a", document(300)) }, ""},
		{"deleting the role with its policies", func() error { _, err := c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: role}); return err }, "DeleteConflict"},
		{"a policy that is not there", func() error {
			_, err := c.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: role, PolicyName: aws.String("c")})
			return err
		}, "NoSuchEntity"},
		{"deleting a policy that is not there", func() error {
			_, err := c.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: role, PolicyName: aws.String("c")})
			return err
		}, "NoSuchEntity"},
		{"a role that is not there", func() error {
			_, err := c.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: aws.String("none")})
			return err
		}, "NoSuchEntity"},
	}
	for _, step := range steps {
		if err := step.do(); codeOf(err) != step.want {
			t.Errorf("%s: %v, want %q", step.reason, err, step.want)
		}
	}
	got, err := c.GetRolePolicy(ctx, &iam.GetRolePolicyInput{RoleName: role, PolicyName: aws.String("a")})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := url.PathUnescape(*got.PolicyDocument); err != nil || text != document(300) || *got.RoleName != *role {
		t.Errorf("the policy reads %s, %v", text, err)
	}
	list, err := c.ListRolePolicies(ctx, &iam.ListRolePoliciesInput{RoleName: role})
	if err != nil || !slices.Equal(list.PolicyNames, []string{"a", "b"}) || list.IsTruncated {
		t.Errorf("listed %+v, %v", list, err)
	}
	for _, name := range list.PolicyNames {
		if _, err := c.DeleteRolePolicy(ctx, &iam.DeleteRolePolicyInput{RoleName: role, PolicyName: &name}); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.DeleteRole(ctx, &iam.DeleteRoleInput{RoleName: role}); err != nil {
		t.Errorf("deleting the role without policies: %v", err)
	}
}

// TestOpenIDConnectProviders walks through the life of an OpenID Connect provider.
func TestOpenIDConnectProviders(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	const issuer = "https://oidc.example.com/id/A"
	created, err := c.CreateOpenIDConnectProvider(ctx, &iam.CreateOpenIDConnectProviderInput{
		Url: aws.String(issuer), ClientIDList: []string{"sts.amazonaws.com"}, Tags: []types.Tag{{Key: aws.String("a"), Value: aws.String("1")}},
	})
	if err != nil || *created.OpenIDConnectProviderArn != "arn:aws:iam::111122223333:oidc-provider/oidc.example.com/id/A" {
		t.Fatalf("created %+v, %v", created, err)
	}
	arn := created.OpenIDConnectProviderArn
	print := strings.Repeat("0a", 20)
	create := func(in iam.CreateOpenIDConnectProviderInput) func() error {
		return func() error { _, err := c.CreateOpenIDConnectProvider(ctx, &in); return err }
	}
	add := func(id string) func() error {
		return func() error {
			_, err := c.AddClientIDToOpenIDConnectProvider(ctx, &iam.AddClientIDToOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn, ClientID: &id})
			return err
		}
	}
	many := make([]string, 101)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	steps := []struct {
		reason string
		do     func() error
		want   string
	}{
		{"the same issuer again", create(iam.CreateOpenIDConnectProviderInput{Url: aws.String(issuer)}), "EntityAlreadyExists"},
		{"an issuer without https", create(iam.CreateOpenIDConnectProviderInput{Url: aws.String("http://oidc.example.com")}), "InvalidInput"},
		{"an issuer with a port", create(iam.CreateOpenIDConnectProviderInput{Url: aws.String("https://oidc.example.com:8443")}), "InvalidInput"},
		{"an issuer with a query", create(iam.CreateOpenIDConnectProviderInput{Url: aws.String("https://oidc.example.com?a=b")}), "InvalidInput"},
		{"too many client ids", create(iam.CreateOpenIDConnectProviderInput{Url: aws.String("https://b.example.com"), ClientIDList: many}), "LimitExceeded"},
		{"a thumbprint that is none", create(iam.CreateOpenIDConnectProviderInput{Url: aws.String("https://b.example.com"), ThumbprintList: []string{strings.Repeat("z", 40)}}), "InvalidInput"},
		{"a client id", add("second"), ""},
		{"the same client id changes nothing", add("second"), ""},
		{"a thumbprint", func() error {
			_, err := c.UpdateOpenIDConnectProviderThumbprint(ctx, &iam.UpdateOpenIDConnectProviderThumbprintInput{OpenIDConnectProviderArn: arn, ThumbprintList: []string{print}})
			return err
		}, ""},
		{"six thumbprints", func() error {
			_, err := c.UpdateOpenIDConnectProviderThumbprint(ctx, &iam.UpdateOpenIDConnectProviderThumbprintInput{OpenIDConnectProviderArn: arn, ThumbprintList: slices.Repeat([]string{print}, 6)})
			return err
		}, "InvalidInput"},
		{"a tag", func() error {
			_, err := c.TagOpenIDConnectProvider(ctx, &iam.TagOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn, Tags: []types.Tag{{Key: aws.String("b"), Value: aws.String("2")}}})
			return err
		}, ""},
		{"a tag less", func() error {
			_, err := c.UntagOpenIDConnectProvider(ctx, &iam.UntagOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn, TagKeys: []string{"a"}})
			return err
		}, ""},
		{"a provider that is not there", func() error {
			_, err := c.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(*arn + "B")})
			return err
		}, "NoSuchEntity"},
		{"deleting what is not there", func() error {
			_, err := c.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: aws.String(*arn + "B")})
			return err
		}, ""},
	}
	for _, step := range steps {
		if err := step.do(); codeOf(err) != step.want {
			t.Errorf("%s: %v, want %q", step.reason, err, step.want)
		}
	}
	got, err := c.GetOpenIDConnectProvider(ctx, &iam.GetOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn})
	if err != nil {
		t.Fatal(err)
	}
	if *got.Url != strings.TrimPrefix(issuer, "https://") || !slices.Equal(got.ClientIDList, []string{"sts.amazonaws.com", "second"}) || !slices.Equal(got.ThumbprintList, []string{print}) ||
		len(got.Tags) != 1 || *got.Tags[0].Key != "b" {
		t.Errorf("the provider is %+v", got)
	}
	if _, err := c.RemoveClientIDFromOpenIDConnectProvider(ctx, &iam.RemoveClientIDFromOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn, ClientID: aws.String("second")}); err != nil {
		t.Error(err)
	}
	list := func() (arns []string) {
		out, err := c.ListOpenIDConnectProviders(ctx, &iam.ListOpenIDConnectProvidersInput{})
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range out.OpenIDConnectProviderList {
			arns = append(arns, *entry.Arn)
		}
		return arns
	}
	if diff := cmp.Diff([]string{*arn}, list()); diff != "" {
		t.Error(diff)
	}
	if _, err := c.DeleteOpenIDConnectProvider(ctx, &iam.DeleteOpenIDConnectProviderInput{OpenIDConnectProviderArn: arn}); err != nil {
		t.Error(err)
	}
	if left := list(); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// TestFederatedPrincipals holds that a trust policy names identity providers as IAM wants them
// named.
func TestFederatedPrincipals(t *testing.T) {
	t.Parallel()
	c, ctx := client(t), t.Context()
	for principal, want := range map[string]string{
		"arn:aws:iam::111122223333:oidc-provider/oidc.example.com": "",
		"arn:aws:iam::111122223333:saml-provider/corp":             "",
		"cognito-identity.amazonaws.com":                           "",
		"":                                                         "MalformedPolicyDocument",
		"arn:aws:iam::111122223333:oidc-provider/":                 "MalformedPolicyDocument",
	} {
		document := `{"Statement":{"Effect":"Allow","Principal":{"Federated":"` + principal + `"},"Action":"sts:AssumeRoleWithWebIdentity"}}`
		name := "role-" + strconv.Itoa(len(principal))
		if _, err := c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: &name, AssumeRolePolicyDocument: &document}); codeOf(err) != want {
			t.Errorf("%q: %v, want %q", principal, err, want)
		}
	}
	long := `{"Statement":{"Effect":"Allow","Principal":{"AWS":"*"},"Action":"sts:AssumeRole","Sid":"` + strings.Repeat("x", 2048) + `"}}`
	if _, err := c.CreateRole(ctx, &iam.CreateRoleInput{RoleName: aws.String("long"), AssumeRolePolicyDocument: &long}); codeOf(err) != "LimitExceeded" {
		t.Errorf("a trust policy that is too long: %v", err)
	}
}
