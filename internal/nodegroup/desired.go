package nodegroup

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// Desired is the node group that a pool asks for.
type Desired struct {
	// Cluster is the name of the EKS cluster.
	Cluster string
	// Owner is the value of the ownership tag, and UID identifies the object that asks: one that
	// was created again under its name is another.
	Owner, UID string
	// RoleARN is the ARN of the nodes' IAM role.
	RoleARN string
	// RoleName is the role's that the user gave, empty for a role of the pool's own.
	RoleName string
	// SubnetIDs are sorted. For an existing node group, they are only the subnets that the user
	// named by ID.
	SubnetIDs []string

	// Template is what instances launch from, nil for a node group without a launch template, and
	// for one that goes on with what it has.
	Template *Template
	// Held keeps everything from being updated that replaces nodes or does not have to be at once:
	// edits settle, or the template is not ready.
	Held bool

	// KubernetesVersion is a minor version, such as 1.34; empty for the cluster's. ClusterVersion
	// is the version of the control plane, empty if it is not known. ReleaseVersion is the version
	// of the EKS image; empty for the newest when one is chosen. None of them is for a node group
	// with an image of its own.
	KubernetesVersion, ClusterVersion, ReleaseVersion string
	// OwnImage is true if the launch template names the image.
	OwnImage bool
	// AMIType and CapacityType are EKS's words. The first is empty for an image of the template's.
	AMIType, CapacityType string
	InstanceTypes         []string
	// DiskSize is in GiB, 0 for EKS's default.
	DiskSize int32
	// RemoteAccess is nil for none.
	RemoteAccess *RemoteAccess
	// Force replaces nodes whose pods cannot be evicted.
	Force bool

	// Bounds and Capacity are the sizes; a size that is nil is decided elsewhere, such as by an
	// autoscaler.
	Bounds   Bounds
	Capacity *int32
	Settings Settings
	// Tags are the node group's own, and RetiredTags are keys that the pool set earlier and no
	// longer asks for.
	Tags        map[string]string
	RetiredTags []string
}

// LeavingSizes returns the same, without the sizes: they are decided elsewhere.
func (d Desired) LeavingSizes() Desired {
	d.Bounds, d.Capacity = Bounds{}, nil
	return d
}

// Template names what instances should be launched from.
type Template struct {
	ID      string
	Version int64
	// Config is the fingerprint of the wanted config. Accepts is true for versions that have it, or
	// count as if they had.
	Config  string
	Accepts func(templateID string, version int64) bool
	// Why says what differs between an earlier version and this one, empty if that is not known.
	Why func(version int64) string
}

// RemoteAccess opens SSH to instances.
type RemoteAccess struct {
	KeyName        string
	SecurityGroups []string
	// Named are the security groups that the pool names itself.
	Named []string
}

// Bounds are the sizes that a node group may have.
type Bounds struct{ Min, Max *int32 }

// Settings holds what UpdateNodegroupConfig changes in addition to sizes. EKS's defaults stand for
// fields that a pool leaves out. So two node groups have the same settings if these are the same.
type Settings struct {
	Labels map[string]string
	Taints []Taint // sorted
	Update UpdateConfig
	Repair Repair
	// WarmPool is the zero value for none.
	WarmPool WarmPool
}

// Taint is a node's, with EKS's word for its effect.
type Taint struct{ Key, Value, Effect string }

// UpdateConfig says how nodes are replaced. One of the numbers is 0.
type UpdateConfig struct {
	MaxUnavailable, MaxUnavailablePercentage int32
	// Strategy is DEFAULT or MINIMAL.
	Strategy string
}

// Repair says how unhealthy nodes are repaired. A number of 0 is EKS's default.
type Repair struct {
	Enabled                                               bool
	MaxParallelCount, MaxParallelPercentage               int32
	UnhealthyThresholdCount, UnhealthyThresholdPercentage int32
	Overrides                                             []RepairOverride // sorted
}

// RepairOverride says what to do about one condition of a node.
type RepairOverride struct {
	Condition, Reason, Action string
	WaitMinutes               int32
}

// WarmPool keeps instances ready. State is EKS's word, such as STOPPED. A Prepared of -1 is EKS's default.
type WarmPool struct {
	Enabled       bool
	Min, Prepared int32
	State         string
	Reuse         bool
}

// noPrepared is the number of prepared instances where nothing is said.
const noPrepared = -1

// DefaultSettings returns the settings of a node group whose pool sets none (AWS:
// API_NodegroupUpdateConfig, API_NodeRepairConfig, API_WarmPoolConfig).
func DefaultSettings() Settings {
	return Settings{Update: UpdateConfig{MaxUnavailable: 1, Strategy: string(ekstypes.NodegroupUpdateStrategiesDefault)}}
}

// DefaultWarmPool returns a warm pool that is enabled and has no other settings.
func DefaultWarmPool() WarmPool {
	return WarmPool{Enabled: true, Prepared: noPrepared, State: string(ekstypes.WarmPoolStateStopped)}
}

// settingsOf returns the settings of a node group as AWS describes it.
func settingsOf(group *ekstypes.Nodegroup) Settings {
	settings := DefaultSettings()
	if len(group.Labels) > 0 {
		settings.Labels = maps.Clone(group.Labels)
	}
	for _, taint := range group.Taints {
		settings.Taints = append(settings.Taints, Taint{Key: awssdk.ToString(taint.Key), Value: awssdk.ToString(taint.Value), Effect: string(taint.Effect)})
	}
	if update := group.UpdateConfig; update != nil {
		settings.Update = UpdateConfig{
			MaxUnavailable: awssdk.ToInt32(update.MaxUnavailable), MaxUnavailablePercentage: awssdk.ToInt32(update.MaxUnavailablePercentage),
			Strategy: cmp.Or(string(update.UpdateStrategy), settings.Update.Strategy),
		}
	}
	if repair := group.NodeRepairConfig; repair != nil {
		settings.Repair = Repair{
			Enabled:          awssdk.ToBool(repair.Enabled),
			MaxParallelCount: awssdk.ToInt32(repair.MaxParallelNodesRepairedCount), MaxParallelPercentage: awssdk.ToInt32(repair.MaxParallelNodesRepairedPercentage),
			UnhealthyThresholdCount:      awssdk.ToInt32(repair.MaxUnhealthyNodeThresholdCount),
			UnhealthyThresholdPercentage: awssdk.ToInt32(repair.MaxUnhealthyNodeThresholdPercentage),
		}
		for _, override := range repair.NodeRepairConfigOverrides {
			settings.Repair.Overrides = append(settings.Repair.Overrides, RepairOverride{
				Condition: awssdk.ToString(override.NodeMonitoringCondition), Reason: awssdk.ToString(override.NodeUnhealthyReason),
				Action: string(override.RepairAction), WaitMinutes: awssdk.ToInt32(override.MinRepairWaitTimeMins),
			})
		}
	}
	if pool := group.WarmPoolConfig; pool != nil && awssdk.ToBool(pool.Enabled) {
		settings.WarmPool = DefaultWarmPool()
		settings.WarmPool.Min, settings.WarmPool.Reuse = awssdk.ToInt32(pool.MinSize), awssdk.ToBool(pool.ReuseOnScaleIn)
		settings.WarmPool.State = cmp.Or(string(pool.PoolState), settings.WarmPool.State)
		if pool.MaxGroupPreparedCapacity != nil {
			settings.WarmPool.Prepared = *pool.MaxGroupPreparedCapacity
		}
	}
	settings.sort()
	return settings
}

// Sorted returns the settings in the order in which they are compared.
func (s Settings) Sorted() Settings {
	s.Taints, s.Repair.Overrides = slices.Clone(s.Taints), slices.Clone(s.Repair.Overrides)
	s.sort()
	return s
}

func (s *Settings) sort() {
	slices.SortFunc(s.Taints, func(a, b Taint) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Effect, b.Effect), strings.Compare(a.Value, b.Value))
	})
	slices.SortFunc(s.Repair.Overrides, func(a, b RepairOverride) int {
		return cmp.Or(strings.Compare(a.Condition, b.Condition), strings.Compare(a.Reason, b.Reason))
	})
}

// Key identifies what is wanted over time, sizes aside, which are changed at once: it changes with
// every edit that takes an update of the node group, and not when a join token rotates.
func (d Desired) Key() string {
	config := ""
	if d.Template != nil {
		config = d.Template.ID + "/" + d.Template.Config
	}
	return digest(32, config, d.KubernetesVersion, d.ReleaseVersion, fmt.Sprint(d.OwnImage, d.Force), text(d.Settings))
}

// text returns a value as JSON, in which the keys of maps are sorted.
func text(value any) string {
	written, err := json.Marshal(value)
	if err != nil {
		panic(err) // numbers, texts, lists and maps of them: there is nothing that JSON cannot write
	}
	return string(written)
}

// digest returns the beginning of a hash of texts.
func digest(length int, parts ...string) string {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(hash.Sum(nil))[:length]
}
