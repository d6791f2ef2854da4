package crashsweep

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
)

// Points returns the points of a scenario with these calls that this run of the tests does: at
// least one and at most as many as given, chosen by the commit. SWEEP=all does all points, SWEEP=50
// so many of each scenario, and SWEEP_SEED chooses points other than the commit's. SWEEP_PART=2/5
// does the second of five parts of these points.
func Points(scenario string, calls []string, most int) []Point {
	points := make([]Point, 0, len(calls)*len(places))
	nth := map[string]int{}
	for _, call := range calls {
		nth[call]++
		for _, place := range places {
			points = append(points, Point{Call: call, Nth: nth[call], Place: place})
		}
	}
	if os.Getenv("SWEEP") == "all" {
		return part(points)
	}
	seed := cmp.Or(os.Getenv("SWEEP_SEED"), commit())
	digest := func(point Point) []byte {
		sum := sha256.Sum256([]byte(fmt.Sprint(seed, scenario, point)))
		return sum[:]
	}
	points = slices.DeleteFunc(points, Point.repeated)
	slices.SortFunc(points, func(a, b Point) int { return bytes.Compare(digest(a), digest(b)) })
	if asked, err := strconv.Atoi(os.Getenv("SWEEP")); err == nil {
		most = asked
	}
	return part(points[:min(max(most, 1), len(points))])
}

// part returns the points of the part that is asked for: every so manieth.
func part(points []Point) []Point {
	which, of := 0, 0
	if _, err := fmt.Sscanf(os.Getenv("SWEEP_PART"), "%d/%d", &which, &of); err != nil || of < 1 {
		return points
	}
	var parted []Point
	for i, point := range points {
		if i%of == which%of {
			parted = append(parted, point)
		}
	}
	return parted
}

// commit returns "" where there is no repository: then the same slice is done each time.
func commit() string {
	output, err := exec.Command("git", "rev-parse", "HEAD").Output()
	if err != nil {
		return ""
	}
	return string(output)
}
