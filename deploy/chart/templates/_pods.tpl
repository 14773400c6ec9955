{{- /* Where and as whom every pod of the chart that runs Joiner's image runs: the root, and labels that select the pod's like. */}}
{{- define "joiner.placement" -}}
{{- $root := index . 0 }}
{{- $values := $root.Values }}
{{- with $values.imagePullSecrets -}}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{ end -}}
priorityClassName: {{ $values.priorityClassName | quote }}
{{- with $values.schedulerName }}
schedulerName: {{ . | quote }}
{{- end }}
{{- /* A Service joiner-conversion would put JOINER_CONVERSION_PORT=tcp://... into each pod's environment. */}}
enableServiceLinks: false
{{- if $values.hostNetwork }}
hostNetwork: true
{{- end }}
{{- with $values.dnsPolicy | default (ternary "ClusterFirstWithHostNet" "" (eq $values.hostNetwork true)) }}
dnsPolicy: {{ . }}
{{- end }}
{{- with $values.dnsConfig }}
dnsConfig: {{- toYaml . | nindent 2 }}
{{- end }}
# A node that Joiner makes must not be what Joiner runs on, whatever the node selector says.
affinity: {{- include "joiner.affinity" . | nindent 2 }}
securityContext:
  {{- toYaml (merge (include "joiner.filled" $values.podSecurityContext | fromJson) (dict "runAsNonRoot" true "runAsUser" 65532 "seccompProfile" (dict "type" "RuntimeDefault"))) | nindent 2 }}
{{- with $values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* A map without its empty fields: Karpenter's values have profiles that are {}, which the API server refuses. As JSON. */}}
{{- define "joiner.filled" -}}
{{- $filled := dict }}
{{- range $name, $value := . }}{{ if not (and (kindIs "map" $value) (empty $value)) }}{{ $_ := set $filled $name $value }}{{ end }}{{ end }}
{{- toJson $filled }}
{{- end }}

{{- define "joiner.containerSecurity" -}}
{{- toYaml (merge (include "joiner.filled" .Values.controller.securityContext | fromJson) (dict "allowPrivilegeEscalation" false "readOnlyRootFilesystem" true "capabilities" (dict "drop" (list "ALL")))) }}
{{- end }}

{{- /* Environment of a part that uses Temporal besides its roles and ports, a list. */}}
{{- define "joiner.partEnv" -}}
{{- $root := index . 0 }}
{{- $part := index . 1 -}}
- name: JOINER_IDENTITY
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
{{- if has "azure" $part.roles }}
- name: JOINER_AZURE_REPLICAS
  value: {{ $part.replicas | quote }}
{{- end }}
{{- with include "joiner.temporalEnv" $root | trim }}
{{ . }}
{{- end }}
{{- with include "joiner.environment" (list $root $part.roles) | fromYamlArray }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "joiner.partEnvFrom" -}}
- configMapRef: { name: joiner-settings }
{{- with include "joiner.envFrom" . }}
{{ . }}
{{- end }}
{{- end }}

{{- /* What a pod that uses Temporal mounts, and its volumes. Values add to both. */}}
{{- define "joiner.partMounts" -}}
- { name: tmp, mountPath: /tmp }
- { name: files, mountPath: /etc/joiner, readOnly: true }
{{- with include "joiner.temporalVolumeMounts" . | trim }}
{{ . }}
{{- end }}
{{- with .Values.controller.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "joiner.partVolumes" -}}
# Compiled code, so that a restart is quick.
- { name: tmp, emptyDir: { sizeLimit: 64Mi } }
- { name: files, configMap: { name: joiner-files } }
{{- with include "joiner.temporalVolumes" . | trim }}
{{ . }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* Containers beside Joiner's, with the volumes that values mount in Joiner's and in them. A list. */}}
{{- define "joiner.sidecars" -}}
{{- $mounts := concat (.Values.controller.extraVolumeMounts | default list) (.Values.controller.sidecarVolumeMounts | default list) }}
{{- range .Values.controller.sidecarContainer }}
{{- $all := concat (.volumeMounts | default list) $mounts }}
{{ toYaml (list (merge (ternary (dict "volumeMounts" $all) dict (not (empty $all))) .)) }}
{{- end }}
{{- end }}
