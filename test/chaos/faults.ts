import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { holdAnnotations } from '../../core/node-claim/hold.ts'
import { timeText } from '../../core/values/time.ts'
import { metaOf } from '../fast/kubernetes/api/objects.ts'
import type { PlannedStop, StopPoint } from '../fast/network.ts'
import { SimulatedProcess } from '../fast/simulated-process.ts'
import { foreignMakers } from './foreign.ts'
import { answered } from './operators.ts'
import { kubelet } from './restored-etcd.ts'
import { picked, type Scene } from './scene.ts'
import { capacityCode, type Step, steps, type Trouble } from './troubles.ts'

type Of<K extends Trouble['kind']> = Trouble & { readonly kind: K }

/** How each kind of fault comes about. Errors: why it cannot now. */
export const faults = {
  kill: (scene, { forMs, ...at }) => stopNext(scene, at, (process) => kill(scene, process, forMs)),
  freeze: (scene, { forMs, ...at }) => stopNext(scene, at, (process) => freeze(scene, process, forMs)),
  lateLaunch: async (scene, { ms, forMs, isFirst }) => {
    const operation = operationOf(scene, 'PUT virtualMachines')
    const slow = (by: number) => scene.world.fault({ kind: 'latency', ms: by, operation, count: 1 })
    await slow(ms)
    await stopNext(scene, { after: 1, step: 'a PUT of a VM', point: 'sent' }, (process, request) => {
      const arrivesMs = scene.nowMs + ms
      // The request is on its way by then, and arrives.
      scene.later(100, () => kill(scene, process, forMs))
      if (isFirst)
        scene.fast.network.planned = {
          request: 1,
          of: new RegExp(`^${request}$`),
          point: 'sent',
          stop: () => void slow(Math.max(0, arrivesMs - scene.nowMs) + 1000),
        }
    })
  },
  cutCommit: async (scene, { draw, forMs, isStopped, isEnded, isFrozen = false }) => {
    if (isFrozen) standBy(scene)
    await stopNext(scene, { after: 1, step: 'a stamp', point: 'sent' }, (process, request) => {
      if (isFrozen) freeze(scene, process, takeoverMs + forMs)
      else kill(scene, process, forMs)
      const claim = scene.fast.cluster.server.objects.find(request.split(' ')[1] ?? '')
      const pool = claim && metaOf(claim).labels?.['karpenter.sh/nodepool']
      if (isStopped && pool !== undefined) scene.later(0, () => scene.edit(pool, { budget: '0' }))
      if (isEnded) scene.later(0, () => terminateCommands(scene))
    })
    await drift(scene, draw)
  },
  loseReplacement: async (scene, { draw, forMs }) => {
    scene.lasts(scene.nextReplacement().then((claim) => loseNode(scene, claim, forMs)))
    await drift(scene, draw)
  },
  restoredEtcd: (scene, { minutes }) => restoreEtcd(scene, minutes),
  clock: async (scene, { draw, aheadMs, forMs }) => {
    const process = picked([...scene.fast.joiners.values()], draw)?.process
    if (process === undefined) throw new Error('no process runs')
    process.skewMs = aheadMs
    scene.later(forMs, () => {
      process.skewMs = 0
    })
  },
  temporalAway: async ({ fast }, { forMs }) => fast.temporal.leave(forMs),
  loseTemporal: async ({ fast }, { forMs }) => fast.loseTemporal(forMs),
  apiThrottle: async (scene, { forMs }) => {
    scene.disturb(forMs)
    scene.fast.gate.throttle(forMs)
  },
  refuseCreates: async (scene, { draw, forMs }) => {
    const pool = picked([...scene.pools.values()], draw)
    if (pool !== undefined) scene.api.add({ kind: 'refuses', pool: pool.name, untilMs: scene.nowMs + forMs })
  },
  lateHold: async (scene, { draw, forMs }) => {
    await stopNext(scene, { after: 1, step: 'a DELETE of a NodeClaim', point: 'sent' }, (process, request) => {
      process.freeze()
      scene.lasts(holdClaim(scene, request.split(' ')[1] ?? '', forMs).finally(() => process.thaw()))
    })
    await drift(scene, draw)
  },
  apiErrors: async (scene, { status, share, forMs }) => {
    scene.disturb(forMs)
    scene.api.add({ kind: 'errors', status, share, untilMs: scene.nowMs + forMs })
  },
  apiLosesAnswers: async ({ api }, { count }) => api.loseAnswers(count),
  apiSlow: async (scene, { ms, forMs }) => {
    scene.disturb(forMs)
    scene.api.add({ kind: 'slow', ms, untilMs: scene.nowMs + forMs })
  },
  watchesExpire: async ({ fast }) => {
    fast.cluster.forgetChanges()
    fast.cluster.endWatches()
  },
  watchLag: async (scene, { lagMs, forMs }) => {
    const { watching } = scene.fast.cluster
    watching.lagMs = lagMs
    scene.later(forMs, () => {
      if (watching.lagMs === lagMs) watching.lagMs = 0
    })
  },
  azure: async (scene, { fault }) => {
    if ('code' in fault && fault.code === capacityCode) scene.wasRefused = true
    const aimed = 'operation' in fault && fault.operation !== undefined
    await scene.world.fault(aimed ? { ...fault, operation: operationOf(scene, fault.operation) } : fault)
  },
  sicken: async (scene, { draw, isKernel, forMs }) => {
    const nodes = (await scene.world.list('nodes')).filter(({ metadata }) => !scene.foreign.nodes.has(metadata.name))
    const node = scene.plan.repairs && picked(nodes, draw)
    if (node === undefined) throw new Error('no node is repaired')
    await setHung(scene, node.metadata.name, isKernel ? 'KernelHung' : 'AllHung')
    scene.later(forMs, () => setHung(scene, node.metadata.name, undefined))
  },
  vm: async (scene, { action, draw }) => {
    const { world, foreign, struck } = scene
    const { virtualMachines } = await world.azure()
    const able = virtualMachines.filter(
      ({ name, priority }) => !foreign.vms.has(name) && (action !== 'evict' || priority === 'Spot'),
    )
    const one = picked(able, draw)
    if (one === undefined) throw new Error('no such VM')
    struck.add(one.name)
    if (action === 'evict') scene.wasRefused = true
    await world.operator.simulator('POST', `/vms/${one.name}/${action}`)
  },
  foreign: async (scene, { of, draw }) => {
    await foreignMakers[of](scene, draw)
  },
} satisfies { readonly [K in Trouble['kind']]?: (scene: Scene, trouble: Of<K>) => Promise<void> }

/** What AKS is asked for in place of a request for a VM. */
const operationsOfMachines: Readonly<Record<string, string>> = {
  'PUT virtualMachines': 'PUT machines',
  'GET virtualMachines': 'GET machines',
  'DELETE virtualMachines': 'POST deleteMachines',
}

const operationOf = ({ plan }: Scene, operation: string) =>
  (plan.makesMachines ? operationsOfMachines[operation] : undefined) ?? operation

/** Restores an etcd of some minutes ago. VMs stay as they are. */
async function restoreEtcd(scene: Scene, minutes: number): Promise<void> {
  const { virtualMachines } = await scene.world.azure()
  const there = new Set(virtualMachines.map(({ name }) => name))
  const isSilent = (name: string) => {
    const now = scene.fast.cluster.server.objects.find(`/api/v1/nodes/${name}`)
    const isSilenced = now !== undefined && metaOf(now).annotations?.[kubelet] === undefined
    return !scene.foreign.nodes.has(name) && (isSilenced || scene.struck.has(name) || !there.has(name))
  }
  scene.goBack(scene.etcd.restore(scene.nowMs - minutes * 60_000, isSilent))
}

/** Has nodes of a NodePool drift: else there is seldom a command to come. */
async function drift(scene: Scene, draw: number): Promise<void> {
  const pool = picked([...scene.pools.values()], draw)
  if (pool !== undefined) await scene.edit(pool.name, { revision: pool.revision + 1 })
}

/** Somebody deletes the Node of a NodeClaim, while Temporal is away: nobody goes on with what waited for the node. */
async function loseNode(scene: Scene, claim: Json, forMs: number): Promise<void> {
  const { nodeName = '' } = claim['status'] as { readonly nodeName?: string }
  scene.fast.temporal.leave(forMs)
  const { operator } = scene.world
  await operator.api('PATCH', `/api/v1/nodes/${nodeName}`, { metadata: { finalizers: null } })
  await operator.kubectl(['delete', 'nodes', nodeName, '--wait=false', '--ignore-not-found'])
  scene.count('hit: a replacement lost its Node')
}

function kill(scene: Scene, process: SimulatedProcess, forMs: number): void {
  scene.fast.crash(process.name)
  scene.later(forMs, () => {
    scene.startJoiner(process.name)
    scene.startedMs = scene.nowMs
  })
}

function freeze(scene: Scene, process: SimulatedProcess, forMs: number): void {
  scene.disturb(forMs)
  scene.fast.temporal.freeze(process)
  scene.later(forMs, () => scene.fast.temporal.thaw(process))
}

/** What watches a node says why it hangs; undefined: it does not any more. */
async function setHung({ world, nowMs }: Scene, name: string, reason: string | undefined): Promise<void> {
  const time = timeText(nowMs)
  const times = { lastHeartbeatTime: time, lastTransitionTime: time }
  const state = { status: reason === undefined ? 'False' : 'True', reason: reason ?? 'Fine', message: '' }
  const patch = JSON.stringify({ status: { conditions: [{ type: 'Hung', ...state, ...times }] } })
  await world.operator.kubectl(['patch', 'node', name, '--subresource=status', '--type=strategic', '-p', patch])
}

/** Somebody holds a node for a while, as `joiner node hold` does. */
async function holdClaim(scene: Scene, path: string, forMs: number): Promise<void> {
  const hold = holdAnnotations({ untilMs: scene.nowMs + forMs, reason: 'chaos', expiry: true })
  await scene.world.operator.api('PATCH', path, { metadata: { annotations: hold } })
}

/** After how long another process has taken over, and what nobody goes on with is released. */
const takeoverMs = 20_000

/** A second process of Joiner stands by, where there is none. */
function standBy(scene: Scene): void {
  if (scene.plan.replicas === 1 && !scene.fast.joiners.has('joiner-1')) scene.startJoiner('joiner-1')
}

/** For how long a process may be to stop at a request that does not come, before another stop takes that one's place. */
const staleStopMs = 180_000

/** Has the process that sends one of the next requests of a step stop there. Errors: another one is to stop. */
async function stopNext(
  scene: Scene,
  { after, step, point }: { readonly after: number; readonly step: Step; readonly point: StopPoint },
  stop: PlannedStop['stop'],
): Promise<void> {
  const { network } = scene.fast
  const isStale = scene.nowMs - scene.stopPlannedMs >= staleStopMs
  if (network.planned !== undefined && !isStale) throw new Error('another process is to stop at a request')
  scene.stopPlannedMs = scene.nowMs
  network.planned = {
    request: after,
    ...steps[step],
    point,
    stop: (process, request) => {
      scene.count(`hit: stopped at ${step}, ${point}`)
      SimulatedProcess.outside(() => stop(process, request))
    },
  }
}

/** Somebody ends all commands in Temporal. */
async function terminateCommands({ world }: Scene): Promise<void> {
  const query = "WorkflowType = 'disruptionCommand' AND ExecutionStatus = 'Running'"
  for await (const { workflowId } of world.temporal.workflow.list({ query }))
    await answered(world.temporal.workflow.getHandle(workflowId).terminate('chaos'))
}
