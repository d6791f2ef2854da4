package adversary

import (
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-project/slipway/awssim"
)

// The kinds of resources that the oracle attributes.
const (
	kindTemplate     = "launch template"
	kindTemplateName = "launch template named"
	kindGroup        = "Auto Scaling group"
	kindInstance     = "instance"
	kindNodegroup    = "node group"
	kindRole         = "IAM role"
	kindParameter    = "parameter"
	kindObject       = "S3 object"
)

// resource is something in AWS, by its id or, where AWS has none, by its name. A node group's name
// is "<cluster>/<name>", and an object's "<bucket>/<key>".
type resource struct{ account, kind, name string }

func (r resource) String() string { return r.kind + " " + r.name }

// unique reports whether AWS never gives the same name to another resource.
func (r resource) unique() bool { return r.kind == kindTemplate }

// call is a call to the simulated AWS, with the strings of its input by the name of their field.
type call struct {
	*awssim.FaultContext
	fields map[string][]string
	tags   []tag
}

type tag struct{ key, value string }

func newCall(c *awssim.FaultContext) *call {
	parsed := &call{FaultContext: c, fields: map[string][]string{}}
	parsed.walk("", reflect.ValueOf(c.Input))
	return parsed
}

// walk collects the strings in a value. Those in a list have the name of the field that holds the list.
func (c *call) walk(field string, value reflect.Value) {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			c.walk(field, value.Elem())
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if structField := value.Type().Field(i); structField.IsExported() {
				c.walk(structField.Name, value.Field(i))
			}
		}
		if key, content := value.FieldByName("Key"), value.FieldByName("Value"); key.IsValid() && content.IsValid() {
			c.tags = append(c.tags, tag{text(key), text(content)})
		}
	case reflect.Slice, reflect.Array:
		for i := range value.Len() {
			c.walk(field, value.Index(i))
		}
	case reflect.Map:
		for entry := value.MapRange(); entry.Next(); {
			c.tags = append(c.tags, tag{text(entry.Key()), text(entry.Value())})
		}
	case reflect.String:
		if value.String() != "" {
			c.fields[field] = append(c.fields[field], value.String())
		}
	default:
	}
}

func text(value reflect.Value) string {
	if value.Kind() == reflect.Pointer {
		if value.IsNil() {
			return ""
		}
		value = value.Elem()
	}
	if value.Kind() != reflect.String {
		return ""
	}
	return value.String()
}

// writes reports whether the action changes something in AWS.
func (c *call) writes() bool {
	return !slices.ContainsFunc([]string{"Describe", "Get", "Head", "List", "Receive", "AssumeRole"}, func(prefix string) bool {
		return strings.HasPrefix(c.Action, prefix)
	})
}

// discloses reports whether the answer holds what nodes are launched with, such as user data.
func (c *call) discloses() bool {
	return slices.Contains([]string{"DescribeLaunchTemplateVersions", "DescribeInstanceAttribute", "GetLaunchTemplateData", "GetParameter", "GetParameters", "GetObject"}, c.Action)
}

// verb describes the call in a violation.
func (c *call) verb() string {
	if c.writes() {
		return "it names"
	}
	return "it discloses"
}

// creations are the actions that create a named resource, by the field that holds the name. Naming
// a resource that exists fails there, and reaches nothing.
var creations = map[string]string{
	"CreateLaunchTemplate": "LaunchTemplateName", "CreateAutoScalingGroup": "AutoScalingGroupName", "CreateNodegroup": "NodegroupName", "CreateRole": "RoleName",
}

// creates returns the resource that a call creates. Resources that PutParameter and PutObject
// overwrite are among what the call touches.
func (c *call) creates() (resource, bool) {
	switch output := c.Output.(type) {
	case *ec2.CreateLaunchTemplateOutput:
		return resource{c.Account, kindTemplate, aws.ToString(output.LaunchTemplate.LaunchTemplateId)}, true
	case ec2.CreateLaunchTemplateOutput:
		return resource{c.Account, kindTemplate, aws.ToString(output.LaunchTemplate.LaunchTemplateId)}, true
	}
	switch c.Action {
	case "CreateAutoScalingGroup":
		return c.first(kindGroup, "AutoScalingGroupName"), true
	case "CreateNodegroup":
		return resource{c.Account, kindNodegroup, c.one("ClusterName") + "/" + c.one("NodegroupName")}, true
	case "CreateRole":
		return c.first(kindRole, "RoleName"), true
	case "PutParameter":
		return c.first(kindParameter, "Name"), true
	case "PutObject":
		return resource{c.Account, kindObject, c.one("Bucket") + "/" + c.one("Key")}, true
	}
	return resource{}, false
}

func (c *call) one(field string) string {
	if values := c.fields[field]; len(values) > 0 {
		return values[0]
	}
	return ""
}

func (c *call) first(kind, field string) resource { return resource{c.Account, kind, c.one(field)} }

func (c *call) templateName() string { return c.one("LaunchTemplateName") }

// references are the fields that name resources, by kind. A creation's own name is not among them.
var references = []struct{ field, kind, service string }{
	{"LaunchTemplateId", kindTemplate, ""}, {"LaunchTemplateIds", kindTemplate, ""},
	{"LaunchTemplateName", kindTemplateName, ""}, {"LaunchTemplateNames", kindTemplateName, ""},
	{"AutoScalingGroupName", kindGroup, ""}, {"ResourceId", kindGroup, "autoscaling"},
	{"InstanceId", kindInstance, ""}, {"InstanceIds", kindInstance, ""}, {"RoleName", kindRole, "iam"},
	{"Name", kindParameter, "ssm"}, {"Names", kindParameter, "ssm"},
}

// touches returns the resources that a call changes or discloses.
func (c *call) touches() []resource {
	if !c.writes() && !c.discloses() {
		return nil
	}
	var touched []resource
	created, _ := c.creates()
	for _, reference := range references {
		if reference.service != "" && reference.service != c.Service || creations[c.Action] == reference.field {
			continue
		}
		for _, name := range c.fields[reference.field] {
			// The tags of a new group name it too. A parameter may be there before it is put.
			if r := (resource{c.Account, reference.kind, name}); (r != created || creations[c.Action] == "") && !slices.Contains(touched, r) {
				touched = append(touched, r)
			}
		}
	}
	if c.Service == "ec2" {
		for _, id := range c.fields["Resources"] {
			touched = append(touched, resource{c.Account, map[bool]string{true: kindTemplate, false: kindInstance}[strings.HasPrefix(id, "lt-")], id})
		}
	}
	return append(touched, c.touchesData()...)
}

// touchesData returns the node groups and objects that a call changes or discloses, and the
// templates whose versions it discloses.
func (c *call) touchesData() (touched []resource) {
	switch c.Service {
	case "s3":
		for _, key := range c.fields["Key"] {
			touched = append(touched, resource{c.Account, kindObject, c.one("Bucket") + "/" + key})
		}
	case "eks":
		if c.Action != "CreateNodegroup" && c.one("NodegroupName") != "" {
			touched = append(touched, resource{c.Account, kindNodegroup, c.one("ClusterName") + "/" + c.one("NodegroupName")})
		}
		// arn:aws:eks:<region>:<account>:nodegroup/<cluster>/<name>/<id>
		for _, arn := range c.fields["ResourceArn"] {
			if parts := strings.Split(arn, "/"); len(parts) == 4 {
				touched = append(touched, resource{c.Account, kindNodegroup, parts[1] + "/" + parts[2]})
			}
		}
	}
	return touched
}

// summary describes the call to a reader.
func (c *call) summary() string {
	var texts []string
	for _, r := range c.touches() {
		texts = append(texts, r.String())
	}
	if created, is := c.creates(); is {
		texts = append(texts, "created "+created.String())
	}
	if c.Err != nil {
		texts = append(texts, "failed: "+c.Err.Error())
	}
	return strings.Join(texts, ", ")
}
