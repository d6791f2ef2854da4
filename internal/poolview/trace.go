package poolview

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Trace leads from an instance to the change that caused its launch, or to the Provisioner that launched it.
type Trace struct {
	Instance Instance `json:"instance"`
	// Pool is the pool of the instance. It is empty if a Provisioner launched the instance, and then the kind is
	// ProvisionedNode.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Pool      string `json:"pool"`
	// ProvisionedNode is the object of an instance that a Provisioner launched.
	ProvisionedNode string `json:"provisionedNode,omitempty"`
	Provisioner     string `json:"provisioner,omitempty"`
	Cluster         string `json:"cluster,omitempty"`
	Group           string `json:"group,omitempty"`
	Nodegroup       string `json:"nodegroup,omitempty"`
	// LaunchConfig and LaunchTemplateID are what the instance was launched from.
	LaunchConfig     string `json:"launchConfig,omitempty"`
	LaunchTemplateID string `json:"launchTemplateID,omitempty"`
	// Reason is why the version was created; empty if that is no longer known.
	Reason  string     `json:"reason,omitempty"`
	Created *time.Time `json:"created,omitempty"`
	// Launch is the launch in the history whose configuration the instance has; nil if it is not known.
	Launch *Launch `json:"launch,omitempty"`
}

// TraceOf returns the trace of an instance, given by its ID or by the name of its node, and false if no pool
// has it.
func TraceOf(objects []Objects, views []View, name string) (Trace, bool) {
	for i := range views {
		view := &views[i]
		at := slices.IndexFunc(view.Instances, func(instance Instance) bool { return instance.ID == name || instance.Node == name && name != "" })
		if at < 0 {
			continue
		}
		trace := Trace{
			Instance: view.Instances[at], Kind: view.Kind, Namespace: view.Namespace, Pool: view.Name, Cluster: view.Cluster,
			Group: view.Group, Nodegroup: view.Nodegroup, LaunchConfig: view.LaunchConfig, LaunchTemplateID: view.LaunchTemplateID,
		}
		trace.fromConfig(view, objects[i])
		return trace, true
	}
	return Trace{}, false
}

// fromConfig adds what the AWSLaunchConfig knows about the version. Versions that differ only by their join
// token have one launch.
func (t *Trace) fromConfig(view *View, objects Objects) {
	config, number := objects.Config, numberOf(t.Instance.Version)
	if config == nil || number == 0 {
		return
	}
	fingerprint := ""
	if version := config.Status.FindVersion(number); version != nil {
		fingerprint, t.Reason, t.Created = version.ConfigFingerprint, version.Reason, timeOf(&version.Created)
	}
	for i := range config.Status.History {
		entry := &config.Status.History[i]
		if entry.Version == number || fingerprint != "" && entry.ConfigFingerprint == fingerprint {
			t.Launch = &view.History[i]
			return
		}
	}
}

// Tree is a cluster with its pools.
type Tree struct {
	Namespace string `json:"namespace"`
	Cluster   string `json:"cluster"`
	Pools     []View `json:"pools"`
}

// TreeOf returns the tree of a cluster.
func TreeOf(namespace, cluster string, views []View) Tree {
	tree := Tree{Namespace: namespace, Cluster: cluster, Pools: []View{}}
	for i := range views {
		if views[i].Namespace == namespace && views[i].Cluster == cluster {
			tree.Pools = append(tree.Pools, views[i])
		}
	}
	return tree
}

// Event is something that happened to a pool.
type Event struct {
	Time time.Time `json:"time"`
	// Source is the kind and the name of the object that the event is about, or the name of the Auto Scaling
	// group.
	Source string `json:"source"`
	// Warning is true for a warning, and for an activity that failed.
	Warning bool   `json:"warning,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
	Count   int32  `json:"count,omitempty"`
}

// SortEvents sorts events, the oldest first.
func SortEvents(events []Event) {
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Source, b.Source)) })
}

// Diff is the difference between two versions of a launch template.
type Diff struct {
	LaunchTemplateID string `json:"launchTemplateID"`
	From             int64  `json:"from"`
	To               int64  `json:"to"`
	// SameNodes is true if a node from one version is what a node from the other one is: they differ at most
	// by a join token, for which no node is replaced.
	SameNodes bool `json:"sameNodes"`
	// Changes describe the fields that differ.
	Changes []string `json:"changes"`
	// UserData is the difference of the user data as a unified diff, in which secrets are masked.
	UserData string `json:"userData,omitempty"`
	// SecretsDiffer is true if the user data differs only by what is masked.
	SecretsDiffer bool `json:"secretsDiffer,omitempty"`
}

// Explanation says why an object is not ready, what that means, and what to do.
type Explanation struct {
	// Object is the kind and the name of the object.
	Object string `json:"object"`
	Ready  bool   `json:"ready"`
	// Summary describes the state in one sentence.
	Summary  string    `json:"summary"`
	Problems []Problem `json:"problems,omitempty"`
	Drains   []Drain   `json:"drains,omitempty"`
	// Facts are further properties, each a name and a value.
	Facts []Fact `json:"facts,omitempty"`
	// Events are the newest events about the object, the oldest first.
	Events []Event `json:"events,omitempty"`
}

// Fact is a property of an object.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}
