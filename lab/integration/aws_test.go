package integration

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim"
)

const (
	// quietReal and quietSimulated are how long nothing may be written before a world counts as at
	// rest: the one for a busy machine, the other for what is due by the clock.
	quietReal      = 500 * time.Millisecond
	quietSimulated = time.Minute
	// tester marks the calls of tests: another access key of the same account.
	tester = "AKIATESTER0000"
)

// awsConfig is the configuration of a user, whose calls can be distinguished from the manager's.
func (w *world) awsConfig() aws.Config {
	config := w.AWSConfig()
	config.RetryMaxAttempts = 20 // faults that are for the manager hit the test too
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: tester + w.Account, SecretAccessKey: "none"}, nil
	})
	return config
}

func (w *world) ec2() *ec2.Client         { return ec2.NewFromConfig(w.awsConfig()) }
func (w *world) asg() *autoscaling.Client { return autoscaling.NewFromConfig(w.awsConfig()) }

// calls returns the manager's calls.
func (w *world) calls() []awssim.Call {
	return slices.DeleteFunc(slices.Clone(w.Cloud.AWS.Calls()), func(call awssim.Call) bool { return strings.Contains(call.Principal, tester) })
}

// callsBesideLookUps returns the manager's calls by action, without the look-ups that all pools
// share: an old one is repeated for the first pool that needs it.
func (w *world) callsBesideLookUps() []string {
	var actions []string
	for _, call := range w.calls() {
		if call.Action != "DescribeImages" && call.Action != "DescribeInstanceTypes" {
			actions = append(actions, call.Action)
		}
	}
	return actions
}

// writes are the manager's successful calls that change AWS, by action.
func (w *world) writes() []string {
	var writes []string
	for _, call := range w.calls() {
		if isWrite(call) && call.Status == 200 {
			writes = append(writes, call.Action)
		}
	}
	return writes
}

func isWrite(call awssim.Call) bool {
	if call.Service == "sqs" {
		return false // reading a queue takes messages out of it, and changes nothing else
	}
	return !strings.HasPrefix(call.Action, "Describe") && !strings.HasPrefix(call.Action, "Head") && !strings.HasPrefix(call.Action, "Get") && !strings.HasPrefix(call.Action, "List")
}

// count returns how often an action of the manager's succeeded.
func (w *world) count(action string) int {
	count := 0
	for _, call := range w.calls() {
		if call.Action == action && call.Status == 200 {
			count++
		}
	}
	return count
}

// expectCounts compares how often the manager did what, by action.
func (w *world) expectCounts(want map[string]int) {
	w.Helper()
	for action, count := range want {
		if got := w.count(action); got != count {
			w.Errorf("%s was called %d times, want %d; writes were %q", action, got, count, w.writes())
		}
	}
}

// rest waits until the manager has changed nothing for a while.
func (w *world) rest() {
	w.Helper()
	writes, quiet := -1, w.Kept()
	w.Eventually("AWS is at rest", func() error {
		calls := w.calls()
		now := 0
		var last time.Time
		for _, call := range calls {
			if isWrite(call) && call.Status == http.StatusOK { // a call that AWS refuses changes nothing
				now++
				last = call.Time
			}
		}
		if now != writes {
			writes, quiet = now, w.Kept()
		}
		if w.Kept()-quiet < quietReal || w.clock.Since(last) < quietSimulated {
			return fmt.Errorf("a call changed AWS a moment ago")
		}
		return nil
	})
}

// running returns the IDs of instances that have not terminated.
func (w *world) running() []string {
	var ids []string
	for _, instance := range w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances() {
		if instance.State.Name == ec2types.InstanceStateNameRunning || instance.State.Name == ec2types.InstanceStateNamePending {
			ids = append(ids, *instance.InstanceId)
		}
	}
	slices.Sort(ids)
	return ids
}

// stopped is true for an instance that EC2 has stopped.
func (w *world) stopped(id string) bool {
	return slices.ContainsFunc(w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances(), func(instance awssim.Instance) bool {
		return *instance.InstanceId == id && instance.State.Name == ec2types.InstanceStateNameStopped
	})
}

func (w *world) templates() []ec2types.LaunchTemplate {
	w.Helper()
	out, err := w.ec2().DescribeLaunchTemplates(w.Context(), &ec2.DescribeLaunchTemplatesInput{})
	if err != nil {
		w.Fatal(err)
	}
	return out.LaunchTemplates
}

// template is the only one.
func (w *world) template() ec2types.LaunchTemplate {
	w.Helper()
	templates := w.templates()
	if len(templates) != 1 {
		w.Fatalf("there are %d launch templates, want 1", len(templates))
	}
	return templates[0]
}

// versions returns the versions of the only template, the oldest first.
func (w *world) versions() []ec2types.LaunchTemplateVersion {
	w.Helper()
	return w.versionsOf(*w.template().LaunchTemplateId)
}

// versionsOf returns the versions of a template, the oldest first.
func (w *world) versionsOf(template string) []ec2types.LaunchTemplateVersion {
	w.Helper()
	out, err := w.ec2().DescribeLaunchTemplateVersions(w.Context(), &ec2.DescribeLaunchTemplateVersionsInput{LaunchTemplateId: &template})
	if err != nil {
		w.Fatal(err)
	}
	slices.SortFunc(out.LaunchTemplateVersions, func(a, b ec2types.LaunchTemplateVersion) int { return int(*a.VersionNumber - *b.VersionNumber) })
	return out.LaunchTemplateVersions
}

// latest is the newest version's data.
func (w *world) latest() *ec2types.ResponseLaunchTemplateData {
	w.Helper()
	versions := w.versions()
	return versions[len(versions)-1].LaunchTemplateData
}

func (w *world) numbers() []int64 {
	w.Helper()
	var numbers []int64
	for _, version := range w.versions() {
		numbers = append(numbers, *version.VersionNumber)
	}
	return numbers
}

// userData is a version's, decoded.
func userData(w *world, data *ec2types.ResponseLaunchTemplateData) []byte {
	w.Helper()
	decoded, err := base64.StdEncoding.DecodeString(aws.ToString(data.UserData))
	if err != nil {
		w.Fatal(err)
	}
	return decoded
}

func (w *world) groups() []asgtypes.AutoScalingGroup {
	w.Helper()
	out, err := w.asg().DescribeAutoScalingGroups(w.Context(), &autoscaling.DescribeAutoScalingGroupsInput{})
	if err != nil {
		w.Fatal(err)
	}
	return out.AutoScalingGroups
}

// group is the only one.
func (w *world) group() asgtypes.AutoScalingGroup {
	w.Helper()
	groups := w.groups()
	if len(groups) != 1 {
		w.Fatalf("there are %d groups, want 1", len(groups))
	}
	return groups[0]
}

// refreshes are the group's, the newest first.
func (w *world) refreshes() []asgtypes.InstanceRefresh {
	w.Helper()
	out, err := w.asg().DescribeInstanceRefreshes(w.Context(), &autoscaling.DescribeInstanceRefreshesInput{AutoScalingGroupName: aws.String(poolName)})
	if err != nil {
		w.Fatal(err)
	}
	return out.InstanceRefreshes
}

// remains returns nil once the account holds no template, group, running instance, or volume except
// for the named ones.
func (w *world) remains(names ...string) error {
	for _, template := range w.templates() {
		if !slices.Contains(names, *template.LaunchTemplateName) {
			return fmt.Errorf("launch template %s is left", *template.LaunchTemplateName)
		}
	}
	for _, group := range w.groups() {
		if !slices.Contains(names, *group.AutoScalingGroupName) {
			return fmt.Errorf("group %s is left", *group.AutoScalingGroupName)
		}
	}
	for _, instance := range w.Cloud.AWS.Region(w.Account, w.Cloud.Region()).Instances() {
		if instance.State.Name != ec2types.InstanceStateNameTerminated && !slices.Contains(names, tagOf(instance.Tags, "aws:autoscaling:groupName")) {
			return fmt.Errorf("instance %s is left", *instance.InstanceId)
		}
	}
	return nil
}

func tagOf(tags []ec2types.Tag, key string) string {
	for _, tag := range tags {
		if aws.ToString(tag.Key) == key {
			return aws.ToString(tag.Value)
		}
	}
	return ""
}

func tagMap(tags []ec2types.Tag) map[string]string {
	all := map[string]string{}
	for _, tag := range tags {
		all[*tag.Key] = *tag.Value
	}
	return all
}
