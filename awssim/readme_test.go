package awssim_test

import (
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

var (
	curl   = regexp.MustCompile(`(?m)^\$ curl (?:-X (\w+) )?"?\$AWS_ENDPOINT_URL/_sim/([^" \n]+)"?(?: -d '([^']*)')?$`)
	worlds = regexp.MustCompile("(?s)```yaml\n(.*?)```")
)

// TestReadmeExamples holds that the examples of README.md work, in the order in which it has them.
func TestReadmeExamples(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	e := serve(t, awssim.Options{})
	examples := curl.FindAllStringSubmatch(string(readme), -1)
	if lines := strings.Count(string(readme), "\n$ curl "); lines != len(examples) || lines < 10 {
		t.Fatalf("of %d examples %d were understood", lines, len(examples))
	}
	for _, x := range examples {
		method := x[1]
		if method == "" {
			method = http.MethodGet
		}
		e.ok(t, method, x[2], x[3])
	}
	yaml := worlds.FindAllStringSubmatch(string(readme), -1)
	if len(yaml) == 0 {
		t.Fatal("there is no example of a world")
	}
	for _, x := range yaml {
		w, err := world.Parse([]byte(x[1]))
		if err != nil {
			t.Error(err)
		} else if w.Region("eu-central-1").Offers("m7g.large", "eu-central-1b") {
			t.Error("the example's world offers what it says is not offered")
		}
	}
}
