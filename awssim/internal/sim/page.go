package sim

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Page returns up to size of the items behind the token, all of them if size is 0, and the token of
// the next page, nil after the last. key names an item. A token remembers the key of the last item
// and its position, so that a page continues behind the same item although others came or went
// meanwhile, or near it if it went itself. It reports false for a token that Page has not returned.
func Page[V any](items []V, token *string, size int, key func(V) string) (page []V, next *string, ok bool) {
	start := 0
	if token != nil && *token != "" {
		position, last, valid := readToken(*token)
		if !valid {
			return nil, nil, false
		}
		start = continueAt(items, position, last, key)
	}
	items = items[start:]
	if size == 0 || len(items) <= size {
		return items, nil, true
	}
	items = items[:size]
	text := writeToken(start+size, key(items[size-1]))
	return items, &text, true
}

func writeToken(position int, last string) string {
	return base64.URLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", position, last))
}

func readToken(token string) (position int, last string, ok bool) {
	raw, err := base64.URLEncoding.DecodeString(token)
	number, last, found := strings.Cut(string(raw), " ")
	position, numberErr := strconv.Atoi(number)
	return position, last, err == nil && found && numberErr == nil && position >= 0
}

func continueAt[V any](items []V, position int, last string, key func(V) string) int {
	if position > 0 && position <= len(items) && key(items[position-1]) == last {
		return position
	}
	if i := slices.IndexFunc(items, func(item V) bool { return key(item) == last }); i >= 0 {
		return i + 1
	}
	// The item is gone, so what came behind it has moved up by at least one.
	return min(max(position-1, 0), len(items))
}
