// Package optional owns members of requests to AWS that are left out where nothing is given.
package optional

// Text returns a text as a member of a request, nil if it is empty.
func Text(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
