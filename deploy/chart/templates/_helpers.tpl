{{- define "joiner.labels" -}}
app.kubernetes.io/name: joiner
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* An empty client or tenant id is left out: to the workload identity webhook it would not mean "none". */}}
{{- define "joiner.serviceAccountAnnotations" -}}
{{- with .Values.workloadIdentity.clientId }}
azure.workload.identity/client-id: {{ . | quote }}
{{- end }}
{{- with .Values.workloadIdentity.tenantId }}
azure.workload.identity/tenant-id: {{ . | quote }}
{{- end }}
{{- with .Values.serviceAccount.annotations }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Names in controller.env, as a JSON list. */}}
{{- define "joiner.environmentNames" -}}
{{- $names := list }}
{{- range .Values.controller.env }}{{ $names = append $names .name }}{{ end }}
{{- toJson $names }}
{{- end }}

{{- /* What has no default is set by a value, or by its variable in controller.env. */}}
{{- define "joiner.checkValues" -}}
{{- $given := include "joiner.environmentNames" . | fromJsonArray }}
{{- $needed := list
  (list "cluster.name" "CLUSTER_NAME" (.Values.settings.clusterName | default .Values.cluster.name))
  (list "cluster.endpoint" "CLUSTER_ENDPOINT" (.Values.settings.clusterEndpoint | default .Values.cluster.endpoint))
  (list "azure.subscriptionId" "ARM_SUBSCRIPTION_ID" (or .Values.azure.subscriptionId (has "AZURE_SUBSCRIPTION_ID" $given)))
  (list "azure.location" "LOCATION" .Values.azure.location)
  (list "azure.nodeResourceGroup" "AZURE_NODE_RESOURCE_GROUP" .Values.azure.nodeResourceGroup)
  (list "azure.subnetId" "VNET_SUBNET_ID" .Values.azure.subnetId)
  (list "azure.sshPublicKey" "SSH_PUBLIC_KEY" .Values.azure.sshPublicKey) }}
{{- $missing := list }}
{{- range $needed }}
{{- if not (or (index . 2) (has (index . 1) $given)) }}
{{- $missing = append $missing (printf "%s (or %s in controller.env)" (index . 0) (index . 1)) }}
{{- end }}
{{- end }}
{{- if $missing }}{{ fail (printf "missing values: %s" (join ", " $missing)) }}{{ end }}
{{- end }}

{{- define "joiner.featureGates" -}}
{{- $gates := list }}
{{- range $name, $on := .Values.settings.featureGates }}
{{- $gates = append $gates (printf "%s%s=%t" (upper (substr 0 1 $name)) (substr 1 -1 $name) $on) }}
{{- end }}
{{- join "," $gates }}
{{- end }}

{{- define "joiner.tags" -}}
{{- $tags := list }}
{{- range $name, $value := .Values.settings.tags | default .Values.azure.additionalTags }}
{{- $tags = append $tags (printf "%s=%s" $name (toString $value)) }}
{{- end }}
{{- join "," $tags }}
{{- end }}
