package common

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/aws"
	"github.com/slipway-project/slipway/internal/clouds"
	"github.com/slipway-project/slipway/internal/cluster"
	"github.com/slipway-project/slipway/internal/reconciling"
)

// Reach picks the AWS that a cluster is in.
func Reach(ctx context.Context, registry *clouds.Registry, object reconciling.Conditioned, facts *cluster.Facts) (*clouds.Cloud, reconciling.Outcome) {
	cloud, err := registry.For(ctx, facts.Identity, facts.Region)
	if err != nil {
		reconciling.False(object, infrav1.ClusterInfrastructureReadyCondition, infrav1.InvalidSpecReason, err.Error())
		return nil, reconciling.Stop(err.Error())
	}
	return cloud, reconciling.Continue()
}

// ReachForDeletion picks it by the region that the finalizer was added with, or else by one that is known from elsewhere, so that cluster objects
// that are gone are not missed. Without a region nothing was ever made in AWS, and the cloud is nil.
func ReachForDeletion(ctx context.Context, registry *clouds.Registry, reader client.Reader, object reconciling.Conditioned, owner *clusterv1.Cluster, known string) (*clouds.Cloud, reconciling.Outcome) {
	region := cmp.Or(object.GetAnnotations()[RegionAnnotation], known)
	if region == "" {
		return nil, reconciling.Continue()
	}
	identity, err := identityOf(ctx, reader, owner)
	if err != nil {
		return nil, reconciling.Fail(fmt.Errorf("finding out as whom to delete: %w", err))
	}
	cloud, err := registry.For(ctx, identity, region)
	if err != nil {
		reconciling.True(object, infrav1.DeletingCondition, infrav1.InvalidSpecReason, err.Error())
		return nil, reconciling.Stop(err.Error())
	}
	return cloud, reconciling.Continue()
}

// identityOf is the controller's own for a cluster whose objects are gone.
func identityOf(ctx context.Context, reader client.Reader, owner *clusterv1.Cluster) (aws.Identity, error) {
	if owner == nil {
		return aws.Identity{}, nil
	}
	location, err := cluster.Locate(ctx, reader, owner)
	var notReady *cluster.NotReadyError
	var unsupported *cluster.UnsupportedError
	if errors.As(err, &notReady) || errors.As(err, &unsupported) {
		return aws.Identity{}, nil
	}
	return location.Identity, err
}
