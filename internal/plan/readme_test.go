package plan

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadme holds that the plan in README.md is what the command prints.
func TestReadme(t *testing.T) {
	content, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	const command = "$ slipway plan workers --set spec.awsLaunchTemplate.instanceType=m5.xlarge\n"
	_, shown, found := strings.Cut(string(content), command)
	shown, _, _ = strings.Cut(shown, "```")
	if !found {
		t.Fatalf("README.md does not show %s", command)
	}
	r := newRig(t)
	r.running()
	edited := r.stored()
	edited.Spec.AWSLaunchTemplate.InstanceType = "m5.xlarge"
	printed := &strings.Builder{}
	r.do(Print(printed, r.plan(edited)))
	if diff := cmp.Diff(printed.String(), shown); diff != "" {
		t.Errorf("README.md shows another plan: -printed +shown\n%s", diff)
	}
}
