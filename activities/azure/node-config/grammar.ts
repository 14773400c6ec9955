import type { NodeConfig } from '../../../api/node-config/schema.ts'
import { kubeletAnnotation } from '../../../core/node-class/kubelet-conversion.ts'
import { labelValueErrors, qualifiedNameErrors } from '../../../core/requirements/label-syntax.ts'
import { shortened } from '../../../core/values/texts.ts'
import { outboundCommand } from './bootstrap.ts'
import { isFlagValue } from './flag-grammar.ts'

/*
 * The form of every text in a node configuration. Scripts of the node image put most of them into the environment of a shell. They put labels and
 * flags, unquoted, into an EnvironmentFile of systemd, where a line break begins another setting and a blank another flag (reference/bootstrap.md 2,
 * 4). The texts were checked before; this is the last check, and it also rejects a text whose field has no form here.
 */

/** A form, and the source of such a field's value. */
interface Form {
  readonly isValid: (text: string) => boolean
  readonly source: string
}

const of = (pattern: RegExp) => (text: string) => pattern.test(text)
const base64 = of(/^[A-Za-z0-9+/]+={0,2}$/)
/** Names of Azure's resources; a resource group may hold letters of any alphabet, and parentheses. */
const resourceName = of(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/)
const resourceGroup = of(/^[\p{L}\p{N}_.()-]+$/u)
const orEmpty = (isValid: Form['isValid']) => (text: string) => text === '' || isValid(text)
const id = orEmpty(of(/^[A-Za-z0-9-]+$/))
const word = of(/^[A-Za-z0-9_+-]+$/)
const address = of(/^[0-9A-Fa-f:.]+$/)
const url = of(/^https?:\/\/[A-Za-z0-9._~%:@/[\]-]+$/)
const dnsZone = of(/^(\.|[A-Za-z0-9][A-Za-z0-9_.-]*)$/)

const settings = "Joiner's settings"
const nodeClass = (field: string) => `spec.${field} of the AKSNodeClass`
const from = (source: string, isValid: Form['isValid']): Form => ({ isValid, source })

const forms: Readonly<Record<string, Form>> = {
  version: from(settings, of(/^v1$/)),
  kubernetes_version: from('status.kubernetesVersion of the AKSNodeClass', of(/^\d+\.\d+\.\d+[A-Za-z0-9.-]*$/)),
  vm_size: from('the requirement node.kubernetes.io/instance-type', word),
  linux_admin_username: from('LINUX_ADMIN_USERNAME', of(/^[A-Za-z][A-Za-z0-9_-]*$/)),
  kubernetes_ca_cert: from('CLUSTER_CA_BUNDLE', base64),
  outbound_command: from(settings, (text) => text === outboundCommand),
  'custom_ca_certs[]': from('JOINER_NODE_CUSTOM_CA_FILE', base64),
  'kube_binary_config.kube_binary_url': from(settings, url),
  'kube_binary_config.pod_infra_container_image_url': from(settings, of(/^[a-z0-9./:-]+$/)),
  'kube_binary_config.linux_credential_provider_url': from(settings, url),
  'network_config.vnet_cni_plugins_url': from(settings, url),
  'api_server_config.api_server_name': from('CLUSTER_ENDPOINT', of(/^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?$/)),
  'auth_config.tenant_id': from('AZURE_TENANT_ID', id),
  'auth_config.subscription_id': from('ARM_SUBSCRIPTION_ID', id),
  'auth_config.service_principal_id': from(settings, word),
  'auth_config.service_principal_secret': from(settings, base64),
  'auth_config.assigned_identity_id': from('KUBELET_IDENTITY_CLIENT_ID', id),
  'cluster_config.resource_group': from('AZURE_NODE_RESOURCE_GROUP', resourceGroup),
  'cluster_config.location': from('LOCATION', word),
  'cluster_config.cluster_network_config.vnet_name': from(nodeClass('vnetSubnetID'), resourceName),
  'cluster_config.cluster_network_config.vnet_resource_group': from(nodeClass('vnetSubnetID'), resourceGroup),
  'cluster_config.cluster_network_config.subnet': from(nodeClass('vnetSubnetID'), resourceName),
  'cluster_config.cluster_network_config.security_group_name': from('the network security group', resourceName),
  'cluster_config.cluster_network_config.route_table': from('the route table', resourceName),
  'cluster_config.cluster_network_config.core_dns_service_ip': from('DNS_SERVICE_IP', address),
  'bootstrapping_config.tls_bootstrapping_token': from(settings, of(/^[a-z0-9]{6}\.[a-z0-9]{16}$/)),
  'custom_linux_os_config.sysctl_config.net_ipv4_ip_local_port_range': from(
    nodeClass('linuxOSConfig.sysctls'),
    of(/^\d+ \d+$/),
  ),
  'custom_linux_os_config.transparent_hugepage_support': from(nodeClass('linuxOSConfig'), word),
  'custom_linux_os_config.transparent_defrag': from(nodeClass('linuxOSConfig'), word),
  'http_proxy_config.http_proxy': from('JOINER_NODE_HTTP_PROXY', url),
  'http_proxy_config.https_proxy': from('JOINER_NODE_HTTPS_PROXY', url),
  'http_proxy_config.no_proxy_entries[]': from('JOINER_NODE_NO_PROXY', of(/^[A-Za-z0-9._:*/[\]-]+$/)),
  'http_proxy_config.proxy_trusted_ca': from('JOINER_NODE_PROXY_CA_FILE', base64),
  'kubelet_config.kubelet_config_file_config.kind': from(settings, word),
  'kubelet_config.kubelet_config_file_config.api_version': from(settings, of(/^[a-z0-9./]+$/)),
  'kubelet_config.kubelet_config_file_config.cpu_cfs_quota_period': from(
    nodeClass('kubelet.cpuCFSQuotaPeriod'),
    of(/^[0-9.]+[nmu]?s$/),
  ),
}

/** Enumerations of the schema, which knows their names. */
const enumeration = of(/^[A-Z0-9_]+$/)
const enumerations: ReadonlySet<string> = new Set([
  'cluster_config.vm_type',
  'cluster_config.load_balancer_config.load_balancer_sku',
  'bootstrapping_config.bootstrapping_auth_method',
  'bootstrapping_config.cluster_join_method',
  'network_config.network_plugin',
  'network_config.network_policy',
])

const dnsWords: ReadonlySet<string> = new Set([
  'query_logging',
  'protocol',
  'forward_destination',
  'forward_policy',
  'serve_stale',
])

/** Maps whose keys come from users. */
const maps: Readonly<Record<string, (key: string, value: unknown) => string | undefined>> = {
  'kubelet_config.kubelet_node_labels': (key, value) =>
    qualifiedNameErrors(key).length === 0 && labelValueErrors(String(value)).length === 0
      ? undefined
      : 'the labels and requirements of the NodePool or NodeClaim',
  'kubelet_config.kubelet_flags': (key, value) =>
    isFlagValue(key, String(value))
      ? undefined
      : `the taints, spec.kubelet of the AKSNodeClass or the annotation ${kubeletAnnotation}`,
  'kubelet_config.kubelet_config_file_config.feature_gates': (key, value) =>
    /^[A-Za-z]+$/.test(key) && typeof value === 'boolean' ? undefined : settings,
  'local_dns_profile.vnet_dns_overrides': dnsSource,
  'local_dns_profile.kube_dns_overrides': dnsSource,
}

function dnsSource(zone: string, overrides: unknown): string | undefined {
  const isValid = Object.entries(overrides as object).every(
    ([name, value]) => typeof value !== 'string' || (dnsWords.has(name) && word(value)),
  )
  return isValid && dnsZone(zone) ? undefined : nodeClass('localDNS')
}

/** Returns the texts of a node configuration that do not have the form of their field, by path and remedy, without the text: it may be secret. */
export function grammarErrors(nodeConfig: NodeConfig): readonly string[] {
  return errorsAt(nodeConfig, '')
}

function errorsAt(value: unknown, path: string): readonly string[] {
  const map = Object.hasOwn(maps, path) ? maps[path] : undefined
  if (map !== undefined)
    return Object.entries(value as object).flatMap(([key, entry]) => {
      const source = map(key, entry)
      return source === undefined ? [] : [refusal(`${path}[${JSON.stringify(shortened(key))}]`, source)]
    })
  if (Array.isArray(value)) return value.flatMap((entry: unknown) => errorsAt(entry, `${path}[]`))
  if (typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, entry]) => errorsAt(entry, path === '' ? key : `${path}.${key}`))
  return typeof value === 'string' ? textErrors(value, path) : []
}

function textErrors(text: string, path: string): readonly string[] {
  if (enumerations.has(path)) return enumeration(text) ? [] : [refusal(path, settings)]
  const form = Object.hasOwn(forms, path) ? forms[path] : undefined
  return form?.isValid(text) === true ? [] : [refusal(path, form?.source ?? settings)]
}

const refusal = (path: string, source: string) =>
  `${path} has characters that a node must not be given; correct ${source}`
