package simulation

const nodegroupTag = "eks:nodegroup-name"

var managed = poolKind{name: "AWSManagedMachinePool"}
var managedNames = poolNames{name: "nodes", cluster: "edge", secret: "nodes-bootstrap"}

type managedFacts struct{}
