package ec2_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

func TestInstanceLife(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Pending: 20 * time.Second, Boot: time.Minute, ShuttingDown: 30 * time.Second}}))
	var events []string
	defer r.sim.OnChange(func(e awssim.Event) { events = append(events, e.State) })()
	out, err := r.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	id := *out.Instances[0].InstanceId
	expect := func(want types.InstanceStateName) {
		t.Helper()
		if got := r.instance(id).State.Name; got != want {
			t.Fatalf("the instance is %s, want %s", got, want)
		}
	}
	checks := func(want types.SummaryStatus) {
		t.Helper()
		out, err := r.ec2.DescribeInstanceStatus(t.Context(), &ec2.DescribeInstanceStatusInput{InstanceIds: []string{id}, IncludeAllInstances: aws.Bool(true)})
		if err != nil || out.InstanceStatuses[0].InstanceStatus.Status != want {
			t.Fatalf("status checks are %v, want %s (%v)", out, want, err)
		}
	}
	expect(types.InstanceStateNamePending)
	r.clock.Step(20 * time.Second)
	expect(types.InstanceStateNameRunning)
	checks(types.SummaryStatusInitializing)
	r.clock.Step(time.Minute)
	checks(types.SummaryStatusOk)
	if _, err := r.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	expect(types.InstanceStateNameStopping)
	r.clock.Step(30 * time.Second)
	expect(types.InstanceStateNameStopped)
	if _, err := r.ec2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(10 * time.Second) // still pending
	change, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	if err != nil || change.TerminatingInstances[0].PreviousState.Name != types.InstanceStateNamePending || change.TerminatingInstances[0].CurrentState.Name != types.InstanceStateNameShuttingDown {
		t.Fatalf("terminating: %+v, %v", change, err)
	}
	r.clock.Step(30 * time.Second)
	expect(types.InstanceStateNameTerminated)
	if got := r.instance(id); got.PrivateIpAddress != nil || len(got.BlockDeviceMappings) > 0 || *got.StateReason.Code != "Client.UserInitiatedShutdown" {
		t.Errorf("a terminated instance keeps nothing: %+v", got)
	}
	r.clock.Step(time.Hour)
	_, err = r.ec2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}})
	wantError(t, err, "InvalidInstanceID.NotFound", id)
	want := []string{"pending", "running", "booted", "stopping", "stopped", "pending", "shutting-down", "terminated"}
	if diff := cmp.Diff(want, events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	volumes, err := r.ec2.DescribeVolumes(t.Context(), &ec2.DescribeVolumesInput{})
	if err != nil || len(volumes.Volumes) > 0 {
		t.Errorf("the root volume goes with its instance: %v, %v", volumes, err)
	}
}

func TestTerminationProtection(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	launch := func(zone string, protect bool) string {
		out, err := r.run(func(in *ec2.RunInstancesInput) {
			in.SubnetId, in.DisableApiTermination = r.subnet(zone).SubnetId, &protect
		})
		if err != nil {
			t.Fatal(err)
		}
		return *out.Instances[0].InstanceId
	}
	protected, neighbor, elsewhere := launch("us-east-1a", true), launch("us-east-1a", false), launch("us-east-1b", false)
	all := []string{protected, neighbor, elsewhere}
	_, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: all})
	wantError(t, err, "OperationNotPermitted", protected)
	want := []types.InstanceStateName{types.InstanceStateNameRunning, types.InstanceStateNameRunning, types.InstanceStateNameTerminated}
	for i, id := range all {
		if got := r.instance(id).State.Name; got != want[i] {
			t.Errorf("instance %d is %s, want %s: the protected one saves its zone", i, got, want[i])
		}
	}
	if _, err := r.ec2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: &protected, DisableApiTermination: &types.AttributeBooleanValue{Value: aws.Bool(false)}}); err != nil {
		t.Fatal(err)
	}
	attribute, err := r.ec2.DescribeInstanceAttribute(t.Context(), &ec2.DescribeInstanceAttributeInput{InstanceId: &protected, Attribute: types.InstanceAttributeNameDisableApiTermination})
	if err != nil || *attribute.DisableApiTermination.Value {
		t.Errorf("the protection is still on: %v, %v", attribute, err)
	}
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{protected, neighbor}}); err != nil {
		t.Errorf("without protection: %v", err)
	}
	if _, err := r.ec2.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{protected}}); err != nil {
		t.Errorf("terminating twice succeeds: %v", err)
	}
}

func TestModifyAndReboot(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Boot: time.Minute}}))
	out, err := r.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	id := *out.Instances[0].InstanceId
	r.clock.Step(time.Minute)
	if _, err := r.ec2.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	booted := func() bool {
		i, _ := r.sim.Region(awssim.DefaultAccount, region).Instance(id)
		return i.Booted
	}
	if booted() {
		t.Error("an instance that reboots is not up")
	}
	r.clock.Step(time.Minute)
	if !booted() {
		t.Error("after its boot time the instance is up again")
	}
	_, err = r.ec2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: &id, InstanceType: &types.AttributeValue{Value: aws.String("m5.xlarge")}})
	wantError(t, err, "IncorrectInstanceState", "stopped")
	if _, err := r.ec2.ModifyInstanceAttribute(t.Context(), &ec2.ModifyInstanceAttributeInput{InstanceId: &id, Groups: []string{r.group("lb")}}); err != nil {
		t.Fatal(err)
	}
	if got := *r.instance(id).SecurityGroups[0].GroupName; got != "lb" {
		t.Errorf("the security group is %s, want lb", got)
	}
	metadata, err := r.ec2.ModifyInstanceMetadataOptions(t.Context(), &ec2.ModifyInstanceMetadataOptionsInput{InstanceId: &id, HttpTokens: types.HttpTokensStateRequired})
	if err != nil || metadata.InstanceMetadataOptions.HttpTokens != types.HttpTokensStateRequired || metadata.InstanceMetadataOptions.HttpEndpoint != types.InstanceMetadataEndpointStateEnabled {
		t.Errorf("metadata options are %+v, %v", metadata, err)
	}
}

// TestStatusChecksFail checks what DescribeInstanceStatus shows for failed checks, which filters
// find them, and what clears them.
func TestStatusChecksFail(t *testing.T) {
	t.Parallel()
	r := newRig(t, withBehavior(awssim.Behavior{InstanceTimes: awssim.InstanceTimes{Boot: time.Minute}}))
	out, err := r.run(nil)
	if err != nil {
		t.Fatal(err)
	}
	id := *out.Instances[0].InstanceId
	fail := func(check string) error { return r.sim.Region("123456789012", region).FailStatusCheck(id, check) }
	if fail(awssim.SystemStatusCheck) == nil {
		t.Error("a check fails of an instance that is initializing")
	}
	r.clock.Step(2 * time.Minute)
	if fail("disk") == nil {
		t.Error("a check fails that does not exist")
	}
	shown := func(filter string) string {
		t.Helper()
		in := &ec2.DescribeInstanceStatusInput{}
		if filter != "" {
			in.Filters = []types.Filter{{Name: &filter, Values: []string{"impaired"}}}
		}
		out, err := r.ec2.DescribeInstanceStatus(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.InstanceStatuses) == 0 {
			return ""
		}
		one := out.InstanceStatuses[0]
		text := fmt.Sprintf("system %s, instance %s", one.SystemStatus.Status, one.InstanceStatus.Status)
		if since := one.InstanceStatus.Details[0].ImpairedSince; since != nil {
			text += " since " + since.Format("15:04:05")
		}
		return text
	}
	expect := func(reason, filter, want string) {
		t.Helper()
		if got := shown(filter); got != want {
			t.Errorf("%s: %q is shown, want %q", reason, got, want)
		}
	}
	since := r.clock.Now().UTC().Format("15:04:05")
	if err := fail(awssim.InstanceStatusCheck); err != nil {
		t.Fatal(err)
	}
	expect("the instance fails", "", "system ok, instance impaired since "+since)
	expect("the system is sound", "system-status.status", "")
	if _, err := r.ec2.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(2 * time.Minute)
	expect("a reboot helps", "", "system ok, instance ok")
	since = r.clock.Now().UTC().Format("15:04:05")
	if err := fail(awssim.SystemStatusCheck); err != nil {
		t.Fatal(err)
	}
	for _, filter := range []string{"", "system-status.status", "instance-status.status"} {
		expect("the host fails, and the instance with it", filter, "system impaired, instance impaired since "+since)
	}
	if _, err := r.ec2.RebootInstances(t.Context(), &ec2.RebootInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(2 * time.Minute)
	expect("a reboot keeps the host", "system-status.status", "system impaired, instance impaired since "+since)
	if _, err := r.ec2.StopInstances(t.Context(), &ec2.StopInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(2 * time.Minute)
	if _, err := r.ec2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{id}}); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(2 * time.Minute)
	expect("it starts on another host", "", "system ok, instance ok")
}
