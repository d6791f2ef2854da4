package ec2_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/smithy-go"

	"github.com/slipway-project/slipway/awssim/internal/wire"
	"github.com/slipway-project/slipway/awssim/oracle"
)

// documentedFilter is a line of a list of filters in the SDK's doc comments, such as "  - state -
// The state". A long name is on a line of its own, below the dash.
var documentedFilter = regexp.MustCompile(`(?m)^\s*-\s+([a-z][a-z0-9.-]*[a-z0-9])(?::| -|$| \()`)

// alias matches the sentence in the SDK's doc comments that names another spelling of a filter.
var alias = regexp.MustCompile(`(?s)[Yy]ou can also use (\w+)(?: or (\w+))? as the\s+filter names?`)

// documentedFilters returns the filters that the SDK documents for an action, or none if it has no filters.
func documentedFilters(t *testing.T, module, action string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(module, "api_op_"+action+".go"), nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != action+"Input" {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			if len(field.Names) != 1 || field.Names[0].Name != "Filters" && field.Names[0].Name != "Filter" {
				continue
			}
			for _, found := range documentedFilter.FindAllStringSubmatch(field.Doc.Text(), -1) {
				names = append(names, found[1])
			}
			for _, found := range alias.FindAllStringSubmatch(field.Doc.Text(), -1) {
				names = append(names, slices.DeleteFunc(found[1:], func(name string) bool { return name == "" })...)
			}
		}
		return false
	})
	return names
}

// notFilters lists values of filters, because the doc comments list them in the same form as
// filters.
var notFilters = map[string][]string{
	"DescribeCapacityReservations": {"default", "dedicated", "active", "expired", "cancelled", "pending", "failed", "unlimited", "limited", "open", "targeted"},
	"DescribeImages":               {"informational", "low", "medium", "high", "critical"},
}

// withFilter returns the input of an action with a filter and what else the action needs.
func withFilter(input reflect.Type, name string) reflect.Value {
	in := reflect.New(input)
	filters := []types.Filter{{Name: &name, Values: []string{"no such value"}}}
	for _, member := range []string{"Filters", "Filter"} {
		if f := in.Elem().FieldByName(member); f.IsValid() {
			f.Set(reflect.ValueOf(filters))
		}
	}
	if in, of := in.Interface().(*ec2.DescribeLaunchTemplateVersionsInput); of {
		in.LaunchTemplateName = aws.String("nodes")
	}
	return in
}

func describeBy(ctx context.Context, client *ec2.Client, action, filter string) error {
	method := reflect.ValueOf(client).MethodByName(action)
	in := withFilter(method.Type().In(1).Elem(), filter)
	err, _ := method.Call([]reflect.Value{reflect.ValueOf(ctx), in})[1].Interface().(error)
	return err
}

// TestDocumentedFiltersAreTaken holds that every filter that the SDK documents for an action is
// taken, and that another is refused.
func TestDocumentedFiltersAreTaken(t *testing.T) {
	t.Parallel()
	directory, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/aws/aws-sdk-go-v2/service/ec2").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	if _, err := r.ec2.CreateLaunchTemplate(t.Context(), &ec2.CreateLaunchTemplateInput{
		LaunchTemplateName: aws.String("nodes"), LaunchTemplateData: &types.RequestLaunchTemplateData{InstanceType: types.InstanceTypeT3Large},
	}); err != nil {
		t.Fatal(err)
	}
	invalid := func(err error) bool {
		var api smithy.APIError
		return errors.As(err, &api) && api.ErrorCode() == "InvalidParameterValue" && strings.Contains(api.ErrorMessage(), "filter")
	}
	actions, filters, refused := 0, 0, 0
	for _, action := range wire.Actions("ec2") {
		names := documentedFilters(t, strings.TrimSpace(string(directory)), action)
		var api smithy.APIError
		if action == "DescribeFleetInstances" {
			continue // it is not for instant fleets, and there are no others
		}
		if len(names) == 0 || errors.As(describeBy(t.Context(), r.ec2, action, names[0]), &api) && api.ErrorCode() == "InvalidAction" {
			continue // it has no filters, or no handler
		}
		actions++
		for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
			if slices.Contains(notFilters[action], name) {
				continue
			}
			if filters++; name == "tag" {
				name = "tag:owner"
			}
			if err := describeBy(t.Context(), r.ec2, action, name); invalid(err) {
				refused++
				t.Errorf("%s refuses the filter %s: %v", action, name, err)
			}
		}
		if err := describeBy(t.Context(), r.ec2, action, "no-such-filter"); !invalid(err) {
			t.Errorf("%s takes a filter that is not documented: %v", action, err)
		}
	}
	oracle.Report(t, oracle.Result{Oracle: "documented filters, each used once", Source: "the doc comments of aws-sdk-go-v2/service/ec2", Service: oracle.Name("ec2"), Cases: filters, Held: filters - refused})
	if actions < 15 || filters < 400 {
		t.Errorf("only %d filters of %d actions were found", filters, actions)
	}
}
