import type { World } from '../world.ts'
import { patchPool, pod, pool, runPrinted } from './objects.ts'
import type { Situation } from './situation.ts'

const deleteClaim = (world: World, _: string, claim: string) =>
  world.operator.kubectl(['delete', 'nodeclaim', claim, '--wait=false'])
const deletePod = (name: string) => (world: World) =>
  world.operator.kubectl(['delete', 'pod', name, '--force', '--grace-period=0'])

const protectedBy = { 'karpenter.sh/do-not-disrupt': 'true' }

const deployed = (name: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name, situation: name } },
      spec: (pod(name) as { readonly spec: object }).spec,
    },
  },
})

const attachment = (name: string, nodeName: string) => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'VolumeAttachment',
  metadata: { name },
  spec: { attacher: 'disk.csi.azure.com', nodeName, source: { persistentVolumeName: `pv-of-${name}` } },
})

/** Nodes that do not go. */
export const ofNodes: readonly Situation[] = [
  {
    name: 'drain-budget',
    ofNode: true,
    arrange: (world) =>
      world.apply(pool('drain-budget'), deployed('drain-budget'), {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'drain-budget', namespace: 'default' },
        spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'drain-budget' } } },
      }),
    begin: deleteClaim,
    says: [
      /its drain:\n {2}draining for/,
      /1 pod to be evicted: default\/drain-budget-/,
      /Drained: 1 pods are waiting to be evicted: evicting pod violates a PDB .*, for \S+ \(since/,
      /none may go.*\n {2}as a last resort, without eviction: joiner node force-finish/,
    ],
    remedy: /let it allow one to be missing \(kubectl edit pdb --namespace (\S+) (\S+)\)/,
    apply: (world, [, namespace = '', name = '']) =>
      world.operator.api('PATCH', `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets/${name}`, {
        spec: { maxUnavailable: 1 },
      }),
  },
  {
    name: 'drain-protected',
    ofNode: true,
    arrange: (world) => world.apply(pool('drain-protected'), pod('drain-protected', { annotations: protectedBy })),
    begin: deleteClaim,
    says: [/1 pod kept by karpenter.sh\/do-not-disrupt: default\/drain-protected/, /Drained: .* has the annotation/],
    remedy: /(kubectl annotate pod --namespace default drain-protected karpenter.sh\/do-not-disrupt-)/,
    apply: (world, [, command = '']) => runPrinted(world, command),
  },
  {
    name: 'drain-volume',
    ofNode: true,
    arrange: (world) => world.apply(pool('drain-volume'), pod('drain-volume')),
    begin: async (world, node, claim) => {
      await world.apply(attachment('drain-volume', node))
      await deleteClaim(world, node, claim)
    },
    says: [
      /evicted 1 pod: default\/drain-volume/,
      /1 volume attached: pv-of-drain-volume \(drain-volume\)/,
      /VolumesDetached: Awaiting deletion of bound volumeattachments .*, for \S+ \(since/,
    ],
    remedy: /once nothing uses the disk: (kubectl delete volumeattachment drain-volume)$/m,
    apply: (world, [, command = '']) => runPrinted(world, command),
  },
  {
    name: 'never-consolidated',
    ofNode: true,
    arrange: (world) => world.apply(pool('never-consolidated'), pod('never-consolidated')),
    begin: deletePod('never-consolidated'),
    says: [/not consolidated: consolidateAfter of its NodePool is Never/],
    remedy: /set spec.disruption.consolidateAfter of NodePool "never-consolidated" to a duration; it is Never/,
    apply: (world) => patchPool(world, 'never-consolidated', { disruption: { consolidateAfter: '1s' } }),
  },
  {
    name: 'budget-0',
    ofNode: true,
    arrange: (world) => world.apply(pool('budget-0', { consolidateAfter: '1s', budget: '0' }), pod('budget-0')),
    begin: deletePod('budget-0'),
    says: [/emptiness.*: waits for budgets:/],
    remedy: /wait until the pool's budgets allow it, or change them: joiner budgets budget-0/,
    apply: (world) => patchPool(world, 'budget-0', { disruption: { budgets: [{ nodes: '100%' }] } }),
  },
  {
    name: 'paused-pool',
    ofNode: true,
    arrange: (world) => world.apply(pool('paused-pool', { consolidateAfter: '1s' }), pod('paused-pool')),
    begin: async (world) => {
      // On a busy machine the disruption loop may answer later than the command waits.
      await world.until('it is paused', () => world.joiner('pause', '--nodepool', 'paused-pool', '--reason', 'audit'))
      await deletePod('paused-pool')(world)
    },
    says: [/disruption of NodePool "paused-pool" is paused by .*: audit/],
    remedy: /lift the pause: (joiner resume --nodepool paused-pool)/,
    apply: (world, [, command = '']) => runPrinted(world, command),
  },
  {
    name: 'held',
    ofNode: true,
    arrange: (world) => world.apply(pool('held', { consolidateAfter: '1s' }), pod('held')),
    begin: async (world, _, claim) => {
      // Lists of Temporal are behind by a moment.
      await world.until('it is held', () => world.joiner('node', 'hold', claim, '--reason', 'a look'))
      await deletePod('held')(world)
    },
    says: [/held until released by .*: a look/],
    remedy: /(joiner node release held-\S+)/,
    apply: (world, [, command = '']) => runPrinted(world, command),
  },
  {
    name: 'drift-protected',
    ofNode: true,
    arrange: (world) => world.apply(pool('drift-protected'), pod('drift-protected', { annotations: protectedBy })),
    begin: (world) =>
      patchPool(world, 'drift-protected', { template: { metadata: { labels: { generation: 'two' } } } }),
    says: [/drifted for \S+ \(since .*\): NodePoolDrifted/, /drift.*: blocked: .*do-not-disrupt/],
    remedy: /(kubectl annotate pod --namespace default drift-protected karpenter.sh\/do-not-disrupt-)/,
    apply: (world, [, command = '']) => runPrinted(world, command),
  },
]
