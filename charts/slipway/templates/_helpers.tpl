{{/* The program that the chart runs. The name of the chart does not say it: a chart that depends on this
one can give it an alias. */}}
{{- define "slipway.component" -}}
{{- index .Chart.Annotations "slipway/component" -}}
{{- end }}

{{/* "true" in the manager's chart. */}}
{{- define "slipway.isManager" -}}
{{- if eq (include "slipway.component" .) "manager" -}}true{{- end -}}
{{- end }}

{{- define "slipway.fullname" -}}
{{- .Values.fullnameOverride | default .Chart.Name -}}
{{- end }}

{{- define "slipway.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "slipway.fullname" .) -}}
{{- end }}

{{/* The lease that a program takes without --leader-election-id. */}}
{{- define "slipway.defaultLeaseName" -}}
{{- if include "slipway.isManager" . -}}slipway-leader-election{{- else -}}slipway-provisioner-leader-election{{- end -}}
{{- end }}

{{/* The Role that permits the lease. */}}
{{- define "slipway.leaseRoleName" -}}
{{ include "slipway.fullname" . }}-leader-election
{{- end }}

{{/* The Roles of Helm releases in the namespace that permit a lease, separated by spaces. There are none where
Helm has no cluster, as in `helm template`. */}}
{{- define "slipway.leaseRoles" -}}
{{- $found := list -}}
{{- range $role := (lookup "rbac.authorization.k8s.io/v1" "Role" .root.Release.Namespace "").items -}}
{{- range .rules -}}
{{- if and (has "leases" (.resources | default list)) (has $.lease (.resourceNames | default list)) (hasKey ($role.metadata.annotations | default dict) "meta.helm.sh/release-name") -}}
{{- $found = append $found $role.metadata.name -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- $found | uniq | join " " -}}
{{- end }}

{{/* The lease of the release. A release with a name of its own has a lease of its own, because names of
Deployments differ within a namespace. Earlier charts gave all releases the default lease: an upgrade keeps it,
so that earlier and later replicas do not lead at once, unless another release has it too. */}}
{{- define "slipway.leaseName" -}}
{{- $default := include "slipway.defaultLeaseName" . -}}
{{- if (.Values.leaderElection).id -}}
{{- .Values.leaderElection.id -}}
{{- else if eq (include "slipway.fullname" .) (printf "slipway-%s" (include "slipway.component" .)) -}}
{{- $default -}}
{{- else if and .Release.IsUpgrade (eq (include "slipway.leaseRoles" (dict "root" . "lease" $default)) (include "slipway.leaseRoleName" .)) -}}
{{- $default -}}
{{- else -}}
{{- printf "%s-%s" $default (include "slipway.fullname" .) -}}
{{- end -}}
{{- end }}

{{- define "slipway.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{- define "slipway.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "slipway.labels" -}}
{{ include "slipway.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: {{ include "slipway.component" . }}
app.kubernetes.io/part-of: slipway
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- if include "slipway.isManager" . }}
cluster.x-k8s.io/provider: infrastructure-slipway
{{- end }}
{{- end }}

{{/* The labels of the chart with further ones, which win unless something selects by the chart's. */}}
{{- define "slipway.labelsWith" -}}
{{- $selected := fromYaml (include "slipway.selectorLabels" .root) -}}
{{- range $label, $_ := .more -}}
{{- if hasKey $selected $label -}}{{- fail (printf "%s has the label %s, by which the chart selects its pods: choose another label" $.value $label) -}}{{- end -}}
{{- end -}}
{{- merge (dict) (.more | default dict) (fromYaml (include "slipway.labels" .root)) | toYaml -}}
{{- end }}

{{/* Fails if the lease is that of another release, and the release would wait for that one for ever. An upgrade
of a release without a lease of its own may go on: the upgrade of the other one gives that another lease. */}}
{{- define "slipway.validateLease" -}}
{{- if or .Release.IsInstall (.Values.leaderElection).id -}}
{{- $lease := include "slipway.leaseName" . -}}
{{- $own := include "slipway.leaseRoleName" . -}}
{{- range splitList " " (include "slipway.leaseRoles" (dict "root" . "lease" $lease)) -}}
{{- if and . (ne . $own) -}}
{{- fail (printf "another release in namespace %s, with the Role %s, has the leader election lease %s, so only one of them would work: set leaderElection.id to another name" $.Release.Namespace . $lease) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* Fails for values that the schema cannot refuse, because each is valid without the others. */}}
{{- define "slipway.validate" -}}
{{- include "slipway.validateLease" . -}}
{{- $ports := dict "9440" "the health checks" -}}
{{- $wanted := dict -}}
{{- if .Values.metrics.enabled -}}{{- $_ := set $wanted "metrics.port" .Values.metrics.port -}}{{- end -}}
{{- if (.Values.dashboard).enabled -}}{{- $_ := set $wanted "dashboard.port" .Values.dashboard.port -}}{{- end -}}
{{- if include "slipway.hasWebhook" . -}}{{- $_ := set $wanted "webhook.port" .Values.webhook.port -}}{{- end -}}
{{- range $value, $port := $wanted -}}
{{- $port = toString $port -}}
{{- if hasKey $ports $port -}}{{- fail (printf "%s is %s, which is the port of %s: choose another port" $value $port (get $ports $port)) -}}{{- end -}}
{{- $_ := set $ports $port $value -}}
{{- end -}}
{{- if not .Values.metrics.enabled -}}
{{- range $name := list "serviceMonitor" "prometheusRule" -}}
{{- with index $.Values.metrics $name -}}{{- if .enabled -}}
{{- fail (printf "metrics.%s.enabled needs metrics.enabled: no pod serves metrics" $name) -}}
{{- end -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- if not .Values.serviceAccount.create -}}
{{- if .Values.aws.roleARN -}}{{- fail "aws.roleARN is an annotation of the ServiceAccount, which the release does not have: set the annotation eks.amazonaws.com/role-arn of the existing ServiceAccount, or serviceAccount.create" -}}{{- end -}}
{{- if .Values.serviceAccount.annotations -}}{{- fail "serviceAccount.annotations needs serviceAccount.create: set the annotations of the existing ServiceAccount instead" -}}{{- end -}}
{{- end -}}
{{- $owned := dict "health-addr" "" "leader-elect" "" "leader-election-id" "leaderElection.id" "leader-elect-namespace" "" "diagnostics-address" "metrics.port" -}}
{{- $managers := dict "dashboard-address" "dashboard.port" "namespace" "watchNamespace" "watch-filter" "watchFilter" "webhook-port" "webhook.port" "webhook-cert-dir" "webhook.certificate" "webhook-cert-secret" "webhook.certificate" "webhook-configuration" "webhook.certificate" -}}
{{- if include "slipway.isManager" . -}}{{- $owned = merge $owned $managers -}}{{- end -}}
{{- range .Values.extraArgs -}}
{{- $flag := trimPrefix "--" (index (splitList "=" .) 0) -}}
{{- if hasKey $owned $flag -}}
{{- fail (printf "extraArgs has --%s, which other objects of the chart depend on: %s" $flag (ternary (printf "use the value %s" (get $owned $flag)) "it cannot be changed" (ne (get $owned $flag) ""))) -}}
{{- else if hasKey $managers $flag -}}
{{- fail (printf "extraArgs has --%s, which only the manager has: remove it" $flag) -}}
{{- end -}}
{{- end -}}
{{- end }}

{{/* "true" if metrics are served over HTTP, without authorization. */}}
{{- define "slipway.insecureMetrics" -}}
{{- range .Values.extraArgs -}}
{{- if has . (list "--insecure-diagnostics" "--insecure-diagnostics=true") -}}true{{- end -}}
{{- end -}}
{{- end }}

{{/* Whether the pods have a webhook. */}}
{{- define "slipway.hasWebhook" -}}
{{- with .Values.webhook -}}{{- if .enabled -}}true{{- end -}}{{- end -}}
{{- end }}

{{/* Whether the manager makes the webhook's certificate. */}}
{{- define "slipway.selfManagedCertificate" -}}
{{- if include "slipway.hasWebhook" . -}}{{- if eq .Values.webhook.certificate "self-managed" -}}true{{- end -}}{{- end -}}
{{- end }}

{{- define "slipway.webhookSecretName" -}}
{{- if eq .Values.webhook.certificate "cert-manager" -}}
{{ include "slipway.fullname" . }}-webhook-certificate
{{- else if eq .Values.webhook.certificate "self-managed" -}}
{{ include "slipway.fullname" . }}-webhook-authority
{{- else -}}
{{ required "webhook.secretName is required if webhook.certificate is provided" .Values.webhook.secretName }}
{{- end -}}
{{- end }}
