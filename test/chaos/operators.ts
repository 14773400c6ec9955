import { lifecycleId } from '../../core/task-queues.ts'
import { clusterName } from '../../deploy/local/cluster.ts'
import {
  applyUpdate,
  consolidateUpdate,
  holdSignal,
  pauseSignal,
  planUpdate,
  type RequestAnswer,
  releaseSignal,
  resumeSignal,
  retryNowSignal,
} from '../../workflows/messages.ts'
import { dated } from '../scenarios/dated.ts'
import { claimsPath, type Seen } from '../world.ts'
import { classObject, poolObject, type StagedPool } from './objects.ts'
import { picked, type Scene, wait } from './scene.ts'
import type { Trouble } from './troubles.ts'
import { cpusOf } from './watch/objects-seen.ts'

type Of<K extends Trouble['kind']> = Trouble & { readonly kind: K }

/** How long somebody waits for an answer. */
const patienceMs = 60_000
/** How often somebody looks whether an object is gone. */
const lookMs = 2000

/** How each thing that people do comes about. Errors: why it cannot now. */
export const operators = {
  scale: async ({ plan, world }, { draw, replicas }) => {
    const { name } = found(picked(plan.workloads, draw))
    await world.scale(name, replicas)
  },
  deleteObject: async ({ world, foreign }, { of, draw }) => {
    const objects = (await world.list(of)).filter(({ metadata }) => !foreign.nodes.has(metadata.name))
    await world.operator.kubectl(['delete', of, found(picked(objects, draw)).metadata.name, '--wait=false'])
  },
  loseClaim: async (scene, { draw }) => {
    const { name } = found(picked(await scene.world.list('nodeclaims'), draw)).metadata
    await scene.world.operator.kubectl(['delete', 'nodeclaims', name, '--wait=false'])
    await scene.world.operator.api('PATCH', `${claimsPath}/${name}`, { metadata: { finalizers: null } })
  },
  protect: async (scene, { draw, forMs, isLate }) => {
    const taken = isLate ? ((await scene.nextTaken()) as unknown as Seen) : undefined
    const pods = (await scene.world.list('pods')).filter(({ spec }) =>
      taken === undefined
        ? spec.nodeName !== undefined
        : spec.nodeName === (taken.status as { nodeName?: string }).nodeName,
    )
    const { name } = found(picked(pods, draw)).metadata
    await protect(scene, name, 'true')
    scene.later(forMs, () => protect(scene, name, null))
  },
  editTemplate: async (scene, { draw }) => {
    const { name, revision } = found(picked([...scene.pools.values()], draw))
    await scene.edit(name, { revision: revision + 1 })
  },
  editClass: async (scene, { isDrift }) => {
    const { revision, isOtherFamily } = scene.nodeClass
    await scene.editClass({ revision: revision + 1, isOtherFamily: isDrift !== isOtherFamily })
  },
  editBudget: async (scene, { draw, budget }) => scene.edit(found(picked(scene.plan.pools, draw)).name, { budget }),
  editLimit: async (scene, { draw, cpus }) =>
    scene.edit(found(picked(scene.plan.pools, draw)).name, { cpuLimit: cpus }),
  race: async (scene, { draw, ms, forMs }) => {
    const fixed = [...scene.pools.values()].find(({ nodes }) => nodes !== undefined)
    if (fixed !== undefined) return raceForNode(scene, fixed, { draw, ms, forMs })
    const { name, revision, cpus } = found(picked([...scene.pools.values()], draw))
    const { workloads } = scene.plan
    const comes = found(workloads.find(({ pool }) => pool === name) ?? workloads.find(({ pool }) => pool === undefined))
    const used = cpusOf(scene, name)
    await scene.edit(name, { cpuLimit: used + Math.min(...cpus.map(Number)), revision: revision + 1 })
    scene.disturb(forMs)
    scene.api.add({ kind: 'slow', ms, untilMs: scene.nowMs + forMs })
    await scene.world.scale(comes.name, 8)
  },
  removePool: async (scene, { draw, forMs }) => {
    const { name } = found(picked(scene.plan.pools, draw))
    if (scene.removed.has(name)) throw new Error(`${name} is removed already`)
    scene.removed.add(name)
    await scene.world.operator.kubectl(['delete', 'nodepool', name, '--wait=false'])
    scene.later(forMs, () => restorePool(scene, name))
  },
  removeClass: async (scene, { forMs }) => {
    if (scene.isClassRemoved) throw new Error('the class is removed already')
    scene.isClassRemoved = true
    await scene.world.operator.kubectl(['delete', 'aksnodeclass', 'default', '--wait=false'])
    scene.later(forMs, () => restoreClass(scene))
  },
  pause: async (scene, { loop, forMs }) => {
    await answered(scene.world.loop(loop).signal(pauseSignal, { reason: 'chaos' }))
    scene.later(forMs, () => answered(scene.world.loop(loop).signal(resumeSignal, dated())))
  },
  hold: async (scene, { draw, forMs }) => {
    const claim = found(picked(await scene.world.list('nodeclaims'), draw))
    await answered(lifecycleOf(scene, claim).signal(holdSignal, dated({ reason: 'chaos' })))
    scene.later(forMs, () => answered(lifecycleOf(scene, claim).signal(releaseSignal, dated())))
  },
  plan: async (scene, { isApplied }) => {
    const loop = scene.world.loop('disruption')
    const { id } = await answered(loop.executeUpdate(planUpdate, { args: [dated({ now: true })] }))
    if (!isApplied) return
    note(scene, await answered(loop.executeUpdate(applyUpdate, { args: [dated({ id, partial: true })] })))
  },
  consolidate: async (scene) => {
    const loop = scene.world.loop('disruption')
    note(scene, await answered(loop.executeUpdate(consolidateUpdate, { args: [dated()] })))
  },
  retryNow: async (scene, { draw }) => {
    const claim = found(picked(await scene.world.list('nodeclaims'), draw))
    await answered(lifecycleOf(scene, claim).signal(retryNowSignal, dated()))
  },
  endWorkflow: async ({ world }, { type, by, draw }) => {
    const query = `WorkflowType = '${type}' AND ExecutionStatus = 'Running'`
    const ids: string[] = []
    for await (const { workflowId } of world.temporal.workflow.list({ query })) ids.push(workflowId)
    const handle = world.temporal.workflow.getHandle(found(picked(ids.toSorted(), draw)))
    await answered(by === 'cancel' ? handle.cancel() : handle.terminate('chaos'))
  },
} satisfies { readonly [K in Trouble['kind']]?: (scene: Scene, trouble: Of<K>) => Promise<void> }

/** A static NodePool's nodes drift, and as one is about to be replaced it gets room for one more alone, which it is to have as well. */
async function raceForNode(
  scene: Scene,
  { name, revision }: StagedPool,
  { draw, ms, forMs }: Pick<Of<'race'>, 'draw' | 'ms' | 'forMs'>,
): Promise<void> {
  const { nodes = 0 } = found(scene.plan.pools.find((pool) => pool.name === name))
  scene.disturb(forMs)
  scene.api.add({ kind: 'slow', ms, untilMs: scene.nowMs + forMs })
  const marked = scene.nextMarked(name)
  await scene.edit(name, { revision: revision + 1 })
  await marked
  await wait(draw * 2 * ms)
  await scene.edit(name, { nodes: nodes + 1, isFull: true })
  scene.count('hit: two plans for one node')
  scene.later(forMs, () => scene.edit(name, { nodes, isFull: false }))
}

export const protection = 'karpenter.sh/do-not-disrupt'

/** Says of a pod that it must not be disrupted, or says it no longer. */
export async function protect({ world }: Scene, pod: string, value: 'true' | null): Promise<void> {
  const path = `/api/v1/namespaces/default/pods/${pod}`
  await world.operator.api('PATCH', path, { metadata: { annotations: { [protection]: value } } })
}

/** Makes a NodePool again once the deleted one is gone. */
export async function restorePool(scene: Scene, name: string): Promise<void> {
  const pool = found(scene.pools.get(name))
  if (!scene.removed.has(name) || !(await isGone(scene, 'nodepools', name))) return
  await scene.world.apply(poolObject(pool))
  scene.removed.delete(name)
}

/** Makes the AKSNodeClass again once the deleted one is gone. */
export async function restoreClass(scene: Scene): Promise<void> {
  if (!scene.isClassRemoved || !(await isGone(scene, 'aksnodeclasses', 'default'))) return
  await scene.world.apply(classObject(scene.nodeClass))
  scene.isClassRemoved = false
}

/** Waits for an object's end. Returns false where it is still there after a while: it ends when troubles do. */
async function isGone({ world }: Scene, kind: 'nodepools' | 'aksnodeclasses', name: string): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < 300_000; waitedMs += lookMs) {
    if (!(await world.list(kind)).some(({ metadata }) => metadata.name === name)) return true
    await wait(lookMs)
  }
  return false
}

const lifecycleOf = ({ world }: Scene, { metadata }: Seen) =>
  world.temporal.workflow.getHandle(lifecycleId(clusterName, metadata))

/** Errors: nobody answers in time. */
export function answered<T>(work: Promise<T>): Promise<T> {
  const late = wait(patienceMs).then(() => {
    throw new Error(`no answer in ${patienceMs / 1000} s`)
  })
  return Promise.race([work, late])
}

function note(scene: Scene, answer: RequestAnswer): void {
  scene.count(`asked for: ${answer.kind}`)
}

function found<T>(one: T | undefined): T {
  if (one === undefined) throw new Error('there is none')
  return one
}
