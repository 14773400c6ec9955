import type { z } from 'zod'
import {
  anyOf,
  type Checked,
  judged,
  list,
  map,
  numberFrom,
  oneOf,
  type Problem,
  problemOf,
  strictRecord,
  text,
  valueText,
} from '../../../../api/shapes/shape.ts'
import { pathText } from '../../../../core/values/field-error.ts'
import { entryOf } from '../../../../core/values/records.ts'
import { managedClusterShape } from '../access/cluster-settings.ts'
import { type HeldRole, type RoleName, roleNames } from '../access/roles.ts'
import { capacityPool, restriction } from '../catalogue/capacity-settings.ts'
import { networkShape } from '../network/network-settings.ts'
import { knownFeatures } from '../server/api-versions.ts'
import type { Duration } from '../server/durations.ts'
import { documentedLimits, type ThrottlingSetting } from '../throttling/throttling.ts'

const durations: Readonly<Record<string, z.ZodType>> = {
  uniform: strictRecord({ kind: text, minMs: numberFrom(0), maxMs: numberFrom(0) }, ['kind', 'minMs', 'maxMs']),
  lognormal: strictRecord({ kind: text, p50Ms: numberFrom(1), p99Ms: numberFrom(1) }, ['kind', 'p50Ms', 'p99Ms']),
}
const anyDuration = anyOf(
  'write milliseconds, {kind: uniform, minMs, maxMs} or {kind: lognormal, p50Ms, p99Ms}',
  numberFrom(0),
)
const duration = judged<Duration>((value) => {
  const kind = typeof value === 'object' && value !== null && 'kind' in value ? String(value.kind) : ''
  return problemOf(entryOf(durations, kind) ?? anyDuration, value)
})

const bucket = anyOf(
  'write {tokens, refillPerMinute} or {tokens, windowSeconds}',
  strictRecord({ tokens: numberFrom(1), refillPerMinute: numberFrom(0.001) }, ['tokens', 'refillPerMinute']),
  strictRecord({ tokens: numberFrom(1), windowSeconds: numberFrom(0.001) }, ['tokens', 'windowSeconds']),
)
const buckets = strictRecord(Object.fromEntries(Object.keys(documentedLimits).map((name) => [name, bucket])))
const anyThrottling = anyOf('write off, documented, or limits by bucket', oneOf('off', 'documented'))
const throttling = judged<ThrottlingSetting>((value) =>
  problemOf(typeof value === 'object' && value !== null ? buckets : anyThrottling, value),
)

const actions = list(text)
/** A custom role, where it is assigned. */
const heldRole = strictRecord({ name: text, actions, notActions: actions, scope: text }, ['name', 'actions', 'scope'])
const builtInRole = anyOf(
  'write the name of a built-in role, or a role with name, actions and scope',
  oneOf(...roleNames),
)
/** A role of a principal: built in, or custom. */
export const anyRole = judged<RoleName | HeldRole>((value) =>
  problemOf(typeof value === 'object' && value !== null ? heldRole : builtInRole, value),
)

/** What may be set again while the simulator runs: by its admin endpoint and by a scenario. What is given replaces what was. */
export const settingFields = {
  /** Time from an accepted PUT to a created VM. Default 0, as of all durations. */
  createMs: duration,
  /** Time from a created VM to its kubelet's first request. */
  bootMs: duration,
  /** Time from an accepted PATCH to a VM that is updated. */
  updateMs: duration,
  /** Time from an accepted DELETE to a VM that is gone. */
  deleteMs: duration,
  /** Time from an accepted PUT, PATCH or DELETE of an extension to its end. */
  extensionMs: duration,
  /** Token buckets that requests draw from. Default `off`. */
  throttling,
  /** Limits in vCPUs by the names of the usages API: `cores`, `lowPriorityCores` and families. Default: more than anybody needs. */
  quotas: map(numberFrom(0)),
  /** Room for VMs. Default: without end. */
  pools: list(capacityPool),
  /** Sizes that the subscription may not have. Default: none. */
  restrictions: list(restriction),
  /** Spot VMs that Azure takes back. */
  evictions: strictRecord({
    /**
     * Time from the notice on the Node to the end of the VM; Azure promises up to 30 s and often gives less (reference/azure-limits.md 4).
     * Default 0: without a notice.
     */
    noticeMs: duration,
    /** How often an hour Azure takes back each spot VM, on average. Default 0. */
    perHour: numberFrom(0),
  }),
  /** Networks, security groups and load balancers. */
  network: networkShape,
  /** How long Azure keeps the NIC of a VM that it could not make, after which it can be deleted; Azure's own time is 180 s. Default 0. */
  nicReservationMs: numberFrom(0),
  /** Ids of disk encryption sets that are there. Default: none is checked. */
  diskEncryptionSets: list(text),
  /** Preview features that the subscription registered, such as `Microsoft.Compute/UseStandardSecurityType`. Default: none. */
  features: list(oneOf(...knownFeatures)),
  /** How much later Resource Graph learns of a change. Default 0. */
  graphLagMs: numberFrom(0),
  /** Time from a joined Node to its provider id, which cloud-node-manager sets then. Default 0: the kubelet registers the Node with it. */
  providerIdMs: numberFrom(0),
  /**
   * Roles that the configured identity has. Built-in ones are names: what they do not allow in the node resource group is refused. Custom ones hold at their
   * scope, and with one of them everything is checked, wherever it lies.
   */
  roles: list(anyRole),
  /** AKS clusters. Default: one, with the configured name. */
  managedClusters: list(managedClusterShape),
} as const

/** Settings as the admin endpoint takes them. */
export const settingsShape = strictRecord(settingFields)

export type LiveSettings = Checked<typeof settingsShape>

/** How long Azure takes. */
export type Timing = Pick<LiveSettings, 'createMs' | 'bootMs' | 'updateMs' | 'deleteMs' | 'extensionMs'>

/** `pools[0].vms is "many": write a number of 0 or more`. */
export function problemText({ path, value, remedy }: Problem): string {
  return `${pathText(path)} ${valueText(value)}: ${remedy}`.trim()
}
