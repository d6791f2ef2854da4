package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newGroupCommand returns a command that only has subcommands. It refuses the name of a subcommand that
// does not exist: a script must not take the help for success.
func newGroupCommand(use, short string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
}

// namedArgs requires one argument for each word in capitals of the command's usage.
func namedArgs(command *cobra.Command, args []string) error {
	_, names, _ := strings.Cut(command.Use, " ")
	if len(args) == len(strings.Fields(names)) {
		return nil
	}
	usage := command.CommandPath() + " " + names
	return fmt.Errorf("%d arguments given: use %q, and see %q", len(args), usage, command.CommandPath()+" --help")
}
