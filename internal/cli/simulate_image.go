//go:build image

package cli

import (
	"errors"

	"github.com/spf13/cobra"
)

// errNotInImage is the answer to `slipway simulate` in the image. The simulated AWS would be a tenth
// of the memory of a manager, whose program is in memory as a whole.
var errNotInImage = errors.New("the program of the image does not contain the simulated AWS. Use `kubectl slipway simulate`, or slipway of the release")

func newSimulateCommand(preparation) *cobra.Command {
	return &cobra.Command{
		Use:   "simulate",
		Short: "Say where an edit can be performed in a simulated AWS",
		// Flags of the command that this stands for are no errors of the user's.
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return errNotInImage },
	}
}
