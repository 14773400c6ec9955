import { type Fields as Contract, type Field, jsonName } from '../../../../api/node-config/field.ts'
import { kubeletConfigFile as contract } from '../../../../api/node-config/kubelet-schema.ts'
import { cseEnvironment } from './cse-environment.ts'
import { configPath, controllerUnit, firstBoot, launcherPath } from './custom-data.ts'
import { type KubeletStart, kubeletStart } from './kubelet-start.ts'
import { type Fields, type NodeConfig, parseNodeConfig } from './node-config.ts'
import type { NodeFiles } from './shell-commands.ts'
import { isAtLeast } from './version.ts'

/** How provisioning ended, as `/var/log/azure/aks/provision.json` says it (reference/bootstrap.md 3). It never holds a secret. */
export interface BootResult {
  /** 0: the scripts went through. That the node has joined is another matter. */
  readonly exitCode: number
  readonly output: string
}

/** What a node made of its custom data. */
export interface Provisioned extends BootResult {
  readonly files: NodeFiles
  /** Environment of the provisioning scripts; empty when the controller did not get so far. */
  readonly environment: Readonly<Record<string, string>>
  readonly sysctl: readonly string[]
  readonly kubeletConfigFile?: Readonly<Record<string, unknown>>
  /** Absent: no kubelet runs. */
  readonly kubelet?: KubeletStart
}

/** Exit codes that the node image documents, with what stands behind them. */
const exitCodes = {
  kubeletStart: 34,
  apiServerUnreachable: 51,
  apiServerName: 52,
  kubeletInstall: 121,
  controller: 240,
} as const

/** A step of provisioning that failed. */
class ProvisionError extends Error {
  readonly exitCode: number

  constructor(exitCode: number, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

/**
 * Boots a node as its image would: cloud-init and boothook, the node's controller, the provisioning scripts, the kubelet's start
 * (reference/bootstrap.md 2 to 5). What a node refuses is a result with the exit code that it would report, and no kubelet.
 */
export function provision(customData: string): Provisioned {
  const boot = firstBoot(customData)
  const log = [...boot.problems]
  const end = (exitCode: number, rest: Partial<Provisioned> = {}): Provisioned => ({
    files: boot.files,
    environment: {},
    sysctl: [],
    ...rest,
    exitCode,
    output: log.join('\n').slice(-3000),
  })
  let made: Pick<Provisioned, 'environment' | 'sysctl' | 'kubeletConfigFile'> = { environment: {}, sysctl: [] }
  try {
    const config = controllerInput(boot, log)
    const file = kubeletConfigFile(config)
    made = {
      environment: cseEnvironment(config),
      sysctl: sysctlLines(config),
      ...(file === undefined ? {} : { kubeletConfigFile: file }),
    }
    if (made.environment['PRE_PROVISION_ONLY'] === 'true') {
      log.push('pre_provision_only: an image is prepared, and no node started')
      return end(0, made)
    }
    runScripts(made.environment)
    const kubelet = startKubelet(made.environment, file)
    log.push(...kubelet.remarks)
    return end(0, { ...made, kubelet })
  } catch (error) {
    if (!(error instanceof ProvisionError)) throw error
    log.push(error.message)
    return end(error.exitCode, made)
  }
}

/** What launcher and controller do before the scripts run. */
function controllerInput(
  { files, started }: { readonly files: NodeFiles; readonly started: readonly string[] },
  log: string[],
): NodeConfig {
  if (!started.includes(launcherPath) && !started.includes(controllerUnit))
    throw new ProvisionError(
      exitCodes.controller,
      'custom data started neither the launcher nor the unit of aks-node-controller: the node was never provisioned',
    )
  const config = files.get(configPath)
  if (config === undefined)
    throw new ProvisionError(exitCodes.controller, `custom data did not write ${configPath}: there is nothing to do`)
  if (config.mode !== 0o600)
    log.push(`${configPath} has mode ${config.mode.toString(8)}; it holds a token and should have mode 600`)
  let parsed: NodeConfig
  try {
    parsed = parseNodeConfig(config.content)
  } catch (error) {
    throw new ProvisionError(exitCodes.controller, `aks-node-controller: ${(error as Error).message}`)
  }
  const version = parsed.text('version')
  if (version === 'v0') log.push('aks-node-controller: version "v0" of the node configuration is deprecated; use "v1"')
  else if (version !== 'v1')
    throw new ProvisionError(
      exitCodes.controller,
      `aks-node-controller: version "${version}" of the node configuration is not supported; use "v1"`,
    )
  return parsed
}

/** The checks of the provisioning scripts that depend on the configuration alone. */
function runScripts(environment: Readonly<Record<string, string>>): void {
  const {
    KUBERNETES_VERSION: version = '',
    API_SERVER_NAME: server = '',
    KUBE_CA_CRT: authority = '',
    BOOTSTRAP_PROFILE_CONTAINER_REGISTRY_SERVER: registry,
  } = environment
  if (!/^\d+\.\d+\.\d+/.test(version))
    throw new ProvisionError(exitCodes.kubeletInstall, `kubernetes_version "${version}" is no version to install`)
  const binaries = ['KUBE_BINARY_URL', 'CUSTOM_KUBE_BINARY_URL', 'PRIVATE_KUBE_BINARY_URL']
  if (!isAtLeast(version, 1, 34) && !registry && binaries.every((name) => !environment[name]))
    throw new ProvisionError(
      exitCodes.kubeletInstall,
      `kube_binary_config names no binaries for Kubernetes ${version}; below 1.34 the image has none`,
    )
  // Real nodes take a bare host name; the port is the simulator's allowance for API servers of this machine.
  if (!/^[\w.-]+(:\d+)?$/.test(server))
    throw new ProvisionError(exitCodes.apiServerName, `api_server_name "${server}" is no host name`)
  if (!Buffer.from(authority, 'base64').toString().includes('-----BEGIN CERTIFICATE-----'))
    throw new ProvisionError(
      exitCodes.apiServerUnreachable,
      'kubernetes_ca_cert is not a certificate in base64: the API server cannot be trusted',
    )
}

function startKubelet(
  environment: Readonly<Record<string, string>>,
  file: Readonly<Record<string, unknown>> | undefined,
): KubeletStart {
  try {
    return kubeletStart(environment, file)
  } catch (error) {
    throw new ProvisionError(exitCodes.kubeletStart, `kubelet: ${(error as Error).message}`)
  }
}

/** What the node image sets of itself; the first three cannot be changed. */
const defaults: Readonly<Record<string, number>> = {
  'net.ipv4.tcp_retries2': 8,
  'net.core.message_burst': 80,
  'net.core.message_cost': 40,
  'net.core.somaxconn': 16_384,
  'net.ipv4.tcp_max_syn_backlog': 16_384,
  'net.ipv4.neigh.default.gc_thresh1': 4096,
  'net.ipv4.neigh.default.gc_thresh2': 8192,
  'net.ipv4.neigh.default.gc_thresh3': 16_384,
}

/** Kernel names that hold more than the dots of their field, or differ from it. */
const irregular: Readonly<Record<string, string>> = {
  net_ipv4_tcpkeepalive_intvl: 'net.ipv4.tcp_keepalive_intvl',
  fs_file_max: 'fs.file-max',
  fs_aio_max_nr: 'fs.aio-max-nr',
  fs_inotify_max_user_watches: 'fs.inotify.max_user_watches',
  kernel_threads_max: 'kernel.threads-max',
}

const groups = ['net_core_', 'net_ipv4_neigh_default_', 'net_ipv4_', 'net_netfilter_', 'fs_', 'kernel_', 'vm_']

/** Port of the node's own services; it is kept free where the range for outgoing connections reaches it. */
const reservedPort = 65_330

/** The lines of the node's sysctl file, sorted by name. */
export function sysctlLines(config: NodeConfig): readonly string[] {
  const path = 'custom_linux_os_config.sysctl_config'
  const given = config.message(path) ?? {}
  const values: Record<string, unknown> = { ...defaults }
  for (const [field, value] of Object.entries(given))
    if (value !== '') values[kernelName(field)] = typeof value === 'boolean' ? Number(value) : value
  if (portRangeEnd(config.text(`${path}.net_ipv4_ip_local_port_range`)) > reservedPort)
    values['net.ipv4.ip_local_reserved_ports'] = reservedPort
  return Object.keys(values)
    .sort()
    .map((name) => `${name}=${String(values[name])}`)
}

function kernelName(field: string): string {
  const group = groups.find((prefix) => field.startsWith(prefix)) ?? ''
  return irregular[field] ?? `${group.replaceAll('_', '.')}${field.slice(group.length)}`
}

function portRangeEnd(range: string): number {
  const [, start = '', end = ''] = /^(\d+) (\d+)$/.exec(range) ?? []
  return Number(start) > 0 && Number(start) < Number(end) ? Number(end) : -1
}

const path = 'kubelet_config.kubelet_config_file_config'

/**
 * What the node writes to `/etc/default/kubeletconfig.json`, before it is encoded: zero values without explicit presence are left out,
 * and numbers of 64 bits are texts. Undefined: the configuration says nothing of a kubelet.
 */
export function kubeletConfigFile(config: NodeConfig): Readonly<Record<string, unknown>> | undefined {
  if (!config.has('kubelet_config')) return undefined
  const file = write(contract.fields, config.message(path) ?? {})
  // The field is gone from Kubernetes 1.34 on.
  if (isAtLeast(config.text('kubernetes_version'), 1, 34)) delete file['streamingConnectionIdleTimeout']
  return file
}

/** Fields with explicit presence: zero is written where it was given. */
const present: ReadonlySet<string> = new Set([
  'event_record_qps',
  'image_gc_high_threshold_percent',
  'image_gc_low_threshold_percent',
  'cgroups_per_qos',
  'max_pods',
  'pod_pids_limit',
  'cpu_cfs_quota',
  'fail_swap_on',
  'container_log_max_files',
  'eviction_max_pod_grace_period',
  'serialize_image_pulls',
])

function write(known: Contract, fields: Fields): Record<string, unknown> {
  const written: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(known)) {
    const value = fields[name]
    if (value === undefined || (!present.has(name) && isImplicitZero(field, value))) continue
    if (field.kind === 'message') written[jsonName(name, field)] = write(field.fields, value as Fields)
    else written[jsonName(name, field)] = field.kind === 'int64' ? `${value as number}` : value
  }
  return written
}

function isImplicitZero({ kind }: Field, value: unknown): boolean {
  if (kind === 'message') return false
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === '' || value === 0 || value === false
}
