import { type Fields as Contract, type Field, jsonName } from '../../../../api/node-config/field.ts'
import { kubeletConfigFile as contract } from '../../../../api/node-config/kubelet-schema.ts'
import type { Fields, NodeConfig } from './node-config.ts'
import { isAtLeast } from './version.ts'

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
