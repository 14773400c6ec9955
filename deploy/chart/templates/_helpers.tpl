{{- /* Names of what runs, and the value of app.kubernetes.io/name. What code and tools look up by its name is named joiner-... always. */}}
{{- define "joiner.fullname" -}}
{{- .Values.fullnameOverride | default .Values.nameOverride | default "joiner" | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "joiner.name" -}}
{{- .Values.nameOverride | default "joiner" }}
{{- end }}

{{- /* Labels of an object and of pods, over which no value comes. */}}
{{- define "joiner.ownLabels" -}}
app.kubernetes.io/name: {{ include "joiner.name" . }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "joiner.labels" -}}
{{- toYaml (merge (include "joiner.ownLabels" . | fromYaml) (.Values.additionalLabels | default dict)) }}
{{- end }}

{{- /* Labels and annotations of an object: the root, then labels and annotations of its own, which come first. */}}
{{- define "joiner.metadata" -}}
{{- $root := index . 0 }}
{{- $labels := dict }}{{ if gt (len .) 1 }}{{ $labels = index . 1 | default dict }}{{ end }}
{{- $annotations := dict }}{{ if gt (len .) 2 }}{{ $annotations = index . 2 | default dict }}{{ end -}}
labels:
  {{- toYaml (merge (include "joiner.labels" $root | fromYaml) $labels) | nindent 2 }}
{{- with merge $annotations ($root.Values.additionalAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Not empty where one Deployment has all roles. */}}
{{- define "joiner.isSingle" -}}
{{- if eq .Values.profile "single" }}true{{ end }}
{{- end }}

{{- /* The account that has an identity at Azure, by the name that its federated credential is made for. */}}
{{- define "joiner.azureAccount" -}}
{{- .Values.serviceAccount.name | default (printf "%s-azure" (include "joiner.fullname" .)) }}
{{- end }}

{{- /* Resources of the part with the role core, as JSON. One process with all roles needs more CPU than that of the four, where values leave it open. */}}
{{- define "joiner.controllerResources" -}}
{{- $resources := deepCopy (.Values.controller.resources | default dict) }}
{{- with $resources.requests }}
{{- if eq (toString .cpu) "" }}{{ $_ := set . "cpu" (ternary "250m" "100m" (eq $.Values.profile "single")) }}{{ end }}
{{- end }}
{{- toJson $resources }}
{{- end }}

{{- /*
What runs, as a JSON list: the name of a Deployment, its component label, which stays when it is renamed, its roles, its account, its number of replicas,
its resources, and its place among all of them.
*/}}
{{- define "joiner.parts" -}}
{{- $name := include "joiner.fullname" . }}
{{- /* Karpenter's values have one number for all. */}}
{{- $replicas := .Values.replicas | default .Values.controller.replicas }}
{{- $resources := include "joiner.controllerResources" . | fromJson }}
{{- if include "joiner.isSingle" . }}
{{- $one := .Values.replicas | default 1 }}
{{- list (dict "name" $name "component" "joiner" "roles" (list "core" "bridge" "azure" "planner" "conversion") "account" (include "joiner.azureAccount" .) "replicas" $one "resources" $resources "place" 0) | toJson }}
{{- else }}
{{- list
  (dict "name" $name "component" "joiner" "roles" (list "core" "bridge") "account" $name "replicas" $replicas "resources" $resources "place" 0)
  (dict "name" (printf "%s-azure" $name) "component" "joiner-azure" "roles" (list "azure") "account" (include "joiner.azureAccount" .) "replicas" (.Values.replicas | default .Values.provider.replicas) "resources" .Values.provider.resources "place" 1)
  (dict "name" (printf "%s-planner" $name) "component" "joiner-planner" "roles" (list "planner") "account" (printf "%s-planner" $name) "replicas" .Values.planner.replicas "resources" .Values.planner.resources "place" 2)
  (dict "name" (printf "%s-conversion" $name) "component" "joiner-conversion" "roles" (list "conversion") "account" (printf "%s-conversion" $name) "replicas" .Values.conversion.replicas "resources" .Values.conversion.resources "place" 3) | toJson }}
{{- end }}
{{- end }}

{{- /* ServiceAccounts with the roles of their Deployments. */}}
{{- define "joiner.accounts" -}}
{{- range include "joiner.parts" . | fromJsonArray }}
{{ .account }}: {{ toJson .roles }}
{{- end }}
{{- end }}

{{- /* The part with a role, as JSON. */}}
{{- define "joiner.partOf" -}}
{{- $role := index . 1 }}
{{- range include "joiner.parts" (index . 0) | fromJsonArray }}{{ if has $role .roles }}{{ toJson . }}{{ end }}{{ end }}
{{- end }}

{{- /* Ports of a part, as JSON. Pods that share the network of their node must not share a port: each Deployment has its own ten. */}}
{{- define "joiner.ports" -}}
{{- $root := index . 0 }}
{{- $offset := ternary (mul 10 (int (index . 1).place)) 0 (eq $root.Values.hostNetwork true) }}
{{- $metrics := add (int $root.Values.controller.metrics.port) $offset }}
{{- $health := ternary (add (int $root.Values.controller.healthProbe.port) $offset) $metrics (ne (int $root.Values.controller.healthProbe.port) 0) }}
{{- dict "metrics" $metrics "health" $health | toJson }}
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

{{- /* Not empty where a gate of Karpenter, such as NodeOverlay, is on: by its value, or by FEATURE_GATES as it is given. Takes the root and the gate. */}}
{{- define "joiner.hasGate" -}}
{{- $root := index . 0 }}
{{- $gate := index . 1 }}
{{- $given := include "joiner.givenVariable" (list $root "FEATURE_GATES") | nospace }}
{{- if or (get ($root.Values.settings.featureGates | default dict) (untitle $gate)) (regexMatch (printf "(^|,)%s=(?i:true)" $gate) $given) }}true{{ end }}
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

{{- /* Names in controller.env that have a value, as a JSON list. */}}
{{- define "joiner.environmentNames" -}}
{{- $names := list }}
{{- range .Values.controller.env }}{{ if or .value .valueFrom }}{{ $names = append $names .name }}{{ end }}{{ end }}
{{- toJson $names }}
{{- end }}

{{- /* What has no default is set by a value, or by its variable in controller.env. */}}
{{- define "joiner.checkValues" -}}
{{- $given := include "joiner.environmentNames" . | fromJsonArray }}
{{- /* What a ConfigMap of controller.envFrom holds is not known here; Joiner says at its start what is missing. */}}
{{- $isUnknown := include "joiner.envFrom" (list . (list "core")) }}
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
{{- $refusals := list }}
{{- if and $missing (not $isUnknown) }}{{ $refusals = append $refusals (printf "missing values: %s" (join ", " $missing)) }}{{ end }}
{{- with include "joiner.imageRefusal" . }}{{ $refusals = append $refusals . }}{{ end }}
{{- with $refusals }}{{ fail (join "\n" .) }}{{ end }}
{{- $name := include "joiner.fullname" . }}
{{- if and (not (include "joiner.isSingle" .)) (has .Values.serviceAccount.name (list $name (printf "%s-planner" $name) (printf "%s-conversion" $name))) }}
{{- fail (printf "serviceAccount.name %q is the account of another Deployment; it names the one with an identity at Azure: leave it empty for %s-azure" .Values.serviceAccount.name $name) }}
{{- end }}
{{- end }}

{{- /* An image that cannot be pulled would show after minutes, in a Job that Helm reports as failed without its reason. */}}
{{- define "joiner.imageRefusal" -}}
{{- $given := .Values.controller.image | default dict }}
{{- if not ($given.repository | default .Values.image.repository) -}}
{{- $image := printf "REGISTRY/joiner:%s" ($given.tag | default .Values.image.tag | default .Chart.AppVersion) -}}
image.repository is empty: set it to where your registry has Joiner's image. Build one in a checkout of Joiner, and push it to a registry that the cluster pulls from:
  docker build --platform linux/amd64 -f deploy/Dockerfile -t {{ $image }} .
  docker push {{ $image }}
Then set it: --set image.repository=REGISTRY/joiner
{{- end }}
{{- end }}

{{- define "joiner.featureGates" -}}
{{- $gates := list }}
{{- range $name, $on := omit (.Values.settings.featureGates | default dict) "drift" }}
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

{{- /* Not empty where the chart runs a Temporal of its own: where it is told to, or nothing names another one. */}}
{{- define "joiner.runsTemporal" -}}
{{- range .Values.controller.env }}
{{- if and (eq .name "TEMPORAL_ADDRESS") (not .value) (not .valueFrom) }}{{ fail "TEMPORAL_ADDRESS in controller.env has no value, and would come before temporal.address: leave it out, or set its value to host:port of a Temporal frontend" }}{{ end }}
{{- end }}
{{- $given := .Values.temporal.bundled.enabled }}
{{- $isNamed := or .Values.temporal.address (has "TEMPORAL_ADDRESS" (include "joiner.environmentNames" . | fromJsonArray)) }}
{{- if kindIs "invalid" $given }}{{ if not $isNamed }}true{{ end }}
{{- else if $given }}true
{{- else if not $isNamed }}{{ fail "temporal.bundled.enabled is false, and temporal.address is empty: set temporal.address to host:port of a Temporal frontend, or leave temporal.bundled.enabled out" }}
{{- end }}
{{- end }}

{{- define "joiner.temporalAddress" -}}
{{- if include "joiner.runsTemporal" . }}{{ printf "joiner-temporal.%s.svc:7233" .Release.Namespace }}{{ else }}{{ .Values.temporal.address }}{{ end }}
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
