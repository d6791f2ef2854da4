// Package clustername finds out whether another Kubernetes cluster uses a cluster's name in AWS.
// Instances and default launch templates are found by the name that a Provisioner gives; their
// mark, the UID of the kube-system namespace, identifies the cluster that they belong to.
package clustername

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/fleet"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// Instances finds the instances of a cluster by its name, by id.
type Instances interface {
	OfCluster(ctx context.Context, cluster string) (map[string]fleet.Instance, error)
}

// Templates finds launch templates by a tag, by name.
type Templates interface {
	Tagged(ctx context.Context, key, value string) (map[string]launchtemplate.Template, error)
}

// period is the time for which an answer is reused. Names hardly ever change hands.
const period = 5 * time.Minute

// Names checks cluster names. It is safe for concurrent use.
type Names struct {
	Instances Instances
	Templates Templates
	Clock     clock.PassiveClock
	// ClusterUID is the UID of this cluster's kube-system namespace.
	ClusterUID string

	mu    sync.Mutex
	known map[string]answer
}

// answer holds why nothing may be launched under a name, if so.
type answer struct {
	why string
	at  time.Time
}

// Taken returns why nothing may be launched under a cluster name, or "" if nothing is in the way.
// AWS is asked every five minutes. While it does not answer, the last answer holds; without one it
// fails.
func (n *Names) Taken(ctx context.Context, cluster string) (string, error) {
	n.mu.Lock()
	last, known := n.known[cluster]
	n.mu.Unlock()
	if known && n.Clock.Since(last.at) < period {
		return last.why, nil
	}
	why, err := n.ask(ctx, cluster, last.why)
	switch {
	case err == nil:
		n.remember(cluster, why)
		return why, nil
	case known:
		return last.why, nil
	}
	return "", err
}

// ask asks AWS which cluster uses a name. Launch templates are left out while AWS does not describe
// them: instances are enough to go on, unless the name was taken before.
func (n *Names) ask(ctx context.Context, cluster, before string) (string, error) {
	instances, err := n.Instances.OfCluster(ctx, cluster)
	if err != nil {
		return "", err
	}
	templates, err := n.Templates.Tagged(ctx, fleet.TagCluster, cluster)
	why := taken(cluster, n.ClusterUID, instances, templates)
	if err != nil && why == "" {
		return before, nil
	}
	return why, nil
}

// remember keeps an answer, and drops the answers for names that no Provisioner asks for any
// longer.
func (n *Names) remember(cluster, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[string]answer{}
	}
	now := n.Clock.Now()
	maps.DeleteFunc(n.known, func(_ string, last answer) bool { return now.Sub(last.at) > 2*period })
	n.known[cluster] = answer{why: why, at: now}
}

// taken returns why nothing may be launched under a name. Resources without a mark were created by
// an earlier release, and may be this cluster's.
func taken(cluster, uid string, instances map[string]fleet.Instance, templates map[string]launchtemplate.Template) string {
	var foreign, others []string
	note := func(what, mark string) {
		if mark != "" && mark != uid {
			foreign, others = append(foreign, what), append(others, mark)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(instances)) {
		note("instance "+id, instances[id].Tags[infrav1.TagClusterUID])
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		note("launch template "+name, templates[name].Tags[infrav1.TagClusterUID])
	}
	if len(foreign) == 0 {
		return ""
	}
	slices.Sort(others)
	return fmt.Sprintf("cluster name %q is in use by another Kubernetes cluster: %s %s its UID, %s, in the tag %s (this cluster's UID is %s). "+
		"No nodes are launched. Give each cluster a name of its own in spec.cluster.name, or delete what the other left behind",
		cluster, some(foreign), verb(len(foreign)), strings.Join(slices.Compact(others), ", "), infrav1.TagClusterUID, uid)
}

// mostNamed bounds how many resources a message names.
const mostNamed = 3

func some(all []string) string {
	if len(all) <= mostNamed {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(all[:mostNamed], ", "), len(all)-mostNamed)
}

func verb(count int) string {
	if count == 1 {
		return "has"
	}
	return "have"
}
