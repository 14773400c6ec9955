import { describe, expect, it } from 'vitest'
import { sampleNode, samplePod, samplePool, sampleType } from '../../test/samples/sample-objects.ts'
import { schedule } from '../../test/samples/schedule.ts'
import type { Pod, RequirementSpec } from '../objects.ts'
import type { SchedulingPlan, SchedulingSnapshot } from './snapshot.ts'
import { schedulableNodes } from './state-nodes.ts'
import { unschedulableText } from './unschedulable-text.ts'

const plan = (change: Partial<SchedulingSnapshot>): SchedulingPlan =>
  schedule({
    pods: [],
    nodes: [],
    nodePools: [{ nodePool: samplePool(), instanceTypes: [sampleType('large', 8)], usage: {} }],
    daemonSets: [],
    ...change,
  })

const required = (name: string, ...matchExpressions: readonly RequirementSpec[]): Pod =>
  samplePod(name, {
    affinity: {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] } },
    },
  })
const preferred = (name: string, entry: RequirementSpec): Pod =>
  samplePod(name, {
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: { matchExpressions: [entry] } }],
      },
    },
  })

const notAgentpool: RequirementSpec = { key: 'agentpool', operator: 'NotIn', values: ['system'] }
const belowZero: RequirementSpec = { key: 'node.kubernetes.io/windows-build', operator: 'Lt', values: ['0'] }
/** Some 500 KB of values. */
const long = (key: string): RequirementSpec => ({
  key,
  operator: 'NotIn',
  values: Array.from({ length: 20_000 }, (_, at) => `${'v'.repeat(18)}${at}`),
})
const keys = (prefix: string, count: number): readonly RequirementSpec[] =>
  Array.from({ length: count }, (_, at) => ({ key: `example.com/${prefix}${at}`, operator: 'DoesNotExist' }))

const namesOf = ({ newNodeClaims }: SchedulingPlan) =>
  newNodeClaims.map(({ pods }) => pods.map(({ metadata }) => metadata.name))

describe('requirements that no NodeClaim can have, in a pass', () => {
  it.each([notAgentpool, belowZero])('opens no claim, and the pod learns why: %j', (entry) => {
    const result = plan({ pods: [required('hostile', entry), samplePod('innocent')] })
    expect(namesOf(result)).toEqual([['innocent']])
    expect(result.unschedulable.map(({ pod }) => pod.metadata.name)).toEqual(['hostile'])
    expect(result.unschedulable[0]?.cause).toMatchObject({
      refusals: [{ kind: 'unclaimable', by: 'pod', problem: { kind: 'requirement', requirement: { key: entry.key } } }],
    })
  })

  it('is found on a node that exists', () => {
    const nodes = schedulableNodes({
      nodes: [sampleNode('a'), sampleNode('b', { metadata: { labels: { agentpool: 'system' } } })],
      nodeClaims: [],
      podsByNode: new Map(),
      daemonSets: [],
    })
    const result = plan({ pods: [required('p', notAgentpool)], nodes })
    expect(result.existing.map(({ node }) => node)).toEqual(['a'])
    expect(result.newNodeClaims).toEqual([])
  })

  it('gives way where it is preferred only', () => {
    const { newNodeClaims, unschedulable } = plan({ pods: [preferred('p', belowZero)] })
    expect(unschedulable).toEqual([])
    expect(newNodeClaims[0]?.requirements.map(({ key }) => key)).not.toContain('node.kubernetes.io/windows-build')
  })

  it('does not keep daemons from the nodes that a claim is planned for', () => {
    const daemon = { kind: 'DaemonSet' as const, metadata: samplePod('d').metadata, pod: required('d', notAgentpool) }
    const [claim] = plan({ pods: [samplePod('p')], daemonSets: [daemon] }).newNodeClaims
    expect(claim?.requests['pods']?.nano).toBe(2_000_000_000n)
  })
})

describe('pods that together require more than a NodeClaim can hold', () => {
  it('in bytes get a node each', () => {
    expect(namesOf(plan({ pods: [required('a', long('a')), required('b', long('b'))] }))).toEqual([['a'], ['b']])
  })

  it('in requirements get a node each', () => {
    const pods = [required('a', ...keys('a', 60)), required('b', ...keys('b', 60)), required('c', ...keys('a', 60))]
    expect(namesOf(plan({ pods }))).toEqual([['a', 'c'], ['b']])
  })

  it('alone stay pending', () => {
    const [cause] = plan({ pods: [required('a', long('a'), long('b'))] }).unschedulable.map((one) => one.cause)
    expect(cause).toMatchObject({ refusals: [{ kind: 'unclaimable', problem: { kind: 'bytes' } }] })
    expect(cause && unschedulableText(cause).length).toBeLessThan(300)
  })
})
