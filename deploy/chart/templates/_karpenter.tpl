{{- /* Values of Karpenter's charts: what is refused, with what to use; what has no effect; and those that need more than a line in a template. */}}

{{- /* Refusals of a security context: its path, and the context. A line each. */}}
{{- define "joiner.contextRefusals" -}}
{{- $path := index . 0 }}
{{- $given := index . 1 | default dict }}
{{- $promise := "Joiner's pods run without root and without more rights than their account (docs/security.md)" }}
{{- if $given.privileged }}
{{ $path }}.privileged: true is refused: {{ $promise }}; leave it out
{{- end }}
{{- if $given.allowPrivilegeEscalation }}
{{ $path }}.allowPrivilegeEscalation: true is refused: {{ $promise }}; leave it out
{{- end }}
{{- if and (hasKey $given "runAsNonRoot") (not $given.runAsNonRoot) }}
{{ $path }}.runAsNonRoot: false is refused: {{ $promise }}; leave it out
{{- end }}
{{- if and (hasKey $given "runAsUser") (eq (int $given.runAsUser) 0) }}
{{ $path }}.runAsUser: 0 is refused: {{ $promise }}; use a user above 0, or leave it out for 65532
{{- end }}
{{- if and (hasKey $given "readOnlyRootFilesystem") (not $given.readOnlyRootFilesystem) }}
{{ $path }}.readOnlyRootFilesystem: false is refused: nothing in the image can be changed (docs/security.md); mount an emptyDir by extraVolumes where a file must be written
{{- end }}
{{- range $profile := list "seccompProfile" "appArmorProfile" }}
{{- if eq (dig $profile "type" "" $given) "Unconfined" }}
{{ $path }}.{{ $profile }}.type: Unconfined is refused: {{ $promise }}; use RuntimeDefault or Localhost
{{- end }}
{{- end }}
{{- if dig "capabilities" "add" "" $given }}
{{ $path }}.capabilities.add: is refused: {{ $promise }}; leave it out
{{- end }}
{{- end }}

{{- /* Rules that would break what docs/security.md says of rights. A line each. */}}
{{- define "joiner.ruleRefusals" -}}
{{- range $at, $rule := .Values.additionalClusterRoleRules }}
{{- $path := printf "additionalClusterRoleRules[%d]" $at }}
{{- if or (has "*" ($rule.verbs | default list)) (has "*" ($rule.resources | default list)) (has "*" ($rule.apiGroups | default list)) }}
{{ $path }}: "*" is refused: no rule of Joiner's has a wildcard (docs/security.md); name apiGroups, resources and verbs
{{- end }}
{{- range $verb := list "escalate" "bind" "impersonate" }}
{{- if has $verb ($rule.verbs | default list) }}
{{ $path }}.verbs: {{ $verb }} is refused: no right of Joiner leads to more rights (docs/security.md); bind a role of your own to an account of your own
{{- end }}
{{- end }}
{{- if has "rbac.authorization.k8s.io" ($rule.apiGroups | default list) }}
{{ $path }}.apiGroups: rbac.authorization.k8s.io is refused: no right of Joiner leads to more rights (docs/security.md); bind a role of your own to an account of your own
{{- end }}
{{- if has "secrets" ($rule.resources | default list) }}
{{ $path }}.resources: secrets is refused: the account joiner reads no Secret (docs/security.md); mount the Secret by extraVolumes
{{- end }}
{{- end }}
{{- end }}

{{- /* Containers and volumes that would break what docs/security.md says of pods. A line each. */}}
{{- define "joiner.podRefusals" -}}
{{- include "joiner.contextRefusals" (list "podSecurityContext" .Values.podSecurityContext) }}
{{- include "joiner.contextRefusals" (list "controller.securityContext" .Values.controller.securityContext) }}
{{- range $list, $containers := dict "controller.sidecarContainer" .Values.controller.sidecarContainer "initContainers" .Values.initContainers }}
{{- if kindIs "slice" $containers }}
{{- range $at, $container := $containers }}
{{- include "joiner.contextRefusals" (list (printf "%s[%d].securityContext" $list $at) $container.securityContext) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $at, $volume := .Values.extraVolumes }}
{{- if hasKey $volume "hostPath" }}
extraVolumes[{{ $at }}].hostPath: is refused: it opens files of the node to the pod; use a configMap, secret, csi, projected, emptyDir or persistentVolumeClaim volume
{{- end }}
{{- if has $volume.name (list "tmp" "files" "temporal-tls" "temporal-config" "temporal-encryption") }}
extraVolumes[{{ $at }}].name: {{ $volume.name }} is a volume of Joiner's own; use another name
{{- end }}
{{- end }}
{{- if and .Values.hostNetwork .Values.networkPolicy.enabled }}
hostNetwork: true with networkPolicy.enabled: true is refused: no NetworkPolicy applies to a pod on its node's network; turn one of both off
{{- end }}
{{- range $label, $_ := .Values.additionalLabels }}
{{- if hasPrefix "rbac.authorization.k8s.io/" $label }}
additionalLabels.{{ $label }}: is refused: it would give the rights of Joiner's accounts to people (docs/security.md); label a ClusterRole of your own
{{- end }}
{{- end }}
{{- end }}

{{- /* Values of Karpenter that Joiner cannot follow. A line each. */}}
{{- define "joiner.settingRefusals" -}}
{{- $settings := .Values.settings }}
{{- with (.Values.controller.image | default dict).repository }}
{{- if regexMatch "(^|/)karpenter(/|$)" . }}
controller.image.repository: {{ . }} is Karpenter's image; leave controller.image out, or name the repository of Joiner's image
{{- end }}
{{- end }}
{{- range $key, $remedy := dict
  "interruptionQueue" "Joiner reads no queue: interruptions come from conditions of Nodes; use settings.interruptionConditions"
  "assumeRoleARN" "roles of AWS do not exist on AKS; use workloadIdentity.clientId"
  "isolatedVPC" "Joiner runs on AKS; for a network without access to prices set JOINER_PRICES_ENDPOINT in controller.env"
  "eksControlPlane" "Joiner runs on AKS; use cluster.name and cluster.endpoint"
  "disableDryRun" "an AKSNodeClass is validated without calls that a dry run would be; leave it out"
  "computeRecommendationMode" "Joiner chooses sizes by price, quota and refusals; leave it out"
  "azure" "this is the form of chart 0.32; use settings.clusterName, settings.clusterEndpoint and settings.tags"
  "aws" "Joiner runs on AKS; use the values under azure" }}
{{- if get $settings $key }}
settings.{{ $key }}: is refused: {{ $remedy }}
{{- end }}
{{- end }}
{{- if not (has (toString ($settings.reservedENIs | default "0")) (list "0" "")) }}
settings.reservedENIs: is refused: AKS has no ENIs; set spec.maxPods of the AKSNodeClass
{{- end }}
{{- if hasKey ($settings.featureGates | default dict) "drift" }}
{{- if not $settings.featureGates.drift }}
settings.featureGates.drift: false is refused: drift cannot be switched off; give the NodePool a disruption budget of nodes "0" with reasons [Drifted]
{{- end }}
{{- end }}
{{- if and (not .Values.serviceAccount.create) (not .Values.serviceAccount.name) }}
serviceAccount.create: false needs serviceAccount.name: the account with the identity at Azure, which is there already
{{- end }}
{{- if and (kindIs "map" .Values.initContainers) .Values.initContainers }}
initContainers: is a list of containers; write [{ name: ..., image: ... }]
{{- end }}
{{- end }}

{{- /* Fails with all refusals at once. */}}
{{- define "joiner.checkKarpenterValues" -}}
{{- $lines := list }}
{{- range $line := splitList "\n" (printf "%s\n%s\n%s" (include "joiner.settingRefusals" .) (include "joiner.podRefusals" .) (include "joiner.ruleRefusals" .)) }}
{{- if trim $line }}{{ $lines = append $lines (trim $line) }}{{ end }}
{{- end }}
{{- if $lines }}{{ fail (printf "values:\n%s" (join "\n" $lines)) }}{{ end }}
{{- end }}

{{- /* Values that are taken without effect, with the reason. A line each. */}}
{{- define "joiner.withoutEffect" -}}
{{- $values := .Values }}
{{- range $key, $reason := dict
  "webhook" "there is one webhook, which converts old API versions, at port 8443 of joiner-conversion"
  "logOutputPaths" "Joiner logs to stdout, as JSON"
  "logErrorOutputPaths" "Joiner logs to stdout, as JSON"
  "logEncoding" "Joiner logs to stdout, as JSON"
  "logConfig" "Joiner logs to stdout, as JSON; the level is logLevel" }}
{{- if get $values $key }}
{{ $key }}: {{ $reason }}
{{- end }}
{{- end }}
{{- if .Values.settings.ignoreDRARequests }}
settings.ignoreDRARequests: pods with resourceClaims are never given a node
{{- end }}
{{- if .Values.settings.assumeRoleDuration }}
settings.assumeRoleDuration: roles of AWS do not exist on AKS
{{- end }}
{{- if hasKey (.Values.settings.featureGates | default dict) "drift" }}
settings.featureGates.drift: drift is always on
{{- end }}
{{- end }}

{{- /* Repository, tag and digest; a digest decides where there is one. */}}
{{- define "joiner.image" -}}
{{- $given := .Values.controller.image | default dict }}
{{- $repository := $given.repository | default .Values.image.repository }}
{{- $tag := $given.tag | default .Values.image.tag | default .Chart.AppVersion }}
{{- $digest := $given.digest | default .Values.image.digest }}
{{- $repository }}:{{ $tag }}{{ with $digest }}@{{ . }}{{ end }}
{{- end }}

{{- /* Sources of the environment for a part, a list: ConfigMaps for all that use Temporal, Secrets for the one with an identity at Azure alone. */}}
{{- define "joiner.envFrom" -}}
{{- $roles := index . 1 }}
{{- $kept := list }}
{{- range (index . 0).Values.controller.envFrom }}
{{- if or (hasKey . "configMapRef") (has "azure" $roles) }}{{ $kept = append $kept . }}{{ end }}
{{- end }}
{{- if $kept }}{{ toYaml $kept }}{{ end }}
{{- end }}

{{- /*
The affinity of a part: what values give, with the labels of its pods where a term names none, and with the term that keeps Joiner off the nodes that it
makes in each of the alternatives.
*/}}
{{- define "joiner.affinity" -}}
{{- $affinity := deepCopy ((index . 0).Values.affinity | default dict) }}
{{- $own := dict "matchLabels" (index . 1) }}
{{- $never := dict "key" "karpenter.sh/nodepool" "operator" "DoesNotExist" }}
{{- range $kind := list "podAffinity" "podAntiAffinity" }}
{{- with get $affinity $kind }}
{{- range .requiredDuringSchedulingIgnoredDuringExecution }}
{{- if not (hasKey . "labelSelector") }}{{ $_ := set . "labelSelector" $own }}{{ end }}
{{- end }}
{{- range .preferredDuringSchedulingIgnoredDuringExecution }}
{{- if not (hasKey .podAffinityTerm "labelSelector") }}{{ $_ := set .podAffinityTerm "labelSelector" $own }}{{ end }}
{{- end }}
{{- end }}
{{- end }}
{{- $node := get $affinity "nodeAffinity" | default dict }}
{{- $terms := list }}
{{- range dig "requiredDuringSchedulingIgnoredDuringExecution" "nodeSelectorTerms" list $node }}
{{- $term := . }}
{{- if not (has $never ($term.matchExpressions | default list)) }}
{{- $_ := set $term "matchExpressions" (append ($term.matchExpressions | default list) $never) }}
{{- end }}
{{- $terms = append $terms $term }}
{{- end }}
{{- $_ := set $node "requiredDuringSchedulingIgnoredDuringExecution" (dict "nodeSelectorTerms" ($terms | default (list (dict "matchExpressions" (list $never))))) }}
{{- $_ := set $affinity "nodeAffinity" $node }}
{{- toYaml $affinity }}
{{- end }}

{{- define "joiner.topologySpread" -}}
{{- $own := dict "matchLabels" (index . 1) }}
{{- range $constraint := deepCopy ((index . 0).Values.topologySpreadConstraints | default list) }}
{{- if not (hasKey $constraint "labelSelector") }}{{ $_ := set $constraint "labelSelector" $own }}{{ end }}
{{ toYaml (list $constraint) }}
{{- end }}
{{- end }}

{{- /* Rolling updates keep all replicas; on the network of the node a new pod needs the place of an old one. */}}
{{- define "joiner.strategy" -}}
{{- $strategy := .Values.strategy | default dict }}
{{- $rolling := ternary (dict "maxSurge" 0 "maxUnavailable" 1) (dict "maxSurge" 1 "maxUnavailable" 0) (eq .Values.hostNetwork true) }}
{{- if eq ($strategy.type | default "RollingUpdate") "Recreate" }}{{- /* The API server keeps what it had, and takes it for an error, unless it is told otherwise. */ -}}
type: Recreate
rollingUpdate: null
{{- else }}rollingUpdate: {{ toJson (merge (deepCopy ($strategy.rollingUpdate | default dict)) $rolling) }}
{{- end }}
{{- end }}
