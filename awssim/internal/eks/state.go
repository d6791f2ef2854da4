package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
	"github.com/slipway-project/slipway/awssim/world"
)

// cluster is an EKS cluster.
type cluster struct {
	world.Cluster
	id, arn       string // id is part of the endpoint and of the issuer of tokens
	created       time.Time
	status        types.ClusterStatus
	role, vpc     string
	securityGroup string // that EKS creates
	// upgraded is when the cluster got its minor version by an upgrade. It is zero if the cluster
	// was created with it, or went back to it.
	upgraded time.Time
	clusterSettings
	change  *update   // the update under way
	history []*update // newest last
	addons  map[string]*addon
	entries map[string]*accessEntry // by ARN of the principal
}

// clusterSettings are the settings that UpdateClusterConfig can change.
type clusterSettings struct {
	securityGroups              []string
	publicAccess, privateAccess bool
	publicCIDRs                 []string
	access                      types.AccessConfigResponse
	support                     types.SupportType
	logs                        []types.LogType // that are on
	encryption                  []types.EncryptionConfig
	protected                   bool
	zonalShift                  *types.ZonalShiftConfigResponse // nil if no request has named it
	// a request has named Auto Mode, to be without it
	noAutoMode bool
	remote     *types.RemoteNetworkConfigResponse
}

// group is one managed node group as it is now.
type group struct {
	cluster           *cluster
	name, id, arn     string
	created, modified time.Time
	settings
	status types.NodegroupStatus
	issues []types.Issue

	made     resources
	builds   map[int64]settings      // what each version of EKS's template was created from
	deadline time.Time               // of a creation or a deletion
	step     int                     // how far a creation or a deletion is
	roll     *rollout                // the update under way that replaces nodes
	config   *configuration          // the update under way that does not
	change   *update                 // the update under way, of either kind
	history  []*update               // newest last
	checkAt  time.Time               // when health is checked next
	emptied  ec2.CapacityReservation // the Capacity Block before whose expiry the group was scaled to 0
	gone     bool
	wakeUp   sim.WakeUp
}

// settings are the user's settings of a group. They are never changed in place.
type settings struct {
	nodeRole      string // ARN
	subnets       []string
	amiType       types.AMITypes
	capacityType  types.CapacityTypes
	instanceTypes []string
	diskSize      *int32
	remote        *types.RemoteAccessConfig
	source        *source // nil for a group without a launch template of its user's
	version       string  // of Kubernetes
	release       string  // of the EKS image, or the id of the user's own
	image         string  // that nodes boot
	scaling       types.NodegroupScalingConfig
	updating      types.NodegroupUpdateConfig
	labels        map[string]string
	taints        []types.Taint
	repair        *types.NodeRepairConfig
	warm          *types.WarmPoolConfig
	tags          map[string]string
}

// resources are the resources that EKS has created for a group.
type resources struct {
	template     string // id
	templateName string
	version      int64 // of the template, that the group should run
	latest       int64 // newest version that EKS has created: of an update that failed
	profile      string
	asg          string
	remoteGroup  string // security group for remote access
}

func groupKey(cluster, name string) string { return cluster + "/" + name }

func (g *group) key() string { return groupKey(g.cluster.Name, g.name) }
