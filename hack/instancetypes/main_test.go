package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const small = `{"InstanceTypes": [{"InstanceType": "m5.xlarge", "BareMetal": false, "VCpuInfo": {"DefaultVCpus": 4.0, "ValidCores": [1, 2, 3, 4, 8, 12, 16]}},
	{"InstanceType": "m5.large", "BareMetal": true, "NitroTpmSupport": "supported", "SupportedUsageClasses": ["on-demand", "spot"],
	 "NetworkInfo": {"NetworkCards": [{"MaximumNetworkInterfaces": 3, "NetworkPerformance": "10 Gigabit", "PeakBandwidthInGbps": 12.5}]}}]}`

func TestTable(t *testing.T) {
	t.Parallel()
	recorded, err := parseRecording([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	table, err := tableOf(recorded)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(table, "\n"), "\n")
	if len(lines) != 4 {
		t.Fatalf("the table is\n%s", table)
	}
	for i, row := range []struct {
		column string
		want   []string
	}{
		{"InstanceType", []string{"m5.large", "m5.xlarge"}},
		{"BareMetal?", []string{"y", ""}},
		{"NitroTpmSupport?", []string{"y", ""}},
		{"VCpuInfo.DefaultVCpus", []string{"", "4"}},
		{"VCpuInfo.ValidCores[]", []string{"", "1-4,8-16+4"}},
		{"SupportedUsageClasses[]", []string{"on-demand,spot", ""}},
		{columnLike("NetworkInfo.NetworkCards[]"), []string{"3///12.5////10 Gigabit", ""}},
	} {
		n := -1
		for j, column := range columns {
			if column == row.column {
				n = j
			}
		}
		for k, want := range row.want {
			if got := strings.Split(lines[2+k], "\t")[n]; got != want {
				t.Errorf("row %d: %s of line %d is %q, want %q", i, row.column, k, got, want)
			}
		}
	}
}

func columnLike(prefix string) string {
	for _, column := range columns {
		if strings.HasPrefix(column, prefix) {
			return column
		}
	}
	return ""
}

func TestRecordingsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ reason, recording, want string }{
		{"a member that nothing answers", `{"m5.large": {"InstanceType": "m5.large", "News": {"Color": "red"}}}`, "News.Color"},
		{"a type with the name of another", `{"m5.large": {"InstanceType": "m5.xlarge"}}`, "m5.xlarge"},
		{"a value with a separator in it", `{"m5.large": {"InstanceType": "m5.large", "Hypervisor": "a/b"}}`, "separator"},
		{"no JSON", `InstanceTypes`, "invalid character"},
	} {
		recorded, err := parseRecording([]byte(row.recording))
		if err == nil {
			_, err = tableOf(recorded)
		}
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got error %v, want one that says %s", row.reason, err, row.want)
		}
	}
}

// TestCompare holds that the comparison sees what differs; that nothing differs from the recording
// that the table is of is for who has that recording.
func TestCompare(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recording.json")
	if err := os.WriteFile(path, []byte(`{"m5.large": {"InstanceType": "m5.large", "MemoryInfo": {"SizeInMiB": 8193}}, "m5.tiny": {"InstanceType": "m5.tiny"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := run(t.Context(), []string{path}, &out)
	for _, want := range []string{
		"m5.large .MemoryInfo.SizeInMiB: AWS 8193, simulator 8192\n", "m5.tiny .InstanceType: AWS m5.tiny, simulator nothing\n", "1 of 2 instance types,",
	} {
		if err == nil || !strings.Contains(out.String(), want) {
			t.Errorf("got error %v and %d lines without %q", err, strings.Count(out.String(), "\n"), want)
		}
	}
}
