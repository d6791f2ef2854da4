package common

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/controllers/outcome"
	"github.com/slipway-project/slipway/internal/pool"
	"github.com/slipway-project/slipway/internal/reconcile"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Reach finds the AWS that a cluster is in, or says in the ClusterInfrastructureReady condition why
// it cannot be called. The cloud is nil then.
func Reach(ctx context.Context, registry *clouds.Registry, object reconciling.Conditioned, facts *cluster.Facts) (*clouds.Cloud, reconciling.Outcome) {
	cloud, access := pool.Registry{Registry: registry, Services: servicesOf(object)}.ReachFrom(ctx, object, facts, "")
	var plan reconcile.Plan
	if !access.Show(object, &plan) {
		return nil, outcome.OfPlan(plan, messageOf(object, infrav1.ClusterInfrastructureReadyCondition))
	}
	return cloud, reconciling.Continue()
}

// ReachForDeletion finds the AWS that an object's resources are in, or says in the Deleting
// condition why it cannot be called. The cloud is nil, and the outcome says to go on, if nothing
// was ever made in AWS.
func ReachForDeletion(ctx context.Context, registry *clouds.Registry, reader client.Reader, object reconciling.Conditioned, owner *clusterv1.Cluster, known string) (*clouds.Cloud, reconciling.Outcome) {
	cloud, access, err := pool.Registry{Registry: registry, Reader: reader, Services: servicesOf(object)}.ReachForDeletion(ctx, object, owner, known)
	if err != nil {
		return nil, reconciling.Fail(err)
	}
	var plan reconcile.Plan
	if !access.ShowForDeletion(object, &plan) && !access.NothingMade {
		return nil, outcome.OfPlan(plan, messageOf(object, infrav1.DeletingCondition))
	}
	return cloud, reconciling.Continue()
}

// servicesOf returns the services that an object needs.
func servicesOf(object reconciling.Conditioned) []string {
	switch object.(type) {
	case *infrav1.AWSMachinePool:
		return clouds.GroupServices
	case *infrav1.AWSManagedMachinePool:
		return clouds.ManagedServices
	}
	return clouds.TemplateServices
}

func messageOf(object reconciling.Conditioned, condition string) string {
	if shown := meta.FindStatusCondition(object.GetConditions(), condition); shown != nil {
		return shown.Message
	}
	return ""
}
