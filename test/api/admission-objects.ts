import * as fc from 'fast-check'
import { kubeletAnnotation } from '../../core/node-class/kubelet-conversion.ts'
import { nodeClass, nodePool } from '../applied-objects.ts'

/** An object of the kinds that the chart's policies warn about. */
export interface ClusterObject extends Readonly<Record<string, unknown>> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string }
}

export const requirement = (key: string, operator: string, ...values: readonly string[]) => ({ key, operator, values })

export function pool(change: {
  readonly spec?: object
  readonly template?: object
  /** Of the template. */
  readonly metadata?: object
  readonly annotations?: object
}) {
  const plain = nodePool({ name: 'warned' })
  return {
    ...plain,
    metadata: { name: 'warned', annotations: change.annotations ?? {} },
    spec: {
      ...plain.spec,
      ...change.spec,
      template: { metadata: change.metadata ?? {}, spec: { ...plain.spec.template.spec, ...change.template } },
    },
  }
}

export function localDns(mode: string) {
  const entry = (zone: string, forwardDestination: string) => ({
    zone,
    queryLogging: 'Error',
    protocol: 'PreferUDP',
    forwardDestination,
    forwardPolicy: 'Sequential',
    maxConcurrent: 100,
    cacheDuration: '1h',
    serveStaleDuration: '1h',
    serveStale: 'Disable',
  })
  const zones = [entry('.', 'VnetDNS'), entry('cluster.local', 'ClusterCoreDNS')]
  return { mode, vnetDNSOverrides: zones, kubeDNSOverrides: zones }
}

export const classOf = (spec: object) => ({ ...nodeClass('warned'), spec })

export const long = { ...pool({}), metadata: { name: 'n'.repeat(54) } }

export const overlay = {
  apiVersion: 'karpenter.sh/v1alpha1',
  kind: 'NodeOverlay',
  metadata: { name: 'warned' },
  spec: { requirements: [requirement('team', 'In', 'red')], priceAdjustment: '+1' },
}

/** The first in most cases, one of the others in some. */
function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 6, arbitrary: usual }, { weight: 1, arbitrary: odd })
}

const none = fc.constant(undefined)

/** NodePools, a part of which are warned of, for one reason or several; the API server refuses few of them. */
export function randomPool(): fc.Arbitrary<ClusterObject> {
  const word = fc.constantFrom('on-demand', 'spot', 'linux', 'amd64', 'D', 'Standard_D4s_v5', 'eastus-1', '1', '16384')
  const text = mostly(word, fc.oneof(fc.constantFrom('x\ny', '"', '\\', "'", 'ä😀'), fc.string({ maxLength: 5 })))
  const key = fc.constantFrom(
    'a',
    'karpenter.sh/capacity-type',
    'kubernetes.io/os',
    'kubernetes.io/arch',
    'karpenter.azure.com/sku-family',
    'node.kubernetes.io/instance-type',
    'topology.kubernetes.io/zone',
    'karpenter.azure.com/sku-memory',
    'karpenter.k8s.aws/instance-category',
  )
  const listed = fc.record({
    key,
    operator: fc.constantFrom('In', 'In', 'NotIn'),
    values: fc.array(text, { minLength: 1, maxLength: 7 }),
  })
  const compared = fc.record({
    key,
    operator: fc.constantFrom('Gt', 'Lte'),
    values: fc.array(fc.constantFrom('16', '16384'), { minLength: 1, maxLength: 1 }),
  })
  const budget = fc.record(
    {
      nodes: fc.constantFrom('1', '10%'),
      reasons: fc
        .array(fc.constantFrom('Empty', 'Drifted', 'Underutilized'), { maxLength: 2 })
        .map((all) => [...new Set(all)]),
      window: fc.constantFrom({ schedule: '@daily', duration: '8h' }, { schedule: '0 1 * * *', duration: '24h' }),
    },
    { requiredKeys: ['nodes'] },
  )
  const budgets = fc.array(
    budget.map(({ window, ...rest }) => ({ ...rest, ...window })),
    { maxLength: 3 },
  )
  const exists = fc.record({ key, operator: fc.constantFrom('Exists', 'DoesNotExist') })
  const taint = fc.record({
    key: fc.constantFrom('a', 'b', 'c', 'd'),
    effect: fc.constantFrom('NoSchedule', 'NoExecute'),
  })
  const azure = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }
  const template = fc.record({
    requirements: fc.array(mostly<object>(listed, fc.oneof(exists, compared)), { maxLength: 3 }),
    taints: mostly<unknown>(none, fc.array(taint, { maxLength: 2 })),
    startupTaints: mostly<unknown>(none, fc.option(fc.array(taint, { maxLength: 2 }))),
    nodeClassRef: mostly(
      fc.constant(azure),
      fc.constantFrom(
        { ...azure, name: 'n'.repeat(64) },
        { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
      ),
    ),
  })
  const kubelet = fc.oneof(
    fc.constantFrom('{"maxPods":1}', '\n {}', '\u00a0{}', '[]', 'maxPods: 42\npodPids: 3'),
    // Of these 40 characters are in the warning.
    fc.constantFrom('😀'.repeat(45), `${'a'.repeat(40)}\nb`),
    fc.string({ maxLength: 45, unit: 'grapheme' }),
  )
  const annotations = fc.record({
    [kubeletAnnotation]: mostly<unknown>(none, kubelet),
    constructor: mostly<unknown>(none, text),
  })
  const disruption = mostly<unknown>(
    none,
    budgets.map((all) => ({ consolidateAfter: '1m', budgets: all })),
  )
  const spec = fc.record({ replicas: mostly<unknown>(none, fc.option(fc.constantFrom(0, 3))), disruption })
  const labels = fc.constantFrom<object>(
    {},
    { labels: { team: 'red' } },
    { labels: { 'karpenter.azure.com/sku-cpu': 'four' } },
  )
  const name = mostly(fc.constantFrom('a', 'a'.repeat(53)), fc.constant('a'.repeat(54)))
  return fc
    .tuple(template, annotations, spec, name, labels)
    .map(([templateGiven, annotationsGiven, specGiven, poolName, labelsGiven]) => ({
      ...pool({ template: templateGiven, spec: specGiven, metadata: labelsGiven }),
      metadata: { name: poolName, annotations: annotationsGiven },
    }))
    .map((object) => JSON.parse(JSON.stringify(object)) as ClusterObject)
}
