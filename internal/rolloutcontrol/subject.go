// Package rolloutcontrol decides what the commands that control roll-outs change: they pin versions,
// and pause, resume, cancel, approve, and retry roll-outs.
//
// Read observes a pool with its launch config. The decisions are pure functions of its result. Each
// returns a Change, which is merge patches with their reason, or an error that says why the command
// cannot do what it is asked for. The commands apply the patches: nothing here writes.
package rolloutcontrol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/terminal"
)

// Kinds of objects that commands accept.
const (
	KindSelfManaged  = "AWSMachinePool"
	KindManaged      = "AWSManagedMachinePool"
	KindMachinePool  = "MachinePool"
	KindLaunchConfig = "AWSLaunchConfig"
)

// Subject holds the objects that a command is about: a pool with its launch config, or a launch
// config that pools share.
type Subject struct {
	// Pool is an AWSMachinePool or AWSManagedMachinePool, nil if the command names a launch config.
	Pool client.Object
	// Config is the launch config, nil if the pool has none yet.
	Config *infrav1.AWSLaunchConfig
}

// Read returns the subject of a name. The name may have its kind before it and a slash, such as
// awsmachinepool/workers. Otherwise it is the name of a pool, of a MachinePool, or of a launch config,
// in this order. The error is a *DeletingError for an object that is being deleted.
func Read(ctx context.Context, reader client.Reader, namespace, name string) (Subject, error) {
	kinds := [][]string{{KindSelfManaged, KindManaged}, {KindMachinePool}, {KindLaunchConfig}}
	if kind, rest, qualified := strings.Cut(name, "/"); qualified {
		known := KindNamed(kind)
		if known == "" {
			return Subject{}, fmt.Errorf("%.64q is not a kind that has roll-outs: use awsmachinepool, awsmanagedmachinepool, machinepool, or awslaunchconfig", kind)
		}
		kinds, name = [][]string{{known}}, rest
	}
	if name == "" {
		return Subject{}, errors.New("the name of the pool is empty")
	}
	var unserved error
	for _, group := range kinds {
		var found []client.Object
		for _, kind := range group {
			object, err := read(ctx, reader, kind, client.ObjectKey{Namespace: namespace, Name: name})
			switch {
			case meta.IsNoMatchError(err) && kind != KindMachinePool:
				unserved = err
			case err != nil && !meta.IsNoMatchError(err):
				return Subject{}, err
			}
			if object != nil {
				found = append(found, object)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return steady(subjectOf(ctx, reader, found[0]))
		default:
			return Subject{}, fmt.Errorf("namespace %s has pools of two kinds with the name %q: use awsmachinepool/%[2]s or awsmanagedmachinepool/%[2]s", namespace, name)
		}
	}
	if unserved != nil {
		return Subject{}, unserved
	}
	return Subject{}, &NotFoundError{Namespace: namespace, Name: name, Kinds: slices.Concat(kinds...)}
}

// steady returns a *DeletingError for a subject that is being deleted: nothing acts on a change of it.
func steady(subject Subject, err error) (Subject, error) {
	if err == nil && !subject.named().GetDeletionTimestamp().IsZero() {
		err = &DeletingError{Object: describe(subject.named())}
	}
	return subject, err
}

// DeletingError reports an object that is being deleted, by its kind, namespace, and name.
type DeletingError struct{ Object string }

// Error implements error.
func (e *DeletingError) Error() string {
	return e.Object + " is being deleted, so a change of its roll-outs would have no effect"
}

// NotFoundError reports that no object of some kinds has a name.
type NotFoundError struct {
	Namespace, Name string
	Kinds           []string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("namespace %s has no %s %q", e.Namespace, terminal.Alternatives(e.Kinds...), e.Name)
}

// KindNamed returns the kind of a resource name in singular or plural, with its API group or without, as kubectl prints
// it; empty if it is none of them.
func KindNamed(text string) string {
	resource, group, grouped := strings.Cut(text, ".")
	if grouped && group != infrav1.GroupVersion.Group && group != clusterv1.GroupVersion.Group {
		return ""
	}
	text = resource
	for _, kind := range []string{KindSelfManaged, KindManaged, KindMachinePool, KindLaunchConfig} {
		singular := strings.ToLower(kind)
		if text = strings.ToLower(text); text == singular || text == singular+"s" {
			return kind
		}
	}
	return ""
}

// read returns an object, nil if it does not exist.
func read(ctx context.Context, reader client.Reader, kind string, key client.ObjectKey) (client.Object, error) {
	object := map[string]client.Object{
		KindSelfManaged: &infrav1.AWSMachinePool{}, KindManaged: &infrav1.AWSManagedMachinePool{}, KindMachinePool: &clusterv1.MachinePool{}, KindLaunchConfig: &infrav1.AWSLaunchConfig{},
	}[kind]
	err := reader.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %q: %w", kind, key.Name, err)
	}
	return object, nil
}

// subjectOf completes an object to a subject.
func subjectOf(ctx context.Context, reader client.Reader, object client.Object) (Subject, error) {
	namespace := object.GetNamespace()
	switch object := object.(type) {
	case *clusterv1.MachinePool:
		reference := object.Spec.Template.Spec.InfrastructureRef
		if reference.APIGroup != infrav1.GroupVersion.Group || reference.Kind != KindSelfManaged && reference.Kind != KindManaged {
			return Subject{}, fmt.Errorf("MachinePool %q refers to %.64s %q, which is not a pool of Slipway", object.Name, reference.Kind, reference.Name)
		}
		pool, err := read(ctx, reader, reference.Kind, client.ObjectKey{Namespace: namespace, Name: reference.Name})
		if err != nil {
			return Subject{}, err
		}
		if pool == nil {
			return Subject{}, fmt.Errorf("%s %q, which MachinePool %q refers to, does not exist", reference.Kind, reference.Name, object.Name)
		}
		return subjectOf(ctx, reader, pool)
	case *infrav1.AWSLaunchConfig:
		owner := metav1.GetControllerOf(object)
		if owner == nil || owner.Kind != KindSelfManaged && owner.Kind != KindManaged {
			return Subject{Config: object}, nil
		}
		// The pool writes its own launch config, and would revert a change.
		pool, err := read(ctx, reader, owner.Kind, client.ObjectKey{Namespace: namespace, Name: owner.Name})
		if err != nil {
			return Subject{}, err
		}
		if pool == nil {
			return Subject{}, fmt.Errorf("%s %q, which AWSLaunchConfig %q belongs to, does not exist", owner.Kind, owner.Name, object.Name)
		}
		return Subject{Pool: pool, Config: object}, nil
	}
	subject := Subject{Pool: object}
	name := object.GetName()
	if reference := subject.reference(); reference != nil {
		name = reference.Name
	}
	config, err := read(ctx, reader, KindLaunchConfig, client.ObjectKey{Namespace: namespace, Name: name})
	if config != nil {
		subject.Config = config.(*infrav1.AWSLaunchConfig)
	}
	return subject, err
}

// reference returns the reference of the pool to a launch config that pools share, nil if it has its own.
func (s Subject) reference() *infrav1.LaunchConfigReference {
	switch pool := s.Pool.(type) {
	case *infrav1.AWSMachinePool:
		return pool.Spec.LaunchConfigRef
	case *infrav1.AWSManagedMachinePool:
		return pool.Spec.LaunchConfigRef
	}
	return nil
}

// shared reports whether pools share the launch config.
func (s Subject) shared() bool { return s.Pool == nil || s.reference() != nil }

// managed reports whether the pool is a managed node group.
func (s Subject) managed() bool {
	_, is := s.Pool.(*infrav1.AWSManagedMachinePool)
	return is
}

// steered returns the object with the fields that choose the version to launch: the pool, or the launch
// config that pools share.
func (s Subject) steered() client.Object {
	if s.shared() {
		return s.Config
	}
	return s.Pool
}

// named returns the object that the command names.
func (s Subject) named() client.Object {
	if s.Pool != nil {
		return s.Pool
	}
	return s.Config
}

// control returns the fields that choose the version to launch.
func (s Subject) control() infrav1.LaunchConfigControl {
	switch object := s.steered().(type) {
	case *infrav1.AWSMachinePool:
		return object.Spec.LaunchConfigControl
	case *infrav1.AWSManagedMachinePool:
		return object.Spec.LaunchConfigControl
	case *infrav1.AWSLaunchConfig:
		return object.Spec.LaunchConfigControl
	}
	return infrav1.LaunchConfigControl{}
}

// rolledOut returns the condition RolledOut of the pool, nil if there is none.
func (s Subject) rolledOut() *metav1.Condition {
	switch pool := s.Pool.(type) {
	case *infrav1.AWSMachinePool:
		return meta.FindStatusCondition(pool.Status.Conditions, infrav1.RolledOutCondition)
	case *infrav1.AWSManagedMachinePool:
		return meta.FindStatusCondition(pool.Status.Conditions, infrav1.RolledOutCondition)
	}
	return nil
}

// paused reports whether roll-outs of the object that the command names are paused.
func (s Subject) paused() bool { return infrav1.RolloutPaused(s.named().GetAnnotations()) }

// others returns the other pools that launch from the launch config, such as "AWSMachinePool workers".
func (s Subject) others() []string {
	if !s.shared() || s.Config == nil {
		return nil
	}
	var found []string
	for _, user := range s.Config.Status.UsedBy {
		if s.Pool == nil || user.Kind != kindOf(s.Pool) || user.Name != s.Pool.GetName() {
			found = append(found, user.Kind+" "+user.Name)
		}
	}
	return found
}

// kindOf returns the kind of an object.
func kindOf(object client.Object) string {
	switch object.(type) {
	case *infrav1.AWSMachinePool:
		return KindSelfManaged
	case *infrav1.AWSManagedMachinePool:
		return KindManaged
	}
	return KindLaunchConfig
}

// describe returns the kind and the name of an object.
func describe(object client.Object) string {
	return fmt.Sprintf("%s %s/%s", kindOf(object), object.GetNamespace(), object.GetName())
}
