import { describe, expect, it } from 'vitest'
import { inValues, requirement } from '../requirements/requirement.ts'
import { requirements } from '../requirements/requirements.ts'
import { parseResources } from '../resources.ts'
import type { PoolRefusal, TypeProblem, UnschedulableCause, VolumeProblem } from './unschedulable.ts'
import { unschedulableText } from './unschedulable-text.ts'

const refused = (...refusals: readonly PoolRefusal[]): UnschedulableCause => ({ kind: 'refused', refusals })
const zone = 'topology.kubernetes.io/zone'

it.each<[string, UnschedulableCause]>([
  ['ignoring pod, too much', { kind: 'too-much', excess: 'too much' }],
  [
    'ignoring pod, configured to not run on a Karpenter provisioned node (requirement=karpenter.sh/nodepool DoesNotExist); node selector term with matchFields is not supported; a; b; persistentvolumes "v" not found',
    {
      kind: 'ignored',
      reasons: [
        { kind: 'not-on-karpenter' },
        { kind: 'match-fields' },
        { kind: 'requirement', requirement: { key: 'k', operator: 'Exists' }, errors: ['a', 'b'] },
        { kind: 'volumes', problem: { kind: 'volume-not-found', volume: 'v' } },
      ],
    },
  ],
  [
    'spec.volumes.persistentVolumeClaim is not supported yet (claims a, b)',
    { kind: 'volumes-not-looked-up', claims: ['a', 'b'] },
  ],
  [
    'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter',
    { kind: 'resource-claims' },
  ],
  ['no dynamic nodepools found', { kind: 'no-node-pools' }],
  ['nodepool requirements filtered out all available instance types', { kind: 'no-instance-types' }],
  [
    'spec.affinity and topologySpreadConstraints take longer to plan than a pass has for pods with many; use fewer constraints and preferences',
    { kind: 'takes-too-long', what: 'pass' },
  ],
  [
    'spec.affinity and topologySpreadConstraints take too long to simulate; use fewer constraints and preferences',
    { kind: 'takes-too-long', what: 'simulation' },
  ],
  [
    'pod didn’t schedule because NodePool couldn’t meet minValues requirements, validating minValues, minValues requirement is not met for label(s) (label(s)=[a b]) (NodePool=p)',
    { kind: 'min-values-cut', nodePool: 'p', labels: ['a', 'b'] },
  ],
  [
    'would schedule against uninitialized nodeclaim/c, node/n',
    { kind: 'uninitialized-node', nodeClaim: 'c', node: 'n' },
  ],
  ['would schedule against uninitialized node/n', { kind: 'uninitialized-node', nodeClaim: undefined, node: 'n' }],
])('%s', (text, cause) => {
  expect(unschedulableText(cause)).toBe(text)
})

describe('volumes', () => {
  const unbound = { claim: 'd/c', storageClass: 's' }
  it.each<[string, VolumeProblem]>([
    [
      'getting persistent volume claim, persistentvolumeclaims "c" not found (PersistentVolumeClaim=c)',
      { kind: 'claim-not-found', claim: 'c' },
    ],
    [
      'persistentvolumeclaim with access mode ReadWriteOncePod is used by another pod (PersistentVolumeClaim=d/c, Pod=d/p)',
      { kind: 'claim-in-use', claim: 'd/c', pod: 'd/p' },
    ],
    ['persistentvolumeclaim is being deleted (PersistentVolumeClaim=d/c)', { kind: 'claim-deleting', claim: 'd/c' }],
    [
      'persistentvolumeclaim bound to non-existent persistentvolume (PersistentVolume=v, PersistentVolumeClaim=d/c)',
      { kind: 'claim-lost', claim: 'd/c', volume: 'v' },
    ],
    [
      'failed to validate pvc, persistentvolumes "v" not found (PersistentVolume=v, PersistentVolumeClaim=d/c, StorageClass=s)',
      { kind: 'claim-volume-not-found', volume: 'v', ...unbound },
    ],
    [
      'failed to validate pvc, persistentvolume is being deleted (PersistentVolume=v, PersistentVolumeClaim=d/c, StorageClass=s)',
      { kind: 'claim-volume-deleting', volume: 'v', ...unbound },
    ],
    [
      'unbound pvc must define a storage class (PersistentVolumeClaim=d/c, StorageClass=)',
      { kind: 'claim-without-class', claim: 'd/c' },
    ],
    [
      'failed to validate pvc, failed to get storage class, storageclasses.storage.k8s.io "s" not found (PersistentVolumeClaim=d/c, StorageClass=s)',
      { kind: 'claim-class-not-found', ...unbound },
    ],
    [
      'failed to validate pvc, pvc with immediate volume binding mode must be bound (PersistentVolumeClaim=d/c, StorageClass=s)',
      { kind: 'claim-class-immediate', ...unbound },
    ],
    [
      'pvc is considered unbound because it does not contain annotation (PersistentVolume=v, PersistentVolumeClaim=c, annotation=pv.kubernetes.io/bind-completed)',
      { kind: 'claim-not-bound', claim: 'c', volume: 'v' },
    ],
    ['persistentvolumes "v" not found', { kind: 'volume-not-found', volume: 'v' }],
    ['storageclasses.storage.k8s.io "s" not found', { kind: 'class-not-found', storageClass: 's' }],
  ])('%s', (text, problem) => {
    expect(unschedulableText({ kind: 'volumes', problem })).toBe(text)
  })
})

describe('a NodePool refuses', () => {
  it.each<[string, PoolRefusal]>([
    ['node limits have been exhausted for nodepool (NodePool=p)', { kind: 'node-limit', nodePool: 'p' }],
    [
      'all available instance types exceed limits for nodepool (NodePool=p)',
      { kind: 'resource-limits', nodePool: 'p' },
    ],
    [
      'did not tolerate taint (taint=team=a:NoSchedule); did not tolerate taint (taint=x:NoExecute)',
      {
        kind: 'taints',
        taints: [
          { key: 'team', value: 'a', effect: 'NoSchedule' },
          { key: 'x', effect: 'NoExecute' },
        ],
      },
    ],
    ['would exceed volume limit for all instance type options', { kind: 'volume-limit' }],
    [
      'would exceed volume limit for all instance type options (provisioner=d, volume-count=3, volume-limit=2)',
      { kind: 'volume-limit', driver: { name: 'd', volumes: 3, limit: 2 } },
    ],
    [
      'incompatible requirements, label "a" does not have known values (typo of "b"?)',
      { kind: 'incompatible', by: 'pod', problem: { kind: 'unknown-label', key: 'a', meant: 'b' } },
    ],
    [
      `incompatible volume requirements, key ${zone}, ${zone} In [1] not in ${zone} In [2]`,
      {
        kind: 'incompatible',
        by: 'volumes',
        problem: { kind: 'disjoint', pairs: [{ wanted: inValues(zone, ['1']), own: inValues(zone, ['2']) }] },
      },
    ],
    [
      'label "a" does not have known values',
      { kind: 'incompatible', by: 'topology', problem: { kind: 'unknown-label', key: 'a', meant: undefined } },
    ],
    [
      '101 requirements, and a NodeClaim holds at most 100; ask for fewer labels',
      { kind: 'unclaimable', by: 'pod', problem: { kind: 'entries', count: 101 } },
    ],
    [
      'incompatible volume requirements, requirements of 9 bytes, and a NodeClaim holds at most 700000; list fewer values',
      { kind: 'unclaimable', by: 'volumes', problem: { kind: 'bytes', count: 9 } },
    ],
    [
      `unsatisfiable topology constraint for topology spread, key=${zone} (counts = 1: 4, 2: 0 and 3 other(s), podDomains = ${zone} Exists, nodeDomains = ${zone} In [1]`,
      {
        kind: 'topology',
        rule: 'topology spread',
        key: zone,
        counts: [
          ['1', 4],
          ['2', 0],
        ],
        others: 3,
        podDomains: requirement({ key: zone, operator: 'Exists' }),
        nodeDomains: inValues(zone, ['1']),
      },
    ],
    [
      'one or more instance types with compatible reserved offerings are available, but could not be reserved',
      { kind: 'reservation', problem: 'none-left' },
    ],
    [
      'all compatible reserved offerings are full and no on-demand or spot fallback is available',
      { kind: 'reservation', problem: 'all-full' },
    ],
    [
      'satisfying updated nodeclaim constraints would remove all compatible reserved offering options',
      { kind: 'reservation', problem: 'would-lose-all' },
    ],
    [
      'the only compatible reserved offering is full; falling through to other NodePools',
      { kind: 'reservation', problem: 'falls-through' },
    ],
    ['not tried again before the pass was stopped', { kind: 'not-tried-again' }],
  ])('%s', (text, refusal) => {
    expect(unschedulableText(refused(refusal))).toBe(text)
  })

  it('one after the other', () => {
    const refusals = ['p', 'q'].map((nodePool) => ({ kind: 'node-limit', nodePool }) as const)
    expect(unschedulableText(refused(...refusals))).toBe(
      'node limits have been exhausted for nodepool (NodePool=p); node limits have been exhausted for nodepool (NodePool=q)',
    )
  })
})

describe('no instance type', () => {
  const types = (problem: TypeProblem, cpu = '1', overheads: readonly string[] = []): UnschedulableCause =>
    refused({
      kind: 'types',
      problem,
      requirements: requirements([
        { key: 'b', operator: 'Exists' },
        { key: 'a', operator: 'In', values: ['x'] },
        { key: 'kubernetes.io/hostname', operator: 'In', values: ['h'] },
      ]),
      requests: parseResources({ cpu }),
      overheads: overheads.map((own) => parseResources({ cpu: own })),
    })

  it.each<[string, TypeProblem]>([
    ['minValues requirement is not met for label(s) (label(s)=[a b])', { kind: 'min-values', labels: ['a', 'b'] }],
    [
      'no instance type met the scheduling requirements or had enough resources or had a required offering',
      { kind: 'unmet', criteria: ['requirements', 'resources', 'offering'] },
    ],
    ['no instance type met all requirements', { kind: 'unmet', criteria: ['requirements'] }],
    ['no instance type has enough resources', { kind: 'unmet', criteria: ['resources'] }],
    ['no instance type has the required offering', { kind: 'unmet', criteria: ['offering'] }],
    [
      'no instance type which met the scheduling requirements and had enough resources, had a required offering',
      { kind: 'not-together', lacking: 'offering' },
    ],
    [
      'no instance type which had enough resources and the required offering met the scheduling requirements',
      { kind: 'not-together', lacking: 'requirements' },
    ],
    [
      'no instance type which met the scheduling requirements and the required offering had the required resources',
      { kind: 'not-together', lacking: 'resources' },
    ],
  ])('%s', (text, problem) => {
    expect(unschedulableText(types(problem))).toBe(`${text}, requirements=a In [x], b Exists, resources={"cpu":"1"}`)
  })

  it('with what daemons take, where it differs', () => {
    const text = (...overheads: readonly string[]) =>
      unschedulableText(types({ kind: 'unmet', criteria: ['offering'] }, '1', overheads)).split('resources=')[1]
    expect(text('1')).toBe('{"cpu":"2"}')
    expect(text('1', '2')).toBe('min={"cpu":"2"}, max={"cpu":"3"}')
  })

  it('is large enough when a request says M instead of m', () => {
    expect(unschedulableText(types({ kind: 'unmet', criteria: ['resources'] }, '1M'))).toMatch(
      /resources={"cpu":"1M"} \(CPU request >= 1 Million, m vs M typo\?\)$/,
    )
  })
})
