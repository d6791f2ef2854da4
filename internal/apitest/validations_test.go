package apitest

import (
	"errors"
	"testing"
)

// TestValidationsOnce holds that what was found valid is not validated again, and that a mistake is
// found each time.
func TestValidationsOnce(t *testing.T) {
	t.Parallel()
	mistake := errors.New("a mistake")
	var known validations
	for _, row := range []struct {
		reason    string
		input     []any
		answer    error
		validates bool
	}{
		{"new", []any{"a", map[string]any{"b": 1}}, nil, true},
		{"known to be valid", []any{"a", map[string]any{"b": 1}}, mistake, false},
		{"other", []any{"a", map[string]any{"b": 2}}, mistake, true},
		{"known to have a mistake", []any{"a", map[string]any{"b": 2}}, nil, true},
	} {
		validates := false
		err := known.once(func() error { validates = true; return row.answer }, row.input...)
		if validates != row.validates || validates && !errors.Is(err, row.answer) || !validates && err != nil {
			t.Errorf("%s: validates %t, %v", row.reason, validates, err)
		}
	}
}
