package awssim_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim"
)

func put(t testing.TB, c *ssm.Client, in ssm.PutParameterInput) (int64, error) {
	t.Helper()
	out, err := c.PutParameter(t.Context(), &in)
	if err != nil {
		return 0, err
	}
	return out.Version, nil
}

func TestParameterVersions(t *testing.T) {
	t.Parallel()
	c := ssm.NewFromConfig(serve(t, awssim.Options{}).config(key))
	name := aws.String("/app/image")
	for i, value := range []string{"ami-1", "ami-2", "ami-3"} {
		version, err := put(t, c, ssm.PutParameterInput{
			Name: name, Value: &value, Type: types.ParameterTypeString, DataType: aws.String("aws:ec2:image"), Overwrite: aws.Bool(i > 0),
		})
		if err != nil || version != int64(i+1) {
			t.Fatalf("writing %s: version %d, %v", value, version, err)
		}
	}
	rows := []struct{ reason, name, want, code string }{
		{"the newest", "/app/image", "ami-3", ""},
		{"by version", "/app/image:2", "ami-2", ""},
		{"by ARN", "arn:aws:ssm:us-east-1:" + account + ":parameter/app/image", "ami-3", ""},
		{"by ARN and version", "arn:aws:ssm:us-east-1:" + account + ":parameter/app/image:1", "ami-1", ""},
		{"a version that is not there", "/app/image:4", "", "ParameterVersionNotFound"},
		{"a label", "/app/image:prod", "", "ParameterVersionNotFound"},
		{"no such parameter", "/app/none", "", "ParameterNotFound"},
		{"an empty level", "/app//image", "", "ValidationException"},
		{"levels without a slash before them", "app/image", "", "ValidationException"},
		{"an empty level at the end", "/app/", "", "ValidationException"},
		{"a character that names do not have", "/app/im age", "", "ValidationException"},
		{"a reserved prefix", "/SSM/image", "", "ValidationException"},
		{"an ARN of no parameter", "arn:aws:ssm:us-east-1:" + account + ":parameter/app/none", "", "ParameterNotFound"},
		{"no name", "", "", "ValidationException"},
	}
	for _, row := range rows {
		out, err := c.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &row.name})
		if code(err) != row.code {
			t.Errorf("%s: got %v, want %q", row.reason, err, row.code)
			continue
		}
		if err == nil && (*out.Parameter.Value != row.want || *out.Parameter.Name != *name || !out.Parameter.LastModifiedDate.Equal(start)) {
			t.Errorf("%s: got %s = %s of %v", row.reason, *out.Parameter.Name, *out.Parameter.Value, out.Parameter.LastModifiedDate)
		}
	}
}

// TestParameterWithoutPath: a name and the same with a slash before it are one parameter.
func TestParameterWithoutPath(t *testing.T) {
	t.Parallel()
	c := ssm.NewFromConfig(serve(t, awssim.Options{}).config(key))
	if _, err := put(t, c, ssm.PutParameterInput{Name: aws.String("image"), Value: aws.String("ami-1"), Type: types.ParameterTypeString}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"image", "/image", "arn:aws:ssm:us-east-1:" + account + ":parameter/image"} {
		out, err := c.GetParameter(t.Context(), &ssm.GetParameterInput{Name: &name})
		if err != nil || *out.Parameter.Value != "ami-1" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := name
		if strings.HasPrefix(name, "arn:") {
			want = "image"
		}
		if *out.Parameter.Name != want {
			t.Errorf("%s is answered as %s, want %s", name, *out.Parameter.Name, want)
		}
		many := must[*ssm.GetParametersOutput](t)(c.GetParameters(t.Context(), &ssm.GetParametersInput{Names: []string{name}}))
		if len(many.Parameters) != 1 || *many.Parameters[0].Name != want {
			t.Errorf("%s among others is answered as %+v, want %s", name, many.Parameters, want)
		}
	}
	byPath := must[*ssm.GetParametersByPathOutput](t)(c.GetParametersByPath(t.Context(), &ssm.GetParametersByPathInput{Path: aws.String("/")}))
	if len(byPath.Parameters) != 1 || *byPath.Parameters[0].Name != "image" {
		t.Errorf("below / there is %+v, want the parameter", byPath.Parameters)
	}
	for _, filter := range []types.ParameterStringFilter{
		{Key: aws.String("Name"), Values: []string{"/image"}},
		{Key: aws.String("Name"), Option: aws.String("BeginsWith"), Values: []string{"/im"}},
		{Key: aws.String("Path"), Values: []string{"/"}},
	} {
		described := must[*ssm.DescribeParametersOutput](t)(c.DescribeParameters(t.Context(), &ssm.DescribeParametersInput{ParameterFilters: []types.ParameterStringFilter{filter}}))
		if len(described.Parameters) != 1 {
			t.Errorf("the filter %s of %v finds %d parameters, want 1", *filter.Key, filter.Values, len(described.Parameters))
		}
	}
	if _, err := put(t, c, ssm.PutParameterInput{Name: aws.String("/image"), Value: aws.String("ami-2"), Type: types.ParameterTypeString}); code(err) != "ParameterAlreadyExists" {
		t.Errorf("another parameter with a slash: %v", err)
	}
	if _, err := c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/image")}); err != nil {
		t.Error(err)
	}
	if _, err := c.GetParameter(t.Context(), &ssm.GetParameterInput{Name: aws.String("image")}); code(err) != "ParameterNotFound" {
		t.Errorf("the parameter is still there: %v", err)
	}
}

func TestGetParameters(t *testing.T) {
	t.Parallel()
	c := ssm.NewFromConfig(serve(t, awssim.Options{}).config(key))
	if _, err := put(t, c, ssm.PutParameterInput{Name: aws.String("password"), Value: aws.String("secret"), Type: types.ParameterTypeSecureString}); err != nil {
		t.Fatal(err)
	}
	get := func(decrypt bool) *ssm.GetParametersOutput {
		return must[*ssm.GetParametersOutput](t)(c.GetParameters(t.Context(), &ssm.GetParametersInput{
			Names: []string{"password", "none"}, WithDecryption: &decrypt,
		}))
	}
	out := get(true)
	if len(out.Parameters) != 1 || *out.Parameters[0].Value != "secret" {
		t.Errorf("decrypted: %+v", out.Parameters)
	}
	if diff := cmp.Diff([]string{"none"}, out.InvalidParameters); diff != "" {
		t.Errorf("invalid (-want +got)\n%s", diff)
	}
	if value := *get(false).Parameters[0].Value; strings.Contains(value, "secret") {
		t.Errorf("without decryption the value is %s", value)
	}
	if _, err := c.GetParameters(t.Context(), &ssm.GetParametersInput{Names: make([]string, 11)}); code(err) != "ValidationException" {
		t.Errorf("eleven names: %v", err)
	}
}

func TestGetParametersByPath(t *testing.T) {
	t.Parallel()
	c := ssm.NewFromConfig(serve(t, awssim.Options{}).config(key))
	for _, name := range []string{"/a", "/app/x", "/app/y", "/app/deep/z", "/apple/w"} {
		if _, err := put(t, c, ssm.PutParameterInput{Name: &name, Value: aws.String("v"), Type: types.ParameterTypeString}); err != nil {
			t.Fatal(err)
		}
	}
	list := func(in ssm.GetParametersByPathInput) (names []string, pages int) {
		p := ssm.NewGetParametersByPathPaginator(c, &in)
		for ; p.HasMorePages(); pages++ {
			for _, parameter := range must[*ssm.GetParametersByPathOutput](t)(p.NextPage(t.Context())).Parameters {
				names = append(names, *parameter.Name)
			}
		}
		return names, pages
	}
	rows := []struct {
		reason string
		in     ssm.GetParametersByPathInput
		want   []string
		pages  int
	}{
		{"one level", ssm.GetParametersByPathInput{Path: aws.String("/app")}, []string{"/app/x", "/app/y"}, 1},
		{"a closing slash changes nothing", ssm.GetParametersByPathInput{Path: aws.String("/app/")}, []string{"/app/x", "/app/y"}, 1},
		{"all levels", ssm.GetParametersByPathInput{Path: aws.String("/app"), Recursive: aws.Bool(true)}, []string{"/app/deep/z", "/app/x", "/app/y"}, 1},
		{
			"all levels, page by page", ssm.GetParametersByPathInput{Path: aws.String("/app"), Recursive: aws.Bool(true), MaxResults: aws.Int32(1)},
			[]string{"/app/deep/z", "/app/x", "/app/y"}, 3,
		},
		{"the account's parameters do not include public ones", ssm.GetParametersByPathInput{Path: aws.String("/"), Recursive: aws.Bool(true)}, []string{"/a", "/app/deep/z", "/app/x", "/app/y", "/apple/w"}, 1},
		{
			"public parameters by their path", ssm.GetParametersByPathInput{Path: aws.String("/aws/service/eks/optimized-ami/1.30/amazon-linux-2/recommended")},
			[]string{
				"/aws/service/eks/optimized-ami/1.30/amazon-linux-2/recommended/image_id", "/aws/service/eks/optimized-ami/1.30/amazon-linux-2/recommended/image_name",
				"/aws/service/eks/optimized-ami/1.30/amazon-linux-2/recommended/release_version",
			}, 1,
		},
		{"by type", ssm.GetParametersByPathInput{Path: aws.String("/app"), ParameterFilters: []types.ParameterStringFilter{
			{Key: aws.String("Type"), Values: []string{"SecureString"}},
		}}, nil, 1},
		{"by a label, which none has", ssm.GetParametersByPathInput{Path: aws.String("/app"), ParameterFilters: []types.ParameterStringFilter{
			{Key: aws.String("Label"), Values: []string{"prod"}},
		}}, nil, 1},
	}
	for _, row := range rows {
		names, pages := list(row.in)
		if diff := cmp.Diff(row.want, names); diff != "" || pages != row.pages {
			t.Errorf("%s: %d pages, want %d (-want +got)\n%s", row.reason, pages, row.pages, diff)
		}
	}
	for reason, in := range map[string]ssm.GetParametersByPathInput{
		"a path without a slash": {Path: aws.String("app")},
		"an empty level":         {Path: aws.String("/app//x")},
		"two slashes":            {Path: aws.String("//")},
		"a special character":    {Path: aws.String("/app/*")},
		"a reserved prefix":      {Path: aws.String("/ssm/app")},
		"AWS in capitals":        {Path: aws.String("/AWS/service")},
		"a page too large":       {Path: aws.String("/app"), MaxResults: aws.Int32(11)},
	} {
		if _, err := c.GetParametersByPath(t.Context(), &in); code(err) != "ValidationException" {
			t.Errorf("%s: got %v", reason, err)
		}
	}
	if _, err := c.GetParametersByPath(t.Context(), &ssm.GetParametersByPathInput{Path: aws.String("/app"), NextToken: aws.String("x")}); code(err) != "InvalidNextToken" {
		t.Errorf("a token that is none: %v", err)
	}
}

func TestDescribeAndDeleteParameters(t *testing.T) {
	t.Parallel()
	c := ssm.NewFromConfig(serve(t, awssim.Options{}).config(key))
	for _, name := range []string{"/one", "/two", "/three"} {
		if _, err := put(t, c, ssm.PutParameterInput{Name: &name, Value: aws.String("v"), Type: types.ParameterTypeString, Description: aws.String("of " + name)}); err != nil {
			t.Fatal(err)
		}
	}
	describe := func(filters ...types.ParameterStringFilter) (names []string) {
		for _, m := range must[*ssm.DescribeParametersOutput](t)(c.DescribeParameters(t.Context(), &ssm.DescribeParametersInput{ParameterFilters: filters})).Parameters {
			if *m.Description != "of "+*m.Name || m.Version != 1 || m.Tier != types.ParameterTierStandard {
				t.Errorf("described %+v", m)
			}
			names = append(names, *m.Name)
		}
		return names
	}
	if diff := cmp.Diff([]string{"/one", "/three", "/two"}, describe()); diff != "" {
		t.Errorf("all (-want +got)\n%s", diff)
	}
	begins := types.ParameterStringFilter{Key: aws.String("Name"), Option: aws.String("BeginsWith"), Values: []string{"/t"}}
	if diff := cmp.Diff([]string{"/three", "/two"}, describe(begins)); diff != "" {
		t.Errorf("by name (-want +got)\n%s", diff)
	}
	for _, path := range []string{"one", "//", "/###", "/aws/service", "/ssm"} {
		_, err := c.DescribeParameters(t.Context(), &ssm.DescribeParametersInput{ParameterFilters: []types.ParameterStringFilter{{Key: aws.String("Path"), Values: []string{path}}}})
		if code(err) != "ValidationException" {
			t.Errorf("a filter with the path %s: %v", path, err)
		}
	}
	must[*ssm.DeleteParameterOutput](t)(c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/one")}))
	if _, err := c.DeleteParameter(t.Context(), &ssm.DeleteParameterInput{Name: aws.String("/one")}); code(err) != "ParameterNotFound" {
		t.Errorf("deleting twice: %v", err)
	}
	out := must[*ssm.DeleteParametersOutput](t)(c.DeleteParameters(t.Context(), &ssm.DeleteParametersInput{Names: []string{"/two", "/one"}}))
	if !cmp.Equal(out.DeletedParameters, []string{"/two"}) || !cmp.Equal(out.InvalidParameters, []string{"/one"}) {
		t.Errorf("deleted %v, invalid %v", out.DeletedParameters, out.InvalidParameters)
	}
	if diff := cmp.Diff([]string{"/three"}, describe()); diff != "" {
		t.Errorf("what is left (-want +got)\n%s", diff)
	}
}

func TestPutParameterRules(t *testing.T) {
	t.Parallel()
	c := ssm.NewFromConfig(serve(t, awssim.Options{}).config(key))
	text := func(name, value string) ssm.PutParameterInput {
		return ssm.PutParameterInput{Name: &name, Value: &value, Type: types.ParameterTypeString}
	}
	with := func(in ssm.PutParameterInput, change func(*ssm.PutParameterInput)) ssm.PutParameterInput {
		change(&in)
		return in
	}
	long := strings.Repeat("x", 4097)
	rows := []struct {
		reason string
		in     ssm.PutParameterInput
		want   string
	}{
		{"the first write", text("/p", "v"), ""},
		{"a second without overwrite", text("/p", "v"), "ParameterAlreadyExists"},
		{"overwrite with tags", with(text("/p", "v"), func(in *ssm.PutParameterInput) {
			in.Overwrite, in.Tags = aws.Bool(true), []types.Tag{{Key: aws.String("k"), Value: aws.String("v")}}
		}), "ValidationException"},
		{"overwrite with another type", with(text("/p", "v"), func(in *ssm.PutParameterInput) {
			in.Overwrite, in.Type = aws.Bool(true), types.ParameterTypeSecureString
		}), "HierarchyTypeMismatchException"},
		{"a new one without a type", with(text("/q", "v"), func(in *ssm.PutParameterInput) { in.Type = "" }), "ValidationException"},
		{"a type that is none", with(text("/q", "v"), func(in *ssm.PutParameterInput) { in.Type = "Number" }), "ValidationException"},
		{"AWS's own names", text("/aws/service/x", "v"), "AccessDeniedException"},
		{"AWS's own prefix", text("awsome", "v"), "ValidationException"},
		{"AWS's own prefix behind a slash", text("/awsome", "v"), "ValidationException"},
		{"a path of the other reserved prefix", text("/ssm/x", "v"), "ValidationException"},
		{"a forbidden character", text("/a b", "v"), "ValidationException"},
		{"levels without a beginning", text("a/b", "v"), "ValidationException"},
		{"sixteen levels", text(strings.Repeat("/x", 16), "v"), "HierarchyLevelLimitExceededException"},
		{"more than 4 KB", text("/long", long), "ValidationException"},
		{"more than 4 KB in the advanced tier", with(text("/long", long), func(in *ssm.PutParameterInput) { in.Tier = types.ParameterTierAdvanced }), ""},
		{"back to the standard tier", with(text("/long", "v"), func(in *ssm.PutParameterInput) {
			in.Tier, in.Overwrite = types.ParameterTierStandard, aws.Bool(true)
		}), "ValidationException"},
		{"a value that the pattern allows", with(text("/n", "42"), func(in *ssm.PutParameterInput) { in.AllowedPattern = aws.String(`\d+`) }), ""},
		{"a value that it does not", with(text("/m", "x42"), func(in *ssm.PutParameterInput) { in.AllowedPattern = aws.String(`\d+`) }), "ParameterPatternMismatchException"},
		{"a pattern that is none", with(text("/m", "x"), func(in *ssm.PutParameterInput) { in.AllowedPattern = aws.String(`(`) }), "InvalidAllowedPatternException"},
		{"another data type", with(text("/m", "x"), func(in *ssm.PutParameterInput) { in.DataType = aws.String("json") }), "ValidationException"},
	}
	for _, row := range rows {
		if _, err := put(t, c, row.in); code(err) != row.want {
			t.Errorf("%s: got %v, want %q", row.reason, err, row.want)
		}
	}
}

func TestParameterTags(t *testing.T) {
	t.Parallel()
	c := ssm.NewFromConfig(serve(t, awssim.Options{}).config(key))
	name := aws.String("/app/secret")
	secret := func(overwrite bool, value string, tags ...types.Tag) error {
		_, err := put(t, c, ssm.PutParameterInput{
			Name: name, Value: &value, Type: types.ParameterTypeSecureString, Overwrite: &overwrite, Tags: tags, Tier: types.ParameterTierIntelligentTiering,
		})
		return err
	}
	owner := types.Tag{Key: aws.String("owner"), Value: aws.String("a/b")}
	rows := []struct {
		reason string
		err    error
		code   string
	}{
		{"tags do not go with overwrite, not even for the first version", secret(true, "x", owner), "ValidationException"},
		{"a parameter is made with tags", secret(false, "x", owner), ""},
		{"and is not made twice", secret(false, "y", owner), "ParameterAlreadyExists"},
		{"and is overwritten without", secret(true, strings.Repeat("y", 5000)), ""},
		{"what has become advanced stays so", secret(true, "z"), ""},
		{"a reference is no value", secret(true, "{{ ds.meta_data.local_hostname }}"), "ValidationException"},
		{"more than 8 KB is refused", secret(true, strings.Repeat("y", 8193)), "ValidationException"},
	}
	for _, row := range rows {
		if code(row.err) != row.code {
			t.Errorf("%s: got %v, want %q", row.reason, row.err, row.code)
		}
	}
	find := func(value string) []types.ParameterMetadata {
		return must[*ssm.DescribeParametersOutput](t)(c.DescribeParameters(t.Context(), &ssm.DescribeParametersInput{ParameterFilters: []types.ParameterStringFilter{
			{Key: aws.String("Path"), Values: []string{"/app"}}, {Key: aws.String("tag:owner"), Values: []string{value}},
		}})).Parameters
	}
	if found := find("a/b"); len(found) != 1 || found[0].Tier != types.ParameterTierAdvanced || found[0].Version != 3 {
		t.Errorf("by tag there are %+v", found)
	}
	if found := find("a/c"); len(found) != 0 {
		t.Errorf("by another tag there are %+v", found)
	}
	must[*ssm.AddTagsToResourceOutput](t)(c.AddTagsToResource(t.Context(), &ssm.AddTagsToResourceInput{
		ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name, Tags: []types.Tag{{Key: aws.String("team"), Value: aws.String("blue")}},
	}))
	must[*ssm.RemoveTagsFromResourceOutput](t)(c.RemoveTagsFromResource(t.Context(), &ssm.RemoveTagsFromResourceInput{
		ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name, TagKeys: []string{"owner"},
	}))
	list := must[*ssm.ListTagsForResourceOutput](t)(c.ListTagsForResource(t.Context(), &ssm.ListTagsForResourceInput{
		ResourceType: types.ResourceTypeForTaggingParameter, ResourceId: name,
	}))
	if len(list.TagList) != 1 || *list.TagList[0].Value != "blue" {
		t.Errorf("tags are %+v", list.TagList)
	}
}
