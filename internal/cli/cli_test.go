package cli

import (
	"bytes"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

var update = flag.Bool("update", false, "write the printed output into docs/reference/cli.md instead of comparing it")

// execute runs a command line and returns what it prints.
func execute(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	command, output := New(), &bytes.Buffer{}
	command.SetArgs(arguments)
	command.SetOut(output)
	command.SetErr(output)
	err := command.ExecuteContext(t.Context())
	return output.String(), err
}

// TestControllersAreNoUsersCommands holds that the plugin of kubectl starts no controllers, which only the
// program adds.
func TestControllersAreNoUsersCommands(t *testing.T) {
	t.Parallel()
	has := func(command *cobra.Command, name string) bool {
		return slices.ContainsFunc(command.Commands(), func(child *cobra.Command) bool { return child.Name() == name })
	}
	manager := &cobra.Command{Use: "manager"}
	if plugin := New(); has(plugin, "manager") || !has(plugin, "plan") {
		t.Error("the plugin must have the command plan, and no command manager")
	}
	if program := New(manager); !has(program, "manager") || !has(program, "plan") {
		t.Error("the program must have the commands plan and manager")
	}
}

// TestPluginNamesItself holds that the help of kubectl's plugin names commands that its user can run.
func TestPluginNamesItself(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"plan": {"  kubectl slipway plan -f pool.yaml\n", "| kubectl slipway plan -f - -o json\n", "Usage:\n  kubectl slipway plan "},
		"undo": {`remove the pin with "kubectl slipway unpin".` + "\n\nThe command shows the plan", `as` + "\n" + `"kubectl slipway plan" does`},
	} {
		command, out := New(), &bytes.Buffer{}
		showAsPlugin(command)
		command.SetOut(out)
		command.SetArgs([]string{name, "--help"})
		if err := command.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("the help of %s lacks %q:\n%s", name, part, out)
			}
		}
	}
}

// TestExplained holds that an error is printed with what a user can act on, and without what Go's packages add.
func TestExplained(t *testing.T) {
	unanswered := refused(t)
	got := errorText(fmt.Errorf("reading AWSMachinePool %q: failed to get server groups: %w", "workers", unanswered))
	if !strings.HasPrefix(got, "The API server at 127.0.0.1:") || !strings.HasSuffix(got, " refuses connections. Check the kubeconfig, its context, and the network") {
		t.Errorf("an API server that does not answer: got %q", got)
	}
	denied := apierrors.NewUnauthorized("the server has asked for the client to provide credentials")
	if got, want := errorText(fmt.Errorf("reading: %w", denied)), "reading: the server has asked for the client to provide credentials. Check the credentials in the kubeconfig"; got != want {
		t.Errorf("credentials that are not accepted: got %q, want %q", got, want)
	}
	unserved := &meta.NoKindMatchError{GroupKind: infrav1.GroupVersion.WithKind("AWSMachinePool").GroupKind(), SearchedVersions: []string{"v1beta2"}}
	if got, want := errorText(fmt.Errorf("listing: %w", unserved)), "this cluster has no CustomResourceDefinition of AWSMachinePool: install Slipway, or choose the management cluster with --context"; got != want {
		t.Errorf("a cluster without Slipway: got %q, want %q", got, want)
	}
	call := fmt.Errorf("describing versions: %w", &smithy.OperationError{ServiceID: "EC2", OperationName: "DescribeLaunchTemplateVersions", Err: unanswered})
	if got, want := errorText(call), "describing versions: DescribeLaunchTemplateVersions: AWS could not be reached or gave no answer"; got != want {
		t.Errorf("AWS that does not answer: got %q, want %q", got, want)
	}
}
