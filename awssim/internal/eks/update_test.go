package eks_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim"
)

func newVersion(change ...func(*eks.UpdateNodegroupVersionInput)) *eks.UpdateNodegroupVersionInput {
	in := &eks.UpdateNodegroupVersionInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")}
	for _, c := range change {
		c(in)
	}
	return in
}

func toTemplate(template, version string) func(*eks.UpdateNodegroupVersionInput) {
	return func(in *eks.UpdateNodegroupVersionInput) { in.LaunchTemplate = spec(template, version) }
}

func forced(in *eks.UpdateNodegroupVersionInput) { in.Force = true }

func newConfig(change func(*eks.UpdateNodegroupConfigInput)) *eks.UpdateNodegroupConfigInput {
	in := &eks.UpdateNodegroupConfigInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")}
	change(in)
	return in
}

func withUpdateConfig(c types.NodegroupUpdateConfig) func(*eks.CreateNodegroupInput) {
	return func(in *eks.CreateNodegroupInput) { in.UpdateConfig = &c }
}

func (f *fixture) update(id *string) *types.Update {
	f.t.Helper()
	return call(f, f.eks.DescribeUpdate, &eks.DescribeUpdateInput{Name: aws.String(clusterName), NodegroupName: aws.String("nodes"), UpdateId: id}).Update
}

// types returns the types of the instances that run in the group.
func (f *fixture) types() []string {
	f.t.Helper()
	var list []string
	out := call(f, f.ec2.DescribeInstances, &ec2.DescribeInstancesInput{Filters: []ec2types.Filter{
		{Name: aws.String("instance-state-name"), Values: []string{"running", "pending"}}, {Name: aws.String("tag:eks:nodegroup-name"), Values: []string{"nodes"}},
	}})
	for _, r := range out.Reservations {
		for _, i := range r.Instances {
			list = append(list, string(i.InstanceType))
		}
	}
	slices.Sort(list)
	return list
}

func repeat(s string, n int) []string { return slices.Repeat([]string{s}, n) }

// TestUpdateVersionRollsNodes walks through a roll-out: scale up by 2 × zones, replace one by one,
// wait a minute after each drain, scale down. The sizes are the former at the end.
func TestUpdateVersionRollsNodes(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(withType("m5.large"))
	f.active(newGroup(2, onTemplate(template, "1")))
	f.version(template, withType("m5.xlarge"))
	out := call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, "2"))).Update
	if out.Status != types.UpdateStatusInProgress || out.Type != types.UpdateTypeVersionUpdate {
		t.Errorf("the update is %s %s", out.Type, out.Status)
	}
	if g := f.group("nodes"); g.Status != types.NodegroupStatusUpdating || *g.LaunchTemplate.Version != "1" {
		t.Errorf("the group is %s on version %s: it says the new one when it has it", g.Status, *g.LaunchTemplate.Version)
	}
	fails(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, "1")), "ResourceInUseException", "not in Active State")
	fails(f, f.eks.UpdateNodegroupConfig, newConfig(func(in *eks.UpdateNodegroupConfigInput) {
		in.Labels = &types.UpdateLabelsPayload{AddOrUpdateLabels: map[string]string{"a": "b"}}
	}), "ResourceInUseException", "not in Active State")
	fails(f, f.eks.DeleteNodegroup, &eks.DeleteNodegroupInput{ClusterName: aws.String(clusterName), NodegroupName: aws.String("nodes")}, "ResourceInUseException", "")

	f.step(5 * time.Second)
	if g := f.autoScalingGroup(); *g.DesiredCapacity != 8 || *g.MaxSize != 16 {
		t.Errorf("scaled up to %d of %d, want 2 + 2×3 zones", *g.DesiredCapacity, *g.MaxSize)
	}
	most, old := 0, 2
	took := f.until(time.Hour, "ACTIVE", func() bool {
		running := f.types()
		most = max(most, len(running))
		if n := strings.Count(strings.Join(running, " ")+" ", "m5.large "); n < old {
			old = n
		}
		return f.group("nodes").Status == types.NodegroupStatusActive
	})
	// Twice: drain at once, a minute of waiting, the new node.
	if took < 2*(time.Minute+pending+boot) || took > 6*time.Minute {
		t.Errorf("the update took %s", took)
	}
	if most < 8 || most > 9 || old != 0 {
		t.Errorf("at most %d nodes ran, %d old ones are left", most, old)
	}
	f.step(time.Minute)
	if got := f.types(); !slices.Equal(got, repeat("m5.xlarge", 2)) {
		t.Errorf("%v run", got)
	}
	g, asg := f.group("nodes"), f.autoScalingGroup()
	if *g.LaunchTemplate.Version != "2" || *asg.DesiredCapacity != 2 || *asg.MaxSize != 10 || len(g.Health.Issues) != 0 || g.Status != types.NodegroupStatusActive {
		t.Errorf("the group is %s on version %s with %d of %d: %v", g.Status, *g.LaunchTemplate.Version, *asg.DesiredCapacity, *asg.MaxSize, f.issues())
	}
	if u := f.update(out.Id); u.Status != types.UpdateStatusSuccessful || len(u.Errors) != 0 {
		t.Errorf("the update is %s: %v", u.Status, u.Errors)
	}
	ids := call(f, f.eks.ListUpdates, &eks.ListUpdatesInput{Name: aws.String(clusterName), NodegroupName: aws.String("nodes")}).UpdateIds
	if !slices.Equal(ids, []string{*out.Id}) {
		t.Errorf("the updates are %v", ids)
	}
}

func TestUpdateReplacesAsManyAsMayBeUnavailable(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		config types.NodegroupUpdateConfig
		surge  int32
		least  int // how many old and new nodes are there at the least
		limit  time.Duration
	}{
		{"seven at a time scale up by seven", types.NodegroupUpdateConfig{MaxUnavailable: aws.Int32(7)}, 7, 8, 5 * time.Minute},
		{"half of eight are fewer than twice the zones", types.NodegroupUpdateConfig{MaxUnavailablePercentage: aws.Int32(50)}, 6, 8, 6 * time.Minute},
		{"minimal takes old nodes away first", types.NodegroupUpdateConfig{MaxUnavailable: aws.Int32(4), UpdateStrategy: types.NodegroupUpdateStrategiesMinimal}, 0, 4, 6 * time.Minute},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			template := f.template(withType("m5.large"))
			f.active(newGroup(8, onTemplate(template, "1"), withUpdateConfig(row.config)))
			f.version(template, withType("m5.xlarge"))
			call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, "2")))
			f.step(3 * time.Second)
			if got := *f.autoScalingGroup().DesiredCapacity; got != 8+row.surge {
				t.Errorf("scaled up to %d", got)
			}
			least := 100
			took := f.until(time.Hour, "ACTIVE", func() bool {
				inService := 0
				for _, i := range f.autoScalingGroup().Instances {
					if i.LifecycleState == "InService" {
						inService++
					}
				}
				least = min(least, inService)
				return f.group("nodes").Status == types.NodegroupStatusActive
			})
			if took > row.limit || least < row.least {
				t.Errorf("took %s, with at least %d nodes in service; want %s and %d", took, least, row.limit, row.least)
			}
			f.step(time.Minute)
			if got := f.types(); !slices.Equal(got, repeat("m5.xlarge", 8)) {
				t.Errorf("%v run", got)
			}
		})
	}
}

// TestUpdateFailsIfNodesDoNotJoin holds that new nodes that do not join fail the update after 15
// minutes: the group is ACTIVE with what it had.
func TestUpdateFailsIfNodesDoNotJoin(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(withType("m5.large"))
	f.active(newGroup(2, onTemplate(template, "1")))
	broken := "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=B\n\n--B\nContent-Type: text/cloud-config\n\n#broken\n--B--\n"
	bad := f.version(template, withType("m5.xlarge"), func(d *ec2types.RequestLaunchTemplateData) { d.UserData = aws.String(encode(broken)) })
	behavior := f.sim.Behavior()
	behavior.Nodes = []awssim.NodeRule{{UserData: "#broken", NeverReady: true}}
	f.sim.SetBehavior(behavior)
	out := call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, bad))).Update
	took := f.awaitStatus(types.NodegroupStatusActive)
	if took < 15*time.Minute || took > 16*time.Minute {
		t.Errorf("the update failed after %s", took)
	}
	u := f.update(out.Id)
	if u.Status != types.UpdateStatusFailed || len(u.Errors) != 1 || u.Errors[0].ErrorCode != types.ErrorCodeNodeCreationFailure || len(u.Errors[0].ResourceIds) != 6 {
		t.Errorf("the update is %s: %+v", u.Status, u.Errors)
	}
	f.step(2 * time.Minute)
	g, asg := f.group("nodes"), f.autoScalingGroup()
	if g.Status != types.NodegroupStatusActive || *g.LaunchTemplate.Version != "1" || *asg.DesiredCapacity != 2 || *asg.MaxSize != 10 || len(g.Health.Issues) != 0 {
		t.Errorf("the group is %s on version %s with %d of %d: %v", g.Status, *g.LaunchTemplate.Version, *asg.DesiredCapacity, *asg.MaxSize, f.issues())
	}
	if got := f.types(); !slices.Equal(got, repeat("m5.large", 2)) {
		t.Errorf("%v run", got)
	}
	good := f.version(template, withType("c5.large"))
	call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, good)))
	f.awaitStatus(types.NodegroupStatusActive)
	if got := *f.group("nodes").LaunchTemplate.Version; got != good {
		t.Errorf("a good version after a bad one leads to version %s", got)
	}
}

func TestUpdateAndDrain(t *testing.T) {
	t.Parallel()
	rows := []struct {
		reason string
		rule   awssim.NodeRule
		change func(*eks.UpdateNodegroupVersionInput)
		want   types.UpdateStatus
		least  time.Duration
		types  []string
	}{
		{"pods that do not go fail the update", awssim.NodeRule{NeverDrained: true}, nil, types.UpdateStatusFailed, 15 * time.Minute, repeat("m5.large", 1)},
		{"unless it is forced", awssim.NodeRule{NeverDrained: true}, forced, types.UpdateStatusSuccessful, 16 * time.Minute, repeat("m5.xlarge", 1)},
		{"pods may take their time", awssim.NodeRule{DrainTime: 10 * time.Minute}, nil, types.UpdateStatusSuccessful, 11 * time.Minute, repeat("m5.xlarge", 1)},
	}
	for _, row := range rows {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			row.rule.Nodegroup = "nodes"
			f := start(t, func(o *awssim.Options) { o.Behavior.Nodes = []awssim.NodeRule{row.rule} })
			template := f.template(withType("m5.large"))
			f.active(newGroup(1, onTemplate(template, "1")))
			f.version(template, withType("m5.xlarge"))
			in := newVersion(toTemplate(template, "2"))
			if row.change != nil {
				row.change(in)
			}
			out := call(f, f.eks.UpdateNodegroupVersion, in).Update
			took := f.awaitStatus(types.NodegroupStatusActive)
			if u := f.update(out.Id); u.Status != row.want || took < row.least {
				t.Errorf("%s after %s: %+v", u.Status, took, u.Errors)
			} else if row.want == types.UpdateStatusFailed && u.Errors[0].ErrorCode != types.ErrorCodePodEvictionFailure {
				t.Errorf("the error is %s", u.Errors[0].ErrorCode)
			} else if row.want == types.UpdateStatusFailed && (len(u.Errors[0].ResourceIds) != 1 || !strings.HasSuffix(u.Errors[0].ResourceIds[0], ".ec2.internal")) {
				t.Errorf("the error is of %v, and not of a node by its name", u.Errors[0].ResourceIds)
			}
			f.step(time.Minute)
			if got := f.types(); !slices.Equal(got, row.types) {
				t.Errorf("%v run", got)
			}
		})
	}
}

// TestNodesReport holds that with NodesReport, the code that runs the nodes sets when they are
// Ready and drained.
func TestNodesReport(t *testing.T) {
	t.Parallel()
	f := start(t, func(o *awssim.Options) { o.Behavior.NodesReport = true })
	var draining []string
	cancel := f.sim.OnChange(func(e awssim.Event) {
		switch {
		case e.Kind == "instance" && e.State == awssim.EventBooted:
			if err := f.sim.Region(account, region).SetNode(e.ID, awssim.NodeState{Ready: aws.Bool(true)}); err != nil {
				t.Error(err)
			}
		case e.Kind == "node" && e.State == awssim.EventDraining:
			draining = append(draining, e.ID)
		}
	})
	defer cancel()
	template := f.template(withType("m5.large"))
	f.active(newGroup(1, onTemplate(template, "1")))
	f.version(template, withType("m5.xlarge"))
	call(f, f.eks.UpdateNodegroupVersion, newVersion(toTemplate(template, "2")))
	f.until(10*time.Minute, "draining", func() bool { return len(draining) == 1 })
	f.step(10 * time.Minute)
	if len(draining) != 1 || f.group("nodes").Status != types.NodegroupStatusUpdating {
		t.Fatalf("%v drain", draining)
	}
	if err := f.sim.Region(account, region).SetNode(draining[0], awssim.NodeState{Drained: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
	f.awaitStatus(types.NodegroupStatusActive)
	if got := *f.group("nodes").LaunchTemplate.Version; got != "2" {
		t.Errorf("the group is on version %s", got)
	}
}

func TestUpdateConfig(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(withType("m5.large"))
	f.active(newGroup(2, onTemplate(template, "1"), func(in *eks.CreateNodegroupInput) {
		in.Labels = map[string]string{"a": "1", "b": "2"}
		in.Taints = []types.Taint{{Key: aws.String("k"), Value: aws.String("1"), Effect: types.TaintEffectNoSchedule}}
	}))
	before := f.autoScalingGroup().Instances
	out := call(f, f.eks.UpdateNodegroupConfig, newConfig(func(in *eks.UpdateNodegroupConfigInput) {
		in.Labels = &types.UpdateLabelsPayload{AddOrUpdateLabels: map[string]string{"b": "3"}, RemoveLabels: []string{"a"}}
		in.Taints = &types.UpdateTaintsPayload{
			AddOrUpdateTaints: []types.Taint{{Key: aws.String("k"), Value: aws.String("2"), Effect: types.TaintEffectNoSchedule}},
			RemoveTaints:      []types.Taint{{Key: aws.String("other"), Effect: types.TaintEffectNoExecute}},
		}
		in.UpdateConfig = &types.NodegroupUpdateConfig{MaxUnavailablePercentage: aws.Int32(20), UpdateStrategy: types.NodegroupUpdateStrategiesMinimal}
		in.NodeRepairConfig = &types.NodeRepairConfig{Enabled: aws.Bool(true)}
	})).Update
	f.awaitStatus(types.NodegroupStatusActive)
	g := f.group("nodes")
	if len(g.Labels) != 1 || g.Labels["b"] != "3" || len(g.Taints) != 1 || *g.Taints[0].Value != "2" || *g.UpdateConfig.MaxUnavailablePercentage != 20 ||
		g.UpdateConfig.UpdateStrategy != types.NodegroupUpdateStrategiesMinimal || !*g.NodeRepairConfig.Enabled {
		t.Errorf("the group is %+v", g)
	}
	if u := f.update(out.Id); u.Status != types.UpdateStatusSuccessful || u.Type != types.UpdateTypeConfigUpdate || len(u.Params) != 7 {
		t.Errorf("the update is %s %s %d", u.Type, u.Status, len(u.Params))
	} else {
		params := map[types.UpdateParamType]string{}
		for _, p := range u.Params {
			params[p.Type] = *p.Value
		}
		for kind, want := range map[types.UpdateParamType]string{
			types.UpdateParamTypeLabelsToAdd: `{"b":"3"}`, types.UpdateParamTypeLabelsToRemove: `["a"]`,
			types.UpdateParamTypeTaintsToAdd:    `[{"effect":"NO_SCHEDULE","value":"2","key":"k"}]`,
			types.UpdateParamTypeTaintsToRemove: `[{"effect":"NO_EXECUTE","value":"","key":"other"}]`,
		} {
			if params[kind] != want {
				t.Errorf("%s is %s, want %s", kind, params[kind], want)
			}
		}
	}
	f.step(5 * time.Minute)
	after := f.autoScalingGroup().Instances
	if len(after) != 2 || *after[0].InstanceId != *before[0].InstanceId || *after[1].InstanceId != *before[1].InstanceId || f.group("nodes").Status != types.NodegroupStatusActive {
		t.Errorf("labels and taints roll no nodes: %v; issues %v", after, f.issues())
	}
}

// TestScalingUsesLiveSizes holds that sizes that an update leaves out are the Auto Scaling group's,
// where the Cluster Autoscaler has set them.
func TestScalingUsesLiveSizes(t *testing.T) {
	t.Parallel()
	f := start(t)
	f.active(newGroup(1))
	name := f.autoScalingGroup().AutoScalingGroupName
	call(f, f.asg.SetDesiredCapacity, &autoscaling.SetDesiredCapacityInput{AutoScalingGroupName: name, DesiredCapacity: aws.Int32(4)})
	f.step(2 * time.Minute)
	if got := *f.group("nodes").ScalingConfig.DesiredSize; got != 4 {
		t.Errorf("the group says %d", got)
	}
	scale := func(c types.NodegroupScalingConfig) *eks.UpdateNodegroupConfigInput {
		return newConfig(func(in *eks.UpdateNodegroupConfigInput) { in.ScalingConfig = &c })
	}
	fails(f, f.eks.UpdateNodegroupConfig, scale(types.NodegroupScalingConfig{MinSize: aws.Int32(5)}), "InvalidParameterException", "Minimum capacity 5 can't be greater than desired size 4")
	fails(f, f.eks.UpdateNodegroupConfig, scale(types.NodegroupScalingConfig{MaxSize: aws.Int32(3)}), "InvalidParameterException", "desired capacity 4 can't be greater than max size 3")
	call(f, f.eks.UpdateNodegroupConfig, scale(types.NodegroupScalingConfig{MinSize: aws.Int32(2), MaxSize: aws.Int32(6)}))
	f.awaitStatus(types.NodegroupStatusActive)
	if g := f.autoScalingGroup(); *g.MinSize != 2 || *g.MaxSize != 6 || *g.DesiredCapacity != 4 {
		t.Errorf("the sizes are %d, %d, %d", *g.MinSize, *g.DesiredCapacity, *g.MaxSize)
	}
}

func TestUpdateIsIdempotentByItsToken(t *testing.T) {
	t.Parallel()
	f := start(t)
	template := f.template(withType("m5.large"))
	f.active(newGroup(0, onTemplate(template, "1")))
	f.version(template, withType("m5.xlarge"))
	in := newVersion(toTemplate(template, "2"), func(in *eks.UpdateNodegroupVersionInput) { in.ClientRequestToken = aws.String("t") })
	first := call(f, f.eks.UpdateNodegroupVersion, in).Update
	if again := call(f, f.eks.UpdateNodegroupVersion, in).Update; *again.Id != *first.Id {
		t.Errorf("the second call began another update")
	}
	if took := f.awaitStatus(types.NodegroupStatusActive); took > 5*time.Second {
		t.Errorf("an empty group took %s", took)
	}
	if len(f.types()) != 0 || *f.group("nodes").LaunchTemplate.Version != "2" {
		t.Errorf("an empty group launches %v", f.types())
	}
}

// TestKubernetesVersionGoesBack holds that a node group goes back by one minor version, from the
// version that its cluster was upgraded to within the last seven days.
func TestKubernetesVersionGoesBack(t *testing.T) {
	t.Parallel()
	const parameter = "InvalidParameterException"
	for _, row := range []struct {
		reason    string
		upgrades  []string // of the cluster, in steps; the group follows each
		rollback  string   // of the cluster afterwards
		later     time.Duration
		wanted    string
		code, say string
	}{
		{"the day after", []string{"1.34", "1.35"}, "", 24 * time.Hour, "1.34", "", ""},
		{"on the seventh day", []string{"1.34", "1.35"}, "", 7*24*time.Hour - time.Hour, "1.34", "", ""},
		{"on the eighth day", []string{"1.34", "1.35"}, "", 7*24*time.Hour + time.Minute, "1.34", parameter, "more than 7 days have passed"},
		{"by two versions", []string{"1.33", "1.34", "1.35"}, "", time.Hour, "1.33", parameter, "should be equal to"},
		{"of a cluster that was created with its version", []string{"1.35"}, "", time.Hour, "1.34", parameter, "was not upgraded"},
		{"after the cluster went back", []string{"1.34", "1.35"}, "1.34", time.Hour, "1.34", "", ""},
		{"a second version, after the cluster went back", []string{"1.33", "1.34"}, "1.33", time.Hour, "1.32", parameter, "should be equal to"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			f := start(t)
			name := "fresh"
			set := func(version string) {
				if err := f.sim.Region(account, region).SetCluster(awssim.Cluster{Name: name, Version: version, Subnets: []string{subnetA, subnetB, subnetC}}); err != nil {
					t.Fatal(err)
				}
			}
			inCluster := func(in *eks.UpdateNodegroupVersionInput) { in.ClusterName = &name }
			active := func() {
				f.until(time.Minute, "ACTIVE", func() bool {
					out := call(f, f.eks.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: &name, NodegroupName: aws.String("nodes")})
					return out.Nodegroup.Status == types.NodegroupStatusActive
				})
			}
			for i, version := range row.upgrades {
				set(version)
				if i == 0 {
					call(f, f.eks.CreateNodegroup, newGroup(0, func(in *eks.CreateNodegroupInput) { in.ClusterName = &name }))
				} else {
					call(f, f.eks.UpdateNodegroupVersion, newVersion(inCluster, toVersion(version, "")))
				}
				active()
			}
			if row.rollback != "" {
				set(row.rollback)
			}
			f.step(row.later)
			_, err := f.eks.UpdateNodegroupVersion(t.Context(), newVersion(inCluster, toVersion(row.wanted, "")))
			if code, message := errorOf(err); code != row.code || !strings.Contains(message, row.say) {
				t.Fatalf("it answers %s: %s, want %s with %q", code, message, row.code, row.say)
			}
			if row.code != "" {
				return
			}
			active()
			out := call(f, f.eks.DescribeNodegroup, &eks.DescribeNodegroupInput{ClusterName: &name, NodegroupName: aws.String("nodes")})
			if group := out.Nodegroup; *group.Version != row.wanted || !strings.HasPrefix(*group.ReleaseVersion, row.wanted+".0-") {
				t.Errorf("the group is on %s, %s", *group.Version, *group.ReleaseVersion)
			}
		})
	}
}
