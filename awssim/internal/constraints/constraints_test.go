package constraints

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/pricing"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-project/slipway/awssim/internal/wire"
	"github.com/slipway-project/slipway/awssim/oracle"
)

// clients are the clients of the SDK, whose methods have the inputs of actions.
var clients = map[string]any{
	"autoscaling": &autoscaling.Client{}, "ec2": &ec2.Client{}, "eks": &eks.Client{}, "events": &eventbridge.Client{}, "iam": &iam.Client{}, "pricing": &pricing.Client{}, "sqs": &sqs.Client{}, "ssm": &ssm.Client{}, "sts": &sts.Client{},
}

// inputOf returns the SDK's input type of an action.
func inputOf(t *testing.T, service, action string) reflect.Type {
	t.Helper()
	client, known := clients[service]
	if !known {
		t.Fatalf("add the client of %s to this test", service)
	}
	method, found := reflect.TypeOf(client).MethodByName(action)
	if !found {
		t.Fatalf("the SDK has no action %s %s", service, action)
	}
	return method.Type.In(2).Elem()
}

// eachAction calls f for every action of the simulated AWS.
func eachAction(t *testing.T, f func(service, action string, input reflect.Type)) {
	t.Helper()
	for _, service := range wire.Services() {
		for _, action := range wire.Actions(service) {
			f(service, action, inputOf(t, service, action))
		}
	}
}

// TestTablesCoverAllActions holds that no action was added without its constraints.
func TestTablesCoverAllActions(t *testing.T) {
	t.Parallel()
	eachAction(t, func(service, action string, _ reflect.Type) {
		if !Covers(service, action) {
			t.Errorf("the table has no %s %s: see hack/constraints", service, action)
		}
	})
}

// breach is a request that meets everything but one demand, or that meets it only just.
type breach struct {
	path  string
	kind  Kind
	input reflect.Value
	at    reflect.Value // just as much as is allowed; invalid where there is no bound
}

// is reports whether a violation is the breach. The path of a breach does not have the keys of maps.
func (b breach) is(v Violation) bool {
	wanted := strings.Split(b.path, ".")
	for part := range strings.SplitSeq(v.Path, ".") {
		if len(wanted) > 0 && part == wanted[0] {
			wanted = wanted[1:]
		}
	}
	return v.Kind == b.kind && len(wanted) == 0
}

// breaker builds breaches of an action.
type breaker struct {
	table    *table
	input    reflect.Type
	breaches []breach
	problems []string
}

// place builds an input with all required members, in which one value is as set says.
type place func(set func(reflect.Value)) reflect.Value

func breachesOf(service, action string, input reflect.Type) *breaker {
	b := &breaker{table: load()[service], input: input}
	root := b.table.inputs[action]
	whole := func(set func(reflect.Value)) reflect.Value {
		v := reflect.New(input)
		b.fill(root, v.Elem())
		set(v.Elem())
		return v
	}
	b.visit("", root, input, whole, nil)
	return b
}

func (b *breaker) visit(path, shape string, typ reflect.Type, in place, above []string) {
	entry := b.table.shapes[shape]
	if entry == nil || slices.Contains(above, shape) {
		return
	}
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	above = append(slices.Clone(above), shape)
	switch entry.Type {
	case "structure":
		for _, member := range entry.Members {
			b.visitMember(path, member, typ, in, above)
		}
	case "list":
		b.lengths(path, entry, in, func(v reflect.Value, n int) {
			v.Set(reflect.MakeSlice(typ, n, n))
			for i := range n {
				b.fill(entry.Element, v.Index(i))
			}
		})
		b.visit(path+".1.member", entry.Element, typ.Elem(), func(set func(reflect.Value)) reflect.Value {
			return in(func(v reflect.Value) {
				n := 1
				if entry.Min != nil {
					n = max(1, int(*entry.Min))
				}
				v.Set(reflect.MakeSlice(typ, n, n))
				for i := range n {
					b.fill(entry.Element, v.Index(i))
				}
				set(deep(v.Index(0)))
			})
		}, above)
	case "map":
		b.visitMap(path, entry, typ, in, above)
	default:
		b.visitScalar(path, entry, typ, in)
	}
}

func (b *breaker) visitMember(path string, member Member, typ reflect.Type, in place, above []string) {
	field, found := typ.FieldByName(goName(member.Name))
	if !found {
		b.problems = append(b.problems, fmt.Sprintf("%s has no member %s", typ, member.Name))
		return
	}
	to := strings.TrimPrefix(path+"."+wireName(member.Name), ".")
	if kind := field.Type.Kind(); member.Required && kind != reflect.Int32 && kind != reflect.Int64 && kind != reflect.Bool {
		b.breaches = append(b.breaches, breach{path: to, kind: Required, input: in(func(v reflect.Value) { v.FieldByName(field.Name).SetZero() })})
	}
	b.visit(to, member.Shape, field.Type, func(set func(reflect.Value)) reflect.Value {
		return in(func(v reflect.Value) {
			f := v.FieldByName(field.Name)
			if f.IsZero() {
				b.fill(member.Shape, f)
			}
			set(deep(f))
		})
	}, above)
}

// visitMap breaks keys and values of a map, whose elements cannot be set in place.
func (b *breaker) visitMap(path string, entry *Entry, typ reflect.Type, in place, above []string) {
	b.lengths(path, entry, in, func(v reflect.Value, n int) {
		v.Set(reflect.MakeMap(typ))
		for i := range n {
			v.SetMapIndex(reflect.ValueOf(fmt.Sprintf("k%d", i)).Convert(typ.Key()), reflect.New(typ.Elem()).Elem())
		}
	})
	entryWith := func(set func(key, value reflect.Value)) reflect.Value {
		return in(func(v reflect.Value) {
			key, value := reflect.New(typ.Key()).Elem(), reflect.New(typ.Elem()).Elem()
			b.fill(entry.Key, key)
			b.fill(entry.Element, value)
			set(key, value)
			v.Set(reflect.MakeMap(typ))
			v.SetMapIndex(key, value)
		})
	}
	b.visit(path, entry.Key, typ.Key(), func(set func(reflect.Value)) reflect.Value {
		return entryWith(func(key, _ reflect.Value) { set(deep(key)) })
	}, above)
	b.visit(path, entry.Element, typ.Elem(), func(set func(reflect.Value)) reflect.Value {
		return entryWith(func(_, value reflect.Value) { set(deep(value)) })
	}, above)
}

// deep follows pointers, and creates what they point to.
func deep(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		v = v.Elem()
	}
	return v
}

func (b *breaker) lengths(path string, entry *Entry, in place, fill func(reflect.Value, int)) {
	sized := func(n int64) reflect.Value { return in(func(v reflect.Value) { fill(v, int(n)) }) }
	if entry.Min != nil && *entry.Min > 0 {
		b.breaches = append(b.breaches, breach{path: path, kind: MinLength, input: sized(*entry.Min - 1), at: sized(*entry.Min)})
	}
	if entry.Max != nil {
		b.breaches = append(b.breaches, breach{path: path, kind: MaxLength, input: sized(*entry.Max + 1), at: sized(*entry.Max)})
	}
}

func (b *breaker) visitScalar(path string, entry *Entry, typ reflect.Type, in place) {
	add := func(kind Kind, broken, at any) {
		value := func(x any) reflect.Value {
			return in(func(v reflect.Value) { v.Set(reflect.ValueOf(x).Convert(v.Type())) })
		}
		found := breach{path: path, kind: kind, input: value(broken)}
		if at != nil {
			found.at = value(at)
		}
		b.breaches = append(b.breaches, found)
	}
	switch typ.Kind() {
	case reflect.String:
		if entry.Enum {
			add(Enum, "no-such-value", nil)
			return // lengths of enumerations are the lengths of their values
		}
		if entry.Min != nil && *entry.Min > 0 {
			b.textOf(entry, int(*entry.Min)-1, int(*entry.Min), func(broken string, at any) { add(MinLength, broken, at) })
		}
		if entry.Max != nil {
			b.textOf(entry, int(*entry.Max)+1, int(*entry.Max), func(broken string, at any) { add(MaxLength, broken, at) })
		}
		if entry.expression != nil {
			if wrong, possible := unmatched(entry); possible {
				add(Pattern, wrong, nil)
			}
		}
	case reflect.Int32, reflect.Int64, reflect.Float32, reflect.Float64:
		if entry.Min != nil {
			add(MinValue, *entry.Min-1, *entry.Min)
		}
		if entry.Max != nil && *entry.Max < 1<<31-1 {
			add(MaxValue, *entry.Max+1, *entry.Max)
		}
	case reflect.Slice: // bytes
		b.lengths(path, entry, in, func(v reflect.Value, n int) { v.SetBytes(make([]byte, n)) })
	default:
	}
}

// alphabet holds the parts of values that match the patterns of the models.
var alphabet = []string{"a", "1", "/", "ami-", "Name", "tag:", "v1"}

// textOf finds a text of n characters that the pattern matches.
func textOf(entry *Entry, n int) (string, bool) {
	for _, head := range append([]string{"", "$."}, alphabet...) {
		for _, filler := range alphabet {
			for _, tail := range []string{"", "/", ".a"} {
				length := n - len(head) - len(tail)
				if length < 0 || len(filler) != 1 {
					continue
				}
				text := head + strings.Repeat(filler, length) + tail
				if entry.expression == nil || entry.expression.MatchString(text) {
					return text, true
				}
			}
		}
	}
	return "", false
}

func (b *breaker) textOf(entry *Entry, broken, at int, use func(broken string, at any)) {
	beyond, ok := textOf(entry, broken)
	if !ok { // the pattern does not match what breaks the length either
		beyond = strings.Repeat("a", broken)
	}
	if within, ok := textOf(entry, at); ok {
		use(beyond, within)
	} else { // as short as the length may be, the pattern matches nothing
		use(beyond, nil)
	}
}

// unmatched finds a text of an allowed length that the pattern does not match.
func unmatched(entry *Entry) (string, bool) {
	least := 1
	if entry.Min != nil {
		least = max(least, int(*entry.Min))
	}
	for _, bad := range []string{"\x01", "\u2028", " ", "é", "x"} {
		if text := strings.Repeat(bad, least); !entry.expression.MatchString(text) {
			return text, true
		}
	}
	return "", false
}

// fill sets v to a value that meets what is demanded of the shape, with its required members.
func (b *breaker) fill(shape string, v reflect.Value) {
	entry := b.table.shapes[shape]
	if entry == nil {
		entry = &Entry{}
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(0, 0)))
		return
	}
	n := 1
	if entry.Min != nil {
		n = max(n, int(*entry.Min))
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, member := range entry.Members {
			if f := v.FieldByName(goName(member.Name)); member.Required && f.IsValid() {
				b.fill(member.Shape, f)
			}
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes(make([]byte, n))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			b.fill(entry.Element, v.Index(i))
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		b.fill(entry.Key, key)
		b.fill(entry.Element, value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.String:
		b.fillText(entry, v, n)
	case reflect.Int32, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(n))
	default:
	}
}

func (b *breaker) fillText(entry *Entry, v reflect.Value, n int) {
	if values := slices.Concat(entry.Values, enumOf(v)); len(values) > 0 {
		v.SetString(values[0])
		return
	}
	for _, text := range alphabet {
		if entry.expression != nil && len(text) >= n && entry.expression.MatchString(text) {
			v.SetString(text)
			return
		}
	}
	for _, length := range []int{n, n + 3, n + 4, n + 19} {
		if text, ok := textOf(entry, length); ok {
			v.SetString(text)
			return
		}
	}
	b.problems = append(b.problems, "no text matches "+entry.Pattern)
}

// TestEveryConstraintIsHeld breaks every demand of every action once, in a request that is otherwise whole:
// it must be refused for that, and a request at the bound must not be.
func TestEveryConstraintIsHeld(t *testing.T) {
	t.Parallel()
	counts, cases, held := map[Kind]int{}, map[string]int{}, map[string]int{}
	eachAction(t, func(service, action string, input reflect.Type) {
		b := breachesOf(service, action, input)
		for _, problem := range b.problems {
			t.Errorf("%s %s: %s", service, action, problem)
		}
		whole := reflect.New(input)
		b.fill(b.table.inputs[action], whole.Elem())
		if err := Check(service, action, whole.Interface()); err != nil {
			t.Errorf("%s %s: a request with what is required is refused: %v", service, action, err)
		}
		for _, found := range b.breaches {
			if excepted(service, action, found.path, found.kind) {
				if refused := violations(service, action, found.input.Interface()); slices.ContainsFunc(refused, found.is) {
					t.Errorf("%s %s: %s of %s is held against an exception", service, action, found.kind, found.path)
				}
				continue
			}
			counts[found.kind]++
			cases[service]++
			refused := violations(service, action, found.input.Interface())
			if slices.ContainsFunc(refused, found.is) {
				held[service]++
			} else {
				t.Errorf("%s %s: the %s of %s is not held: %+v", service, action, found.kind, found.path, refused)
			}
			if err := Check(service, action, found.input.Interface()); err == nil {
				t.Errorf("%s %s: a request that breaks the %s of %s is accepted", service, action, found.kind, found.path)
			}
			if !found.at.IsValid() {
				continue
			}
			if at := violations(service, action, found.at.Interface()); len(at) > 0 {
				t.Errorf("%s %s: a request at the %s of %s is refused: %+v", service, action, found.kind, found.path, at)
			}
		}
	})
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		total += counts[kind]
		t.Logf("%5d of the kind %s", counts[kind], kind)
	}
	for service, n := range cases {
		oracle.Report(t, oracle.Result{Oracle: "constraints of the service model, each broken once", Source: "botocore's service-2.json", Service: oracle.Name(service), Cases: n, Held: held[service]})
	}
	t.Logf("%5d demands were broken", total)
	if total < 1000 {
		t.Errorf("only %d demands were found", total)
	}
}
