package constraints_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	provisioningv1 "github.com/slipway-project/slipway/api/provisioning/v1alpha2"
	"github.com/slipway-project/slipway/internal/provisioning/constraints"
)

// TestAllowedLaunchTemplates holds which launch templates pods may name, and the reason that other
// pods get.
func TestAllowedLaunchTemplates(t *testing.T) {
	t.Parallel()
	templates := constraints.Templates{
		{Name: "web", Version: "latest"}:       {Name: "web", Version: 7, Architecture: "amd64", InstanceProfile: "nodes"},
		{Name: "web", Version: "3"}:            {Name: "web", Version: 3, Architecture: "amd64", InstanceProfile: "admin"},
		{Name: "team-a", Version: "latest"}:    {Name: "team-a", Version: 1, Architecture: "amd64", Tags: map[string]string{"team": "a", "env": "prod"}},
		{Name: "admin", Version: "latest"}:     {Name: "admin", Version: 1, Architecture: "amd64", InstanceProfile: "arn:aws:iam::111122223333:instance-profile/ops/admin"},
		{Name: "gone", Version: "latest"}:      {Problem: "EC2 has no launch template of that name"},
		{ID: "lt-01234567", Version: "latest"}: {Name: "web", Version: 7, Architecture: "amd64"},
	}
	const (
		refused = "which spec.allowedLaunchTemplates of Provisioner default does not allow"
		web     = `{nodeSelector: {node.k8s.aws/launch-template-name: web}}`
		webAt3  = `{nodeSelector: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3"}}`
		webAt7  = `{nodeSelector: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "7"}}`
		team    = `{nodeSelector: {node.k8s.aws/launch-template-name: team-a}}`
		admin   = `{nodeSelector: {node.k8s.aws/launch-template-name: admin}}`
	)
	for _, row := range []struct {
		reason, provisioner, pod string
		from, says               string
	}{
		{"none unless the provisioner says so", `{}`, web, "", refused},
		{"by its name", `{allowedLaunchTemplates: {names: [web]}}`, web, "web 7", ""},
		{"by another name", `{allowedLaunchTemplates: {names: [we, web2]}}`, web, "", refused},
		{"by a prefix", `{allowedLaunchTemplates: {prefixes: [team-]}}`, team, "team-a 1", ""},
		{"by another prefix", `{allowedLaunchTemplates: {prefixes: [teams-]}}`, team, "", refused},
		{"by a tag", `{allowedLaunchTemplates: {tags: {team: a}}}`, team, "team-a 1", ""},
		{"by all tags", `{allowedLaunchTemplates: {tags: {team: a, env: test}}}`, team, "", refused},
		{"without the tags", `{allowedLaunchTemplates: {tags: {team: a}}}`, web, "", refused},
		{"by any of the three", `{allowedLaunchTemplates: {names: [other], tags: {team: a}}}`, team, "team-a 1", ""},
		{"any version of it", `{allowedLaunchTemplates: {names: [web]}}`, webAt3, "web 3", ""},
		{"with a profile that is allowed", `{allowedLaunchTemplates: {names: [web], instanceProfiles: [node*]}}`, web, "web 7", ""},
		{"a version with another profile", `{allowedLaunchTemplates: {names: [web], instanceProfiles: [node*]}}`, webAt3, "", "specifies launch template web, whose instance profile admin is not in spec.allowedLaunchTemplates.instanceProfiles of Provisioner default"},
		{"a profile by its ARN", `{allowedLaunchTemplates: {names: [admin], instanceProfiles: ["arn:aws:iam::*:instance-profile/ops/*"]}}`, admin, "admin 1", ""},
		{"a profile by the name in its ARN", `{allowedLaunchTemplates: {names: [admin], instanceProfiles: [admin]}}`, admin, "admin 1", ""},
		{"no profile", `{allowedLaunchTemplates: {names: [team-a], instanceProfiles: [nodes]}}`, team, "team-a 1", ""},
		{"the provisioner's own", `{labels: {node.k8s.aws/launch-template-name: web}}`, web, "web 7", ""},
		{"the provisioner's own by id", `{launchTemplateRef: {id: lt-01234567}}`, web, "web 7", ""},
		{"the provisioner's own version", `{launchTemplateRef: {id: lt-01234567}}`, webAt7, "web 7", ""},
		{"another version of the provisioner's own", `{launchTemplateRef: {id: lt-01234567}}`, webAt3, "", refused},
		{"the version that the provisioner has, where the pod names none",
			`{labels: {node.k8s.aws/launch-template-name: web, node.k8s.aws/launch-template-version: "3"}}`, web, "web 3", ""},
		{"the default one", `{}`, `{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
			{matchExpressions: [{key: node.k8s.aws/launch-template-name, operator: DoesNotExist}]}]}}}}`, "", ""},
		{"one that is not there", `{allowedLaunchTemplates: {names: [gone]}}`, `{nodeSelector: {node.k8s.aws/launch-template-name: gone}}`, "", "EC2 has no launch template of that name"},
		{"one that is not there, by tags", `{allowedLaunchTemplates: {tags: {a: b}}}`, `{nodeSelector: {node.k8s.aws/launch-template-name: gone}}`, "", "EC2 has no launch template of that name"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			spec := decode[provisioningv1.ProvisionerSpec](t, row.provisioner)
			pod := decode[corev1.PodSpec](t, row.pod)
			provisioner := constraints.FromSpec("default", &spec)
			ways, reason := constraints.PodRequirements(&pod)
			if reason != "" {
				t.Fatal(reason)
			}
			ask, reason := constraints.Resolve(&provisioner, templates, ways[0])
			if (reason == "") != (row.says == "") || !strings.Contains(reason, row.says) {
				t.Errorf("the reason is %q, want %q", reason, row.says)
			}
			name, version := ask.Labels[provisioningv1.LabelLaunchTemplateName], ask.Labels[provisioningv1.LabelLaunchTemplateVersion]
			if got := strings.TrimSpace(name + " " + version); got != row.from {
				t.Errorf("it is launched from %q, want %q", got, row.from)
			}
		})
	}
}
