package launchtemplate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/smithy-go/middleware"
	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/awssimtest"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

const owner = "default/pool"

// rig is a simulated AWS behind the real SDK, and the templates in it.
type rig struct {
	*testing.T
	sim       *awssim.Simulator
	ec2       *ec2.Client
	templates *launchtemplate.Templates
}

func newRig(t *testing.T) *rig {
	t.Helper()
	sim, _, url := awssimtest.Start(t, time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC), awssim.Options{})
	client := ec2.New(ec2.Options{
		Region: "us-east-1", BaseEndpoint: &url, Retryer: awssdk.NopRetryer{}, APIOptions: []func(*middleware.Stack) error{aws.SendBodies},
		Credentials: credentials.NewStaticCredentialsProvider("AKIATEST123456789012", "secret", ""),
	})
	return &rig{T: t, sim: sim, ec2: client, templates: launchtemplate.NewTemplates(client)}
}

// whateverTokensDo runs a test with a simulated EC2 that remembers the client tokens of deleted
// launch templates and versions, and with one that forgets them: AWS documents neither.
func whateverTokensDo(t *testing.T, test func(r *rig)) {
	t.Helper()
	for name, forget := range map[string]bool{"tokens are remembered": false, "tokens are forgotten": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.sim.SetBehavior(awssim.Behavior{ForgetTokens: forget})
			test(r)
		})
	}
}

// wanted is a config with an instance type and a join token.
func (r *rig) wanted(instanceType, token string) launchtemplate.Wanted {
	r.Helper()
	spec := infrav1.AWSLaunchConfigSpec{AWSLaunchTemplate: infrav1.AWSLaunchTemplate{InstanceType: instanceType}}
	made, err := launchtemplate.NewInput(&spec, launchtemplate.Resolved{
		ImageID: "ami-0a1b2c3d4e5f60718", UserData: []byte("#cloud-config\nruncmd: [kubeadm join --token " + token + "]\n"),
		Tags: map[string]string{"Name": "pool"},
	})
	if err != nil {
		r.Fatal(err)
	}
	return launchtemplate.Wanted{
		Owner: owner, Names: []string{"pool", "pool-1a2b3c4d"}, Input: made,
		Tags: map[string]string{infrav1.TagLaunchConfig: owner, "team": "blue"},
	}
}

func ownedBy(owner string, wanted launchtemplate.Wanted) launchtemplate.Wanted {
	wanted.Owner = owner
	wanted.Tags = map[string]string{infrav1.TagLaunchConfig: owner}
	return wanted
}

const (
	firstToken  = "abcdef.0123456789abcdef"
	secondToken = "fedcba.fedcba9876543210"
)

// observe sees what there is, as a controller that remembers nothing does.
func (r *rig) observe(wanted launchtemplate.Wanted) launchtemplate.Observation {
	r.Helper()
	found, err := r.templates.Describe(r.Context(), wanted.Names)
	if err != nil {
		r.Fatal(err)
	}
	var seen launchtemplate.Observation
	seen.Template, seen.Taken = launchtemplate.Choose(wanted.Owner, wanted.Names, found)
	if seen.Template == nil {
		return seen
	}
	if seen.Versions, err = r.templates.Versions(r.Context(), seen.Template.ID); err != nil {
		r.Fatal(err)
	}
	return seen
}

// ensure calls Ensure, and checks that a new observation equals the one that it returned, and that
// another call writes nothing.
func (r *rig) ensure(wanted launchtemplate.Wanted) (launchtemplate.Version, launchtemplate.Change) {
	r.Helper()
	version, after, change, err := r.templates.Ensure(r.Context(), wanted, r.observe(wanted))
	if err != nil {
		r.Fatal(err)
	}
	seen := r.observe(wanted)
	slices.SortFunc(after.Versions, func(a, b launchtemplate.Version) int { return int(b.Number - a.Number) })
	if difference := cmp.Diff(seen, after); difference != "" {
		r.Errorf("what is there (-) is not what Ensure says is there (+):\n%s", difference)
	}
	if !version.Default || seen.Template.DefaultVersion != version.Number {
		r.Errorf("version %d is wanted, and the default is %d", version.Number, seen.Template.DefaultVersion)
	}
	r.sim.ClearCalls()
	wanted.RetiredTags = nil
	again, _, unchanged, err := r.templates.Ensure(r.Context(), wanted, seen)
	if err != nil || !cmp.Equal(again, version) || unchanged != (launchtemplate.Change{}) {
		r.Errorf("another time: version %+v, change %+v, error %v", again, unchanged, err)
	}
	r.wrote()
	return version, change
}

// wrote checks which writing calls were sent since the log was cleared.
func (r *rig) wrote(want ...string) {
	r.Helper()
	var got []string
	for _, call := range r.sim.Calls() {
		if !strings.HasPrefix(call.Action, "Describe") {
			got = append(got, call.Action)
		}
	}
	if !slices.Equal(got, want) {
		r.Errorf("writing calls %q, want %q", got, want)
	}
}

// numbers are the versions that exist, ascending.
func (r *rig) numbers(wanted launchtemplate.Wanted) []int64 {
	r.Helper()
	var numbers []int64
	for _, version := range r.observe(wanted).Versions {
		numbers = append(numbers, version.Number)
	}
	slices.Sort(numbers)
	return numbers
}

func (r *rig) hasVersions(wanted launchtemplate.Wanted, want ...int64) {
	r.Helper()
	if got := r.numbers(wanted); !slices.Equal(got, want) {
		r.Errorf("versions %v, want %v", got, want)
	}
}

// beside ensures that a version with the wanted config exists, and leaves the default version as it
// is.
func (r *rig) beside(ctx context.Context, wanted launchtemplate.Wanted, seen launchtemplate.Observation) (launchtemplate.Version, error) {
	for range 10 {
		plan, err := wanted.PlanBeside(seen)
		if err == nil && len(plan) > 0 {
			_, seen, err = r.templates.Do(ctx, plan[0], seen)
		}
		if err != nil {
			return launchtemplate.Version{}, err
		}
		if len(plan) == 0 {
			break
		}
	}
	version, _ := seen.NewestOf(wanted.Input.Fingerprints.Config)
	return version, nil
}

// add adds what is wanted, and checks the number of its version.
func (r *rig) add(wanted launchtemplate.Wanted, want int64) {
	r.Helper()
	version, err := r.beside(r.Context(), wanted, r.observe(wanted))
	if err != nil || version.Number != want {
		r.Errorf("version %d, want %d, error %v", version.Number, want, err)
	}
}
