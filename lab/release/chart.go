package release

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// Charts are the names of the Helm charts of a release.
var Charts = []string{"slipway", "slipway-provisioner"}

// ChartFile returns the name of the file with a chart.
func ChartFile(chart string) string { return "chart-" + chart + ".tgz" }

// setting is a line of a chart's file that a release sets.
type setting struct {
	line  *regexp.Regexp
	value string
}

// WriteCharts writes the Helm charts of a release of the sources in root into directory. They have
// the version of the release, and their default image is the image of the release.
func WriteCharts(root, directory, image, version string) error {
	repository, tag, found := cutTag(image)
	if !found {
		return fmt.Errorf("image %q has no tag", image)
	}
	settings := map[string][]setting{
		"Chart.yaml": {
			{regexp.MustCompile(`(?m)^version: .*$`), "version: " + strings.TrimPrefix(version, "v")},
			{regexp.MustCompile(`(?m)^appVersion: .*$`), "appVersion: " + tag}, // the chart's default for the tag of the image
		},
		"values.yaml": {{regexp.MustCompile(`(?m)^  repository: slipway$`), "  repository: " + repository}},
	}
	for _, chart := range Charts {
		files, err := readTree(filepath.Join(root, "charts", chart), chart)
		if err != nil {
			return err
		}
		for i := range files {
			for _, setting := range settings[path.Base(files[i].name)] {
				if lines := len(setting.line.FindAll(files[i].content, -1)); lines != 1 {
					return fmt.Errorf("chart file %s has %d lines of the form %s, want 1", files[i].name, lines, setting.line)
				}
				files[i].content = setting.line.ReplaceAllLiteral(files[i].content, []byte(setting.value))
			}
		}
		if err := writeArchive(filepath.Join(directory, ChartFile(chart)), files); err != nil {
			return err
		}
	}
	return nil
}
