package eventbridge

import (
	"encoding/json"
	"strings"
	"testing"
)

const sample = `{"source": "aws.ec2", "resources": ["arn:a", "arn:b"], "detail": {"state": "running", "count": 5, "ip": "10.0.0.7", "flag": true, "none": null,
	"empty": [], "list": [{"x": 1, "y": 1}, {"x": 2, "y": 2}]}}`

func TestPatternsMatch(t *testing.T) {
	t.Parallel()
	var event any
	if err := json.Unmarshal([]byte(sample), &event); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		reason, pattern string
		want            bool
	}{
		{"a value of the list", `{"source": ["aws.s3", "aws.ec2"]}`, true},
		{"no value of the list", `{"source": ["aws.s3"]}`, false},
		{"one of an array's elements", `{"resources": ["arn:b"]}`, true},
		{"all fields must match", `{"source": ["aws.ec2"], "detail": {"state": ["stopped"]}}`, false},
		{"a number", `{"detail": {"count": [5.0]}}`, true},
		{"a text is no number", `{"detail": {"count": ["5"]}}`, false},
		{"true and null", `{"detail": {"flag": [true], "none": [null]}}`, true},
		{"null is not what is missing", `{"detail": {"missing": [null]}}`, false},
		{"a prefix", `{"detail": {"state": [{"prefix": "run"}]}}`, true},
		{"a prefix in another case", `{"detail": {"state": [{"prefix": "RUN"}]}}`, false},
		{"a prefix in any case", `{"detail": {"state": [{"prefix": {"equals-ignore-case": "RUN"}}]}}`, true},
		{"a suffix", `{"detail": {"state": [{"suffix": "ing"}]}}`, true},
		{"any case", `{"detail": {"state": [{"equals-ignore-case": "RUNNING"}]}}`, true},
		{"a wildcard", `{"detail": {"state": [{"wildcard": "r*n*g"}]}}`, true},
		{"a wildcard whose end overlaps", `{"detail": {"state": [{"wildcard": "running*g"}]}}`, false},
		{"anything but", `{"detail": {"state": [{"anything-but": ["stopped", "pending"]}]}}`, true},
		{"anything but what it is", `{"detail": {"state": [{"anything-but": "running"}]}}`, false},
		{"anything but a prefix", `{"detail": {"state": [{"anything-but": {"prefix": "run"}}]}}`, false},
		{"anything but a list of suffixes", `{"detail": {"state": [{"anything-but": {"suffix": ["ed"]}}]}}`, true},
		{"anything but needs a value", `{"detail": {"missing": [{"anything-but": "a"}]}}`, false},
		{"exists", `{"detail": {"state": [{"exists": true}]}}`, true},
		{"an object is no value", `{"detail": [{"exists": true}]}`, false},
		{"does not exist", `{"detail": {"missing": {"below": [{"exists": false}]}}}`, true},
		{"an empty array has no value", `{"detail": {"empty": [{"exists": false}]}}`, true},
		{"a range", `{"detail": {"count": [{"numeric": [">", 0, "<=", 5]}]}}`, true},
		{"beyond a range", `{"detail": {"count": [{"numeric": [">", 0, "<", 5]}]}}`, false},
		{"equal", `{"detail": {"count": [{"numeric": ["=", 5]}]}}`, true},
		{"an address", `{"detail": {"ip": [{"cidr": "10.0.0.0/24"}]}}`, true},
		{"another network", `{"detail": {"ip": [{"cidr": "10.0.1.0/24"}]}}`, false},
		{"one object of an array", `{"detail": {"list": {"x": [2], "y": [2]}}}`, true},
		{"two objects of an array together", `{"detail": {"list": {"x": [1], "y": [2]}}}`, false},
		{"one of two alternatives", `{"$or": [{"source": ["aws.s3"]}, {"detail": {"count": [5]}}]}`, true},
		{"none of two alternatives", `{"$or": [{"source": ["aws.s3"]}, {"detail": {"count": [6]}}]}`, false},
	} {
		pattern, err := parsePattern(row.pattern)
		if err != nil {
			t.Errorf("%s: %v", row.reason, err)
			continue
		}
		if got := pattern.matches(event, true); got != row.want {
			t.Errorf("%s: %s matches: %t, want %t", row.reason, row.pattern, got, row.want)
		}
	}
}

func TestPatternsAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, pattern, want string }{
		{"no JSON", `{`, "no JSON"},
		{"no object", `[]`, "Filter is not an object"},
		{"nothing", `{}`, "Empty objects are not allowed"},
		{"a value that is no list", `{"source": "a"}`, `"source" must be an object or an array`},
		{"an empty list", `{"source": []}`, "Empty arrays are not allowed"},
		{"a list in a list", `{"source": [["a"]]}`, "Match value must be String, number, true, false, or null"},
		{"two operators", `{"source": [{"prefix": "a", "suffix": "b"}]}`, "Only one key allowed in match expression"},
		{"an operator that there is not", `{"source": [{"like": "a"}]}`, "Unrecognized match type like"},
		{"a prefix that is no text", `{"source": [{"prefix": 1}]}`, "prefix match pattern must be a string"},
		{"exists as a text", `{"source": [{"exists": "true"}]}`, "exists match pattern must be either true or false."},
		{"anything but null", `{"source": [{"anything-but": null}]}`, "Value of anything-but must be an array or single string/number value."},
		{"anything but no operator", `{"source": [{"anything-but": {"numeric": ["=", 1]}}]}`, "Unsupported anything-but pattern: numeric"},
		{"numeric without a list", `{"a": [{"numeric": 1}]}`, "Value of numeric must be an array."},
		{"numeric without a number", `{"a": [{"numeric": ["="]}]}`, "Value of equals must be numeric"},
		{"numeric from the top", `{"a": [{"numeric": ["<", 1, ">", 0]}]}`, "Too many elements in numeric expression"},
		{"a range upside down", `{"a": [{"numeric": [">", 2, "<", 1]}]}`, "Bottom must be less than top"},
		{"a range without an end", `{"a": [{"numeric": [">", 2, "<"]}]}`, "Value of < must be numeric"},
		{"a CIDR without bits", `{"a": [{"cidr": "10.0.0.0"}]}`, "Malformed CIDR, one '/' required"},
		{"two stars", `{"a": [{"wildcard": "a**b"}]}`, "Consecutive wildcard characters at pos 2"},
		{"too deep", strings.Repeat(`{"a":`, 200) + `["b"]` + strings.Repeat(`}`, 200), "nested more than"},
	} {
		if _, err := parsePattern(row.pattern); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v, want %q", row.reason, err, row.want)
		}
	}
}
