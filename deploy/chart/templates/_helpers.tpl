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
