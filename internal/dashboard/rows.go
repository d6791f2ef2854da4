package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/poolview"
)

// poolRow is the row of a pool: its view, without the parts that grow with its instances and its history,
// which only the page of the pool shows.
type poolRow struct {
	poolview.View
	InstanceTypes string `json:"instanceTypes,omitempty"`
	Tasks         []task `json:"tasks,omitempty"`
	Cost          *cost  `json:"cost,omitempty"`
}

// poolDetail is everything about a pool.
type poolDetail struct {
	poolview.View
	InstanceTypes string `json:"instanceTypes,omitempty"`
	Tasks         []task `json:"tasks,omitempty"`
	// Cost is the cost of all instances, and VersionCosts the cost of the instances of each of Versions.
	Cost         *cost              `json:"cost,omitempty"`
	VersionCosts []*cost            `json:"versionCosts,omitempty"`
	Conditions   []metav1.Condition `json:"conditions,omitempty"`
	// Templates are the versions of the launch template, newest first, as far as the AWSLaunchConfig has
	// them.
	Templates []infrav1.LaunchTemplateVersionStatus `json:"templates,omitempty"`
	// Resolved is what the spec leads to, and Launched what is launched while that differs.
	Resolved *infrav1.ResolvedLaunchConfig `json:"resolved,omitempty"`
	Launched *infrav1.ResolvedLaunchConfig `json:"launched,omitempty"`
}

// row returns a row as JSON, or nil if its object does not exist.
func (d *Dashboard) row(ctx context.Context, key rowKey) (json.RawMessage, error) {
	var row any
	switch key.kind {
	case selfManagedRow, managedRow:
		pool, err := d.pool(ctx, key)
		if err != nil || pool == nil {
			return nil, err
		}
		pool.Instances, pool.History, pool.Writers = nil, nil, nil
		row = poolRow{View: pool.View, InstanceTypes: pool.InstanceTypes, Tasks: pool.Tasks, Cost: pool.Cost}
	case provisionerRow, provisionedNodeRow, podRow:
		found, err := d.provisioning(ctx, key)
		if err != nil || found == nil {
			return nil, err
		}
		row = found
	default:
		return nil, nil // an event about another kind
	}
	text, err := json.Marshal(row)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", key, err)
	}
	return text, nil
}

// pool returns everything about a pool, or nil if it does not exist.
func (d *Dashboard) pool(ctx context.Context, key rowKey) (*poolDetail, error) {
	var objects poolview.Objects
	var found poolDetail
	var of links
	name := client.ObjectKey{Namespace: key.namespace, Name: key.name}
	if key.kind == selfManagedRow {
		pool := &infrav1.AWSMachinePool{}
		if err := d.options.Reader.Get(ctx, name, pool); err != nil {
			return nil, unlessGone(key, err)
		}
		objects.SelfManaged, of = pool, linksOf(pool, pool.Spec.LaunchConfigRef)
		found.InstanceTypes, found.Conditions = pool.Status.InstanceTypes, pool.Status.Conditions
	} else {
		pool := &infrav1.AWSManagedMachinePool{}
		if err := d.options.Reader.Get(ctx, name, pool); err != nil {
			return nil, unlessGone(key, err)
		}
		objects.Managed, of = pool, linksOf(pool, pool.Spec.LaunchConfigRef)
		found.InstanceTypes, found.Conditions = pool.Status.InstanceTypes, pool.Status.Conditions
	}
	var err error
	if objects.MachinePool, err = optional(ctx, d, key.namespace, of.machinePool, &clusterv1.MachinePool{}); err != nil {
		return nil, err
	}
	if objects.Config, err = optional(ctx, d, key.namespace, of.config, &infrav1.AWSLaunchConfig{}); err != nil {
		return nil, err
	}
	if config := objects.Config; config != nil {
		found.Templates, found.Resolved, found.Launched = config.Status.Versions, config.Status.Resolved, config.Status.Launched
	}
	found.View = poolview.Of(objects, d.options.Clock.Now())
	found.Tasks = tasksOf(&found.View, of)
	found.Cost, found.VersionCosts = d.costsOf(objects, &found.View)
	return &found, nil
}

// optional reads an object that a row also depends on, if its kind is shown. It returns nil if the object
// does not exist.
func optional[T client.Object](ctx context.Context, d *Dashboard, namespace, name string, object T) (T, error) {
	var none T
	if name == "" || !d.shows(object) {
		return none, nil
	}
	if err := d.options.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
		return none, unlessGone(rowKey{kindOf(object), namespace, name}, err)
	}
	return object, nil
}

// unlessGone returns nil for an error that reports that an object does not exist.
func unlessGone(key rowKey, err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("reading %s: %w", key, err)
}

// shows reports whether the kind of an object is watched. A cache would begin to watch any other kind
// when it is read.
func (d *Dashboard) shows(object client.Object) bool { return contains(d.options.Kinds, object) }

// contains reports whether the kind of an object is one of some kinds.
func contains(kinds []client.Object, object client.Object) bool {
	return slices.ContainsFunc(kinds, func(kind client.Object) bool { return reflect.TypeOf(kind) == reflect.TypeOf(object) })
}

// kindOf returns the kind of a typed object.
func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }
