package awsmachinepool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-project/slipway/internal/controllers/common"
)

// mostSources is how many configurations of running instances are compared with the wanted one. There are rarely more than two.
const mostSources = 4

// runs is what instances were launched from.
type runs struct {
	template string
	version  int64
}

// causeOf returns why instances are replaced: what differs between what they run and what is wanted. It is empty if all instances run what is wanted.
// Nothing else counts, such as what the group launched in between: an edit that was taken back replaces no instance.
func causeOf(ctx context.Context, versions common.Versions, p *pass) string {
	counts := map[runs]int{}
	for _, instance := range p.group.Instances {
		if !instance.Leaving() && !p.wanted.Runs(instance) {
			counts[runs{instance.LaunchTemplateID, instance.Version}]++
		}
	}
	sources := make([]runs, 0, len(counts))
	for source := range counts {
		sources = append(sources, source)
	}
	slices.SortFunc(sources, func(a, b runs) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a.template, b.template), cmp.Compare(b.version, a.version))
	})
	var causes []string
	for _, source := range sources[:min(len(sources), mostSources)] {
		for cause := range strings.SplitSeq(differenceFrom(ctx, versions, p, source), "; ") {
			if cause != "" && !slices.Contains(causes, cause) {
				causes = append(causes, cause)
			}
		}
	}
	return common.Shortened(strings.Join(causes, "; "))
}

// differenceFrom returns what differs between what some instances run and what is wanted. Only versions of the pool's own template are read.
func differenceFrom(ctx context.Context, versions common.Versions, p *pass, source runs) string {
	switch {
	case source.template == "":
		return "no launch template → launch template " + p.wanted.TemplateID
	case source.template == p.config.Status.LastLostTemplateID && source.template != p.wanted.TemplateID:
		return fmt.Sprintf("launch template %s was deleted outside Slipway", source.template)
	case source.template != p.wanted.TemplateID && p.pool.Spec.LaunchConfigRef != nil:
		return fmt.Sprintf("launch template %s → %s of AWSLaunchConfig %s", source.template, p.wanted.TemplateID, p.config.Name)
	case source.template != p.wanted.TemplateID:
		return fmt.Sprintf("launch template %s → %s", source.template, p.wanted.TemplateID)
	case configs(p.config)[source.version] == p.wanted.Config:
		return "images or templates of overrides changed"
	}
	return common.Differences(ctx, versions, p.wanted.TemplateID, source.version, p.wanted.Version)
}

// setCause records why instances are replaced.
func setCause(ctx context.Context, p *pass) {
	if why := causeOf(ctx, p.cloud.Discovery, p); why != cause(p) {
		rolloutStatus(p.pool).Cause = why
	}
}

// cause is why instances are replaced, or were last.
func cause(p *pass) string {
	if record := p.pool.Status.Rollout; record != nil {
		return record.Cause
	}
	return ""
}

// withCause puts the cause before a message, if it is known.
func withCause(p *pass, message string) string { return because(cause(p), message) }

func because(cause, message string) string {
	if cause == "" {
		return message
	}
	return fmt.Sprintf("%s; %s", cause, message)
}
