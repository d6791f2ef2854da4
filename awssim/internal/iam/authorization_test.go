package iam_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/iam/types"

	"github.com/slipway-project/slipway/awssim/internal/wire"
)

// resourceOf is the resource type of each action (AWS: Service Authorization Reference,
// list_awsidentityandaccessmanagementiam), or * if it has none.
func resourceOf(action string) string {
	switch {
	case action == "SimulatePrincipalPolicy":
		return "role/x"
	case action == "ListRoles" || action == "ListPolicies" || action == "ListInstanceProfiles" || action == "ListOpenIDConnectProviders":
		return "*"
	case strings.Contains(action, "OpenIDConnectProvider"):
		return "oidc-provider/example.com"
	case action != "ListInstanceProfilesForRole" && strings.Contains(action, "InstanceProfile"):
		return "instance-profile/x"
	case strings.Contains(action, "Role"):
		return "role/x"
	case strings.Contains(action, "Policy") || strings.Contains(action, "Policies"):
		return "policy/x"
	default:
		return "what the Service Authorization Reference says: add it to this test"
	}
}

// fill sets what requests need to pass the checks that come before authorization. Everything is named x.
func fill(input reflect.Value) {
	for i := range input.NumField() {
		name, field := input.Type().Field(i).Name, input.Field(i)
		value, known := map[string]any{
			"PolicyArn": "arn:aws:iam::111122223333:policy/x", "PermissionsBoundary": "arn:aws:iam::111122223333:policy/x",
			"OpenIDConnectProviderArn": "arn:aws:iam::111122223333:oidc-provider/example.com", "Url": "https://example.com", "VersionId": "v1",
			"RoleName": "x", "PolicyName": "x", "InstanceProfileName": "x", "PolicyDocument": "{}", "AssumeRolePolicyDocument": "{}", "ClientID": "x", "Description": "x",
			"PolicySourceArn": "arn:aws:iam::111122223333:role/x", "ActionNames": []string{"ec2:RunInstances"},
			"TagKeys": []string{"a"}, "Tags": []types.Tag{{Key: aws.String("a"), Value: aws.String("b")}}, "ThumbprintList": []string{strings.Repeat("0", 40)},
		}[name]
		if text, is := value.(string); is {
			field.Set(reflect.ValueOf(&text))
		} else if known {
			field.Set(reflect.ValueOf(value))
		}
	}
}

// TestActionsAreAuthorizedOnTheirResources calls every action as a caller with policies and checks on which
// resource it was decided.
func TestActionsAreAuthorizedOnTheirResources(t *testing.T) {
	t.Parallel()
	s := start(t)
	if err := s.SetPolicies(limited, `{"Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`); err != nil {
		t.Fatal(err)
	}
	for _, action := range wire.Actions("iam") {
		method := reflect.ValueOf(s.client).MethodByName(action)
		input := reflect.New(method.Type().In(1).Elem())
		fill(input.Elem())
		before := len(s.Authorizations())
		asLimited := func(o *iam.Options) { o.Credentials = credentials.NewStaticCredentialsProvider(limited, "secret", "") }
		out := method.Call([]reflect.Value{reflect.ValueOf(t.Context()), input, reflect.ValueOf(asLimited)})
		asked := s.Authorizations()[before:]
		if len(asked) == 0 {
			t.Errorf("%s was not authorized: %v", action, out[1])
			continue
		}
		want := resourceOf(action)
		if want != "*" {
			want = "arn:aws:iam::111122223333:" + want
		}
		if asked[0].Action != "iam:"+action || asked[0].Resource != want {
			t.Errorf("%s was authorized as %s on %s, want %s", action, asked[0].Action, asked[0].Resource, want)
		}
	}
}

// TestPassingRolesToInstanceProfiles needs the permission to pass the role to EC2.
func TestPassingRolesToInstanceProfiles(t *testing.T) {
	t.Parallel()
	s := start(t)
	ctx, name := t.Context(), aws.String("x")
	if _, err := s.client.CreateRole(ctx, &iam.CreateRoleInput{RoleName: name, AssumeRolePolicyDocument: aws.String(trust)}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.CreateInstanceProfile(ctx, &iam.CreateInstanceProfileInput{InstanceProfileName: name}); err != nil {
		t.Fatal(err)
	}
	const profile = `{"Effect":"Allow","Action":"iam:AddRoleToInstanceProfile","Resource":"arn:aws:iam::111122223333:instance-profile/x"}`
	pass := func(to string) string {
		return `,{"Effect":"Allow","Action":"iam:PassRole","Resource":"arn:aws:iam::111122223333:role/x","Condition":{"StringEquals":{"iam:PassedToService":"` + to + `"}}}`
	}
	for _, row := range []struct{ reason, policy, want string }{
		{"the role may not be passed", profile, "AccessDenied"},
		{"the role may be passed to another service", profile + pass("eks.amazonaws.com"), "AccessDenied"},
		{"the role may be passed to EC2", profile + pass("ec2.amazonaws.com"), ""},
	} {
		if err := s.SetPolicies(limited, `{"Statement":[`+row.policy+`]}`); err != nil {
			t.Fatal(err)
		}
		_, err := s.client.AddRoleToInstanceProfile(ctx, &iam.AddRoleToInstanceProfileInput{RoleName: name, InstanceProfileName: name},
			func(o *iam.Options) { o.Credentials = credentials.NewStaticCredentialsProvider(limited, "secret", "") })
		if codeOf(err) != row.want {
			t.Errorf("%s: %v, want %q", row.reason, err, row.want)
		}
	}
}
