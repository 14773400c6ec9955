import { readConfigMap } from '../../kubernetes/client/config-map.ts'
import type { AzureParts } from '../parts.ts'

export type MaintenanceWindowDeps = Pick<AzureParts, 'client' | 'now' | 'config'>

/** Written by AKS where a maintenance configuration for node images exists (reference/azure-provider.md 6.4). */
const configMapName = 'upcoming-maintenance-window'
const startKey = 'aksManagedNodeOSUpgradeSchedule-start'
const endKey = 'aksManagedNodeOSUpgradeSchedule-end'

export type MaintenanceWindow =
  | { readonly kind: 'open' }
  /** New images wait. `from` is the time as it is written. */
  | { readonly kind: 'closed'; readonly from: string; readonly to: string }
  | { readonly kind: 'invalid'; readonly message: string }

/** Returns whether new images may be used now. Errors: the API server's. */
export async function readMaintenanceWindow({
  client,
  config,
  now,
}: MaintenanceWindowDeps): Promise<MaintenanceWindow> {
  const ref = { name: configMapName, namespace: config.systemNamespace }
  return maintenanceWindow(await readConfigMap(client, ref), config.systemNamespace, now())
}

/** Returns the window in the entries of the ConfigMap. Without ConfigMap, or without both entries, there is no schedule: it is open. */
export function maintenanceWindow(
  entries: Readonly<Record<string, string>> | undefined,
  namespace: string,
  nowMs: number,
): MaintenanceWindow {
  const { [startKey]: from, [endKey]: to } = entries ?? {}
  if (from === undefined && to === undefined) return { kind: 'open' }
  const invalid = (message: string): MaintenanceWindow => ({
    kind: 'invalid',
    message: `ConfigMap ${namespace}/${configMapName}: ${message}`,
  })
  if (from === undefined || to === undefined) {
    const [there, missing] = from === undefined ? [endKey, startKey] : [startKey, endKey]
    return invalid(`entry ${missing} is missing beside ${there} "${from ?? to}"; add it, or remove both`)
  }
  const [startMs, endMs] = [timeOf(from), timeOf(to)]
  if (startMs === undefined || endMs === undefined) {
    const [key, value] = startMs === undefined ? [startKey, from] : [endKey, to]
    return invalid(`entry ${key} "${value}" is not a time such as 2026-01-31T22:00:00Z; correct it`)
  }
  return nowMs > startMs && nowMs < endMs ? { kind: 'open' } : { kind: 'closed', from, to }
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/** Returns epoch milliseconds of an RFC 3339 time; undefined when it is none. */
function timeOf(text: string): number | undefined {
  const ms = rfc3339.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(ms) ? undefined : ms
}
