import type { Machine } from '../virtual-machines/machine.ts'
import { provision } from './provision.ts'

/** Variables that hold secrets. */
const secrets = [
  'TLS_BOOTSTRAP_TOKEN',
  'KUBELET_CLIENT_CONTENT',
  'SERVICE_PRINCIPAL_FILE_CONTENT',
  'CUSTOM_SEARCH_REALM_PASSWORD',
]

/**
 * What a machine made of its custom data, for people and tests: how provisioning ended, the files that custom data wrote (without what
 * stands in them) and what the scripts were given, without secrets. Undefined: it has not booted.
 */
export function bootReport({ boot, body }: Machine): Record<string, unknown> | undefined {
  if (boot === undefined) return undefined
  const { files, environment, sysctl, kubeletConfigFile } = provision(body.properties.osProfile?.customData ?? '')
  return {
    ...boot,
    files: Object.fromEntries([...files].map(([path, { mode }]) => [path, mode.toString(8).padStart(4, '0')])),
    environment: Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [
        name,
        secrets.includes(name) && value !== '' ? '***' : value,
      ]),
    ),
    sysctl,
    ...(kubeletConfigFile === undefined ? {} : { kubeletConfigFile }),
  }
}
