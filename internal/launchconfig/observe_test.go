package launchconfig

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/launchtemplate"
)

func TestRecordedVersions(t *testing.T) {
	t.Parallel()
	created := time.Date(2026, time.November, 21, 10, 0, 0, 0, time.UTC)
	recorded := func(number int64, config string) infrav1.LaunchTemplateVersionStatus {
		return infrav1.LaunchTemplateVersionStatus{Number: number, ConfigFingerprint: config, BootstrapFingerprint: "b", Created: metav1.NewTime(created)}
	}
	seen := func(number int64, config string, standard bool) launchtemplate.Version {
		return launchtemplate.Version{
			Number: number, Created: created, Default: standard, Fingerprints: launchtemplate.Fingerprints{Config: config, Bootstrap: "b"},
		}
	}
	for _, row := range []struct {
		reason   string
		status   func(*infrav1.AWSLaunchConfigStatus)
		template func(*launchtemplate.Template)
		believed bool
	}{
		{"the template is as status says", nil, nil, true},
		{"another template", nil, func(template *launchtemplate.Template) { template.ID = "lt-2" }, false},
		{"a newer version, created by another client or just before a crash", nil, func(template *launchtemplate.Template) { template.LatestVersion = 4 }, false},
		{"the default was moved", nil, func(template *launchtemplate.Template) { template.DefaultVersion = 2 }, false},
		{"the wanted version was not made the default yet", func(status *infrav1.AWSLaunchConfigStatus) { status.Version = 2 }, nil, false},
		{"status was lost in a move", func(status *infrav1.AWSLaunchConfigStatus) { *status = infrav1.AWSLaunchConfigStatus{} }, nil, false},
		{"status lists no more than it has room for", func(status *infrav1.AWSLaunchConfigStatus) {
			for len(status.Versions) < infrav1.MaxLaunchConfigStatusVersions {
				status.Versions = append(status.Versions, recorded(1, "x"))
			}
		}, nil, false},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			status := infrav1.AWSLaunchConfigStatus{
				LaunchTemplateID: "lt-1", Version: 3, DefaultVersion: 3,
				Versions: []infrav1.LaunchTemplateVersionStatus{recorded(3, "x"), recorded(2, "y")},
			}
			template := launchtemplate.Template{ID: "lt-1", LatestVersion: 3, DefaultVersion: 3}
			if row.status != nil {
				row.status(&status)
			}
			if row.template != nil {
				row.template(&template)
			}
			var want []launchtemplate.Version
			if row.believed {
				want = []launchtemplate.Version{seen(3, "x", true), seen(2, "y", false)}
			}
			if difference := cmp.Diff(want, recordedVersions(&status, template)); difference != "" {
				t.Errorf("%s (-want +got):\n%s", row.reason, difference)
			}
		})
	}
}
