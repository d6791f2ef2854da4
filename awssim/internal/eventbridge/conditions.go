package eventbridge

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// This file has the comparison operators of event patterns. For the words of errors see pattern.go.

// condition is met by a value of an event, or by whether there is one.
type condition struct {
	met    func(value any) bool
	exists *bool
}

// parseCondition reads one element of a list: a value, or an object that has one operator.
func parseCondition(raw any) (condition, error) {
	switch raw := raw.(type) {
	case []any:
		return condition{}, errors.New("Match value must be String, number, true, false, or null") //nolint:staticcheck // AWS's words
	case map[string]any:
		if len(raw) != 1 {
			return condition{}, errors.New("Only one key allowed in match expression") //nolint:staticcheck // AWS's words
		}
		for operator, operand := range raw {
			return parseOperator(operator, operand)
		}
	}
	return condition{met: func(value any) bool { return value == raw }}, nil
}

func parseOperator(operator string, operand any) (condition, error) {
	switch operator {
	case "exists":
		exists, isBool := operand.(bool)
		if !isBool {
			return condition{}, errors.New("exists match pattern must be either true or false.") //nolint:staticcheck // AWS's words
		}
		return condition{exists: &exists}, nil
	case "anything-but":
		return parseAnythingBut(operand)
	case "numeric":
		return parseNumeric(operand)
	case "cidr":
		return parseCIDR(operand)
	case "prefix", "suffix":
		if below, isObject := operand.(map[string]any); isObject && len(below) == 1 && below["equals-ignore-case"] != nil {
			return textOperator(operator+" ignoring case", operator, below["equals-ignore-case"])
		}
	}
	if textOperators[operator] == nil {
		return condition{}, fmt.Errorf("Unrecognized match type %s", operator) //nolint:staticcheck // AWS's words
	}
	return textOperator(operator, operator, operand)
}

// textOperators compare a text of an event with one of a pattern.
var textOperators = map[string]func(value, pattern string) bool{
	"prefix":             strings.HasPrefix,
	"suffix":             strings.HasSuffix,
	"equals-ignore-case": strings.EqualFold,
	"wildcard":           like,
	"prefix ignoring case": func(value, pattern string) bool {
		return strings.HasPrefix(strings.ToLower(value), strings.ToLower(pattern))
	},
	"suffix ignoring case": func(value, pattern string) bool {
		return strings.HasSuffix(strings.ToLower(value), strings.ToLower(pattern))
	},
}

// textOperator returns the condition of the operator compare, which patterns call name.
func textOperator(compare, name string, operand any) (condition, error) {
	pattern, isText := operand.(string)
	if !isText {
		return condition{}, fmt.Errorf("%s match pattern must be a string", name)
	}
	if at := strings.Index(pattern, "**"); name == "wildcard" && at >= 0 {
		return condition{}, fmt.Errorf("Consecutive wildcard characters at pos %d", at+1) //nolint:staticcheck // AWS's words
	}
	return condition{met: func(value any) bool {
		text, isText := value.(string)
		return isText && textOperators[compare](text, pattern)
	}}, nil
}

// like compares with a pattern in which * stands for any characters. Each part between stars is
// looked for behind the one before, so that it takes no longer than both texts together allow.
func like(value, pattern string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return value == pattern
	}
	value, fits := strings.CutPrefix(value, parts[0])
	if !fits {
		return false
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		_, behind, found := strings.Cut(value, part)
		if !found {
			return false
		}
		value = behind
	}
	return strings.HasSuffix(value, last)
}

// parseAnythingBut reads a value, a list of values, or an object with one operator on texts.
func parseAnythingBut(operand any) (condition, error) {
	operator, values := "", []any{operand}
	if below, isObject := operand.(map[string]any); isObject {
		if len(below) != 1 {
			return condition{}, errors.New("Only one key allowed in match expression") //nolint:staticcheck // AWS's words
		}
		for operator, operand = range below {
			if textOperators[operator] == nil {
				return condition{}, fmt.Errorf("Unsupported anything-but pattern: %s", operator) //nolint:staticcheck // AWS's words
			}
		}
		values = []any{operand}
	}
	if list, isList := operand.([]any); isList {
		values = list
	}
	if len(values) == 0 {
		return condition{}, errors.New("Empty arrays are not allowed") //nolint:staticcheck // AWS's words
	}
	excluded := make([]condition, 0, len(values))
	for _, value := range values {
		c, err := parseExcluded(operator, value)
		if err != nil {
			return condition{}, err
		}
		excluded = append(excluded, c)
	}
	return condition{met: func(value any) bool {
		return !slices.ContainsFunc(excluded, func(c condition) bool { return c.met(value) })
	}}, nil
}

func parseExcluded(operator string, value any) (condition, error) {
	switch value.(type) {
	case string:
		if value == "" && (operator == "prefix" || operator == "suffix") {
			return condition{}, errors.New("Null prefix/suffix not allowed") //nolint:staticcheck // AWS's words
		}
	case float64:
	default:
		return condition{}, errors.New("Value of anything-but must be an array or single string/number value.") //nolint:staticcheck // AWS's words
	}
	if operator == "" {
		return condition{met: func(other any) bool { return other == value }}, nil
	}
	return textOperator(operator, operator, value)
}

// comparisons are the operators of numeric.
var comparisons = map[string]func(a, b float64) bool{
	"=":  func(a, b float64) bool { return a == b },
	"<":  func(a, b float64) bool { return a < b },
	"<=": func(a, b float64) bool { return a <= b },
	">":  func(a, b float64) bool { return a > b },
	">=": func(a, b float64) bool { return a >= b },
}

// parseNumeric reads an operator and a number, or the bottom of a range and its top: [">", 0, "<=", 5].
func parseNumeric(operand any) (condition, error) {
	list, isList := operand.([]any)
	if !isList {
		return condition{}, errors.New("Value of numeric must be an array.") //nolint:staticcheck // AWS's words
	}
	if len(list) == 0 {
		return condition{}, errors.New("Invalid member in numeric match: ]") //nolint:staticcheck // AWS's words
	}
	first, bottom, err := comparison(list)
	if err != nil {
		return condition{}, err
	}
	if len(list) == 2 {
		return numeric(func(n float64) bool { return comparisons[first](n, bottom) }), nil
	}
	if !strings.HasPrefix(first, ">") {
		return condition{}, errors.New("Too many elements in numeric expression") //nolint:staticcheck // AWS's words
	}
	second, top, err := comparison(list[2:])
	switch {
	case err != nil:
		return condition{}, err
	case !strings.HasPrefix(second, "<"):
		return condition{}, fmt.Errorf("Bad numeric range operator: %s", second) //nolint:staticcheck // AWS's words
	case top <= bottom:
		return condition{}, errors.New("Bottom must be less than top") //nolint:staticcheck // AWS's words
	case len(list) > 4:
		return condition{}, errors.New("Too many terms in numeric range expression") //nolint:staticcheck // AWS's words
	}
	return numeric(func(n float64) bool { return comparisons[first](n, bottom) && comparisons[second](n, top) }), nil
}

func numeric(met func(float64) bool) condition {
	return condition{met: func(value any) bool {
		n, isNumber := value.(float64)
		return isNumber && met(n)
	}}
}

// comparison reads an operator and its number.
func comparison(list []any) (operator string, number float64, err error) {
	operator, isText := list[0].(string)
	if !isText {
		return "", 0, fmt.Errorf("Invalid member in numeric match: %v", list[0]) //nolint:staticcheck // AWS's words
	}
	if comparisons[operator] == nil {
		return "", 0, fmt.Errorf("Unrecognized numeric range operator: %s", operator) //nolint:staticcheck // AWS's words
	}
	isNumber := false
	if len(list) > 1 {
		number, isNumber = list[1].(float64)
	}
	if !isNumber {
		return "", 0, fmt.Errorf("Value of %s must be numeric", cmp.Or(map[string]string{"=": "equals"}[operator], operator)) //nolint:staticcheck // AWS's words
	}
	return operator, number, nil
}

func parseCIDR(operand any) (condition, error) {
	text, isText := operand.(string)
	if !isText {
		return condition{}, errors.New("prefix match pattern must be a string")
	}
	address, bits, hasBits := strings.Cut(text, "/")
	if !hasBits {
		return condition{}, errors.New("Malformed CIDR, one '/' required") //nolint:staticcheck // AWS's words
	}
	if _, err := strconv.Atoi(bits); err != nil {
		return condition{}, errors.New("Malformed CIDR, mask bits must be an integer") //nolint:staticcheck // AWS's words
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return condition{}, fmt.Errorf("Nonstandard IP address: %s", address) //nolint:staticcheck // AWS's words
	}
	return condition{met: func(value any) bool {
		text, _ := value.(string)
		ip, err := netip.ParseAddr(text)
		return err == nil && prefix.Contains(ip)
	}}, nil
}
