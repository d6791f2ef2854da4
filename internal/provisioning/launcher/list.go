package launcher

import (
	"fmt"
	"slices"
	"strings"
)

// mostListed bounds how many names a message lists.
const mostListed = 5

// List returns names as a list in a sentence, with a word before the last. Of many it names the
// first, and says how many there are.
func List(names []string, word string) string {
	if more := len(names) - mostListed; more > 1 {
		names = append(slices.Clone(names[:mostListed]), fmt.Sprintf("%d more", more))
	}
	if len(names) < 3 {
		return strings.Join(names, " "+word+" ")
	}
	return fmt.Sprintf("%s, %s %s", strings.Join(names[:len(names)-1], ", "), word, names[len(names)-1])
}
