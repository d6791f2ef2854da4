package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/slipway-project/slipway/awssim"
	"github.com/slipway-project/slipway/awssim/world"
)

// compare prints how many members the simulator answers as AWS was recorded to, and returns an
// error if it answers any otherwise.
func compare(ctx context.Context, recorded map[string]object, out io.Writer) error {
	simulated, err := describe(ctx)
	if err != nil {
		return err
	}
	var differences []string
	types, members, wrong := 0, 0, 0
	for _, name := range slices.Sorted(maps.Keys(recorded)) {
		want, got := values("", recorded[name]), values("", simulated[name])
		members += len(want)
		if simulated[name] != nil {
			types++
		}
		for path := range maps.Keys(want) {
			if _, answered := got[path]; !answered {
				got[path] = "nothing"
			}
		}
		for _, path := range slices.Sorted(maps.Keys(got)) {
			if w, there := want[path]; !there || w != got[path] {
				wrong++
				differences = append(differences, fmt.Sprintf("%s %s: AWS %s, simulator %s", name, path, w, got[path]))
			}
		}
	}
	more := 0
	for name := range simulated {
		if recorded[name] == nil {
			more++
			differences = append(differences, name+": AWS was not recorded to have it")
		}
	}
	for _, difference := range differences {
		if _, err := fmt.Fprintln(out, difference); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(out, "%d of %d instance types, %d of their %d members differ; %d other types\n", types, len(recorded), wrong, members, more); err != nil {
		return err
	}
	if len(differences) > 0 {
		return errors.New("the simulated AWS answers otherwise than AWS was recorded to")
	}
	return nil
}

// describe returns what a simulator with the whole catalogue answers to DescribeInstanceTypes, by name.
func describe(ctx context.Context) (described map[string]object, err error) {
	whole := *world.Default()
	whole.InstanceTypes = world.Catalogue()
	simulator := awssim.New(awssim.Options{World: &whole})
	defer func() { err = errors.Join(err, simulator.Close()) }()
	url, err := simulator.Start(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	client := ec2.New(ec2.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url), Credentials: credentials.NewStaticCredentialsProvider("AKIATEST123456789012", "secret", ""),
	})
	described = map[string]object{}
	pages := ec2.NewDescribeInstanceTypesPaginator(client, &ec2.DescribeInstanceTypesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("describing instance types: %w", err)
		}
		for i := range page.InstanceTypes {
			answer, err := json.Marshal(page.InstanceTypes[i])
			if err != nil {
				return nil, err
			}
			var t object
			if err := json.Unmarshal(answer, &t); err != nil {
				return nil, err
			}
			described[string(page.InstanceTypes[i].InstanceType)] = t
		}
	}
	return described, nil
}

// values returns the members that have a value, as text by path. Numbers are equal however they are written.
func values(path string, value any) map[string]string {
	found := map[string]string{}
	switch v := value.(type) {
	case nil:
	case object:
		for name, member := range v {
			maps.Copy(found, values(path+"."+name, member))
		}
	case []any:
		for i, element := range v {
			maps.Copy(found, values(path+"["+strconv.Itoa(i)+"]", element))
		}
	case json.Number:
		if number, err := v.Float64(); err == nil {
			return values(path, number)
		}
		found[path] = v.String()
	case string:
		if v != "" {
			found[path] = v
		}
	default:
		found[path] = fmt.Sprint(v)
	}
	return found
}
