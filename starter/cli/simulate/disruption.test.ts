import { execFileSync } from 'node:child_process'
import { beforeAll, describe, expect, it } from 'vitest'
import { builtProgram } from '../../../test/runner/program.ts'
import { decide } from './disruption.ts'

const now = '2026-03-01T12:00:00Z'
const entry = (key: string, ...values: readonly string[]) => ({ key, operator: 'In', values })

function type(name: string, cpu: number) {
  const market = [entry('karpenter.sh/capacity-type', 'on-demand'), entry('topology.kubernetes.io/zone', 'eastus-1')]
  return {
    name,
    requirements: [
      entry('node.kubernetes.io/instance-type', name),
      entry('kubernetes.io/arch', 'amd64'),
      entry('kubernetes.io/os', 'linux'),
      ...market,
    ],
    offerings: [{ requirements: market, price: cpu * 0.05, available: true }],
    capacity: { cpu: String(cpu), memory: `${cpu * 4}Gi`, pods: '110' },
  }
}

const condition = (name: string) => ({ type: name, status: 'True', reason: name, lastTransitionTime: now })
const labels = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/registered': 'true',
  'karpenter.sh/initialized': 'true',
  'karpenter.sh/capacity-type': 'on-demand',
  'node.kubernetes.io/instance-type': 'eight',
  'topology.kubernetes.io/zone': 'eastus-1',
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/os': 'linux',
}

const nodePool = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'general' },
  spec: {
    disruption: {
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '0s',
      budgets: [{ nodes: '100%' }],
    },
    template: {
      spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements: [] },
    },
  },
  status: { conditions: [condition('Ready')] },
}

/** A node of eight cores, and the pods on it. */
function node(name: string, conditions: readonly string[], pods: readonly string[] = []) {
  const amounts = { cpu: '8', memory: '32Gi', pods: '110' }
  const providerID = `azure:///${name}`
  const all = ['Launched', 'Registered', 'Initialized', 'Consolidatable', ...conditions].map(condition)
  return [
    {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name, labels },
      spec: { nodeClassRef: nodePool.spec.template.spec.nodeClassRef, requirements: [] },
      status: { providerID, nodeName: name, capacity: amounts, allocatable: amounts, conditions: all },
    },
    {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { ...labels, 'kubernetes.io/hostname': name } },
      spec: { providerID },
      status: { capacity: amounts, allocatable: amounts, conditions: [condition('Ready')] },
    },
    ...pods.map((cpu, at) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-${at}`,
        namespace: 'default',
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: name, controller: true }],
      },
      spec: { nodeName: name, containers: [{ name: 'c', resources: { requests: { cpu } } }] },
      status: { phase: 'Running' },
    })),
  ]
}

/** Two empty nodes, two drifted ones that are full, and one whose pod would fit on a smaller node. */
const scenario = {
  now,
  instanceTypes: [type('two', 2), type('eight', 8)],
  objects: [
    nodePool,
    ...node('empty-1', []),
    ...node('empty-2', []),
    ...node('drifted-1', ['Drifted'], ['7']),
    ...node('drifted-2', ['Drifted'], ['7']),
    ...node('idle', [], ['1500m']),
  ],
}

const commands = (json: unknown, overrides: Parameters<typeof decide>[1] = {}) =>
  decide(json, overrides).commands.map(({ method, decision, candidates }) => [method, decision, candidates.toSorted()])

describe('what would be disrupted', () => {
  it('is what one evaluation of Joiner comes to, by all of its methods', () => {
    expect(commands(scenario)).toEqual([
      ['emptiness', 'delete', ['empty-1', 'empty-2']],
      // A fifth of a budget of five nodes.
      ['drift', 'replace', ['drifted-1']],
      ['single-node', 'replace', ['idle']],
    ])
  })

  it("is the first method's command where Karpenter's policy is asked for", () => {
    expect(commands(scenario, { policy: 'karpenter' })).toEqual([['emptiness', 'delete', ['empty-1', 'empty-2']]])
  })

  it('is what one method decides where the scenario names it, as Karpenter unless Joiner is asked for', () => {
    const drift = { ...scenario, method: 'drift' }
    // The empty nodes are still there.
    expect(commands(drift)).toEqual([[undefined, 'delete', ['drifted-1']]])
    const wide = structuredClone(drift)
    for (let at = 3; at < 8; at += 1) wide.objects.push(...node(`drifted-${at}`, ['Drifted'], ['7']))
    // Two of ten nodes at once, and Karpenter one.
    expect(commands(wide, { policy: 'joiner' })).toHaveLength(2)
    expect(commands(wide, { policy: 'karpenter' })).toHaveLength(1)
  })
})

describe('the command line', () => {
  let joiner = ''
  beforeAll(async () => {
    joiner = await builtProgram()
  })

  const run = (args: readonly string[], input: unknown) =>
    execFileSync(process.execPath, [joiner, 'simulate', ...args], { input: JSON.stringify(input), encoding: 'utf8' })

  it('decides about scenarios and about manifests alike', { timeout: 60_000 }, () => {
    const methodsOf = (out: string) =>
      (JSON.parse(out).commands as readonly { readonly method: string }[]).map(({ method }) => method)
    expect(methodsOf(run(['--disruption', '--output', 'json'], scenario))).toEqual([
      'emptiness',
      'drift',
      'single-node',
    ])
    expect(methodsOf(run(['--disruption', '--policy', 'karpenter', '--output', 'json'], scenario))).toEqual([
      'emptiness',
    ])
    expect(run(['--disruption'], scenario)).toContain('delete (Empty) 2 nodes: empty-1, empty-2')
  })

  it('refuses a policy where nothing is disrupted', { timeout: 60_000 }, () => {
    expect(() => run(['--policy', 'karpenter'], scenario)).toThrow('add --disruption')
  })
})
