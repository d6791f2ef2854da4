package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImageLeavesOutTheSimulatedAWS holds that the program of the image, with the tags that it is built
// with, does not contain the simulated AWS. A manager would keep it in memory.
func TestImageLeavesOutTheSimulatedAWS(t *testing.T) {
	config, err := os.ReadFile("../../.ko.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tags := regexp.MustCompile(`id: slipway, .*"(-tags=[^"]+)"`).FindSubmatch(config)
	if tags == nil {
		t.Fatal(".ko.yaml has no tags for slipway")
	}
	const simulator = "github.com/slipway-project/slipway/awssim"
	for _, row := range []struct {
		reason string
		flags  []string
		want   bool
	}{
		{reason: "users have `slipway simulate`", want: true},
		{reason: "the image does not", flags: []string{string(tags[1])}, want: false},
	} {
		arguments := slices.Concat([]string{"list", "-deps"}, row.flags, []string{"."})
		packages, err := exec.CommandContext(t.Context(), "go", arguments...).Output() // #nosec G204 -- the tags of .ko.yaml
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(strings.Fields(string(packages)), simulator); got != row.want {
			t.Errorf("%s: the program contains the simulated AWS: %v, want %v", row.reason, got, row.want)
		}
	}
}
