package pool

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/log"
)

// configurationChanged is the reason where what differs cannot be read.
const configurationChanged = "configuration changed"

// VersionChanges describes how versions of launch templates differ.
type VersionChanges interface {
	TemplateChanges(ctx context.Context, id string, from, to int64) ([]string, error)
}

// Differences returns what a node from one version of a launch template has that a node from an
// earlier one does not, such as "instance type m5.large → m6i.large". It is computed from the two
// versions alone, so edits that were taken back between them do not show. A version that cannot be
// read is no reason to hold up a roll-out: the failure is logged.
func Differences(ctx context.Context, versions VersionChanges, template string, from, to int64) string {
	changes, err := versions.TemplateChanges(ctx, template, from, to)
	if err == nil {
		return strings.Join(changes, "; ")
	}
	log.FromContext(ctx).Error(err, "Reading what differs between two launch template versions failed", "launchTemplate", template, "from", from, "to", to)
	return fmt.Sprintf("%s (launch template version %d → %d)", configurationChanged, from, to)
}
