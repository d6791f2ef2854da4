package cli

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
)

// ownTemplate begins the paths of the launch template of a pool.
const ownTemplate = "spec.awsLaunchTemplate."

// launchRefusal returns an error that says where fields of the launch template are set, for an edit of a pool that the
// API server refuses because the pool does not have them; nil for another refusal.
func launchRefusal(pool *unstructured.Unstructured, settings []string, err error) error {
	if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
		return nil
	}
	reference := func(field, part string) string {
		text, _, _ := unstructured.NestedString(pool.Object, "spec", field, part)
		return text
	}
	config, template := reference("launchConfigRef", "name"), reference("launchConfigTemplateRef", "name")
	base := "spec."
	if config == "" && template == "" {
		base = ownTemplate
	}
	names := launchFields
	if config != "" {
		names = configFields
	}
	paths, flags := launchSettings(settings, names, base, err)
	fields := strings.Join(paths, " and ")
	text := ""
	switch {
	case len(paths) == 0:
		return nil
	case config != "":
		text = fmt.Sprintf("%s launches from AWSLaunchConfig %s, so it has no %s of its own. Use slipway plan awslaunchconfig/%[2]s -n %[4]s %[5]s", pool.GetKind(), config, fields, pool.GetNamespace(), flags)
	case template != "":
		text = fmt.Sprintf("%s launches from AWSLaunchConfigTemplate %s, so it has no %s of its own. Edit the file of the template, and use slipway plan -f FILE", pool.GetKind(), template, fields)
	default:
		text = fmt.Sprintf("%s is part of the launch template of the pool. Use %s", fields, flags)
	}
	return &refusalError{text: text, err: err}
}

// launchSettings returns the paths of settings of a pool that have the names of fields of launch templates, and the flags
// that set them below another path. Settings that are at this path already are none, and neither are fields that the API server
// did not refuse if pools have them too.
func launchSettings(settings, names []string, base string, refused error) (paths []string, flags string) {
	var words []string
	for _, setting := range settings {
		path, value, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(path, "spec.launchConfig") {
			return nil, "" // the edit is about the reference
		}
		field, own := strings.CutPrefix(path, ownTemplate)
		if !own {
			field = strings.TrimPrefix(path, "spec.")
		}
		name, _, _ := strings.Cut(field, ".")
		known := own || strings.HasPrefix(path, "spec.") && slices.Contains(names, name)
		if !known || base == ownTemplate && (own || !about(refused, path, field)) {
			continue
		}
		paths, words = append(paths, path), append(words, "--set "+shellWord(base+field+"="+value))
	}
	return paths, strings.Join(words, " ")
}

// about reports whether the API server refused a path because the field belongs to the launch template.
func about(refused error, path, field string) bool {
	text := refused.Error()
	return strings.Contains(text, fmt.Sprintf("unknown field %q", path)) || strings.Contains(text, "set awsLaunchTemplate."+field)
}

// launchFields are the fields of launch templates, and configFields the ones that are set in an AWSLaunchConfig for the
// pools that refer to it.
var (
	launchFields = jsonNames(reflect.TypeFor[infrav1.AWSLaunchTemplate](), reflect.TypeFor[infrav1.LaunchConfigData]())
	configFields = append(jsonNames(reflect.TypeFor[infrav1.LaunchConfigControl]()), append([]string{"versionsToKeep"}, launchFields...)...)
)

// jsonNames returns the names of the fields of structs in JSON.
func jsonNames(structs ...reflect.Type) []string {
	var names []string
	for _, one := range structs {
		for _, field := range reflect.VisibleFields(one) {
			if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
				names = append(names, name)
			}
		}
	}
	return names
}

// plainWord matches text that a shell takes for one word.
var plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)

// shellWord returns text as a word of a POSIX shell.
func shellWord(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
