package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/aws/action"
	"github.com/slipway-project/slipway/internal/plan"
)

// planned is an edit with its plan, and what AWS had before the edit.
type planned struct {
	made plan.Plan
	// instances are the IDs of the instances that ran, newest are the newest versions of the launch
	// templates, and calls is how many calls AWS had received.
	instances []string
	newest    map[string]int64
	calls     int
}

// outcome is what an edit does, by its plan or by what AWS holds afterwards.
type outcome struct {
	replaced []string
	versions int64
	// writes counts the calls that change something, by action.
	writes map[string]int
}

// edit plans a change of an object, shows the plan, and makes the change as a user would.
func edit[T client.Object](ctx context.Context, s *stage, object T, change func(T)) error {
	tried, edited := object.DeepCopyObject().(T), object.DeepCopyObject().(T)
	change(tried)
	if err := s.client.Patch(ctx, tried, client.MergeFrom(object), client.DryRunAll); err != nil {
		return err
	}
	made, err := s.planner.Plan(ctx, tried)
	if err != nil {
		return fmt.Errorf("planning the edit: %w", err)
	}
	s.showPlan(made)
	newest, err := s.newestVersions(ctx)
	if err != nil {
		return err
	}
	s.planned = &planned{made: made, instances: s.running(), newest: newest, calls: len(s.lab.Cloud.AWS.Calls())}
	change(edited)
	return s.client.Patch(ctx, edited, client.MergeFrom(object))
}

// showPlan shows a plan in a few lines.
func (s *stage) showPlan(made plan.Plan) {
	for _, change := range made.Changes {
		fmt.Fprintf(s.out, "    plan: %s of %s: %s → %s: %s\n", change.Path, change.Object, orNone(change.Old), orNone(change.New), change.Effect)
	}
	for _, pool := range made.Pools {
		replaced := pool.Replaced()
		line := fmt.Sprintf("%s/%s: creates %s, and replaces %d of %s", pool.Kind, pool.Name, counted(versionsOf(pool), "version"), len(replaced), counted(pool.Instances, "instance"))
		if why := causeOf(pool); why != "" {
			line += " because " + why
		}
		if rollout := pool.Rollout; rollout != nil {
			line += fmt.Sprintf(", %d at a time", rollout.AtOnce)
			if rollout.AtMost > 0 {
				line += fmt.Sprintf(", within %s to %s", rollout.AtLeast, rollout.AtMost)
			}
		}
		fmt.Fprintf(s.out, "    plan: %s\n", line)
		for _, problem := range pool.Problems {
			fmt.Fprintf(s.out, "    plan: %s: %s\n", problem.Reason, problem.Message)
		}
	}
}

// orNone returns a value of a field for the reader.
func orNone(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

// counted returns a number with a noun.
func counted[N int | int64](number N, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", number, noun)
}

// versionsOf returns how many launch template versions the plan of a pool creates.
func versionsOf(pool plan.Pool) int64 {
	created := int64(0)
	for _, step := range pool.Steps {
		for _, call := range step.Calls {
			if call == "ec2:CreateLaunchTemplateVersion" {
				created++
			}
		}
	}
	return created
}

// causeOf returns why the plan of a pool creates a version, "" if it creates none.
func causeOf(pool plan.Pool) string {
	for _, step := range pool.Steps {
		if slices.Contains(step.Calls, "ec2:CreateLaunchTemplateVersion") {
			return step.Reason
		}
	}
	return ""
}

// cameTrue compares what AWS holds with the plan of the last edit, if the step made one. It returns
// what happened as planned, and how that differs from the plan, empty if it does not.
func (s *stage) cameTrue(ctx context.Context) (same, differs string, err error) {
	if s.planned == nil {
		return "", "", nil
	}
	wanted := outcomeOf(s.planned.made)
	got, err := s.outcome(ctx)
	if err != nil {
		return "", "", err
	}
	var differences []string
	differ := func(what string, planned, happened any) {
		if fmt.Sprint(planned) != fmt.Sprint(happened) {
			differences = append(differences, fmt.Sprintf("%s: %v planned, and %v", what, planned, happened))
		}
	}
	differ("instances replaced", wanted.replaced, got.replaced)
	differ("versions created", wanted.versions, got.versions)
	differ("calls that change AWS", callText(wanted.writes), callText(got.writes))
	same = fmt.Sprintf("%s replaced, %s created; calls that change AWS: %s", counted(len(got.replaced), "instance"), counted(got.versions, "version"), callText(got.writes))
	return same, strings.Join(differences, "; "), nil
}

// rolling are the calls with which Slipway accompanies a roll-out that AWS performs. A plan ends where
// the roll-out begins.
var rolling = []string{"CompleteLifecycleAction", "RecordLifecycleActionHeartbeat", "SetInstanceProtection"}

// outcomeOf returns what a plan says.
func outcomeOf(made plan.Plan) outcome {
	result := outcome{writes: map[string]int{}}
	for _, pool := range made.Pools {
		result.replaced = append(result.replaced, pool.Replaced()...)
		result.versions += versionsOf(pool)
		for _, step := range pool.Steps {
			for _, call := range step.Calls {
				result.count(call[strings.Index(call, ":")+1:])
			}
		}
	}
	slices.Sort(result.replaced)
	return result
}

// count counts a call, unless it only accompanies a roll-out.
func (o *outcome) count(name string) {
	if action.Changes(name) && !slices.Contains(rolling, name) {
		o.writes[name]++
	}
}

// outcome returns what happened since the last edit.
func (s *stage) outcome(ctx context.Context) (outcome, error) {
	result, now := outcome{writes: map[string]int{}}, s.running()
	for _, id := range s.planned.instances {
		if !slices.Contains(now, id) {
			result.replaced = append(result.replaced, id)
		}
	}
	newest, err := s.newestVersions(ctx)
	if err != nil {
		return outcome{}, err
	}
	for id, number := range newest {
		result.versions += number - s.planned.newest[id]
	}
	for _, call := range s.lab.Cloud.AWS.Calls()[s.planned.calls:] {
		result.count(call.Action)
	}
	return result, nil
}

// callText returns the numbers of calls, by action.
func callText(calls map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(calls)) {
		text := name
		if calls[name] > 1 {
			text = fmt.Sprintf("%d × %s", calls[name], name)
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// running returns the IDs of the instances that run, sorted.
func (s *stage) running() []string {
	var ids []string
	for _, instance := range s.lab.Cloud.AWS.Region(awssim.DefaultAccount, s.lab.Cloud.Region()).Instances() {
		if instance.State.Name == "running" {
			ids = append(ids, *instance.InstanceId)
		}
	}
	slices.Sort(ids)
	return ids
}

// newestVersions returns the number of the newest version of each launch template of Slipway's, by ID.
// EKS has copies of some.
func (s *stage) newestVersions(ctx context.Context) (map[string]int64, error) {
	templates, err := s.ec2.DescribeLaunchTemplates(ctx, &ec2.DescribeLaunchTemplatesInput{
		Filters: []ec2types.Filter{{Name: awssdk.String("tag-key"), Values: []string{infrav1.TagLaunchConfig}}},
	})
	if err != nil {
		return nil, err
	}
	newest := map[string]int64{}
	for _, template := range templates.LaunchTemplates {
		newest[awssdk.ToString(template.LaunchTemplateId)] = awssdk.ToInt64(template.LatestVersionNumber)
	}
	return newest, nil
}
