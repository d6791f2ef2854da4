package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newGroupCommand returns a command that only has subcommands. It refuses the name of a subcommand that
// does not exist: a script must not take the help for success.
func newGroupCommand(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
}

// seeHelp adds to an error about the usage of a command where the usage is described.
func seeHelp(command *cobra.Command, err error) error {
	return fmt.Errorf("%w: see %q", err, command.CommandPath()+" --help")
}

// NoArgs refuses arguments. An argument of a command that has subcommands names one that does not exist.
func NoArgs(command *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if !command.HasSubCommands() {
		return seeHelp(command, fmt.Errorf("%.64q is an argument, and %q takes none", args[0], command.CommandPath()))
	}
	err := fmt.Errorf("unknown command %.64q for %q", args[0], command.CommandPath())
	command.SuggestionsMinimumDistance = nearNames
	if near := command.SuggestionsFor(args[0]); len(near) > 0 {
		err = fmt.Errorf("%w, did you mean %q", err, near[0])
	}
	return seeHelp(command, err)
}

// nearNames is in how many letters the name of a command may differ from a typo for it.
const nearNames = 2

// namedArgs requires one argument for each word in capitals of the command's usage.
func namedArgs(command *cobra.Command, args []string) error {
	_, names, _ := strings.Cut(command.Use, " ")
	if len(args) == len(strings.Fields(names)) {
		return nil
	}
	usage := command.CommandPath() + " " + names
	return fmt.Errorf("%d arguments given: use %q, and see %q", len(args), usage, command.CommandPath()+" --help")
}
