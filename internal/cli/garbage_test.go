package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/slipway-project/slipway/api/infrastructure/v1beta2"
	"github.com/slipway-project/slipway/internal/poolread"
	"github.com/slipway-project/slipway/internal/rolloutcontrol"
	"github.com/slipway-project/slipway/internal/terminal"
)

// garbage fills values at random.
type garbage struct{ *rand.Rand }

// words are texts of statuses: valid ones, ones that are hostile to a terminal, and ones that are no numbers or JSON.
var words = []string{
	"", " ", "0", "1", "2", "-1", "9223372036854775807", "9223372036854775808", escapes, `{"i-0a11000000000000a":"never"}`, "{", "null", strings.Repeat("long ", 2000), "two\nlines", "i-0a11000000000000a",
	"lt-1", "Terminating:Wait", "InService", "workers", "AWSMachinePool", "AWSManagedMachinePool", "InProgress", "Successful", "Failed", "Edited", "RolledBack", "Update", "Create",
	infrav1.ConvergedCondition, infrav1.RolledOutCondition, infrav1.DeletingCondition, infrav1.PausedCondition, infrav1.NodesDrainedCondition, infrav1.RolloutApprovedCondition, infrav1.ReadyCondition,
	infrav1.RollingOutReason, infrav1.DrainingReason, infrav1.PinnedReason, infrav1.WaitingForApprovalReason, infrav1.RolledBackReason,
	"node a (i-0a11000000000000a): -3 pods held by PodDisruptionBudget a/b, until never at the latest", "node  (): 99999999999999999999 pods held by PodDisruptionBudget /", "True", "False", "Unknown",
}

// fill fills a value. Text that is not valid UTF-8 cannot be stored.
func (g garbage) fill(value reflect.Value) {
	if value.Type() == reflect.TypeFor[metav1.Time]() {
		times := []time.Time{{}, shownAt, shownAt.Add(-time.Hour), shownAt.AddDate(300, 0, 0), time.Unix(0, 0)}
		value.Set(reflect.ValueOf(metav1.NewTime(times[g.IntN(len(times))])))
		return
	}
	switch value.Kind() {
	case reflect.String:
		value.SetString(strings.ToValidUTF8(words[g.IntN(len(words))], "?"))
	case reflect.Int, reflect.Int32, reflect.Int64:
		numbers := []int64{0, 1, 2, 3, -1, math.MaxInt32, math.MinInt32}
		value.SetInt(numbers[g.IntN(len(numbers))])
	case reflect.Bool:
		value.SetBool(g.IntN(2) == 0)
	case reflect.Pointer:
		if g.IntN(3) > 0 {
			value.Set(reflect.New(value.Type().Elem()))
			g.fill(value.Elem())
		}
	case reflect.Slice:
		value.Set(reflect.MakeSlice(value.Type(), g.IntN(4), 4))
		for i := range value.Len() {
			g.fill(value.Index(i))
		}
	case reflect.Struct:
		for i := range value.NumField() {
			if value.Field(i).CanSet() {
				g.fill(value.Field(i))
			}
		}
	default: // maps stay nil
	}
}

// object fills the status and the annotations of an object.
func (g garbage) object(object client.Object, status any) {
	g.fill(reflect.ValueOf(status).Elem())
	annotations := map[string]string{}
	for _, name := range []string{"slipway.infrastructure.cluster.x-k8s.io/draining", infrav1.RolloutPausedAnnotation, infrav1.ApprovedVersionAnnotation, infrav1.ApprovedByAnnotation, infrav1.RetryRolloutAnnotation} {
		annotations[name] = strings.ToValidUTF8(words[g.IntN(len(words))], "?")
	}
	object.SetAnnotations(annotations)
}

// TestCommandsOnGarbage runs every command that reads pools on statuses and annotations that no controller writes. No
// command panics, prints data that is not valid, or text that a terminal interprets.
func TestCommandsOnGarbage(t *testing.T) {
	t.Parallel()
	w := newReadWorld(t)
	lines := []string{
		"status", "status -o json", "status -o yaml", "status workers", "status workers -o json", "status workers -o yaml", "status awsmanagedmachinepool/workers", "history workers", "history awsmanagedmachinepool/workers -o json", "explain workers",
		"explain workers -o json", "explain i-0a11000000000000a", "trace i-0a11000000000000a", "trace i-0a11000000000000a -o json", "tree prod", "tree prod -o json", "events workers -o json", "diff workers 1 2",
	}
	for seed := range uint64(40) {
		g := garbage{rand.New(rand.NewPCG(seed, seed))}
		pool, managed, config := w.pool(), fineManagedPool(), w.config()
		g.object(pool, &pool.Status)
		g.object(managed, &managed.Status)
		g.object(config, &config.Status)
		managed.Name = "workers"
		qualified := g.IntN(2) == 0
		objects := slices.Concat(w.objects()[:3], []client.Object{pool, config})
		if qualified {
			objects = append(objects, managed)
		}
		store := fake.NewClientBuilder().WithScheme(w.client.Scheme()).WithReturnManagedFields().WithObjects(objects...).Build()
		w.source.Client, w.source.watcher = store, store
		w.source.pools = poolread.Reader{Cluster: store, Workloads: w}
		for _, line := range lines {
			if qualified {
				line = strings.Replace(line, " workers", " awsmachinepool/workers", 1)
			}
			for _, screen := range []terminal.Screen{{}, {Interactive: true, Width: 40}} {
				out, notes, err := w.runOn(t.Context(), screen, strings.Fields(line)...)
				shown := notes + out
				if err != nil {
					shown += errorText(err)
				}
				if at := strings.IndexFunc(shown, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 || !utf8.ValidString(shown) {
					t.Errorf("seed %d: slipway %s: text that a terminal interprets: %.300q", seed, line, shown[max(at-40, 0):])
				}
				if err == nil && strings.Contains(line, "json") && !json.Valid([]byte(out)) {
					t.Errorf("seed %d: slipway %s printed what is no JSON: %q", seed, line, out)
				}
			}
		}
		w.control(t, fmt.Sprint("seed ", seed), store)
	}
}

// control makes every decision about the roll-outs of the objects in a cluster.
func (w *readWorld) control(t *testing.T, name string, cluster client.Client) {
	t.Helper()
	for _, subject := range []string{"awsmachinepool/workers", "awsmanagedmachinepool/workers", "awslaunchconfig/workers"} {
		read, err := rolloutcontrol.Read(t.Context(), cluster, "blue", subject)
		if err != nil {
			continue
		}
		for _, decide := range []func(rolloutcontrol.Subject) (rolloutcontrol.Change, error){
			func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) { return rolloutcontrol.Undo(s, 0) },
			func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) { return rolloutcontrol.Undo(s, 1) },
			func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) {
				return rolloutcontrol.Approve(s, 0, "alice")
			},
			func(s rolloutcontrol.Subject) (rolloutcontrol.Change, error) { return rolloutcontrol.Retry(s, "now") },
			rolloutcontrol.Unpin, rolloutcontrol.Pause, rolloutcontrol.Resume, rolloutcontrol.Cancel,
		} {
			change, err := decide(read)
			if err == nil && (change.Reason == "" || len(change.Patches) == 0) {
				t.Errorf("%s: %s: got %+v, want a change with a reason", name, subject, change)
			}
			if err == nil {
				text := &strings.Builder{}
				showChange(text, change)
				if at := strings.IndexFunc(text.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }); at >= 0 {
					t.Errorf("%s: %s: text that a terminal interprets: %q", name, subject, text)
				}
			}
		}
	}
}
