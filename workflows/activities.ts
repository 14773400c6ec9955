import { ActivityCancellationType, proxyActivities, proxyLocalActivities, workflowInfo } from '@temporalio/workflow'
import type { AzureActivities, MaintenanceActivities } from '../activities/azure/contract.ts'
import type { DisruptionActivities } from '../activities/disruption/contract.ts'
import type { KubernetesActivities } from '../activities/kubernetes/contract.ts'
import { type TaskQueueRole, taskQueue } from '../core/task-queues.ts'

/** Returns the queue of another role, from the name of the core queue this workflow runs on. */
function queueOf(role: TaskQueueRole): string {
  return taskQueue(role, workflowInfo().taskQueue.slice(taskQueue('core', '').length))
}

// Work that was cut off resumes soon, both after a crash and after a long outage: a pod that waits for a node waits for this too.
const steadyRetry = { initialInterval: '500ms', backoffCoefficient: 1.5, maximumInterval: '10s' } as const

/**
 * Heartbeat timeouts. What a process that was killed had in hand is taken from it as soon as its end is known (starter/bridge/gone-processes.ts); these
 * are for one whose end nobody sees, and how long a cancellation may take to arrive: the SDK sends a heartbeat after four fifths of it. Each is an Action
 * on Temporal Cloud (docs/adr/0026-heartbeats-are-few.md).
 */
const actingBeat = '15s'
const waitingBeat = '60s'
const joiningBeat = '120s'

/** Work that lasts as long as what it waits for. It ends with the workflow's interest, whatever it does by then. */
const withoutEnd = {
  startToCloseTimeout: '365d',
  cancellationType: ActivityCancellationType.TRY_CANCEL,
  retry: steadyRetry,
} as const

/** Single Kubernetes reads and writes. Each may wait for its turn (`activities/kubernetes/client/request-gate.ts`), and has a time limit once it is sent. */
export const kubernetes = () =>
  proxyActivities<
    Pick<
      KubernetesActivities,
      'observe' | 'giveUp' | 'finalize' | 'writeHold' | 'takeCancellation' | 'writePause' | 'readPause' | 'endReboot'
    >
  >({
    taskQueue: queueOf('core'),
    startToCloseTimeout: '1m',
    retry: steadyRetry,
  })

/** Observations that cost one event. They are retried briefly: the ordinary activity covers longer failures. */
export const localReads = () =>
  proxyLocalActivities<Pick<KubernetesActivities, 'observe'>>({
    startToCloseTimeout: '2s',
    retry: { initialInterval: '100ms', maximumAttempts: 3 },
  })

/** Undoing what a command has done, however many nodes it has. */
export const undoing = () =>
  proxyActivities<Pick<KubernetesActivities, 'undoCommand'>>({
    taskQueue: queueOf('core'),
    startToCloseTimeout: '2m',
    heartbeatTimeout: '10s',
    retry: steadyRetry,
  })

type WaitQueue = Pick<
  KubernetesActivities,
  'drain' | 'prepareReboot' | 'awaitReplacements' | 'deleteCandidates' | 'awaitInitialization' | 'awaitReboot'
>

const onWaitQueue = (heartbeatTimeout: typeof actingBeat | typeof waitingBeat | typeof joiningBeat) =>
  proxyActivities<WaitQueue>({ taskQueue: queueOf('wait'), ...withoutEnd, heartbeatTimeout })

/** Steps on cluster state that act: pods are evicted. The watch cache answers their waits, at no request and no event. */
export const clusterSteps = () => onWaitQueue(actingBeat)

/** Waits on cluster state, likewise: until replacements are there, NodeClaims are gone, or what holds a drain up is over. */
export const clusterWaits = () => onWaitQueue(waitingBeat)

/** The waits for a Node to be ready, after its launch and after a reboot. */
export const readyWaits = () => onWaitQueue(joiningBeat)

/**
 * The restart of a VM. A lost answer is retried, and finds that the restart was accepted. Attempts are counted, some 5 minutes in all as Karpenter's
 * (reference/karpenter-1.15.md 5.8), so that an outage of Joiner does not end a node whose VM restarts.
 */
export const restarts = () =>
  proxyActivities<Pick<AzureActivities, 'restartInstance'>>({
    taskQueue: queueOf('azure'),
    startToCloseTimeout: '2m',
    heartbeatTimeout: '10s',
    retry: { ...steadyRetry, maximumAttempts: 35 },
  })

/**
 * One launch attempt, which ends by itself when its time is over; a lost answer is retried and adopts the VM it made. The wait for a VM and its Node,
 * the longer part of it, shares one VM list per poll interval with others.
 */
export const launches = () =>
  proxyActivities<Pick<AzureActivities, 'launch' | 'awaitNode'>>({
    taskQueue: queueOf('azure'),
    ...withoutEnd,
    heartbeatTimeout: joiningBeat,
  })

/** The deletion of a VM, which shares these lists. */
export const deletions = () =>
  proxyActivities<Pick<AzureActivities, 'deleteInstance'>>({
    taskQueue: queueOf('azure'),
    ...withoutEnd,
    heartbeatTimeout: waitingBeat,
  })

/** Retry options for work whose answer an operator waits for: the answer comes soon, even if it is a failure. */
const answeredSoon = {
  startToCloseTimeout: '1m',
  scheduleToCloseTimeout: '2m',
  retry: { ...steadyRetry, maximumAttempts: 3 },
} as const

export const forcing = () =>
  proxyActivities<Pick<AzureActivities, 'forceFinish'>>({
    ...answeredSoon,
    taskQueue: queueOf('azure'),
    heartbeatTimeout: '10s',
  })

/** The end of a lifecycle whose VM is gone, when an operator waits for it. */
export const forcedEnds = () =>
  proxyActivities<Pick<KubernetesActivities, 'finalize'>>({ ...answeredSoon, taskQueue: queueOf('core') })

/** Checks of one VM. They give up soon: the caller goes on without an answer. */
export const instanceReads = () =>
  proxyActivities<Pick<AzureActivities, 'findInstance'>>({
    taskQueue: queueOf('azure'),
    startToCloseTimeout: '10s',
    scheduleToCloseTimeout: '20s',
    retry: { initialInterval: '1s', maximumAttempts: 3 },
  })

/** Which Nodes of lost NodeClaims run no pods. It gives up soon: without an answer their VMs are kept until the next pass. */
export const idleNodes = () =>
  proxyActivities<Pick<KubernetesActivities, 'taintIdleNodes'>>({
    ...answeredSoon,
    taskQueue: queueOf('core'),
    heartbeatTimeout: '10s',
  })

/**
 * Maintenance. Changes of many VMs may wait for the budget of ARM writes, so the limit is wide. Only a process that was lost is replaced by another one:
 * what fails is repeated by the process itself, without a retry in Temporal.
 */
export const maintaining = () =>
  proxyActivities<MaintenanceActivities>({
    taskQueue: queueOf('maintenance'),
    startToCloseTimeout: '1h',
    heartbeatTimeout: '30s',
    retry: { ...steadyRetry, maximumAttempts: 5 },
  })

/** The commit of a disruption, which waits for its turn in the process that plans. */
export const commits = () =>
  proxyActivities<Pick<DisruptionActivities, 'commitDisruption'>>({
    taskQueue: queueOf('plan'),
    startToCloseTimeout: '5m',
    heartbeatTimeout: '10s',
    retry: steadyRetry,
  })

/** The NodeClaims of VMs that lost them. It gives up soon: the next pass of maintenance makes those that are missing. */
export const adoptions = () =>
  proxyActivities<Pick<DisruptionActivities, 'adoptMachines'>>({
    ...answeredSoon,
    taskQueue: queueOf('plan'),
    heartbeatTimeout: '10s',
  })

/** Work that an operator waits for: it ends, with success or failure. */
export const plans = () =>
  proxyActivities<Pick<DisruptionActivities, 'consolidateNow' | 'planDisruption' | 'checkPlan'>>({
    taskQueue: queueOf('plan'),
    startToCloseTimeout: '2m',
    scheduleToCloseTimeout: '5m',
    heartbeatTimeout: '10s',
    retry: { ...steadyRetry, maximumAttempts: 5 },
  })
