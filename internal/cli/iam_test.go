package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-project/slipway/awssim/iampolicy"
)

func TestIAMPolicyIsPrinted(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason, arguments string
		has, lacks        []string
		err               string
	}{
		{"the default features", "", []string{"autoscaling:CreateAutoScalingGroup", "ssm:GetParameter", `"Null"`}, []string{"eks:", "iam:CreateRole", "sqs:", "s3:", "sts:"}, ""},
		{"the default features with an EKS cluster", "--eks-cluster blue", []string{"eks:CreateNodegroup", "iam:CreateRole", ":role/slipway/*"}, []string{"sqs:"}, ""},
		{"a path and a boundary of roles", "--eks-cluster blue --role-path /teams/nodes/ --permissions-boundary arn:aws:iam::111122223333:policy/nodes",
			[]string{":role/teams/nodes/*", `"iam:PermissionsBoundary": "arn:aws:iam::111122223333:policy/nodes"`}, []string{"role/slipway/", "DeleteRolePermissionsBoundary"}, ""},
		{"a feature without what bounds it", "--feature managed-pools", nil, nil, "needs --eks-cluster"},
		{"adoption of no cluster", "--feature adoption", nil, nil, "needs --cluster or --eks-cluster"},
		{"a queue of any name", "--feature events", nil, nil, "needs --queue"},
		{"a cluster by a pattern", "--cluster blue*", nil, nil, "without wildcards"},
		{"one feature", "--feature events --queue slipway-events", []string{"sqs:ReceiveMessage", ":slipway-events"}, []string{"ec2:", "autoscaling:"}, ""},
		{"two features", "--feature machine-pools,s3-bootstrap-data --bucket data", []string{"ec2:CreateLaunchTemplate", "s3:PutObject"}, []string{"eks:"}, ""},
		{"a cluster", "--feature machine-pools --cluster blue --account 111122223333", []string{"*/blue/*", ":111122223333:launch-template/*"}, []string{"eks:"}, ""},
		{"a feature that is not there", "--feature nonsense", nil, nil, "there are machine-pools"},
		{"an account that is none", "--account blue", nil, nil, "twelve digits"},
		{"an argument", "blue", nil, nil, "takes none"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			t.Parallel()
			output, err := execute(t, append([]string{"iam", "policy"}, strings.Fields(row.arguments)...)...)
			if row.err != "" {
				if err == nil || !strings.Contains(err.Error(), row.err) {
					t.Errorf("the error is %v, want %q", err, row.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			// several documents if one would be too long
			for decoder := json.NewDecoder(strings.NewReader(output)); decoder.More(); {
				if err := decoder.Decode(new(json.RawMessage)); err != nil {
					t.Fatalf("it prints %q, %v", output, err)
				}
			}
			for _, text := range row.has {
				if !strings.Contains(output, text) {
					t.Errorf("it lacks %q:\n%s", text, output)
				}
			}
			for _, text := range row.lacks {
				if strings.Contains(output, text) {
					t.Errorf("it has %q:\n%s", text, output)
				}
			}
		})
	}
}

// TestIAMPoliciesAreWritten has more features than one policy can hold.
func TestIAMPoliciesAreWritten(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	output, err := execute(t, "iam", "policy", "--feature", "machine-pools,managed-pools,node-roles,adoption,s3-bootstrap-data",
		"--eks-cluster", "blue", "--bucket", "data", "--directory", directory)
	if err != nil || output != "" {
		t.Fatalf("it prints %q, %v", output, err)
	}
	files, err := filepath.Glob(filepath.Join(directory, "slipway-*.json"))
	if err != nil || len(files) < 2 {
		t.Fatalf("files are %q, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := iampolicy.Parse(string(content)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}
