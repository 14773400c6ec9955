import { z } from 'zod'
import { entryOf } from '../../core/values/records.ts'
import { crdExtensions } from '../fields.ts'
import { nodeClaimSpec, nodeClaimStatus } from '../node-claim.ts'
import { nodeClassSpec, nodeClassStatus } from '../node-class.ts'
import { nodeOverlaySpec } from '../node-overlay.ts'
import { nodePoolSpec, nodePoolStatus } from '../node-pool.ts'
import { amounts, conditions, metadata, selector, taint, texts } from './common.ts'
import { claimSpec, nodeTerm, podSpec, podStatus, tolerations } from './pod.ts'
import {
  anyOf,
  flag,
  list,
  map,
  number,
  oneOf,
  type Problem,
  problemOf,
  quantity,
  record,
  text,
  time,
  wholeNumber,
} from './shape.ts'

/** Of the fields that the API server demands, those without which an object cannot be read. */
const indispensable: ReadonlySet<string> = new Set([
  'template',
  'spec',
  'nodeClassRef',
  'group',
  'kind',
  'name',
  'key',
  'operator',
  'effect',
  'type',
])

/**
 * Returns the shape of objects of a schema as manifests and scenarios have them: its types and the words to choose from. Patterns, bounds and rules
 * are the API server's, and what it demands may be missing where an object can be read without it.
 */
export function shapeOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return shapeOf(schema.unwrap() as z.ZodType)
  if (schema instanceof z.ZodObject) return objectShape(schema.shape)
  if (schema instanceof z.ZodArray) return list(shapeOf(schema.element as z.ZodType))
  if (schema instanceof z.ZodRecord) return map(shapeOf(schema.valueType as z.ZodType))
  if (schema instanceof z.ZodEnum) return oneOf(...(schema.options as string[]))
  if (schema instanceof z.ZodBoolean) return flag
  if (schema instanceof z.ZodNumber) return schema.format === 'safeint' ? wholeNumber : number
  if (crdExtensions.get(schema)?.quantity === true) return quantity
  if (schema instanceof z.ZodString) return schema.meta()?.['format'] === 'date-time' ? time : text
  throw new Error(`a schema of type ${schema.type} has no shape; add it to shapeOf`)
}

function objectShape(fields: Readonly<Record<string, z.ZodType>>): z.ZodType {
  const shapes = Object.fromEntries(Object.entries(fields).map(([name, schema]) => [name, shapeOf(schema)]))
  const needed = Object.keys(fields).filter((name) => indispensable.has(name) && !fields[name]?.isOptional())
  return record(shapes, needed)
}

// Of each kind the fields that placement reads, so that what is not as it should be is reported and not misread. The API server knows more.

const amount = anyOf('write a whole number or a percentage such as 10%', wholeNumber, text)
function object(fields: Readonly<Record<string, z.ZodType>>, needed: readonly string[] = []): z.ZodType {
  return record<Readonly<Record<string, z.ZodType>>, string>({ metadata, ...fields }, ['metadata', ...needed])
}

const count = wholeNumber.refine((value) => value >= 0, { error: 'write a whole number of 0 or more', abort: true })
const template = record({ metadata: record({ labels: texts, annotations: texts }), spec: podSpec }, ['spec'])
const replicated = { replicas: count, template }
const jobSpec = record({ parallelism: count, completions: count, suspend: flag, template }, ['template'])

const shapes: Readonly<Record<string, z.ZodType>> = {
  Pod: object({ spec: podSpec, status: podStatus }),
  Node: object({
    spec: record({ providerID: text, taints: list(taint), unschedulable: flag }),
    status: record({ capacity: amounts, allocatable: amounts, conditions, nodeInfo: record({ kubeletVersion: text }) }),
  }),
  NodeClaim: object({ spec: shapeOf(nodeClaimSpec), status: shapeOf(nodeClaimStatus) }, ['spec']),
  NodePool: object({ spec: shapeOf(nodePoolSpec), status: shapeOf(nodePoolStatus) }, ['spec']),
  NodeOverlay: object({ spec: shapeOf(nodeOverlaySpec) }, ['spec']),
  AKSNodeClass: object({ spec: shapeOf(nodeClassSpec), status: shapeOf(nodeClassStatus) }),
  DaemonSet: object({ spec: record({ template }, ['template']) }, ['spec']),
  Deployment: object({ spec: record({ ...replicated, selector, paused: flag }, ['template']) }, ['spec']),
  Job: object({ spec: jobSpec, status: record({ succeeded: count, conditions }) }, ['spec']),
  CronJob: object(
    { spec: record({ suspend: flag, jobTemplate: record({ spec: jobSpec }, ['spec']) }, ['jobTemplate']) },
    ['spec'],
  ),
  PodDisruptionBudget: object({
    spec: record({ selector, minAvailable: amount, maxUnavailable: amount, unhealthyPodEvictionPolicy: text }),
    status: record({ disruptionsAllowed: wholeNumber }),
  }),
  Namespace: object({}),
  Service: object({ spec: record({ selector: texts }) }),
  ReplicaSet: object({ spec: record({ ...replicated, selector }) }),
  StatefulSet: object({
    spec: record({
      ...replicated,
      selector,
      ordinals: record({ start: count }),
      volumeClaimTemplates: list(record({ metadata, spec: claimSpec }, ['metadata'])),
    }),
  }),
  ReplicationController: object({ spec: record({ ...replicated, selector: texts }) }),
  RuntimeClass: object({
    overhead: record({ podFixed: amounts }),
    scheduling: record({ nodeSelector: texts, tolerations }),
  }),
  PriorityClass: object({ value: wholeNumber, globalDefault: flag }),
  PersistentVolumeClaim: object({ spec: claimSpec, status: record({ phase: text }) }),
  PersistentVolume: object({
    spec: record({
      csi: record({ driver: text }),
      nodeAffinity: record({ required: record({ nodeSelectorTerms: list(nodeTerm) }) }),
    }),
  }),
  StorageClass: object({
    provisioner: text,
    volumeBindingMode: text,
    allowedTopologies: list(
      record({ matchLabelExpressions: list(record({ key: text, values: list(text) }, ['key', 'values'])) }),
    ),
  }),
  CSINode: object({
    spec: record({ drivers: list(record({ name: text, allocatable: record({ count: wholeNumber }) }, ['name'])) }),
  }),
}

/** API groups of the kinds, since other programs have kinds of the same names. */
const groups: Readonly<Record<string, string>> = {
  NodeClaim: 'karpenter.sh',
  NodePool: 'karpenter.sh',
  NodeOverlay: 'karpenter.sh',
  AKSNodeClass: 'karpenter.azure.com',
  DaemonSet: 'apps',
  Deployment: 'apps',
  Job: 'batch',
  CronJob: 'batch',
  RuntimeClass: 'node.k8s.io',
  PriorityClass: 'scheduling.k8s.io',
  ReplicaSet: 'apps',
  StatefulSet: 'apps',
  PodDisruptionBudget: 'policy',
  StorageClass: 'storage.k8s.io',
  CSINode: 'storage.k8s.io',
}

/** Whether placement looks at objects of this kind; of any group where no version is given. */
export function isKnownKind(kind: unknown, apiVersion?: unknown): boolean {
  if (typeof kind !== 'string' || !Object.hasOwn(shapes, kind)) return false
  if (typeof apiVersion !== 'string') return true
  const group = apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.lastIndexOf('/')) : ''
  return group === (groups[kind] ?? '')
}

/** Returns what is wrong with an object of a known kind. */
export function objectProblem(json: Readonly<Record<string, unknown>>): Problem | undefined {
  const { kind } = json
  const shape = typeof kind === 'string' ? entryOf(shapes, kind) : undefined
  return shape && problemOf(shape, json)
}
