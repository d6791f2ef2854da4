package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/internal/simulation/apiserver"
)

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
	// steering is what the user decides about roll-outs.
	steering steeringFacts
	// managed is what only a pool of the kind AWSManagedMachinePool has.
	managed managedFacts
}

type asked struct {
	configuration
	// from is since when it was asked for.
	from time.Time
}

type instance struct {
	configuration
	// group is the node group of the instance; empty for one of an AWSMachinePool.
	group    string
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
	return facts{clock: clk, instances: map[string]*instance{}, versions: map[[2]string]configuration{}, drains: map[string]time.Time{}, managed: newManagedFacts(), steering: steeringFacts{chosen: map[string]bool{}}}
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

// specChanged notes what a pool asks its instances to be launched with. While that is held back, what was
// asked for before it is launched.
func (f *facts) specChanged(pool client.Object, now configuration, held bool) {
	f.deleting = f.deleting || pool.GetDeletionTimestamp() != nil
	if f.unsettled {
		return
	}
	last := len(f.asked) - 1
	if last >= 0 && f.asked[last].configuration == now || held && last > 0 && f.asked[last-1].configuration == now {
		return
	}
	f.asked = append(f.asked, asked{configuration: now, from: f.clock.Now()})
	if held && last >= 0 {
		f.asked = append(f.asked, asked{configuration: f.asked[last].configuration, from: f.clock.Now()})
	}
	f.steering.stopped = time.Time{} // attempts are counted anew
}

// configurationOf returns the configuration that a spec asks for.
func configurationOf(template *infrav1.AWSLaunchTemplate) configuration {
	found := configuration{instanceType: template.InstanceType}
	if template.RootVolume != nil {
		found.volumeSize = template.RootVolume.Size
	}
	return found
}

// instanceChanged keeps count of instances, and checks each that ends.
func (o *observer) instanceChanged(event awssim.Event) {
	if event.Kind != "instance" {
		if o.kind.happened != nil {
			o.kind.happened(o, event)
		}
		return
	}
	switch event.State {
	case "pending":
		if err := o.instanceLaunched(event.ID); err != nil {
			o.violate(NoPanic, "observing the launch of %s: %w", event.ID, err)
		}
	case "booted":
		if booted := o.facts.instances[event.ID]; booted != nil && !booted.ended && o.workload != nil {
			o.clock.AfterFunc(o.joinAfter, func() { o.join(event.ID) })
		}
	case "shutting-down", "terminated":
		if ended := o.facts.instances[event.ID]; ended != nil && !ended.ended {
			ended.ended = true
			o.trace.detail("instance %s ends", event.ID)
			o.kind.ended(o, event.ID, ended)
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

// instanceLaunched notes an instance of the pool that was launched, with the configuration that it has.
func (o *observer) instanceLaunched(id string) error {
	launchedNow, exists := o.aws.Instance(id)
	if !exists {
		return errors.New("AWS does not hold it")
	}
	tags := map[string]string{}
	for _, tag := range launchedNow.Tags {
		tags[*tag.Key] = *tag.Value
	}
	if !o.kind.owns(o, tags) {
		return nil
	}
	number, err := strconv.ParseInt(tags["aws:ec2launchtemplate:version"], 10, 64)
	if err != nil {
		return err
	}
	launched := &instance{group: tags[nodegroupTag], template: tags["aws:ec2launchtemplate:id"], version: number, launched: o.clock.Now()}
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

// objectChanged notes what a change of the pool says.
func (o *observer) objectChanged(change apiserver.Change) {
	if before := change.Before; change.After == nil && before != nil && before.GetKind() == o.kind.name && before.GetName() == o.name {
		o.facts.deleting = true // a pool without a finalizer is gone at once
	}
	if change.After == nil || change.After.GetKind() != o.kind.name || change.After.GetName() != o.name {
		return
	}
	pool := o.kind.empty()
	if err := o.server.Into(change.After, pool); err != nil {
		o.violate(NoPanic, "%w", fmt.Errorf("reading the pool: %w", err))
		return
	}
	rollouts{o}.steer(pool)
	o.facts.specChanged(pool, rollouts{o}.asks(pool), rollouts{o}.held(pool))
	o.kind.changed(o, pool)
}
