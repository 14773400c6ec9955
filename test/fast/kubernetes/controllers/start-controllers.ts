import type { FakeCluster } from '../../../fakes/cluster.ts'
import { SimulatedProcess } from '../../simulated-process.ts'
import { ownNamespaces } from '../api/admission.ts'
import { budgets } from './budgets.ts'
import { certificates } from './certificates.ts'
import { run } from './controller.ts'
import { daemonSets } from './daemon-sets.ts'
import { deployments, replicaSets } from './deployments.ts'
import { jobs } from './jobs.ts'
import { kubelets } from './kubelets.ts'
import { nodeLifecycle, nodeTtl, podGarbage, taintEviction } from './node-lifecycle.ts'
import { scheduler } from './scheduler/scheduler.ts'
import { statefulSets } from './stateful-sets.ts'
import { volumeBinding } from './volume-binding.ts'

export interface ControllerOptions {
  /** What generated names follow from. */
  readonly seed?: number
  /** From a pod's binding to its start. */
  readonly podStartMs?: number
  /** From a change to the scheduler's next pass. */
  readonly schedulerMs?: number
}

/** What a real API server does for its clients, and one in memory only when asked: bookmarks, ends of watches. */
const watchMs = { bookmarkMs: 60_000, endMs: 540_000 } as const

/**
 * Makes a cluster in memory a whole one: with the controllers of kube-controller-manager that move pods and Nodes, a scheduler and kubelets, and an API
 * server that fills in defaults and refuses what is invalid. All act by timers, outside of any simulated process.
 */
export function startControllers(
  { server }: FakeCluster,
  { seed = 1, podStartMs = 1000, schedulerMs = 10 }: ControllerOptions = {},
): { readonly stop: () => void } {
  server.seed = seed
  server.admits = true
  server.collectsGarbage = true
  server.podsTakeMs = Number.POSITIVE_INFINITY
  Object.assign(server.objects.watches.serving, watchMs)
  for (const { path, object } of ownNamespaces)
    if (server.objects.find(path) === undefined) server.create(path.slice(0, path.lastIndexOf('/')), object)
  const controllers = [
    deployments(server),
    replicaSets(server),
    statefulSets(server),
    daemonSets(server),
    jobs(server),
    budgets(server),
    volumeBinding(server),
    certificates(server),
    scheduler(server, schedulerMs),
    kubelets(server, { podStartMs }),
    nodeLifecycle(server),
    nodeTtl(server),
    taintEviction(server),
    podGarbage(server),
  ]
  const stops = SimulatedProcess.outside(() => controllers.map((controller) => run(server, controller)))
  return {
    stop: () => {
      for (const stop of stops) stop()
    },
  }
}
