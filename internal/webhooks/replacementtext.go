package webhooks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/launchconfig"
	"github.com/slipway-project/slipway/internal/terminal"
)

// replacement holds what an edit does to the nodes of a pool.
type replacement struct {
	view
	launchconfig.Effect
	// clusterPaused is true if the pool's Cluster is paused.
	clusterPaused bool
	// resumed is true if the edit has nodes replaced that already waited for that.
	resumed bool
	// elsewhere is true if the pool is in another namespace than the edited object. The user who edits the
	// object may not be allowed to read the pool, so its name is not shown.
	elsewhere bool
}

// The limits of a warning's parts, in characters. API servers may cut a warning to 256.
const (
	longestWarning = 250
	longestName    = 63
)

// text returns the warning, "" if no node is replaced.
func (r replacement) text() string {
	if r.None() && !r.resumed {
		return ""
	}
	who, nodes := fmt.Sprintf("%s/%s ", r.kind, shown(r.GetName())), plural(int(r.replicas), "node", "nodes")
	if r.elsewhere {
		who = fmt.Sprintf("An %s of another namespace ", r.kind)
	}
	if r.disabled {
		return terminal.Line(fmt.Sprintf("%sdoes not replace its %d %s, because refreshPreferences.disable is true: %s", who, r.replicas, nodes, r.why()), longestWarning)
	}
	if r.rootVolumes {
		nodes += ", or the root volumes"
	}
	text := fmt.Sprintf("%s%s %s", who, r.count(), nodes)
	if when := r.when(); when != "" {
		text += " " + when
	}
	return terminal.Line(text+": "+r.why(), longestWarning)
}

// count returns how many nodes are replaced. Nodes that do not run what was wanted last may already
// run what is wanted now.
func (r replacement) count() string {
	switch {
	case r.resumed:
		return fmt.Sprintf("will replace %d of %d", r.outdated(), r.replicas)
	case len(r.Changes) == 0 || !r.current || r.upToDate == nil || *r.upToDate == 0:
		return fmt.Sprintf("may replace up to %d of %[1]d", r.replicas)
	case *r.upToDate < r.replicas:
		return fmt.Sprintf("will replace at least %d of %d", *r.upToDate, r.replicas)
	}
	return fmt.Sprintf("will replace %d of %[1]d", r.replicas)
}

// when returns what the replacement waits for, "" for nothing but the settle window.
func (r replacement) when() string {
	if waits := r.waits(); waits != "" {
		return waits
	}
	if r.clusterPaused {
		return "once the Cluster is no longer paused"
	}
	switch r.Hold {
	case launchconfig.HoldPausedConfig:
		return "once the AWSLaunchConfig is no longer paused"
	case launchconfig.HoldApproval:
		return "once the new version is approved"
	case launchconfig.HoldPause:
		return "once roll-outs are resumed"
	}
	return ""
}

// why returns the differences.
func (r replacement) why() string {
	if r.resumed {
		if r.cause != "" {
			return r.cause
		}
		return "they do not run what the spec asks for"
	}
	return strings.Join(slices.Concat(r.Changes, r.Possible), ", ")
}

// shown returns the name of an object for a warning.
func shown(name string) string { return terminal.Line(name, longestName) }
