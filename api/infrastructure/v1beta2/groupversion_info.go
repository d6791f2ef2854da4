package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package. The two kinds of pools
// are served as v1beta1 too, with the same schema; the Go types know this version alone.
var GroupVersion = schema.GroupVersion{Group: "infrastructure.cluster.x-k8s.io", Version: "v1beta2"}

var schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

// AddToScheme registers the kinds of this package in a scheme.
var AddToScheme = schemeBuilder.AddToScheme

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&AWSMachinePool{}, &AWSMachinePoolList{},
		&AWSManagedMachinePool{}, &AWSManagedMachinePoolList{},
		&AWSLaunchConfig{}, &AWSLaunchConfigList{},
		&AWSLaunchConfigTemplate{}, &AWSLaunchConfigTemplateList{},
		&AWSMachinePoolMachine{}, &AWSMachinePoolMachineList{},
		&AWSMachinePoolTemplate{}, &AWSMachinePoolTemplateList{},
		&AWSManagedMachinePoolTemplate{}, &AWSManagedMachinePoolTemplateList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
