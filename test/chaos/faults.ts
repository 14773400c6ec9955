import type { StopPoint } from '../fast/network.ts'
import { SimulatedProcess } from '../fast/simulated-process.ts'
import { picked, type Scene, wait } from './scene.ts'
import type { Trouble } from './troubles.ts'

type Of<K extends Trouble['kind']> = Trouble & { readonly kind: K }

/** How each kind of fault comes about. Errors: why it cannot now. */
export const faults = {
  kill: (scene, { after, point, forMs }) =>
    stopNext(scene, { after, point }, (process) => {
      scene.fast.crash(process.name)
      scene.later(forMs, () => scene.world.startJoiner(process.name))
    }),
  freeze: (scene, { after, point, forMs }) =>
    stopNext(scene, { after, point }, (process) => {
      scene.fast.temporal.freeze(process)
      scene.later(forMs, () => scene.fast.temporal.thaw(process))
    }),
  clock: async (scene, { draw, aheadMs, forMs }) => {
    const process = picked([...scene.fast.joiners.values()], draw)?.process
    if (process === undefined) throw new Error('no process runs')
    process.skewMs = aheadMs
    scene.later(forMs, () => {
      process.skewMs = 0
    })
  },
  temporalAway: async ({ fast }, { forMs }) => fast.temporal.leave(forMs),
  apiThrottle: async ({ fast }, { forMs }) => fast.gate.throttle(forMs),
  apiErrors: async (scene, { status, share, forMs }) =>
    scene.api.add({ kind: 'errors', status, share, untilMs: scene.nowMs + forMs }),
  apiLosesAnswers: async ({ api }, { count }) => api.loseAnswers(count),
  apiSlow: async (scene, { ms, forMs }) => scene.api.add({ kind: 'slow', ms, untilMs: scene.nowMs + forMs }),
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
  azure: ({ world }, { fault }) => world.fault(fault),
  vm: async ({ world, foreign }, { action, draw }) => {
    const { virtualMachines } = await world.azure()
    const able = virtualMachines.filter(
      ({ name, priority }) => !foreign.vms.has(name) && (action !== 'evict' || priority === 'Spot'),
    )
    const one = picked(able, draw)
    if (one === undefined) throw new Error('no such VM')
    await world.operator.simulator('POST', `/vms/${one.name}/${action}`)
  },
  foreign: (scene, { of }) => (of === 'nodes' ? addForeignNode(scene) : addForeignVm(scene)),
} satisfies { readonly [K in Trouble['kind']]?: (scene: Scene, trouble: Of<K>) => Promise<void> }

/** Has the process that sends one of the next requests stop there. Errors: one is to stop already. */
async function stopNext(
  scene: Scene,
  at: { readonly after: number; readonly point: StopPoint },
  stop: (process: SimulatedProcess) => void,
): Promise<void> {
  const { network } = scene.fast
  if (network.planned !== undefined && network.planned.request > network.requests.length)
    throw new Error('another process is to stop at a request')
  network.planned = {
    request: network.requests.length + at.after,
    point: at.point,
    stop: (process) => {
      scene.count(`hit: stopped ${at.point}`)
      SimulatedProcess.outside(() => stop(process))
    },
  }
}

/** A Node that nothing of Joiner's made, with a kubelet, on which pods may run. */
async function addForeignNode({ world, foreign }: Scene): Promise<void> {
  const name = `foreign-${foreign.nodes.size}`
  foreign.nodes.add(name)
  await world.operator.api('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', 'kubernetes.io/arch': 'amd64' },
    },
    spec: { providerID: `azure:///foreign/${name}` },
  })
  const room = { cpu: '2', memory: '8Gi', pods: '30' }
  await world.operator.api('PATCH', `/api/v1/nodes/${name}/status`, { status: { capacity: room, allocatable: room } })
  await wait(0)
}

/** A VM of another cluster. */
async function addForeignVm({ world, foreign }: Scene): Promise<void> {
  const name = `aks-foreign-${foreign.vms.size}`
  foreign.vms.add(name)
  const arm = await world.arm()
  // Faults of Azure hit it as well: one that was refused never exists, and one whose answer is lost does.
  await arm.plantVm(name, { 'karpenter.azure.com_cluster': 'other', 'joiner.sh_nodeclaim-uid': `of-${name}` })
  await arm.close()
}
