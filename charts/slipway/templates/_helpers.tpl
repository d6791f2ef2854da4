{{- define "slipway.component" -}}
{{- if eq .Chart.Name "slipway" -}}manager{{- else -}}provisioner{{- end -}}
{{- end }}

{{- define "slipway.fullname" -}}
{{- .Values.fullnameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "slipway.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (include "slipway.fullname" .) -}}
{{- end }}

{{- define "slipway.leaseName" -}}
{{- if eq .Chart.Name "slipway" -}}slipway-leader-election{{- else -}}slipway-provisioner-leader-election{{- end -}}
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
{{- if eq .Chart.Name "slipway" }}
cluster.x-k8s.io/provider: infrastructure-slipway
{{- end }}
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
