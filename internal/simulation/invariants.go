package simulation

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
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
	Explained          = "each call that changes something in AWS names the object that it is made for, its generation, and the reason"
	NoPanic            = "no pass panics, and every write is valid"
	NoHotLoop          = "nothing is reconciled without end"
	ReachesSpec        = "once faults stop, the pool becomes as its spec says, and a deleted pool leaves nothing"
	ComesToRest        = "once faults stop, the process stops writing"
	NothingWrittenIdle = "at rest, nothing is written"
	WorkingNodesStay   = "a roll-out does not replace nodes that work with nodes that do not become Ready"
	// PlansComeTrue is for schedules of ComparePlans alone.
	PlansComeTrue = "an edit replaces the instances and sends the calls that its plan shows"
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

// atMost checks that the pool has so many groups and one launch template at most.
func (o *observer) atMost(groups, most int) {
	if groups > most {
		o.violate(OneEach, "there are %d groups for one pool", groups)
	}
	if templates := o.aws.ownedTemplates(); len(templates) > most {
		o.violate(OneEach, "there are %d launch templates for one pool", len(templates))
	}
}

// usedVersions are the versions of launch templates that are in use, each with what uses it.
type usedVersions map[string]map[int64]string

func (u usedVersions) add(template string, version int64, by string) {
	if u[template] == nil {
		u[template] = map[int64]string{}
	}
	u[template][version] = by
}

// versionsExist checks that what is in use can still be launched.
func (o *observer) versionsExist(used usedVersions) {
	for _, template := range slices.Sorted(maps.Keys(used)) {
		versions := used[template]
		for _, version := range o.aws.LaunchTemplateVersions(template) {
			delete(versions, *version.VersionNumber)
		}
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			o.violate(VersionsInUseStay, "version %d of template %s was deleted though %s uses it", version, template, versions[version])
		}
	}
}

// unsettled says what is not as it must be once faults have stopped.
func (o *observer) unsettled(ctx context.Context, w *World) error {
	pool := o.kind.empty()
	err := o.user.Get(ctx, client.ObjectKey{Namespace: namespace, Name: o.name}, pool)
	switch {
	case apierrors.IsNotFound(err):
		return o.unsettledDeletion(ctx, w)
	case err != nil:
		return err
	case pool.GetDeletionTimestamp() != nil:
		return errors.New("the pool is still being deleted")
	}
	if err := o.kind.unsettled(ctx, o, pool); err != nil {
		return err
	}
	return rollouts{o}.unsettledVersions(w)
}

// unsettledDeletion says what is left of a pool that is gone.
func (o *observer) unsettledDeletion(ctx context.Context, w *World) error {
	configs := &infrav1.AWSLaunchConfigList{}
	if err := o.user.List(ctx, configs); err != nil {
		return err
	}
	for _, config := range configs.Items {
		if config.Spec.ClusterName == o.cluster {
			return fmt.Errorf("the pool is gone, and launch config %s is left", config.Name)
		}
	}
	if templates, running := o.aws.ownedTemplates(), o.facts.running(); len(templates)+len(running) > 0 {
		return fmt.Errorf("the pool is gone, and %d templates and %d instances are left", len(templates), len(running))
	}
	return o.kind.left(ctx, w, o)
}

// reported holds what the status of a pool says.
type reported struct {
	generation, observed int64
	conditions           []metav1.Condition
	replicas             int32
	upToDate             *int32
	providerIDs          []string
}

// unsettled returns how the status of a pool with so many replicas differs from the pool.
func (r reported) unsettled(replicas int) error {
	if r.observed != r.generation {
		return fmt.Errorf("status is of generation %d, and the pool of %d", r.observed, r.generation)
	}
	if ready := meta.FindStatusCondition(r.conditions, infrav1.ReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
		return fmt.Errorf("the pool is not ready: %+v", ready)
	}
	if r.replicas != int32(replicas) || len(r.providerIDs) != replicas { //nolint:gosec // a few
		return fmt.Errorf("%d instances run, status counts %d, and spec.providerIDList %d", replicas, r.replicas, len(r.providerIDs))
	}
	return nil
}

// outdated returns how many instances status does not count as up to date, although all of them run what the spec
// asks for.
func (r reported) outdated() error {
	if upToDate := ptr.Deref(r.upToDate, 0); upToDate != r.replicas {
		return fmt.Errorf("all %d instances run what the spec asks for, and status counts %d as up to date", r.replicas, upToDate)
	}
	return nil
}

// otherConfiguration returns which instance does not run what the spec asks for.
func (f *facts) otherConfiguration(wanted configuration) error {
	for _, id := range f.running() {
		if is := f.instances[id].configuration; is != wanted {
			return fmt.Errorf("instance %s runs %+v, and the spec asks for %+v", id, is, wanted)
		}
	}
	return nil
}

// oldToken says that a version has another join token than the present one.
func (f *facts) oldToken(version ec2types.LaunchTemplateVersion) error {
	text, err := base64.StdEncoding.DecodeString(ptr.Deref(version.LaunchTemplateData.UserData, ""))
	if err != nil {
		return fmt.Errorf("reading the user data of version %d: %w", *version.VersionNumber, err)
	}
	if token := tokenText(f.tokens); !bytes.Contains(text, []byte(token)) {
		return fmt.Errorf("version %d does not have the present join token %s", *version.VersionNumber, token)
	}
	return nil
}
