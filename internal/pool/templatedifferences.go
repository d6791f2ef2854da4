package pool

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-project/slipway/internal/launchtemplate"
)

// configurationChanged is the reason where what differs cannot be read.
const configurationChanged = "configuration changed"

// Versions reads versions of launch templates.
type TemplateVersions interface {
	TemplateVersion(ctx context.Context, id string, version int64) (launchtemplate.Data, error)
}

// Differences returns what a node from one version of a launch template has that a node from an
// earlier one does not, such as "instance type m5.large → m6i.large". It is computed from the two
// versions alone, so edits that were taken back between them do not show. A version that cannot be
// read is no reason to hold up a roll-out: the failure is logged.
func Differences(ctx context.Context, versions TemplateVersions, template string, from, to int64) string {
	old, err := versions.TemplateVersion(ctx, template, from)
	if err == nil {
		var present launchtemplate.Data
		if present, err = versions.TemplateVersion(ctx, template, to); err == nil {
			return strings.Join(launchtemplate.ChangesBetween(old, present), "; ")
		}
	}
	log.FromContext(ctx).Error(err, "Reading what differs between two launch template versions failed", "launchTemplate", template, "from", from, "to", to)
	return fmt.Sprintf("%s (launch template version %d → %d)", configurationChanged, from, to)
}
