package rehearsal

import (
	"fmt"
	"slices"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ec2types "github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-project/slipway/awssim"
)

// eksCluster is the tag with which EKS marks the resources that it creates for a node group.
const eksCluster = "eks:cluster-name"

// managed reports whether the pool is an AWSManagedMachinePool. EKS replaces and drains its nodes.
func (r *run) managed() bool { return r.copy.Kind == "AWSManagedMachinePool" }

// versionOf names the launch template version of an instance. EKS launches nodes from a template of its
// own, which gets a version with each update of the node group.
func (r *run) versionOf(instance string) string {
	if r.managed() {
		return fmt.Sprintf("version %d of EKS's template", r.versions[instance])
	}
	return fmt.Sprintf("version %d", r.versions[instance])
}

// ofEKS reports whether EKS created a resource.
func ofEKS(tags []ec2types.Tag) bool {
	return slices.ContainsFunc(tags, func(tag ec2types.Tag) bool { return awssdk.ToString(tag.Key) == eksCluster })
}

// nodeChanged follows what EKS does with the Node of an instance. A cordoned Node is up until it is drained:
// its pods run.
func (r *run) nodeChanged(id, state string) {
	node := r.nodes.byID[id]
	if node == nil {
		return // it never joined
	}
	switch state {
	case awssim.EventCordoned:
		r.happens("AWS", "is cordoned by EKS", "", id)
	case awssim.EventDraining:
		r.nodes.cordoned(id)
		node.Spec.Unschedulable = true
		r.clock.AfterFunc(r.options.DrainTime, func() { r.reportNode(id, awssim.NodeState{Drained: awssdk.Bool(true)}) })
	case awssim.EventUncordoned:
		node.Spec.Unschedulable = false
		r.happens("AWS", "is schedulable again", "", id)
	}
}

// reportNode reports the state of the Node of an instance to EKS. Its only failure, an unknown region, would
// have ended the simulation before.
func (r *run) reportNode(id string, state awssim.NodeState) { _ = r.aws.SetNode(id, state) }
