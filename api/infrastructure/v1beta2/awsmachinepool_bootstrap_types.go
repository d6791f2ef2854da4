package v1beta2

// Ignition says how bootstrap data in the Ignition format reaches the instances.
//
// +slipway:rule=SL8
// +kubebuilder:validation:XValidation:rule=`!has(self.proxy) || (has(self.version) && self.version in ['3.1', '3.2', '3.3', '3.4'])`,message="Ignition supports proxies from version 3.1: set version to 3.1 or later, or remove proxy",fieldPath=".proxy"
type Ignition struct {
	// Version of the Ignition specification of the pointer that user data holds. Default: 2.3, as with CAPA.
	// +optional
	// +kubebuilder:validation:Enum="2.3";"3.0";"3.1";"3.2";"3.3";"3.4"
	Version string `json:"version,omitempty"`

	// StorageType is where the bootstrap data is kept: ClusterObjectStore, in the S3 bucket of the cluster;
	// UnencryptedUserData, in the launch template.
	// +optional
	// +kubebuilder:default=ClusterObjectStore
	StorageType IgnitionStorageType `json:"storageType,omitempty"`

	// Proxy is how Ignition reaches the network.
	// +optional
	Proxy *IgnitionProxy `json:"proxy,omitempty"`

	// TLS says which certificates Ignition trusts.
	// +optional
	TLS *IgnitionTLS `json:"tls,omitempty"`
}

// IgnitionStorageType defines where bootstrap data is stored.
// +kubebuilder:validation:Enum=ClusterObjectStore;UnencryptedUserData
type IgnitionStorageType string

// The places.
const (
	IgnitionStorageTypeClusterObjectStore  IgnitionStorageType = "ClusterObjectStore"
	IgnitionStorageTypeUnencryptedUserData IgnitionStorageType = "UnencryptedUserData"
)

// IgnitionProxy defines how Ignition reaches the network.
type IgnitionProxy struct {
	// HTTPProxy is the proxy for http URLs.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self == '' || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '')`,message="httpProxy must be the URL of a proxy, such as http://proxy.example.com:3128"
	HTTPProxy *string `json:"httpProxy,omitempty"`

	// HTTPSProxy is the proxy for https URLs.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self == '' || (isURL(self) && url(self).getScheme() in ['http', 'https'] && url(self).getHost() != '')`,message="httpsProxy must be the URL of a proxy, such as http://proxy.example.com:3128"
	HTTPSProxy *string `json:"httpsProxy,omitempty"`

	// NoProxy are hosts that are reached without a proxy.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=2048
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self.all(h, h == '*' || h.matches('^[.]?[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$') || h.matches('^[0-9a-fA-F:.]+(/[0-9]{1,3})?$') || h.matches('^[[][0-9a-fA-F:.]+[]](:[0-9]{1,5})?$'))`,message="noProxy must have domain names (.example.com for subdomains only), IP addresses, CIDR ranges such as 10.0.0.0/8, each with an optional port, or *"
	NoProxy []string `json:"noProxy,omitempty"`
}

// IgnitionTLS says which certificates Ignition trusts.
type IgnitionTLS struct {
	// CertificateAuthorities are the URLs of certificate bundles: http, https, tftp, s3, arn, gs or data.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=65536
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self.all(u, ['http://', 'https://', 'tftp://', 's3://', 'arn:', 'gs://', 'data:'].exists(p, u.startsWith(p)))`,message="certificateAuthorities must be URLs that begin with https://, http://, tftp://, s3://, arn:, gs://, or data:"
	// +slipway:rule=SL8
	// +kubebuilder:validation:XValidation:rule=`self.all(u, !u.startsWith('data:') || u.contains(';base64,'))`,message="a data URL in certificateAuthorities must be base64-encoded: data:;base64,..."
	CertificateAuthorities []string `json:"certificateAuthorities,omitempty"`
}

// BootstrapStorage defines where bootstrap data is stored.
// +kubebuilder:validation:Enum=UserData;SSM;S3
type BootstrapStorage string

// The places.
const (
	BootstrapStorageUserData BootstrapStorage = "UserData"
	BootstrapStorageSSM      BootstrapStorage = "SSM"
	BootstrapStorageS3       BootstrapStorage = "S3"
)
