package cli

import (
	"bytes"
	"os"
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
		"NoSuchValue":    {reason: "So does one about the value of a flag.", args: []string{"undo", "workers", "--to", "first"}, want: `--to is "first", and must be a number: see "slipway undo --help"`},
		"NoSuchDuration": {reason: "The error names what a value looks like.", args: []string{"simulate", "workers", "--length", "long"}, want: `--length is "long", and must be a duration, such as 10m`},
		"One":            {reason: "One argument is no plural.", args: []string{"diff", "workers"}, want: `1 argument given: use`},
		"TwoPools":       {reason: "The error says what the argument is.", args: []string{"status", "a", "b"}, want: `2 arguments given, and "slipway status" takes at most one, the name of a pool`},
		"Unset":          {reason: "A variable of a script may be empty.", args: []string{"status", ""}, want: `POOL is empty: see "slipway status --help"`},
		"UnsetOne":       {reason: "A variable of a script may be empty.", args: []string{"diff", "workers", "1", " "}, want: "VERSION is empty"},
		"NoSuchShell":    {reason: "A typo must not count as success.", args: []string{"completion", "tcsh"}, want: `unknown command "tcsh" for "slipway completion"`},
		"NoSuchHelp":     {reason: "A typo must not count as success.", args: []string{"help", "rollout", "puase"}, want: `unknown command "puase" for "slipway rollout"`},
		"Check":          {reason: "Other programs call it so.", args: []string{"check"}, want: `did you mean "preflight"`},
		"Doctor":         {reason: "Doctor is another name of preflight.", args: []string{"doctor", "--output", "none"}, want: "--output"},
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
	_, err = (&kubeconfigFlags{kubeconfig: missing}).config()
	if want := "finding the management cluster: there is no kubeconfig at " + missing; err == nil || err.Error() != want {
		t.Errorf("with --kubeconfig: got error %v, want %s", err, want)
	}
}

// TestNoContext checks that the error names a context that the kubeconfig lacks, and where the names are.
func TestNoContext(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a}}]\nclusters: [{name: a, cluster: {server: https://127.0.0.1}}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (&kubeconfigFlags{kubeconfig: file, kubeContext: "nope"}).config()
	if want := `the kubeconfig has no context "nope": "kubectl config get-contexts" lists the contexts`; err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// TestNamespaceFlag checks that a name that no namespace can have is refused before anything is read.
func TestNamespaceFlag(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"bad ns", "a/b", "UPPER"} {
		if _, err := (&kubeconfigFlags{}).namespaceOr(name); err == nil || !strings.Contains(err.Error(), "no namespace can have this name") {
			t.Errorf("namespace %q: got error %v", name, err)
		}
	}
}
