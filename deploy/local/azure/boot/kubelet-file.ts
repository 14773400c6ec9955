import { kubeletFile } from './kubelet-file-schema.ts'
import type { FieldType, Message } from './message-schema.ts'
import { type Fields, jsonName, type NodeConfig } from './node-config.ts'
import { isAtLeast } from './version.ts'

const path = 'kubelet_config.kubelet_config_file_config'

/**
 * What the node writes to `/etc/default/kubeletconfig.json`, before it is encoded: zero values without explicit presence are left out,
 * and numbers of 64 bits are texts. Undefined: the configuration says nothing of a kubelet.
 */
export function kubeletConfigFile(config: NodeConfig): Readonly<Record<string, unknown>> | undefined {
  if (!config.has('kubelet_config')) return undefined
  const file = write(kubeletFile, config.message(path) ?? {})
  // The field is gone from Kubernetes 1.34 on.
  if (isAtLeast(config.text('kubernetes_version'), 1, 34)) delete file['streamingConnectionIdleTimeout']
  return file
}

function write(message: Message, fields: Fields): Record<string, unknown> {
  const written: Record<string, unknown> = {}
  for (const [field, type] of Object.entries(message)) {
    const value = fields[field]
    if (value === undefined || isImplicitZero(type, value)) continue
    const isMessage = typeof type === 'object' && !Array.isArray(type)
    if (isMessage) written[jsonName(field)] = write(type as Message, value as Fields)
    else written[jsonName(field)] = String(type).startsWith('int64') ? `${value as number}` : value
  }
  return written
}

function isImplicitZero(type: FieldType, value: unknown): boolean {
  if (typeof type !== 'string' || type.endsWith('?')) return false
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === '' || value === 0 || value === false
}
