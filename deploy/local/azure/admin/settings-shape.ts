import { z } from 'zod'
import {
  anyOf,
  judged,
  list,
  map,
  numberFrom,
  oneOf,
  type Problem,
  problemOf,
  record,
  strictRecord,
  text,
  valueText,
} from '../../../../api/shapes/shape.ts'
import { pathText } from '../../../../core/values/field-error.ts'
import { entryOf } from '../../../../core/values/records.ts'
import { roleNames } from '../access/roles.ts'
import { allocationCodes } from '../catalogue/capacity-settings.ts'
import { knownFeatures } from '../server/api-versions.ts'
import { documentedLimits } from '../throttling/throttling.ts'

const durations: Readonly<Record<string, z.ZodType>> = {
  uniform: strictRecord({ kind: text, minMs: numberFrom(0), maxMs: numberFrom(0) }, ['kind', 'minMs', 'maxMs']),
  lognormal: strictRecord({ kind: text, p50Ms: numberFrom(1), p99Ms: numberFrom(1) }, ['kind', 'p50Ms', 'p99Ms']),
}
const anyDuration = anyOf(
  'write milliseconds, {kind: uniform, minMs, maxMs} or {kind: lognormal, p50Ms, p99Ms}',
  numberFrom(0),
)
const duration = judged((value) => {
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
const throttling = judged((value) =>
  problemOf(typeof value === 'object' && value !== null ? buckets : anyThrottling, value),
)

/** A zone as ARM numbers it; quotes may be left out in YAML. */
const zone = anyOf('write a zone number such as 1, or 0 for regional', oneOf('0', '1', '2', '3'))
const capacityType = oneOf('spot', 'on-demand')

/** Which VMs something is about. */
export const matchFields: Readonly<Record<string, z.ZodType>> = { sku: text, zone, capacityType }

const pool = strictRecord({
  ...matchFields,
  family: text,
  vms: numberFrom(0),
  vCpus: numberFrom(0),
  full: strictRecord({ how: oneOf('sync', 'async'), code: oneOf(...allocationCodes) }),
})

const prefixRemedy = 'write a prefix such as 10.224.0.0/16, from /8 to /29'
const prefix = z.string(prefixRemedy).regex(/^\d+\.\d+\.\d+\.\d+\/([89]|[12]\d)$/, prefixRemedy)

const subnet = strictRecord({ name: text, prefix, othersHold: numberFrom(0), networkSecurityGroup: text }, [
  'name',
  'prefix',
])

const network = strictRecord({
  virtualNetworks: list(
    strictRecord({ name: text, resourceGroup: text, resourceGuid: text, subnets: list(subnet) }, ['name', 'subnets']),
  ),
  networkSecurityGroups: list(
    strictRecord({ name: text, tags: map(text), securityRules: list(record({ name: text }, ['name'])) }, ['name']),
  ),
  loadBalancers: list(strictRecord({ name: text, backendPools: list(text) }, ['name', 'backendPools'])),
})

const actions = list(text)
/** A custom role, where it is assigned. */
const heldRole = strictRecord({ name: text, actions, notActions: actions, scope: text }, ['name', 'actions', 'scope'])
const builtInRole = anyOf(
  'write the name of a built-in role, or a role with name, actions and scope',
  oneOf(...roleNames),
)
/** A role of a principal: built in, or custom. */
export const anyRole = judged((value) =>
  problemOf(typeof value === 'object' && value !== null ? heldRole : builtInRole, value),
)

const managedCluster = strictRecord(
  { name: text, resourceGroup: text, nodeResourceGroup: text, properties: record({}) },
  ['name'],
)

/** Each of the settings that may change while the simulator runs. */
export const settingFields: Readonly<Record<string, z.ZodType>> = {
  createMs: duration,
  bootMs: duration,
  updateMs: duration,
  deleteMs: duration,
  extensionMs: duration,
  throttling,
  quotas: map(numberFrom(0)),
  pools: list(pool),
  restrictions: list(strictRecord({ sku: text, family: text, zones: list(zone) })),
  evictions: strictRecord({ noticeMs: duration, perHour: numberFrom(0) }),
  network,
  nicReservationMs: numberFrom(0),
  diskEncryptionSets: list(text),
  features: list(oneOf(...knownFeatures)),
  graphLagMs: numberFrom(0),
  providerIdMs: numberFrom(0),
  roles: list(anyRole),
  managedClusters: list(managedCluster),
}

/** Settings as the admin endpoint takes them. */
export const settingsShape = strictRecord(settingFields)

const path = text

/** The configuration file. */
export const configShape = strictRecord(
  {
    ...settingFields,
    port: numberFrom(0, 65_535),
    host: text,
    stateDir: path,
    certFile: path,
    keyFile: path,
    kubernetes: record({ server: text, caFile: path, operatorTokenFile: path, aksTokenFile: path }, [
      'server',
      'caFile',
    ]),
    subscriptionId: text,
    tenantId: text,
    clientId: text,
    nodeResourceGroup: text,
    location: text,
    subnetId: text,
    clusterName: text,
    pageSize: numberFrom(1),
    tokenSeconds: numberFrom(1),
    federatedSubject: text,
    clientSecret: text,
    identityHeader: text,
    catalogueFile: path,
    zones: list(text),
    pricesFiles: list(path),
    scenarioFile: path,
    seed: anyOf('write a number or a text', numberFrom(Number.NEGATIVE_INFINITY), text),
  },
  [
    'port',
    'stateDir',
    'certFile',
    'keyFile',
    'subscriptionId',
    'tenantId',
    'clientId',
    'nodeResourceGroup',
    'location',
    'subnetId',
    'clusterName',
  ],
)

/** `pools[0].vms is "many": write a number of 0 or more`. */
export function problemText({ path: where, value, remedy }: Problem): string {
  return `${pathText(where)} ${valueText(value)}: ${remedy}`.trim()
}
