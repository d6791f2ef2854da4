package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocument(t *testing.T) {
	t.Parallel()
	schema := `{"properties": {"replicas": {}, "image": {"properties": {"tag": {}}}, "labels": {}}}`
	for _, row := range []struct {
		reason, values string
		want           []value
		err            string
	}{
		{
			reason: "values of all depths, in their order",
			values: "# -- How many.\nreplicas: 2\nimage:\n  # -- The tag of the image,\n  # or none.\n  tag: \"\"\n# -- Labels.\nlabels:\n  a: b\n",
			want:   []value{{"replicas", "2", "How many."}, {"image.tag", `""`, "The tag of the image, or none."}, {"labels", `{"a":"b"}`, "Labels."}},
		},
		{reason: "a value without documentation", values: "# How many.\nreplicas: 2\n", err: "replicas has no documentation"},
		{reason: "a value that the schema does not know", values: "# -- How many.\ncount: 2\n", err: "does not know value count"},
		{reason: "no values", values: "", err: "is empty"},
	} {
		got, err := document([]byte(row.values), []byte(schema))
		if row.err != "" {
			if err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("%s: the error is %v, want one with %q", row.reason, err, row.err)
			}
			continue
		}
		if diff := cmp.Diff(row.want, got, cmp.AllowUnexported(value{})); err != nil || diff != "" {
			t.Errorf("%s: error %v (-want +got):\n%s", row.reason, err, diff)
		}
	}
}
