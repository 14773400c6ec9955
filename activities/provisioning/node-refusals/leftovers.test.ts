import { describe, expect, it } from 'vitest'
import { FakeCluster } from '../../../test/fakes/cluster.ts'
import { at, claimJson, nodeJson, podJson } from '../../../test/fakes/objects.ts'
import { planningDeps } from '../../../test/fakes/planning.ts'
import { pass, useFakeTime } from '../../../test/fakes/time.ts'
import type { Json } from '../../kubernetes/client/answers.ts'
import { podClass } from '../../scheduler-thread/pod-fingerprint.ts'
import { podsToPlace } from '../planning-snapshot.ts'
import { nextWork } from '../waiting-pods.ts'
import { Leftovers } from './leftovers.ts'
import { MadeNodes } from './made-nodes.ts'

useFakeTime()

const cpu = (amount: string): Json => ({ containers: [{ name: 'c', resources: { requests: { cpu: amount } } }] })

/** A pending pod of one CPU, of which kube-scheduler wrote after so many seconds. */
function pending(name: string, judgedAt = 0, message = 'no', spec: Json = {}): Json {
  const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }
  return podJson(name, '', {
    metadata: { labels: { app: 'web' } },
    spec: { nodeName: undefined, ...cpu('1'), ...spec },
    status: {
      phase: 'Pending',
      startTime: undefined,
      conditions: [{ ...unschedulable, lastTransitionTime: at(judgedAt) }],
    },
  })
}

/** A node of four CPUs that has been up for long, onto which the pod `a` is planned now. */
async function world(pod: Json = pending('a')) {
  const cluster = new FakeCluster()
  cluster.put('nodeclaims', claimJson('n'))
  cluster.put('nodes', nodeJson('n'))
  cluster.put('pods', pod)
  const { deps, reported } = await planningDeps(cluster)
  const { nominations } = deps
  const leftovers = new Leftovers()
  const plan = () => nominations.nominate('uid-a', 'n', Date.now())
  plan()
  return {
    cluster,
    deps,
    reported,
    plan,
    fill: (amount: string) => cluster.put('pods', podJson('other', 'n', { spec: cpu(amount) })),
    /** Whether the pod is planned, and whether it has to wait, after a look at it. */
    look: (isOwed = false) => {
      const pods = podsToPlace(deps)
      leftovers.keepOnly(new Set(pods.map(({ metadata }) => metadata.uid)))
      for (const one of pods) leftovers.judge(deps, { made: new MadeNodes(deps), pod: one }, () => isOwed)
      const [found] = pods
      return {
        planned: nominations.targetOf('uid-a') !== undefined,
        waits: found !== undefined && leftovers.isWaiting(found, Date.now()),
        says: found && leftovers.reasonOf(found)?.text,
      }
    },
  }
}

/** A pod that kube-scheduler did not bind to its node, which has room for it. */
async function contradicted() {
  const known = await world()
  known.cluster.put('pods', pending('a', 2, 'a plugin says no'))
  await pass(20_000)
  known.plan()
  expect(known.look()).toMatchObject({ planned: false, waits: true })
  return known
}

describe('a pod that is left over', () => {
  it.each<[string, (known: Awaited<ReturnType<typeof world>>) => unknown, boolean]>([
    ['others took the room', ({ fill }) => fill('3500m'), false],
    ['others left room', ({ fill }) => fill('3'), true],
    [
      'those that took the room have ended',
      ({ cluster }) => cluster.put('pods', podJson('other', 'n', { spec: cpu('4'), status: { phase: 'Succeeded' } })),
      true,
    ],
    [
      'the node is not up',
      ({ cluster, fill }) => [fill('4'), cluster.edit('nodeclaims', 'n', { status: { conditions: [] } })],
      true,
    ],
    ['the node is gone', ({ cluster }) => cluster.remove('nodes', 'aks-n'), true],
  ])('is planned on its node as long as there is room once it is up: %s', async (_, change, planned) => {
    const known = await world()
    change(known)
    expect(known.look()).toEqual({ planned, waits: false, says: undefined })
  })

  it('stays planned on a node that was made for it and reports less than was promised', async () => {
    const { fill, look } = await world()
    fill('4')
    expect(look(true).planned).toBe(true)
    expect(look().planned).toBe(false)
  })

  it.each([
    ['kube-scheduler said so since, and it was planned there again', 2, [20], false],
    ['kube-scheduler said so since, and it was planned there just now', 2, [14], true],
    ['kube-scheduler said so before, and has had time', 0, [20, 40, 310], true],
    ['kube-scheduler has tried every pod again', 0, [20, 40, 340], false],
  ])('with room is planned on as long as kube-scheduler may bind it: %s', async (_, saidAt, plans, planned) => {
    const { cluster, look, plan } = await world()
    cluster.put('pods', pending('a', saidAt))
    let seconds = 0
    for (const next of plans) {
      await pass((next - seconds) * 1000)
      seconds = next
      plan()
    }
    expect(look().planned).toBe(planned)
  })

  it('waits at growing intervals with the words of kube-scheduler, and holds no node while it waits', async () => {
    const { look, plan, reported, deps } = await contradicted()
    const says =
      'node aks-n has room, and kube-scheduler does not bind to it; the next plan is made from 2026-01-01T00:00:30Z on, or when that room is gone; kube-scheduler says: a plugin says no'
    expect(look().says).toBe(says)
    expect(reported).toEqual([{ reason: 'NodeRefused', about: 'Pod/a', message: says }])
    expect([...deps.nominations.targets(Date.now())]).toEqual([])
    for (const rest of [10, 20, 40]) {
      await pass(rest * 1000 - 1)
      expect(look().waits).toBe(true)
      await pass(1)
      expect(look().waits).toBe(false)
      plan()
      await pass(15_000)
      plan()
      expect(look()).toMatchObject({ planned: false, waits: true })
    }
  })

  it.each<[string, (known: Awaited<ReturnType<typeof world>>) => unknown]>([
    ['others took the room', ({ fill }) => fill('3500m')],
    [
      'the node is leaving',
      ({ cluster }) => cluster.edit('nodeclaims', 'n', { metadata: { deletionTimestamp: at(30) } }),
    ],
    [
      'the node is cordoned',
      ({ cluster }) =>
        cluster.edit('nodes', 'aks-n', {
          spec: { unschedulable: true, taints: [{ key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }] },
        }),
    ],
  ])('is planned again at once when %s', async (_, change) => {
    const known = await contradicted()
    change(known)
    expect(known.look()).toEqual({ planned: false, waits: false, says: undefined })
  })

  it('is not contradicted while pods like it wait for another node', async () => {
    const { cluster, deps, look, plan } = await world()
    cluster.put('pods', pending('a', 2))
    const [pod] = podsToPlace(deps)
    const annotations = { 'joiner.sh/planned-pod-classes': pod && podClass(deps.cache, pod) }
    cluster.put('nodeclaims', claimJson('coming', { metadata: { annotations }, status: { conditions: [] } }))
    await pass(20_000)
    plan()
    expect(look().planned).toBe(true)
    cluster.remove('nodeclaims', 'coming')
    await pass(0)
    expect(look().planned).toBe(false)
  })

  it('is not contradicted while kube-scheduler waits for its volumes on that node', async () => {
    const disk = { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'disk' } }] }
    const { cluster, look, plan } = await world(pending('a', 2, 'no', disk))
    cluster.put('persistentvolumeclaims', {
      metadata: {
        name: 'disk',
        namespace: 'default',
        annotations: { 'volume.kubernetes.io/selected-node': 'aks-n' },
      },
      spec: { storageClassName: 'disks' },
    })
    await pass(20_000)
    plan()
    expect(look().planned).toBe(true)
  })
})

it('is planned as soon as another pod has taken its room, also where kube-scheduler says nothing new of it', async () => {
  const { deps, fill } = await world()
  const work = nextWork(deps, new Map(), new AbortController().signal)
  await pass(0)
  fill('3500m')
  await pass(100)
  await expect(Promise.race([work, Promise.resolve('nothing')])).resolves.toBe('pods')
})
