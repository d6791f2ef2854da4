package plan

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/iam"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/permissions"
)

// accessKey is the user whose credentials the planner has, and user the ARN.
const (
	accessKey = "AKIATEST" + account
	user      = "arn:aws:iam::" + account + ":user/" + accessKey
)

// denying returns a policy that denies actions.
func denying(t *testing.T, actions ...string) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"Version": "2012-10-17", "Statement": map[string]any{"Effect": "Deny", "Action": actions, "Resource": "*"}})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestPlanOfPermissions(t *testing.T) {
	const explicit = "a policy denies it explicitly"
	for name, tc := range map[string]struct {
		reason   string
		features []permissions.Feature
		denied   []string
		role     string
		want     Permissions
		text     string
	}{
		"Enough": {
			reason: "The printed policy is enough.", features: []permissions.Feature{permissions.MachinePools, permissions.Preflight, permissions.Prices},
			want: Permissions{Principal: user},
		},
		"Refresh": {
			reason: "A denied call is named, and only calls of the plan are.", features: []permissions.Feature{permissions.MachinePools, permissions.Preflight, permissions.Prices},
			denied: []string{"autoscaling:StartInstanceRefresh", "autoscaling:DeleteAutoScalingGroup"},
			want: Permissions{
				Principal: user, Denied: []Denied{{Action: "autoscaling:StartInstanceRefresh", Reason: explicit, Feature: "machine-pools"}},
				Command: "slipway iam policy --feature machine-pools",
			},
			text: "  Missing permission: autoscaling:StartInstanceRefresh, a policy denies it explicitly (" + user + ")\n" +
				"  Print the policies with: slipway iam policy --feature machine-pools\n",
		},
		"Drain": {
			reason: "A roll-out needs calls after the plan ends.", features: []permissions.Feature{permissions.MachinePools, permissions.Preflight, permissions.Prices},
			denied: []string{"autoscaling:CompleteLifecycleAction"},
			want: Permissions{
				Principal: user, Denied: []Denied{{Action: "autoscaling:CompleteLifecycleAction", Reason: explicit, Feature: "machine-pools"}},
				Command: "slipway iam policy --feature machine-pools",
			},
		},
		"Unknown": {
			reason: "Who may not simulate policies learns that in a line.", features: []permissions.Feature{permissions.MachinePools, permissions.Prices},
			want: Permissions{Principal: user, Unknown: "iam:SimulatePrincipalPolicy is denied, which `slipway iam policy --feature preflight` allows"},
			text: "  Whether permissions are missing is not known: iam:SimulatePrincipalPolicy is denied, which `slipway iam policy --feature preflight` allows.\n",
		},
		"OtherRole": {
			reason: "Another role may be checked, such as the manager's.", features: []permissions.Feature{permissions.MachinePools, permissions.Preflight, permissions.Prices},
			role: "arn:aws:iam::" + account + ":role/missing",
			want: Permissions{
				Principal: "arn:aws:iam::" + account + ":role/missing",
				Unknown:   "simulating the policies of arn:aws:iam::" + account + ":role/missing: SimulatePrincipalPolicy: NoSuchEntity: The role with name missing cannot be found.",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.running()
			documents, err := permissions.Policies(permissions.Scope{}, tc.features...)
			r.do(err)
			var policies []string
			for _, document := range documents {
				policies = append(policies, document.String())
			}
			if len(tc.denied) > 0 {
				policies = append(policies, denying(t, tc.denied...))
			}
			r.do(r.sim.SetPolicies(accessKey, policies...))
			r.planner.CheckPermissions, r.planner.RoleARN = true, tc.role
			edited := r.stored()
			edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
			made := r.plan(edited)
			if made.Pools[0].Permissions == nil {
				t.Fatalf("%s The plan has no permissions: %+v", tc.reason, made.Pools[0])
			}
			if diff := gocmp.Diff(tc.want, *made.Pools[0].Permissions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s permissions: -want +got:\n%s", tc.reason, diff)
			}
			if text := r.printed(made); !strings.Contains(text, tc.text) {
				t.Errorf("%s Print(plan): got\n%s\nwant text with %q", tc.reason, text, tc.text)
			}
		})
	}
}

// TestFeaturesOfCalls holds that every call that a plan may show is allowed by a feature.
func TestFeaturesOfCalls(t *testing.T) {
	for action := range follows {
		for _, needed := range append([]string{action}, follows[action]...) {
			kind := selfManaged.name
			if strings.HasPrefix(action, "eks:") {
				kind = managed.name
			}
			features, granting := featuresOf(kind, []string{needed})
			if len(features) != 1 || granting[needed] == "" {
				t.Errorf("featuresOf(%s, %s): got %v, want one feature", kind, needed, features)
			}
		}
	}
	_, granting := featuresOf(managed.name, []string{"s3:PutObject", "eks:UpdateNodegroupVersion", "iam:CreateRole"})
	want := map[string]permissions.Feature{"s3:PutObject": permissions.S3BootstrapData, "eks:UpdateNodegroupVersion": permissions.ManagedPools, "iam:CreateRole": permissions.NodeRoles}
	if diff := gocmp.Diff(want, granting); diff != "" {
		t.Errorf("featuresOf: -want +got:\n%s", diff)
	}
}

// TestCommandOfPermissions holds that the command has the flags without which a feature has no policy.
func TestCommandOfPermissions(t *testing.T) {
	scope := permissions.Scope{Clusters: []string{"prod"}, EKSClusters: []string{"blue_prod"}, Bucket: "data"}
	denied := Permissions{Denied: []Denied{{Feature: "s3-bootstrap-data"}, {Feature: "managed-pools"}, {Feature: "node-roles"}, {Feature: "managed-pools"}}}
	want := "slipway iam policy --feature managed-pools,node-roles,s3-bootstrap-data --bucket data --eks-cluster blue_prod"
	if got := denied.command(scope); got != want {
		t.Errorf("command: got %q, want %q", got, want)
	}
}

// TestPlanOfPassedRole holds that a plan checks whether the role of the nodes may be passed to them: the role
// behind the instance profile of the pool.
func TestPlanOfPassedRole(t *testing.T) {
	const profile, role, other = "workers-profile", "nodes/workers-role", "arn:aws:iam::" + account + ":role/nodes/workers-role"
	features := []permissions.Feature{permissions.MachinePools, permissions.Preflight, permissions.Prices}
	for name, tc := range map[string]struct {
		reason string
		roles  []string
		denied []string
		change func(pool *infrav1.AWSMachinePool)
		want   Permissions
	}{
		"Allowed": {reason: "The policy is for the role.", roles: []string{role}, want: Permissions{Principal: user}},
		"Denied": {
			reason: "The policy is for other roles.",
			want: Permissions{
				Principal: user, Denied: []Denied{{Action: passRole, Reason: "no policy allows it", Feature: "machine-pools"}},
				Command: "slipway iam policy --feature machine-pools --node-role " + role,
			},
		},
		"NoProfile": {reason: "Nodes without a role need no permission.", change: func(pool *infrav1.AWSMachinePool) { pool.Spec.AWSLaunchTemplate.IamInstanceProfile = "" }, want: Permissions{Principal: user}},
		"Unknown": {
			reason: "The rest is checked without the role.", roles: []string{role}, denied: []string{"iam:GetInstanceProfile", "autoscaling:StartInstanceRefresh"},
			want: Permissions{
				Principal: user, Denied: []Denied{{Action: "autoscaling:StartInstanceRefresh", Reason: "a policy denies it explicitly", Feature: "machine-pools"}},
				RoleUnknown: "iam:GetInstanceProfile is denied, which `slipway iam policy --feature preflight` allows", Command: "slipway iam policy --feature machine-pools",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			client := iam.NewFromConfig(r.planner.AWS)
			_, err := client.CreateRole(t.Context(), &iam.CreateRoleInput{
				RoleName: ptr.To("workers-role"), Path: ptr.To("/nodes/"),
				AssumeRolePolicyDocument: ptr.To(`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ec2.amazonaws.com"},"Action":"sts:AssumeRole"}]}`),
			})
			r.do(err)
			_, err = client.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: ptr.To(profile)})
			r.do(err)
			_, err = client.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: ptr.To(profile), RoleName: ptr.To("workers-role")})
			r.do(err)
			object := pool()
			object.Spec.AWSLaunchTemplate.IamInstanceProfile = profile
			r.run(object)
			documents, err := permissions.Policies(permissions.Scope{NodeRoles: tc.roles}, features...)
			r.do(err)
			var policies []string
			for _, document := range documents {
				policies = append(policies, document.String())
			}
			if len(tc.denied) > 0 {
				policies = append(policies, denying(t, tc.denied...))
			}
			r.do(r.sim.SetPolicies(accessKey, policies...))
			r.planner.CheckPermissions = true
			edited := r.stored()
			edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
			if tc.change != nil {
				tc.change(edited)
			}
			made := r.plan(edited)
			if diff := gocmp.Diff(tc.want, *made.Pools[0].Permissions, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s permissions: -want +got:\n%s", tc.reason, diff)
			}
			text := r.printed(made)
			if tc.want.RoleUnknown != "" && !strings.Contains(text, "(iam:PassRole) is not known: iam:GetInstanceProfile is denied") {
				t.Errorf("%s Print(plan): got\n%s", tc.reason, text)
			}
		})
	}
	if got := nodeRole(other); got != role {
		t.Errorf("nodeRole(%s): got %q, want %q", other, got, role)
	}
}
