package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-project/slipway/awssim/oracle"
)

// TestTable holds that results are found among the output of tests, whatever else is in it, and
// become rows and a sum.
func TestTable(t *testing.T) {
	t.Parallel()
	output := strings.Join([]string{
		`building`,
		`{"Action":"run","Test":"TestA"}`,
		`{"Action":"attr","Test":"TestA","Key":"other","Value":"7"}`,
		`{"Action":"attr","Test":"TestA","Key":"oracle","Value":"{\"Oracle\":\"errors\",\"Source\":\"moto\",\"Service\":\"EKS\",\"Cases\":3,\"Held\":2}"}`,
		`{"Action":"attr","Test":"TestB","Key":"oracle","Value":"{\"Oracle\":\"types\",\"Source\":\"a recording\",\"Service\":\"EC2\",\"Cases\":10,\"Held\":10}"}`,
		`{"Action":"pass"}`,
	}, "\n")
	results, err := read(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	want := `| service | compared with | cases | held | source |
|---|---|---|---|---|
| EC2 | types | 10 | 10 | a recording |
| EKS | errors | 3 | 2 | moto |
| all | | 13 | 12 | |
`
	if diff := cmp.Diff(want, markdown(results)); diff != "" {
		t.Errorf("the table differs (-want +got):\n%s", diff)
	}
}

// TestUnreadableResult holds that a result which cannot be read is an error, rather than a row less.
func TestUnreadableResult(t *testing.T) {
	t.Parallel()
	if _, err := read(strings.NewReader(`{"Action":"attr","Key":"` + oracle.Attribute + `","Value":"{"}`)); err == nil {
		t.Error("it is no error")
	}
}
