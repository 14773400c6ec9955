{{- define "joiner.labels" -}}
app.kubernetes.io/name: joiner
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- /* The account that has an identity at Azure, by the name that its federated credential is made for. */}}
{{- define "joiner.azureAccount" -}}
{{- .Values.serviceAccount.name | default "joiner-azure" }}
{{- end }}

{{- /* ServiceAccounts with the roles of their Deployments. */}}
{{- define "joiner.accounts" -}}
joiner: [core, bridge]
{{ include "joiner.azureAccount" . }}: [azure]
joiner-planner: [planner]
joiner-conversion: [conversion]
{{- end }}

{{- /* An empty client or tenant id is left out: to the workload identity webhook it would not mean "none". */}}
{{- define "joiner.identityAnnotations" -}}
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

{{- /* The value of a variable in controller.env; empty where it has none. */}}
{{- define "joiner.givenVariable" -}}
{{- $name := index . 1 }}
{{- range (index . 0).Values.controller.env }}{{ if eq .name $name }}{{ .value | default "" }}{{ end }}{{ end }}
{{- end }}

{{- /* Not empty where pods are given default spread constraints. */}}
{{- define "joiner.hasDefaultSpread" -}}
{{- $given := include "joiner.givenVariable" (list . "SCHEDULER_CONFIG") | fromYaml }}
{{- range $config := list .Values.settings.schedulerConfig $given }}
{{- with $config }}{{ with .podTopologySpread }}{{ with .defaultConstraints }}true{{ end }}{{ end }}{{ end }}
{{- end }}
{{- end }}

{{- /* Not empty where the address of DNS is that of the Service kube-dns. */}}
{{- define "joiner.readsDnsService" -}}
{{- if not (or .Values.azure.dnsServiceIp (has "DNS_SERVICE_IP" (include "joiner.environmentNames" . | fromJsonArray))) }}true{{ end }}
{{- end }}

{{- /* Not empty where it depends on network policies whether localDNS may be on. */}}
{{- define "joiner.readsNetworkPolicies" -}}
{{- $policy := include "joiner.givenVariable" (list . "NETWORK_POLICY") | default .Values.azure.networkPolicy }}
{{- if and (has $policy (list "cilium" "calico")) (semverCompare ">=1.99.0-0" .Capabilities.KubeVersion.Version) }}true{{ end }}
{{- end }}

{{- /*
The environment that values give to a role. What is about an identity at Azure reaches the processes with that role alone, and so does the bootstrap
token that Karpenter's values hold and nobody needs.
*/}}
{{- define "joiner.environment" -}}
{{- $roles := index . 1 }}
{{- $kept := list }}
{{- range (index . 0).Values.controller.env }}
{{- $isSecret := regexMatch "^(AZURE_(CLIENT|FEDERATED|USERNAME|PASSWORD|TOKEN_CREDENTIALS|AUTHORITY_HOST)|ARM_CLIENT|IDENTITY_|MSI_|KUBELET_BOOTSTRAP_TOKEN$)" .name }}
{{- if or (has "azure" $roles) (not $isSecret) }}{{ $kept = append $kept . }}{{ end }}
{{- end }}
{{- toYaml $kept }}
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
{{- if has .Values.serviceAccount.name (list "joiner" "joiner-planner" "joiner-conversion") }}
{{- fail (printf "serviceAccount.name %q is the account of another Deployment; it names the one with an identity at Azure: leave it empty for joiner-azure" .Values.serviceAccount.name) }}
{{- end }}
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

{{- /* Environment of a container that connects to Temporal, a list. Names are those of Temporal's own tools. */}}
{{- define "joiner.temporalEnv" -}}
{{- $tls := .Values.temporal.tls }}
{{- $dir := "/etc/joiner-temporal" }}
{{- if and $tls.secretName (not $tls.enabled) }}{{ fail "temporal.tls.secretName is set, and temporal.tls.enabled is false; set it to true" }}{{ end }}
{{- if $tls.enabled }}
- { name: TEMPORAL_TLS, value: "true" }
{{- with $tls.serverName }}
- { name: TEMPORAL_TLS_SERVER_NAME, value: {{ . | quote }} }
{{- end }}
{{- if $tls.secretName }}
{{- with $tls.caKey }}
- { name: TEMPORAL_TLS_SERVER_CA_CERT_PATH, value: "{{ $dir }}/tls/{{ . }}" }
{{- end }}
{{- with $tls.certKey }}
- { name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: "{{ $dir }}/tls/{{ . }}" }
{{- end }}
{{- with $tls.keyKey }}
- { name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: "{{ $dir }}/tls/{{ . }}" }
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.temporal.apiKey }}
{{- if .secretName }}
- name: TEMPORAL_API_KEY
  valueFrom: { secretKeyRef: { name: {{ .secretName | quote }}, key: {{ .key | quote }} } }
{{- end }}
{{- end }}
{{- with .Values.temporal.config }}
{{- if .secretName }}
- { name: TEMPORAL_CONFIG_FILE, value: "{{ $dir }}/config/{{ .key }}" }
- { name: TEMPORAL_PROFILE, value: {{ .profile | quote }} }
{{- end }}
{{- end }}
{{- with .Values.temporal.encryption }}
{{- if .secretName }}
- { name: JOINER_TEMPORAL_ENCRYPTION_KEYS_FILE, value: "{{ $dir }}/encryption/{{ .key }}" }
{{- end }}
{{- end }}
{{- end }}

{{- /* Secrets with what a connection to Temporal needs, as a JSON object of folder and Secret. */}}
{{- define "joiner.temporalSecrets" -}}
{{- $secrets := dict }}
{{- range $folder := list "tls" "config" "encryption" }}
{{- with (index $.Values.temporal $folder).secretName }}{{ $_ := set $secrets $folder . }}{{ end }}
{{- end }}
{{- toJson $secrets }}
{{- end }}

{{- define "joiner.temporalVolumes" -}}
{{- range $folder, $secret := include "joiner.temporalSecrets" . | fromJson }}
- { name: temporal-{{ $folder }}, secret: { secretName: {{ $secret | quote }} } }
{{- end }}
{{- end }}

{{- /* Whole folders: a single file that is mounted would not follow its Secret. */}}
{{- define "joiner.temporalVolumeMounts" -}}
{{- range $folder, $_ := include "joiner.temporalSecrets" . | fromJson }}
- { name: temporal-{{ $folder }}, mountPath: /etc/joiner-temporal/{{ $folder }}, readOnly: true }
{{- end }}
{{- end }}
