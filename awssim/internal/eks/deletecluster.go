package eks

import (
	awsec2 "github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// deleteCluster begins to delete a cluster that has no node groups (gruntwork-io/cloud-nuke#148 for
// the words; those about deletion protection are an inference). Add-ons and access entries go with
// it.
func (s *service) deleteCluster(_ *sim.Call, in *eks.DeleteClusterInput) (*eks.DeleteClusterOutput, error) {
	k, ok := s.clusters.byName[val(in.Name)]
	if !ok {
		return nil, clusterNotFound(val(in.Name))
	}
	if k.status == types.ClusterStatusDeleting {
		return &eks.DeleteClusterOutput{Cluster: s.clusters.describe(k)}, nil
	}
	if k.protected {
		return nil, badRequest("Cannot delete cluster %s because deletion protection is enabled. Disable deletion protection first.", k.Name)
	}
	for _, g := range s.groups.byKey {
		if g.cluster == k {
			return nil, inUse("Cluster has nodegroups attached")
		}
	}
	if k.status != types.ClusterStatusFailed {
		if err := k.idle("delete"); err != nil {
			return nil, err
		}
	}
	s.clusters.setStatus(k, types.ClusterStatusDeleting)
	s.kernel.After(max(s.kernel.Behavior().ClusterTimes.Deleting, reaction), func() { s.clusterDeleted(k) })
	return &eks.DeleteClusterOutput{Cluster: s.clusters.describe(k)}, nil
}

// clusterDeleted forgets a cluster, unless it was set again meanwhile. Its security group stays if
// it is in use.
func (s *service) clusterDeleted(k *cluster) {
	if s.clusters.byName[k.Name] != k || k.status != types.ClusterStatusDeleting {
		return
	}
	if k.securityGroup != "" {
		_, _ = call[awsec2.DeleteSecurityGroupOutput](s.region, "ec2", "DeleteSecurityGroup", &awsec2.DeleteSecurityGroupInput{GroupId: ptr(k.securityGroup)})
	}
	for _, a := range k.addons {
		s.addons.remove(a)
	}
	for _, u := range k.history {
		s.updates.views.Delete(k.updateKey(u.id))
	}
	for _, e := range k.entries {
		s.accessEntries.views.Delete(e.key())
	}
	delete(s.clusters.byName, k.Name)
	s.clusters.views.Delete(k.Name)
	s.clusters.emit(k, "DELETED")
}
