package iampolicy

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func statementOf(t *testing.T, text string) []Policy {
	t.Helper()
	policy, err := Parse(`{"Version":"2012-10-17","Statement":` + text + `}`)
	if err != nil {
		t.Fatal(err)
	}
	return []Policy{policy}
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	const group = "arn:aws:autoscaling:eu-central-1:111122223333:autoScalingGroup:0b1c:autoScalingGroupName/blue-pool"
	owned := Context{"aws:ResourceTag/owner": {"default/blue/pool"}}
	for _, row := range []struct {
		reason, statement string
		request           Request
		want              Decision
	}{
		{"an action by its name", `{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"*"}`, Request{"ec2:CreateTags", "*", nil}, Allowed},
		{"names of actions have no case", `{"Effect":"Allow","Action":"EC2:createtags","Resource":"*"}`, Request{"ec2:CreateTags", "*", nil}, Allowed},
		{"an action by a pattern", `{"Effect":"Allow","Action":["s3:Get*","ec2:Create?ags"],"Resource":"*"}`, Request{"ec2:CreateTags", "*", nil}, Allowed},
		{"another action", `{"Effect":"Allow","Action":"ec2:CreateTags","Resource":"*"}`, Request{"ec2:DeleteTags", "*", nil}, ImplicitlyDenied},
		{"all but an action", `{"Effect":"Allow","NotAction":"ec2:*","Resource":"*"}`, Request{"ec2:DeleteTags", "*", nil}, ImplicitlyDenied},
		{"a deny wins, wherever it stands", `[{"Effect":"Deny","Action":"*","Resource":"*"},{"Effect":"Allow","Action":"*","Resource":"*"}]`, Request{"ec2:DeleteTags", "*", nil}, ExplicitlyDenied},
		{"a deny of something else", `[{"Effect":"Allow","Action":"*","Resource":"*"},{"Effect":"Deny","Action":"s3:*","Resource":"*"}]`, Request{"ec2:DeleteTags", "*", nil}, Allowed},

		{"a resource by a pattern", `{"Effect":"Allow","Action":"*","Resource":"arn:*:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/blue-*"}`, Request{"autoscaling:DeleteTags", group, nil}, Allowed},
		{"another resource", `{"Effect":"Allow","Action":"*","Resource":"arn:*:autoscaling:*:*:autoScalingGroup:*:autoScalingGroupName/red-*"}`, Request{"autoscaling:DeleteTags", group, nil}, ImplicitlyDenied},
		{"a wildcard ends at its segment's colon", `{"Effect":"Allow","Action":"*","Resource":"arn:aws:autoscaling:*:autoScalingGroup:0b1c:autoScalingGroupName/blue-pool"}`, Request{"autoscaling:DeleteTags", group, nil}, ImplicitlyDenied},
		{"a resource is not enough where all are asked for", `{"Effect":"Allow","Action":"*","Resource":"arn:aws:ec2:*:*:instance/*"}`, Request{"ec2:DescribeInstances", "*", nil}, ImplicitlyDenied},
		{"all but a resource", `{"Effect":"Allow","Action":"*","NotResource":"arn:*:ec2:*:*:launch-template/*"}`, Request{"ec2:RunInstances", "arn:aws:ec2:eu-central-1:111122223333:launch-template/lt-1", nil}, ImplicitlyDenied},
		{"any but that resource", `{"Effect":"Allow","Action":"*","NotResource":"arn:*:ec2:*:*:launch-template/*"}`, Request{"ec2:RunInstances", "arn:aws:ec2:eu-central-1::image/ami-1", nil}, Allowed},

		{"a tag has the value", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/owner":["x","default/blue/pool"]}}}`, Request{"a:B", "*", owned}, Allowed},
		{"a tag's key has no case", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"AWS:resourcetag/Owner":"default/blue/pool"}}}`, Request{"a:B", "*", owned}, Allowed},
		{"a value has", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/owner":"Default/blue/pool"}}}`, Request{"a:B", "*", owned}, ImplicitlyDenied},
		{"a value by a pattern", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringLike":{"aws:ResourceTag/owner":"*/blue/*"}}}`, Request{"a:B", "*", owned}, Allowed},
		{"StringEquals takes no pattern", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/owner":"*/blue/*"}}}`, Request{"a:B", "*", owned}, ImplicitlyDenied},
		{"all keys must be met", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringLike":{"aws:ResourceTag/owner":"*","aws:ResourceTag/other":"*"}}}`, Request{"a:B", "*", owned}, ImplicitlyDenied},
		{"and all operators", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringLike":{"aws:ResourceTag/owner":"*"},"Null":{"aws:ResourceTag/owner":"true"}}}`, Request{"a:B", "*", owned}, ImplicitlyDenied},
		{"a key that is absent meets no operator", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringLike":{"aws:ResourceTag/owner":"*"}}}`, Request{"a:B", "*", nil}, ImplicitlyDenied},
		{"unless it is negated", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringNotEquals":{"aws:ResourceTag/owner":"x"}}}`, Request{"a:B", "*", nil}, Allowed},
		{"or need not exist", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEqualsIfExists":{"aws:ResourceTag/owner":"x"}}}`, Request{"a:B", "*", nil}, Allowed},
		{"but if it exists it counts", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEqualsIfExists":{"aws:ResourceTag/owner":"x"}}}`, Request{"a:B", "*", owned}, ImplicitlyDenied},
		{"none of the values of a negated operator", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringNotEquals":{"aws:ResourceTag/owner":["x","default/blue/pool"]}}}`, Request{"a:B", "*", owned}, ImplicitlyDenied},
		{"a key is there", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"Null":{"aws:ResourceTag/owner":"false"}}}`, Request{"a:B", "*", owned}, Allowed},
		{"a key is not there", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"Null":{"aws:ResourceTag/owner":false}}}`, Request{"a:B", "*", nil}, ImplicitlyDenied},
		{"a key is to be absent", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"Null":{"aws:ResourceTag/owner":"true"}}}`, Request{"a:B", "*", nil}, Allowed},
		{"all keys of tags are allowed", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}}}`, Request{"a:B", "*", Context{"aws:TagKeys": {"a"}}}, Allowed},
		{"one key of a tag is not", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":["a","b"]}}}`, Request{"a:B", "*", Context{"aws:TagKeys": {"a", "c"}}}, ImplicitlyDenied},
		{"all of none are allowed", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ForAllValues:StringEquals":{"aws:TagKeys":["a"]}}}`, Request{"a:B", "*", nil}, Allowed},
		{"any key of a tag is asked for", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ForAnyValue:StringEquals":{"aws:TagKeys":["a"]}}}`, Request{"a:B", "*", Context{"aws:TagKeys": {"c", "a"}}}, Allowed},
		{"any of none is not there", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ForAnyValue:StringEquals":{"aws:TagKeys":["a"]}}}`, Request{"a:B", "*", nil}, ImplicitlyDenied},
		{"a truth value", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"Bool":{"ec2:IsLaunchTemplateResource":true}}}`, Request{"a:B", "*", Context{"ec2:IsLaunchTemplateResource": {"true"}}}, Allowed},
		{"an ARN by a pattern", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ArnLike":{"iam:PolicyARN":"arn:*:iam::aws:policy/AmazonEKS*"}}}`, Request{"a:B", "*", Context{"iam:PolicyARN": {"arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"}}}, Allowed},
		{"another ARN", `{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ArnEquals":{"iam:PolicyARN":"arn:*:iam::aws:policy/AmazonEKS*"}}}`, Request{"a:B", "*", Context{"iam:PolicyARN": {"arn:aws:iam::aws:policy/AdministratorAccess"}}}, ImplicitlyDenied},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if got := Evaluate(statementOf(t, row.statement), row.request); got != row.want {
				t.Errorf("it is %s, want %s", got, row.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, document, err string }{
		{"no JSON", `{`, "unexpected EOF"},
		{"no statements", `{"Version":"2012-10-17","Statement":[]}`, "no statements"},
		{"another version", `{"Version":"2020-01-01","Statement":{"Effect":"Allow","Action":"*","Resource":"*"}}`, "none of IAM's"},
		{"a member that IAM does not have", `{"Statement":{"Effect":"Allow","Actions":"*","Resource":"*"}}`, "unknown field"},
		{"a principal, which only policies of resources have", `{"Statement":{"Effect":"Allow","Principal":"*","Action":"*","Resource":"*"}}`, "unknown field"},
		{"no effect", `{"Statement":{"Action":"*","Resource":"*"}}`, "neither Allow nor Deny"},
		{"no action", `{"Statement":{"Effect":"Allow","Resource":"*"}}`, "Action and NotAction"},
		{"no resource", `{"Statement":{"Effect":"Allow","Action":"*"}}`, "Resource and NotResource"},
		{"an action of no service", `{"Statement":{"Effect":"Allow","Action":"Create*","Resource":"*"}}`, "prefix of a service"},
		{"an action of any service", `{"Statement":{"Effect":"Allow","Action":"*:Create","Resource":"*"}}`, "prefix of a service"},
		{"a resource that is no ARN", `{"Statement":{"Effect":"Allow","Action":"*","Resource":"role/x"}}`, "must be * or an ARN"},
		{"a resource of any service", `{"Statement":{"Effect":"Allow","Action":"*","Resource":"arn:aws:*:::x"}}`, "name its service"},
		{"an operator that is not known", `{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"DateGreaterThan":{"aws:CurrentTime":"2026-01-01"}}}}`, `"DateGreaterThan" is not simulated`},
		{"Null with a quantifier", `{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"ForAllValues:Null":{"aws:TagKeys":"true"}}}}`, "not simulated"},
		{"Null with another value", `{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"Null":{"aws:TagKeys":"no"}}}}`, "neither true nor false"},
		{"a policy variable", `{"Statement":{"Effect":"Allow","Action":"*","Resource":"arn:aws:iam::1:user/${aws:username}"}}`, "policy variable"},
		{"a policy variable in a condition", `{"Statement":{"Effect":"Allow","Action":"*","Resource":"*","Condition":{"StringEquals":{"aws:ResourceTag/a":"${aws:username}"}}}}`, "policy variable"},
		{"a Sid with a space", `{"Statement":{"Sid":"a b","Effect":"Allow","Action":"*","Resource":"*"}}`, "letters and digits"},
		{"a Sid twice", `{"Statement":[{"Sid":"a","Effect":"Allow","Action":"*","Resource":"*"},{"Sid":"a","Effect":"Allow","Action":"*","Resource":"*"}]}`, "two statements"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse(row.document); err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("the error is %v, want %q", err, row.err)
			}
		})
	}
}

func TestCharactersDoNotCountWhiteSpace(t *testing.T) {
	t.Parallel()
	if got := Characters("{ \"a\":\t\"b\"\n}"); got != 9 {
		t.Errorf("it has %d characters, want 9", got)
	}
}

// TestLikeIsTheRegularExpression holds the matcher against the one of the standard library.
func TestLikeIsTheRegularExpression(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab/*?]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab/]{0,8}`).Draw(t, "text")
		expression := regexp.MustCompile(`^` + strings.NewReplacer("*", ".*", "?", ".").Replace(pattern) + `$`)
		if got, want := like(text, pattern), expression.MatchString(text); got != want {
			t.Fatalf("%q like %q is %v, want %v", text, pattern, got, want)
		}
	})
}

// TestLawsOfEvaluation holds that what is denied stays denied, whatever is added, and that what is
// allowed stays allowed until a Deny comes.
func TestLawsOfEvaluation(t *testing.T) {
	t.Parallel()
	names := rapid.SampledFrom([]string{"a:X", "a:Y", "b:X"})
	resources := rapid.SampledFrom([]string{"arn:aws:a:::one", "arn:aws:a:::two"})
	statements := rapid.Custom(func(t *rapid.T) Statement {
		return Statement{
			Effect: rapid.SampledFrom([]Effect{Allow, Deny}).Draw(t, "effect"), Action: Strings{names.Draw(t, "action")}, Resource: Strings{resources.Draw(t, "resource")},
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(statements, 1, 5).Draw(t, "before")
		added := statements.Draw(t, "added")
		request := Request{Action: names.Draw(t, "asked"), Resource: resources.Draw(t, "of")}
		was := Evaluate([]Policy{{Statements: before}}, request)
		is := Evaluate([]Policy{{Statements: before}, {Statements: []Statement{added}}}, request)
		switch {
		case was == ExplicitlyDenied && is != ExplicitlyDenied:
			t.Fatalf("adding a statement takes a denial away: %s", is)
		case was != is && added.Effect == Deny && is != ExplicitlyDenied:
			t.Fatalf("a Deny makes it %s", is)
		case was != is && added.Effect == Allow && is != Allowed:
			t.Fatalf("an Allow makes it %s", is)
		}
	})
}

// TestPoliciesSurviveJSON holds that a policy that is written is read as the same.
func TestPoliciesSurviveJSON(t *testing.T) {
	t.Parallel()
	before := statementOf(t, `{"Sid":"a","Effect":"Allow","NotAction":["s3:*"],"NotResource":"arn:aws:a:::b","Condition":{"Null":{"aws:TagKeys":"true"}}}`)[0]
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	after, err := Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(after)
	if err != nil || string(again) != string(text) {
		t.Errorf("it is %s, was %s (%v)", again, text, err)
	}
}
