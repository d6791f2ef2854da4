package cli

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
)

// TestArguments checks the errors about the arguments of commands.
func TestArguments(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Missing":        {reason: "The error names what is missing.", args: []string{"tree"}, want: `0 arguments given: use "slipway tree CLUSTER", and see "slipway tree --help"`},
		"TooFew":         {reason: "The error names all that is needed.", args: []string{"diff", "workers"}, want: `use "slipway diff POOL VERSION VERSION"`},
		"TooMany":        {reason: "Arguments that are ignored would mislead.", args: []string{"undo", "workers", "3"}, want: `2 arguments given: use "slipway undo POOL"`},
		"NoSuchFlag":     {reason: "The error says where the flags are described.", args: []string{"status", "--namespaec", "blue"}, want: `unknown flag: --namespaec: see "slipway status --help"`},
		"NoSuchValue":    {reason: "So does one about the value of a flag.", args: []string{"undo", "workers", "--to", "first"}, want: `invalid syntax: see "slipway undo --help"`},
		"FlagOfMigrate":  {reason: "So does one of a command with exit codes of its own.", args: []string{"migrate", "capa", "--exceute"}, want: `unknown flag: --exceute: see "slipway migrate capa --help"`},
		"NoSuchCommand":  {reason: "The error names the nearest command.", args: []string{"stauts"}, want: `unknown command "stauts" for "slipway", did you mean "status": see "slipway --help"`},
		"Ignored":        {reason: "Arguments that are ignored would mislead.", args: []string{"version", "1"}, want: `"1" is an argument, and "slipway version" takes none: see "slipway version --help"`},
		"NoSuchRollout":  {reason: "A typo must not count as success.", args: []string{"rollout", "puase", "workers"}, want: `unknown command "puase" for "slipway rollout"`},
		"NoSuchPolicy":   {reason: "A typo must not count as success.", args: []string{"iam", "polcy"}, want: `unknown command "polcy" for "slipway iam"`},
		"NoSuchProvider": {reason: "A typo must not count as success.", args: []string{"migrate", "caap"}, want: `unknown command "caap" for "slipway migrate"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := New()
			command.SetArgs(test.args)
			command.SetOut(&bytes.Buffer{})
			if err := command.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s\nwant an error with %q, got %v", test.reason, test.want, err)
			}
		})
	}
}

// TestNoKubeconfig checks that the error names the file that was looked for.
func TestNoKubeconfig(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	t.Setenv("KUBECONFIG", missing)
	_, err := (&kubeconfigFlags{}).config()
	if err == nil || !strings.Contains(err.Error(), missing) || strings.Contains(err.Error(), "KUBERNETES_MASTER") {
		t.Errorf("want an error with %q, got %v", missing, err)
	}
}
