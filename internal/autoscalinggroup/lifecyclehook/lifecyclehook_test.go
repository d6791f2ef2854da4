package lifecyclehook

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/sdkmembers"
)

func hook(name string) Hook {
	return Of([]infrav1.AWSLifecycleHook{{Name: name, LifecycleTransition: infrav1.LifecycleTransitionInstanceTerminating}})[0]
}

// TestEveryMemberIsDecided fails when the SDK has a member of the request that no pool can set.
func TestEveryMemberIsDecided(t *testing.T) {
	t.Parallel()
	spec := sdkmembers.Filled[infrav1.AWSMachinePoolSpec]()
	for _, complaint := range sdkmembers.Undecided(nil, hookInput("pool", Of(spec.LifecycleHooks)[0], Hook{})) {
		t.Error(complaint)
	}
}

// TestChanges holds that hooks of others stay, and that ours come and go.
func TestChanges(t *testing.T) {
	t.Parallel()
	ours, theirs, other := hook("ours"), hook("theirs"), hook("ours")
	other.Heartbeat = 60
	for _, row := range []struct {
		reason  string
		wanted  []Hook
		retired []string
		present []Hook
		want    []string
	}{
		{"none", nil, nil, []Hook{theirs}, nil},
		{"as wanted", []Hook{ours}, []string{"ours"}, []Hook{ours, theirs}, nil},
		{"missing", []Hook{ours}, []string{"ours"}, []Hook{theirs}, []string{"put lifecycle hook ours"}},
		{"changed outside", []Hook{ours}, []string{"ours"}, []Hook{other}, []string{"put lifecycle hook ours"}},
		{"retired", nil, []string{"ours", "gone"}, []Hook{ours, theirs}, []string{"deleted lifecycle hook ours", "deleted lifecycle hook gone"}},
	} {
		var got []string
		for _, change := range Changes(row.wanted, row.retired, row.present) {
			got = append(got, change.Effect())
		}
		if difference := cmp.Diff(row.want, got); difference != "" {
			t.Errorf("%s (-want +got):\n%s", row.reason, difference)
		}
	}
}

// TestWithGroup holds which hooks are created together with their group.
func TestWithGroup(t *testing.T) {
	t.Parallel()
	leaving, coming, told := hook("a"), hook("b"), hook("c")
	coming.Transition = "autoscaling:EC2_INSTANCE_LAUNCHING"
	told.TargetARN, told.Transition = "arn:aws:sqs:us-east-1:111122223333:one", coming.Transition
	for reason, row := range map[string]struct{ given, want []Hook }{
		"none":                         {},
		"alike in whom they tell":      {[]Hook{leaving, coming}, []Hook{leaving, coming}},
		"those of launches come first": {[]Hook{leaving, told}, []Hook{told}},
		"the first of launches":        {[]Hook{coming, leaving, told}, []Hook{coming, leaving}},
	} {
		if difference := cmp.Diff(row.want, WithGroup(row.given)); difference != "" {
			t.Errorf("%s:\n%s", reason, difference)
		}
	}
	if Digest([]Hook{leaving}) == Digest([]Hook{coming}) || Digest([]Hook{leaving}) != Digest([]Hook{hook("a")}) {
		t.Error("a digest is that of its hooks, and of no others")
	}
}
