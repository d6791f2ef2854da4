package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slipway-project/slipway/internal/terminal"
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
	if words := strings.Fields(names); len(args) == len(words) {
		return notEmpty(command, args, words)
	}
	usage := command.CommandPath() + " " + names
	return fmt.Errorf("%s given: use %q, and see %q", terminal.Counted(len(args), "argument"), usage, command.CommandPath()+" --help")
}

// atMostOne allows one argument, which is the name of a pool.
func atMostOne(command *cobra.Command, args []string) error {
	if len(args) > 1 {
		return seeHelp(command, fmt.Errorf("%s given, and %q takes at most one, the name of a pool", terminal.Counted(len(args), "argument"), command.CommandPath()))
	}
	return notEmpty(command, args, []string{"POOL"})
}

// notEmpty refuses empty arguments, which a variable of a script that is not set leaves.
func notEmpty(command *cobra.Command, args, words []string) error {
	for i, word := range words {
		if i < len(args) && strings.TrimSpace(args[i]) == "" {
			return seeHelp(command, fmt.Errorf("%s is empty", word))
		}
	}
	return nil
}

// expected are the values of flags by their types.
var expected = map[string]string{
	"bool": "true or false", "duration": "a duration, such as 10m", "int": "a number", "int32": "a number", "int64": "a number",
}

// flagError returns an error about the flags of a command. An error of a value has the wanted value rather than the
// function that did not read it.
func flagError(command *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		flag := invalid.GetFlag()
		if want := expected[flag.Value.Type()]; want != "" {
			err = fmt.Errorf("--%s is %.64q, and must be %s", flag.Name, invalid.GetValue(), want)
		}
	}
	return seeHelp(command, err)
}

// completeDefaults has the commands that cobra adds refuse what they do not know.
func completeDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, command := range root.Commands() {
		switch command.Name() {
		case "completion":
			command.Args = NoArgs
			command.RunE = func(command *cobra.Command, _ []string) error { return command.Help() }
		case "help":
			command.Run = nil
			command.RunE = func(command *cobra.Command, args []string) error {
				about, rest, err := command.Root().Find(args)
				if err != nil {
					return err
				}
				if len(rest) > 0 && about.HasSubCommands() {
					return NoArgs(about, rest)
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		}
	}
}
