import { describe, expect, it } from 'vitest'
import { causeText } from '../../../core/disruption/verdicts/cause-text.ts'
import type { Verdict } from '../../../core/disruption/verdicts/verdict.ts'
import { Pauses } from '../../../core/pauses/pauses.ts'
import type { WaitingClass } from '../../../core/scheduling/explain/waiting-classes.ts'
import {
  ownedBy,
  sampleClaim,
  sampleCondition,
  sampleMeta,
  sampleNode,
  samplePod,
  samplePool,
} from '../../../test/samples/sample-objects.ts'
import { nodeDocument, nodeReport } from '../../answers/node-report.ts'
import { podDocument, podReport } from '../../answers/pod-report.ts'
import { plainText } from '../../document/text.ts'
import type { CountedBudget } from '../../picture/from-cluster.ts'
import { type NodePicture } from '../../picture/node-picture.ts'
import { classOf, type PodPicture, plannedClaim, type WaitingFacts } from '../../picture/pod-picture.ts'

const now = Date.parse('2026-01-02T00:00:00Z')

const node = sampleNode('n1', {
  metadata: {
    labels: { 'node.kubernetes.io/instance-type': 'Standard_D4s_v5', 'karpenter.sh/capacity-type': 'on-demand' },
  },
})
const budget: CountedBudget = {
  kind: 'PodDisruptionBudget',
  metadata: sampleMeta('web', { namespace: 'shop' }),
  selector: { matchLabels: { app: 'web' } },
  minAvailable: 2,
  disruptionsAllowed: 0,
  healthy: 2,
  wanted: 2,
  pods: 2,
}

function running(name: string, annotations: Readonly<Record<string, string>> = {}) {
  return samplePod(name, {
    nodeName: 'n1',
    phase: 'Running',
    conditions: [],
    startTime: '2026-01-01T23:30:00Z',
    metadata: { namespace: 'shop', labels: { app: name }, annotations, ...ownedBy('ReplicaSet') },
  })
}

const protectedWeb = { kind: 'pod-do-not-disrupt', pod: 'shop/web' } as const

const verdict = (change: Partial<Verdict> = {}): Verdict => ({
  nodeClaim: 'n1-claim',
  node: 'n1',
  nodePool: 'default',
  since: '2026-01-01T23:50:00.000Z',
  price: 0.2,
  moves: [
    {
      methods: ['emptiness', 'multi-node', 'single-node'],
      outcome: 'blocked',
      cause: protectedWeb,
      savingsForgone: 0.2,
    },
    { methods: ['drift'], outcome: 'unsuitable', cause: { kind: 'not-drifted' } },
  ],
  ...change,
})

const facts = (change: Partial<NodePicture> = {}): NodePicture => ({
  now,
  node,
  claim: sampleClaim('n1'),
  pool: samplePool(),
  pods: [running('web', { 'karpenter.sh/do-not-disrupt': '1h' })],
  budgets: [budget],
  pauses: new Pauses([]),
  events: [],
  verdict: verdict(),
  lastPassMs: now - 12_000,
  ...change,
})

const text = (change: Partial<NodePicture> = {}) => plainText(nodeDocument(nodeReport(facts(change)), now))

describe('why node', () => {
  it('says what it is, what stands in the way, what that costs, and what would help', () => {
    const events = [
      { reason: 'DisruptionBlocked', message: 'Pod has ...', about: 'NodeClaim', at: now - 90_000, times: 3 },
    ]
    expect(text({ events }).split('\n')).toEqual([
      'Node n1 (NodeClaim n1-claim)',
      '  Ready since 2026-01-01T00:00:00Z',
      '  NodePool default, Standard_D4s_v5, zone-1, on-demand, 146.00 USD a month, 1 pod, of which 1 would have to move',
      'state:',
      '  ready',
      '  consolidatable since 2026-01-01T00:00:30Z (policy WhenEmptyOrUnderutilized, consolidateAfter 30s)',
      'last evaluation (12s ago), the same since 2026-01-01T23:50:00Z:',
      `  emptiness, multi-node, single-node: blocked: ${causeText(protectedWeb)} [up to 146.00 USD a month not saved]`,
      '    pod shop/web',
      `  drift: does not apply: ${causeText({ kind: 'not-drifted' })}`,
      'what would let it go:',
      '  kubectl annotate pod --namespace shop web karpenter.sh/do-not-disrupt-, or wait until 2026-01-02T00:30:00Z, when it ends by itself',
      'looked at again:',
      '  when something changes in the cluster, and every 5 minutes',
      '  the protection of shop/web ends at 2026-01-02T00:30:00Z',
      'events:',
      '  1m30s ago  NodeClaim  DisruptionBlocked (3 times): Pod has ...',
    ])
  })

  it.each<[string, Readonly<Record<string, string>>]>([
    ['its NodePool is gone', { 'karpenter.sh/nodepool': 'default' }],
    ['made by hand, without a NodePool: never consolidated', {}],
  ])('says "%s" of a NodeClaim with the labels %j', (said, labels) => {
    const { pool: _, ...others } = facts({ claim: sampleClaim('n1', { metadata: { labels } }) })
    expect(nodeReport(others).state).toEqual(['ready', said])
  })

  it('names a VM that is not its own', () => {
    const message = 'status.providerID "x" names another VM than y'
    const unowned = { ...sampleCondition('InstanceOwned', 'False'), reason: 'InstanceNotOwned', message }
    const { conditions } = sampleClaim('n1').status
    const claim = sampleClaim('n1', { status: { conditions: [...conditions, unowned] } })
    expect(nodeReport(facts({ claim })).state).toContain(`its VM is not its own: ${message}`)
  })

  it('gives the numbers of a PodDisruptionBudget that allows none', () => {
    const move = {
      methods: ['single-node'],
      outcome: 'blocked',
      cause: { kind: 'pdb', pod: 'shop/web', podDisruptionBudgets: ['shop/web'] },
    } as const
    expect(text({ verdict: verdict({ moves: [move] }) })).toContain(
      'PodDisruptionBudget shop/web (minAvailable 2): 2 of 2 pods are healthy, 2 have to be, so none may go; let more of its pods be ready',
    )
  })

  it('shows the command that it is part of, and pauses', () => {
    const claim = sampleClaim('n1', {
      metadata: {
        labels: { 'karpenter.sh/nodepool': 'default' },
        annotations: { 'joiner.sh/disruption-command': 'underutilized-1' },
      },
      status: {
        conditions: [
          sampleCondition('Launched'),
          sampleCondition('Registered'),
          sampleCondition('Initialized'),
          { ...sampleCondition('DisruptionReason'), reason: 'Underutilized' },
        ],
      },
    })
    const pauses = new Pauses([{ reason: 'audit', sinceMs: now, by: 'ann', scope: { kind: 'node', name: 'n1' } }])
    const shown = text({ claim, pauses, cluster: 'prod' })
    expect(shown).toContain(
      'being disrupted by underutilized-1 (Underutilized) since 2026-01-01T00:00:00.000Z: workflow disrupt/prod/underutilized-1',
    )
    expect(shown).toContain('disruption of node "n1" is paused by ann since 2026-01-02T00:00:00Z until resumed: audit')
  })

  it('says who holds it and until when, and how it is released', () => {
    const until = '2026-01-02T06:00:00Z'
    const held = { 'joiner.sh/hold-until': until, 'joiner.sh/hold-by': 'ann', 'joiner.sh/hold-reason': 'a look' }
    const claim = sampleClaim('n1', { metadata: { annotations: held } })
    const hold = { untilMs: Date.parse(until), by: 'ann', reason: 'a look', expiry: false }
    const move = { methods: ['emptiness', 'drift'], outcome: 'blocked', cause: { kind: 'held', hold } } as const
    const lines = text({ claim, verdict: verdict({ moves: [move] }) }).split('\n')
    expect(lines).toContain(`  held until ${until} by ann: a look`)
    expect(lines).toContain('  end the hold: joiner node release n1-claim')
    expect(lines).toContain(`  when the hold ends at ${until}, if nobody releases it before`)
  })

  it('says that nobody evaluates, with the age', () => {
    expect(text({ lastPassMs: now - 20 * 60_000 })).toContain(
      '! the last evaluation was 20 minutes ago: Joiner does not seem to run (joiner status)',
    )
    const pauses = new Pauses([{ reason: 'audit', sinceMs: now }])
    expect(text({ lastPassMs: now - 20 * 60_000, pauses })).toContain('20 minutes ago: disruption is paused as a whole')
  })

  it('tells a node that was not evaluated yet from one that is not managed', () => {
    const { verdict: _, lastPassMs: __, ...bare } = facts()
    expect(plainText(nodeDocument(nodeReport(bare), now))).toContain('! it has not been evaluated yet')
    const odd = { ...bare, unread: 'ConfigMap joiner/joiner-evaluations-0: n1-claim cannot be used' }
    expect(plainText(nodeDocument(nodeReport(odd), now))).toContain(
      '! what the last evaluation found is not known: ConfigMap joiner/',
    )
    const { claim: ___, ...alone } = bare
    expect(plainText(nodeDocument(nodeReport(alone), now))).toContain(
      '! it has no NodeClaim: it is not managed by Joiner',
    )
  })

  it('names what pods ask for where they would find no other place', () => {
    const move = {
      methods: ['single-node'],
      outcome: 'hindered',
      cause: {
        kind: 'pods-without-place',
        pods: [{ name: 'shop/web', constraint: 'no instance type is in zone-9 ' }],
        count: 3,
      },
      savingsForgone: 0.2,
    } as const
    const lines = text({ verdict: verdict({ moves: [move] }) })
    expect(lines).toContain('    pod shop/web: no instance type is in zone-9\n    and 2 pods more')
    expect(lines).toContain('let shop/web run elsewhere')
  })

  it('says from when on the node can be consolidated', () => {
    const claim = sampleClaim('n1', {
      status: {
        conditions: ['Launched', 'Registered', 'Initialized'].map((type) => sampleCondition(type)),
        lastPodEventTime: '2026-01-01T23:59:50Z',
      },
    })
    expect(text({ claim })).toContain('for consolidation from 2026-01-02T00:00:20Z on, if no pods come or go')
  })
})

const aboutPod = (change: Partial<PodPicture> = {}) =>
  plainText(
    podDocument(
      podReport({
        now,
        pod: running('web', { 'karpenter.sh/do-not-disrupt': '1h', 'karpenter.sh/disruption-cost': '134217728' }),
        budgets: [budget],
        events: [],
        node: facts(),
        ...change,
      }),
      now,
    ),
  )

describe('why pod', () => {
  it('says what of it keeps its node, and what its eviction costs', () => {
    expect(aboutPod().split('\n')).toEqual([
      'Pod shop/web: Running, on n1 of NodePool default',
      'keeps its node:',
      '  its annotation karpenter.sh/do-not-disrupt: "1h", which holds until 2026-01-02T00:30:00Z',
      'found by the last evaluation:',
      `  emptiness, multi-node, single-node: blocked: ${causeText(protectedWeb)} [up to 146.00 USD a month not saved]`,
      '    pod shop/web',
      'disruption budgets:',
      '  PodDisruptionBudget shop/web (minAvailable 2): 2 of 2 pods are healthy, 2 have to be, so none may go',
      'cost of its eviction:',
      '  2.000 (a common pod: 1)',
      '  annotation karpenter.sh/disruption-cost: "134217728"',
      'what would let the node go:',
      '  kubectl annotate pod --namespace shop web karpenter.sh/do-not-disrupt-, or wait until 2026-01-02T00:30:00Z, when it ends by itself',
      'more about the node: joiner why node n1',
    ])
  })

  it('says that a budget lets none go', () => {
    expect(aboutPod({ pod: running('web') })).toContain('PodDisruptionBudget shop/web lets none go now')
  })

  it('says that nothing of a pod keeps its node', () => {
    expect(aboutPod({ pod: running('other') })).toContain('nothing of this pod does')
  })

  it('says why a pod waits, and what was reported about it', () => {
    const pod = samplePod('late', {
      metadata: { namespace: 'shop' },
      conditions: [
        {
          type: 'PodScheduled',
          status: 'False',
          reason: 'Unschedulable',
          message: '0/3 nodes are available',
          lastTransitionTime: '2026-01-01T23:59:00Z',
        },
      ],
    })
    const events = [
      { reason: 'Nominated', message: 'Pod should schedule on: nodeclaim/a', about: 'Pod', at: now - 5000, times: 1 },
    ]
    const { node: _, ...rest } = { now, pod, budgets: [], events, node: undefined }
    expect(plainText(podDocument(podReport(rest), now)).split('\n')).toEqual([
      'Pod shop/late: Pending, on no node',
      'state:',
      '  waits since 2026-01-01T23:59:00Z: Unschedulable: 0/3 nodes are available',
      'what to do:',
      '  a node is meant for it (see the event Nominated)',
      'events:',
      '  5s ago  Pod  Nominated: Pod should schedule on: nodeclaim/a',
    ])
  })

  const pending = samplePod('late', {
    metadata: { namespace: 'shop' },
    conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes' }],
  })
  const found: WaitingClass = {
    state: 'unschedulable',
    cause: 'limits',
    pods: ['shop/late'],
    count: 3,
    sinceMs: now,
    plannedOn: [],
    finding: 'NodePool "a": limits: limit 1 cpu',
    funnel: ['NodePool a: 3 types'],
    remedies: ['raise the limits: kubectl patch nodepool a'],
  }
  const waits = (waiting: WaitingFacts, pod = pending) =>
    plainText(podDocument(podReport({ now, pod, budgets: [], events: [], waiting }), now)).split('\n')

  it('says first what the planner found, and kube-scheduler after it', () => {
    expect(waits({ found, atMs: now - 4000 })).toEqual([
      'Pod shop/late: Pending, on no node',
      'why it waits:',
      '  unschedulable (limits): NodePool "a": limits: limit 1 cpu',
      '  2 pods like it wait too; written 4s ago',
      'what each NodePool could do:',
      '  NodePool a: 3 types',
      'what helps:',
      '  raise the limits: kubectl patch nodepool a',
      'kube-scheduler:',
      '  waits: Unschedulable: 0/3 nodes',
    ])
  })

  it('shows what the planned node waits for as it is now', () => {
    const startup = {
      ...sampleCondition('Initialized', 'Unknown'),
      reason: 'StartupTaintsExist',
      message: 'StartupTaint "cni=true:NoSchedule" still exists',
    }
    const claim = sampleClaim('n1', {
      status: { conditions: [sampleCondition('Launched'), sampleCondition('Registered'), startup] },
    })
    const planned = waits({ found: { ...found, state: 'planned', plannedOn: ['n1-claim'] }, claim })
    expect(planned[2]).toBe(
      '  planned on NodeClaim n1-claim: node n1 of NodeClaim n1-claim is not initialized yet: StartupTaint "cni=true:NoSchedule" still exists',
    )
    expect(planned.join('\n')).toContain('kubectl taint node n1 cni:NoSchedule-')
  })

  it('says that provisioning is paused, also where the planner has written nothing', () => {
    const pause = { reason: 'audit', sinceMs: 0 }
    expect(waits({ pause }).slice(2)).toContain('  held back (paused): provisioning is paused until resumed: audit')
    const both = waits({ pause, found, atMs: now }).join('\n')
    expect(both).toContain('provisioning is paused until resumed: audit; NodePool "a": limits')
    expect(both).toMatch(/joiner resume --provisioning\n {2}raise the limits/)
  })

  it('says that the planner has not looked, or has nothing to do with it', () => {
    expect(waits({}).join('\n')).toContain('the planner has not reported on it yet')
    const gated = samplePod('late', {
      conditions: [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message: '' }],
    })
    expect(waits({}, gated).join('\n')).toContain('spec.schedulingGates keep kube-scheduler from it')
  })

  it('says that a pod will never run, whatever was planned for it', () => {
    const deleted = samplePod('late', {
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['batch.kubernetes.io/job-tracking'] },
    })
    const planned = { ...found, state: 'planned', plannedOn: ['n1-claim'] } as const
    const lines = waits({ found: planned, claim: sampleClaim('n1') }, deleted)
    expect(lines[2]).toBe(
      '  not planned: it is being deleted since 2026-01-01T00:00:00Z, so kube-scheduler never binds it and nothing is planned for it; finalizers hold it: batch.kubernetes.io/job-tracking',
    )
    expect(waits({ found: planned }, samplePod('late', { phase: 'Failed' }))[2]).toContain('it has ended (Failed)')
  })

  it('finds the class of a pod, and the NodeClaim that it is planned on', () => {
    const planned = { ...found, state: 'planned', pods: ['shop/other'], plannedOn: ['a', 'b'] } as const
    const nominated = {
      reason: 'Nominated',
      message: 'Pod should schedule on: nodeclaim/b',
      about: 'Pod',
      at: 0,
      times: 1,
    }
    const unknown = { ...found, pods: ['shop/others'] }
    expect(classOf(pending, [planned, found], [nominated])).toBe(found)
    expect(classOf(pending, [unknown, planned], [nominated])).toBe(planned)
    expect(classOf(pending, [planned, unknown], [])).toBe(unknown)
    expect(plannedClaim(planned, [nominated])).toBe('b')
    expect(plannedClaim({ ...planned, plannedOn: ['a'] }, [nominated])).toBe('a')
    expect(plannedClaim(found, [nominated])).toBeUndefined()
  })
})
