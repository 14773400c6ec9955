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

{{- /* Probes of a container: the name of its port, and the path that says whether it is ready. */}}
{{- define "joiner.probes" -}}
# A start takes 8 seconds of a core, so a tenth of one needs 80; from then on a minute without an answer is too long.
startupProbe:
  httpGet: { path: /healthz, port: {{ index . 0 }} }
  periodSeconds: 2
  timeoutSeconds: 5
  failureThreshold: 150
livenessProbe:
  httpGet: { path: /healthz, port: {{ index . 0 }} }
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
readinessProbe:
  httpGet: { path: {{ index . 1 }}, port: {{ index . 0 }} }
  periodSeconds: 5
  timeoutSeconds: 5
{{- end }}

{{- /* What all pods request together, without sidecars: CPU in cores, and memory in MiB. A limit without a request is one. */}}
{{- define "joiner.requests" -}}
{{- $pods := list }}
{{- range include "joiner.parts" . | fromJsonArray }}{{ $pods = append $pods (dict "replicas" .replicas "resources" .resources) }}{{ end }}
{{- if include "joiner.runsTemporal" . }}{{ $pods = append $pods (dict "replicas" 1 "resources" .Values.temporal.bundled.resources) }}{{ end }}
{{- with .Values.ui }}{{ if .enabled }}{{ $pods = append $pods (dict "replicas" .replicas "resources" .resources) }}{{ end }}{{ end }}
{{- $cpu := 0.0 }}
{{- $memory := 0.0 }}
{{- range $pod := $pods }}
{{- $limits := dig "limits" dict ($pod.resources | default dict) | default dict }}
{{- $requests := merge (dict) (dig "requests" dict ($pod.resources | default dict) | default dict) $limits }}
{{- $cpu = addf $cpu (mulf (float64 $pod.replicas) (include "joiner.amount" $requests.cpu | float64)) }}
{{- $memory = addf $memory (mulf (float64 $pod.replicas) (include "joiner.amount" $requests.memory | float64)) }}
{{- end }}
{{- printf "%v CPU and %v MiB" (round $cpu 2) (round (divf $memory 1048576) 0) }}
{{- end }}

{{- /* A quantity of Kubernetes as a number. */}}
{{- define "joiner.amount" -}}
{{- $text := . | default "0" | toString }}
{{- $unit := regexFind "[A-Za-z]*$" $text }}
{{- $factors := dict "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 }}
{{- mulf (trimSuffix $unit $text | float64) (get $factors $unit | default 1.0) }}
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
# A process that stands by holds a connection to the one that leads.
- name: JOINER_POD_IP
  valueFrom: { fieldRef: { fieldPath: status.podIP } }
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
