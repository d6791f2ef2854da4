package simulation

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	asgtypes "github.com/aws/aws-sdk-go-v2/service/autoscaling/types"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
)

// instanceStart is the time that an instance takes until it is in service, with some to spare.
const instanceStart = time.Minute

// The invariants of every schedule. The first ones hold at each moment, and the others once faults
// have stopped and the process has come to rest.
const (
	OneEach            = "a pool has at most one group and one launch template"
	NoVersionInVain    = "a version is created only if its configuration or join token differs from the version before"
	VersionsInUseStay  = "a version that the group or an instance uses is not deleted, and the group names it by number"
	ForeignUnchanged   = "resources of another owner are not changed"
	NothingInVain      = "an instance is replaced only if another configuration was asked for while it ran"
	NoPanic            = "no pass panics, and every write is valid"
	NoHotLoop          = "nothing is reconciled without end"
	ReachesSpec        = "once faults stop, the pool becomes as its spec says, and a deleted pool leaves nothing"
	ComesToRest        = "once faults stop, the process stops writing"
	NothingWrittenIdle = "at rest, nothing is written"
)

// ViolationError reports that an invariant did not hold in a schedule.
type ViolationError struct {
	Invariant string
	Cause     error
}

// Error implements error.
func (v *ViolationError) Error() string { return v.Cause.Error() }

// Unwrap returns what was found.
func (v *ViolationError) Unwrap() error { return v.Cause }

// configuration holds the fields of a spec that decide whether an instance must be replaced. The
// user changes no other such field.
type configuration struct {
	instanceType string
	volumeSize   int64
}

// facts holds what an observer of the API server and of AWS knows, whatever any process believes.
type facts struct {
	clock clock.PassiveClock
	// asked are the configurations that the spec has asked for, one after the other.
	asked []asked
	// unsettled is set during an edit that is taken back before it becomes visible.
	unsettled bool
	// surplus is how many instances the pool was asked to have fewer: which ones go is for AWS to choose.
	surplus int
	// launches is the configuration that the group launches, and spared are the instances that ran
	// it when the last refresh was started.
	launches configuration
	spared   map[string]bool
	// deleting is true once the pool is deleted.
	deleting bool
	tokens   int
	// instances are the instances of the pool's group, by ID.
	instances map[string]*instance
	// versions are the configurations of versions of launch templates that were described, by the
	// template and the number of the version.
	versions map[[2]string]configuration
	// drains are when the drains of nodes began, by instance.
	drains map[string]time.Time
	// foreign describes the foreign resources; empty if there are none.
	foreign string
}

type asked struct {
	configuration
	// from is since when it was asked for.
	from time.Time
}

type instance struct {
	configuration
	template string
	version  int64
	launched time.Time
	// excused is set if the user terminated the instance, or deleted its group.
	excused bool
	ended   bool
	// released is set once a process has completed the instance's drain hook, and late if its node
	// joined after that.
	released, late bool
}

func newFacts(clk clock.PassiveClock) facts {
	return facts{clock: clk, instances: map[string]*instance{}, versions: map[[2]string]configuration{}, drains: map[string]time.Time{}}
}

// running returns the IDs of instances that have not terminated.
func (f *facts) running() []string {
	var ids []string
	for _, id := range slices.Sorted(maps.Keys(f.instances)) {
		if !f.instances[id].ended {
			ids = append(ids, id)
		}
	}
	return ids
}

// specChanged notes what the spec asks for.
func (f *facts) specChanged(pool *infrav1.AWSMachinePool) {
	f.deleting = f.deleting || pool.DeletionTimestamp != nil
	if f.unsettled {
		return
	}
	now := configurationOf(pool)
	if last := len(f.asked) - 1; last < 0 || f.asked[last].configuration != now {
		f.asked = append(f.asked, asked{configuration: now, from: f.clock.Now()})
	}
}

func configurationOf(pool *infrav1.AWSMachinePool) configuration {
	template := pool.Spec.AWSLaunchTemplate
	found := configuration{instanceType: template.InstanceType}
	if template.RootVolume != nil {
		found.volumeSize = template.RootVolume.Size
	}
	return found
}

// instanceChanged keeps count of instances, and checks each that ends.
func (o *observer) instanceChanged(event awssim.Event) {
	if event.Kind != "instance" {
		return
	}
	switch event.State {
	case "pending":
		if err := o.instanceLaunched(event.ID); err != nil {
			o.violate(NoPanic, "observing the launch of %s: %w", event.ID, err)
		}
	case "booted":
		if booted := o.facts.instances[event.ID]; booted != nil && !booted.ended {
			o.clock.AfterFunc(o.joinAfter, func() { o.join(event.ID) })
		}
	case "shutting-down", "terminated":
		if ended := o.facts.instances[event.ID]; ended != nil && !ended.ended {
			ended.ended = true
			o.trace.detail("instance %s ends", event.ID)
			o.replacedForNothing(event.ID, ended)
			o.undrained(event.ID, ended)
			o.workload.leave(event.ID)
		}
	}
}

// join has the node of an instance join the workload cluster. The kubelet of an instance that AWS
// terminates joins until the instance shuts down, which is some time after its hook was completed. A
// process that completed the hook of an instance without a node cannot drain a node that joins then.
func (o *observer) join(id string) {
	one := o.facts.instances[id]
	if one.ended {
		return
	}
	one.late = one.released
	o.trace.detail("node %s joins", id)
	o.workload.join(id)
}

// instanceLaunched notes an instance that a group of the pool launched, with the configuration that it has.
func (o *observer) instanceLaunched(id string) error {
	launchedNow, exists := o.aws.Instance(id)
	if !exists {
		return errors.New("AWS does not hold it")
	}
	tags := map[string]string{}
	for _, tag := range launchedNow.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if tags[infrav1.TagMachinePool] == "" && tags["aws:autoscaling:groupName"] == poolName && o.facts.foreign == "" && len(o.facts.asked) == 0 {
		return nil // a foreign one, before the pool exists
	}
	number, err := strconv.ParseInt(tags["aws:ec2launchtemplate:version"], 10, 64)
	if err != nil {
		return err
	}
	launched := &instance{template: tags["aws:ec2launchtemplate:id"], version: number, launched: o.clock.Now()}
	launched.configuration, err = o.configurationOfVersion(launched.template, tags["aws:ec2launchtemplate:version"])
	if err != nil {
		return err
	}
	o.facts.instances[id] = launched
	o.trace.detail("instance %s begins, from version %d: %s, %d GB", id, number, launched.instanceType, launched.volumeSize)
	return nil
}

// configurationOfVersion returns the configuration that a version of a template launches. A version
// that was seen once is not looked up again: it never changes.
func (o *observer) configurationOfVersion(template, number string) (configuration, error) {
	at := [2]string{template, number}
	if known, is := o.facts.versions[at]; is {
		return known, nil
	}
	version, err := o.aws.version(template, number)
	if err != nil {
		return configuration{}, err
	}
	launches := configurationIn(version.LaunchTemplateData)
	o.facts.versions[at] = launches
	return launches, nil
}

// configurationIn returns the configuration that a version launches.
func configurationIn(data *ec2types.ResponseLaunchTemplateData) configuration {
	found := configuration{instanceType: string(data.InstanceType)}
	for _, device := range data.BlockDeviceMappings {
		if device.Ebs != nil && device.Ebs.VolumeSize != nil {
			found.volumeSize = int64(*device.Ebs.VolumeSize)
		}
	}
	return found
}

// replacedForNothing checks an instance that terminates: the user terminated it, the pool shrinks,
// or the spec has asked for something else since it began. Even then, a refresh must spare an
// instance that ran what the group launches.
func (o *observer) replacedForNothing(id string, ended *instance) {
	if ended.excused || o.facts.deleting {
		return
	}
	spared := o.facts.spared[id]
	if o.facts.otherAsked(ended) && !spared {
		return
	}
	if o.facts.surplus > 0 {
		o.facts.surplus--
		return
	}
	if spared {
		o.violate(NothingInVain, "instance %s was replaced, though it ran what the group launches (%s, %d GB) when the refresh was started", id, ended.instanceType, ended.volumeSize)
		return
	}
	o.violate(NothingInVain, "instance %s was replaced, though nothing else than what it runs (%s, %d GB) was asked for since it was launched", id, ended.instanceType, ended.volumeSize)
}

// otherAsked reports whether the spec has asked for a configuration other than the instance's since
// it was launched.
func (f *facts) otherAsked(one *instance) bool {
	for i, asked := range f.asked {
		past := i < len(f.asked)-1 && f.asked[i+1].from.Before(one.launched)
		if asked.configuration != one.configuration && !past {
			return true
		}
	}
	return false
}

// answered checks what a call of the process did.
func (o *observer) answered(action string, status int, code string) {
	if code != "" || changesAWS(action) {
		o.trace.detail("%s: %d %s", action, status, code)
	}
	if status >= 300 || !changesAWS(action) || o.violation != nil {
		return
	}
	o.afterCall(action)
}

// afterCall checks the invariants that a call may have broken.
func (o *observer) afterCall(action string) {
	switch action {
	case "CreateAutoScalingGroup", "CreateLaunchTemplate", "CreateOrUpdateTags", "CreateTags":
		o.atMostOne()
		o.versionsInUse()
	case "CreateLaunchTemplateVersion":
		o.twins()
	case "DeleteLaunchTemplate", "DeleteLaunchTemplateVersions":
		o.versionsInUse()
	case "UpdateAutoScalingGroup", "StartInstanceRefresh":
		o.versionsInUse()
		o.noteSpared(action == "StartInstanceRefresh")
	}
}

// noteSpared notes which instances a refresh must spare: the instances that run what the group
// launches when it is started. The refresh replaces them all the same once the group launches
// something else.
func (o *observer) noteSpared(started bool) {
	groups := o.aws.ownedGroups()
	if len(groups) == 0 || groups[0].LaunchTemplate == nil || o.violation != nil {
		return
	}
	source := groups[0].LaunchTemplate
	now, err := o.configurationOfVersion(*source.LaunchTemplateId, *source.Version)
	if err != nil {
		o.violate(NoPanic, "looking up what the group launches: %w", err)
		return
	}
	if now != o.facts.launches {
		o.facts.launches, o.facts.spared = now, nil
	}
	if !started {
		return
	}
	o.facts.spared = map[string]bool{}
	for _, member := range groups[0].Instances {
		one := o.facts.instances[*member.InstanceId]
		if one != nil && one.configuration == o.facts.launches && member.LifecycleState == asgtypes.LifecycleStateInService {
			o.facts.spared[*member.InstanceId] = true
		}
	}
}

// atMostOne checks that there is one group and one template for the pool at most.
func (o *observer) atMostOne() {
	if groups := o.aws.ownedGroups(); len(groups) > 1 {
		o.violate(OneEach, "there are %d Auto Scaling groups for one pool", len(groups))
	}
	if templates := o.aws.ownedTemplates(); len(templates) > 1 {
		o.violate(OneEach, "there are %d launch templates for one pool", len(templates))
	}
}

// twins checks that the newest version of the pool's template differs from the one before, in what
// the user or the bootstrap provider changes, and in the description, which has its fingerprints.
func (o *observer) twins() {
	templates := o.aws.ownedTemplates()
	if len(templates) == 0 {
		return
	}
	versions := o.aws.LaunchTemplateVersions(*templates[0].LaunchTemplateId)
	if len(versions) < 2 {
		return
	}
	newest, before := versions[0].LaunchTemplateData, versions[1].LaunchTemplateData
	if ptr.Deref(versions[0].VersionDescription, "") == ptr.Deref(versions[1].VersionDescription, "") ||
		configurationIn(newest) == configurationIn(before) && ptr.Deref(newest.UserData, "") == ptr.Deref(before.UserData, "") {
		o.violate(NoVersionInVain, "versions %d and %d of the launch template are the same", *versions[1].VersionNumber, *versions[0].VersionNumber)
	}
}

// versionsInUse checks that what runs can still be launched: the version of the group, and the
// version of each instance unless the user deleted the pool.
func (o *observer) versionsInUse() {
	used := map[string]map[int64]string{}
	use := func(template string, version int64, by string) {
		if used[template] == nil {
			used[template] = map[int64]string{}
		}
		used[template][version] = by
	}
	for _, group := range o.aws.ownedGroups() {
		if group.LaunchTemplate == nil {
			continue
		}
		number, err := strconv.ParseInt(*group.LaunchTemplate.Version, 10, 64)
		if err != nil {
			o.violate(VersionsInUseStay, "the group names version %q of its template instead of a number", *group.LaunchTemplate.Version)
			return
		}
		use(*group.LaunchTemplate.LaunchTemplateId, number, "the group")
	}
	for _, id := range o.facts.running() {
		if one := o.facts.instances[id]; !one.excused && !o.facts.deleting {
			use(one.template, one.version, "instance "+id)
		}
	}
	for template, versions := range used {
		for _, version := range o.aws.LaunchTemplateVersions(template) {
			delete(versions, *version.VersionNumber)
		}
		for version, by := range versions {
			o.violate(VersionsInUseStay, "version %d of template %s was deleted though %s uses it", version, template, by)
		}
	}
}

// unsettled says what is not as it must be once faults have stopped.
func (o *observer) unsettled(ctx context.Context) error {
	pool := &infrav1.AWSMachinePool{}
	err := o.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: poolName}, pool)
	if apierrors.IsNotFound(err) {
		return o.unsettledDeletion(ctx)
	}
	if err != nil {
		return err
	}
	if pool.DeletionTimestamp != nil {
		return errors.New("the pool is still being deleted")
	}
	return o.unsettledPool(ctx, pool)
}

// unsettledDeletion says what is left of a pool that is gone.
func (o *observer) unsettledDeletion(ctx context.Context) error {
	groups, templates := o.aws.ownedGroups(), o.aws.ownedTemplates()
	configs := &infrav1.AWSLaunchConfigList{}
	if err := o.user.List(ctx, configs); err != nil {
		return err
	}
	if left := len(groups) + len(templates) + len(configs.Items) + len(o.facts.running()); left > 0 {
		return fmt.Errorf("the pool is gone, and %d groups, %d templates, %d launch configs and %d instances are left",
			len(groups), len(templates), len(configs.Items), len(o.facts.running()))
	}
	return nil
}

// unsettledPool returns how a pool differs from its spec.
func (o *observer) unsettledPool(ctx context.Context, pool *infrav1.AWSMachinePool) error {
	machinePool := &clusterv1.MachinePool{}
	if err := o.user.Get(ctx, client.ObjectKeyFromObject(pool), machinePool); err != nil {
		return err
	}
	if pool.Status.ObservedGeneration != pool.Generation {
		return fmt.Errorf("status is of generation %d, and the pool of %d", pool.Status.ObservedGeneration, pool.Generation)
	}
	if ready := meta.FindStatusCondition(pool.Status.Conditions, infrav1.ReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
		return fmt.Errorf("the pool is not ready: %+v", ready)
	}
	groups := o.aws.ownedGroups()
	if len(groups) != 1 {
		return fmt.Errorf("there are %d groups", len(groups))
	}
	replicas := int(*machinePool.Spec.Replicas)
	running := o.facts.running()
	if len(running) != replicas || len(groups[0].Instances) != replicas || int(*groups[0].DesiredCapacity) != replicas {
		return fmt.Errorf("%d replicas are asked for, %d desired, %d in the group, and %d run", replicas, *groups[0].DesiredCapacity, len(groups[0].Instances), len(running))
	}
	if pool.Status.Replicas != int32(replicas) || len(pool.Spec.ProviderIDList) != replicas { //nolint:gosec // a few
		return fmt.Errorf("%d instances run, status counts %d, and spec.providerIDList %d", replicas, pool.Status.Replicas, len(pool.Spec.ProviderIDList))
	}
	wanted := configurationOf(pool)
	for _, id := range running {
		if is := o.facts.instances[id].configuration; is != wanted {
			return fmt.Errorf("instance %s runs %+v, and the spec asks for %+v", id, is, wanted)
		}
	}
	if err := errors.Join(o.oldToken(groups[0].LaunchTemplate), o.workload.unsettled(running)); err != nil {
		return err
	}
	return o.unpruned(pool)
}

// oldToken says that the group launches instances with another join token than the present one.
func (o *observer) oldToken(source *asgtypes.LaunchTemplateSpecification) error {
	version, err := o.aws.version(*source.LaunchTemplateId, *source.Version)
	if err != nil {
		return err
	}
	text, err := base64.StdEncoding.DecodeString(ptr.Deref(version.LaunchTemplateData.UserData, ""))
	if err != nil {
		return fmt.Errorf("reading the user data of the group's version: %w", err)
	}
	if token := tokenText(o.facts.tokens); !bytes.Contains(text, []byte(token)) {
		return fmt.Errorf("version %s, which the group launches, does not have the present join token %s", *source.Version, token)
	}
	return nil
}

// owner is the value of the ownership tags of the pool's resources.
const owner = namespace + "/" + clusterName + "/" + poolName

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: namespace, Name: name} }
