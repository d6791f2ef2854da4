package eks

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eks/types"

	"github.com/slipway-project/slipway/awssim/internal/autoscaling"
	"github.com/slipway-project/slipway/awssim/internal/ec2"
	"github.com/slipway-project/slipway/awssim/internal/sim"
)

// service is EKS in one account and Region. Calls and events change the groups; Describe actions
// read the tables of snapshots.
type service struct {
	region *sim.Region
	kernel *sim.Kernel

	tokens   *tokens
	updates  *updates
	catalog  *catalog
	networks *networks
	roles    *roles

	clusters map[string]*cluster
	groups   map[string]*group // by groupKey
	byASG    map[string]*group
	nodes    map[string]NodeState // the states that SetNode set
	cordoned map[string]bool      // by instance
	evicting map[string]time.Time // by instance, since when

	clusterViews *sim.Table[*types.Cluster]
	views        *sim.Table[*types.Nodegroup]
	addonViews   *sim.Table[*types.Addon]
	entryViews   *sim.Table[shownEntry]
}

// regional returns the state of a Region.
func regional(r *sim.Region) *service { return sim.Store(r, newService) }

// newService connects the parts of the service. Each part knows only parts that are created before
// it.
func newService(r *sim.Region) *service {
	k := r.Kernel()
	s := &service{
		region: r, kernel: k,
		tokens: newTokens(k), updates: newUpdates(k), catalog: &catalog{region: r, kernel: k}, networks: &networks{r}, roles: &roles{r},
		clusters: map[string]*cluster{}, groups: map[string]*group{}, byASG: map[string]*group{},
		nodes: map[string]NodeState{}, cordoned: map[string]bool{}, evicting: map[string]time.Time{},
		clusterViews: sim.NewTable[*types.Cluster](k),
		views:        sim.NewTable[*types.Nodegroup](k),
		addonViews:   sim.NewTable[*types.Addon](k),
		entryViews:   sim.NewTable[shownEntry](k),
	}
	for _, c := range r.World().Clusters {
		// package world has checked it.
		_ = s.setCluster(c)
	}
	ec2.OnInstanceChange(r, s.instanceChanged)
	autoscaling.OnGroupChange(r, func(name string) {
		if g := s.byASG[name]; g != nil {
			s.wake(g, 0)
		}
	})
	return s
}
