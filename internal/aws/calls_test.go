package aws_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/slipway-project/slipway/internal/aws"
)

// TestClientsAreOutOfSight holds that no type which Clients lead to is a client of the SDK: the
// linker would keep the code of all its service's actions.
func TestClientsAreOutOfSight(t *testing.T) {
	t.Parallel()
	const services = "github.com/aws/aws-sdk-go-v2/service/"
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(present reflect.Type) {
		if seen[present] {
			return
		}
		seen[present] = true
		if strings.HasPrefix(present.PkgPath(), services) && present.Name() == "Client" {
			t.Errorf("%v is in sight", present)
		}
		switch present.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map, reflect.Chan:
			walk(present.Elem())
		case reflect.Struct:
			for i := range present.NumField() {
				walk(present.Field(i).Type)
			}
		case reflect.Func:
			for i := range present.NumIn() {
				walk(present.In(i))
			}
			for i := range present.NumOut() {
				walk(present.Out(i))
			}
		default:
		}
	}
	walk(reflect.TypeFor[aws.Clients]())
	if len(seen) < 100 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}
