package poolview

import (
	"regexp"
	"strings"
)

// Object references as Go prints them, alone and in a list. Cluster API has such events: SuccessfulSetNodeRefs
// of a MachinePool is the list of its Nodes (Cluster API: machinepool_controller_noderef.go).
var (
	reference  = regexp.MustCompile(`\{Kind:\S* Namespace:\S* Name:(\S*) UID:\S* APIVersion:\S* ResourceVersion:\S* FieldPath:[^}]*\}`)
	references = regexp.MustCompile(`\[(?:` + reference.String() + ` ?)+\]`)
)

// EventText returns the message of an event with the names of objects in place of what Go prints for a
// reference to them.
func EventText(message string) string {
	if message == "[]" {
		return "none"
	}
	message = references.ReplaceAllStringFunc(message, func(list string) string {
		var names []string
		for _, match := range reference.FindAllStringSubmatch(list, -1) {
			names = append(names, match[1])
		}
		return strings.Join(names, ", ")
	})
	return reference.ReplaceAllString(message, "$1")
}
