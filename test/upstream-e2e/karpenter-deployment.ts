// What Karpenter's suites look for in kube-system: a Deployment whose environment they change, its pod, and the lease of its leader.
import { setTimeout as sleep } from 'node:timers/promises'
import { timeText } from '../../core/values/time.ts'
import type { ProcessSpec } from '../../deploy/local/supervisor.ts'
import type { Installed } from '../clusters/shared-clusters.ts'

/** Name of the process that the Deployment stands for. */
export const processName = 'joiner'

/** How the process of a pod is started, and where it says that it is ready and what it measures. */
export interface Controller {
  readonly process: (env: Readonly<Record<string, string>>, pod: string) => ProcessSpec
  readonly readyUrl: string
  readonly metricsUrl: string
}

interface Pod {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string }
  readonly spec: {
    readonly containers: readonly { readonly env?: readonly { readonly name: string; readonly value?: string }[] }[]
  }
  readonly status?: { readonly containerStatuses?: readonly Readonly<Record<string, unknown>>[] }
}

const podsPath = '/api/v1/namespaces/kube-system/pods'
const labels = { 'app.kubernetes.io/instance': 'karpenter', 'app.kubernetes.io/name': 'karpenter' }
const selector = encodeURIComponent(
  Object.entries(labels)
    .map((pair) => pair.join('='))
    .join(),
)

/** As upstream's Makefile installs it: gates of which the suites have specs. Two more are off until a spec turns them on. */
const gates =
  'NodeRepair=true,StaticCapacity=true,CapacityBuffer=true,TerminateFirstDrift=false,TerminateFirstRepair=false'

/** Joiner wants exactly one policy without a pattern, as a fallback. */
const reasonRegex = '.*'

/** Repair policies with the conditions and times of Karpenter's provider for kwok. */
const repairPolicies = [
  { conditionType: 'Ready', conditionStatus: 'False', tolerationDuration: '10m', terminationGracePeriod: '0s' },
  {
    conditionType: 'Ready',
    conditionStatus: 'Unknown',
    reasonRegex,
    tolerationDuration: '10m',
    terminationGracePeriod: '0s',
  },
  {
    conditionType: 'KWOKUnhealthy',
    conditionStatus: 'True',
    reasonRegex,
    tolerationDuration: '30s',
    terminationGracePeriod: '45s',
  },
  {
    conditionType: 'KWOKRebootRequired',
    conditionStatus: 'True',
    reasonRegex,
    tolerationDuration: '30s',
    terminationGracePeriod: '1m',
    action: 'RebootNode',
  },
]

/**
 * A Deployment `karpenter` on a system node that kwok keeps. Its pod is a process of this machine with the environment of the pod's container: another
 * pod means another process, and a process that ends by itself counts as a restart of the pod's container.
 */
export class KarpenterDeployment {
  readonly #installed: Installed
  readonly #controller: Controller
  readonly #ended = new AbortController()
  #loop: Promise<void> = Promise.resolve()
  #runs: string | undefined
  #restarts = 0

  constructor(installed: Installed, controller: Controller) {
    this.#installed = installed
    this.#controller = controller
  }

  /** Makes the system node and the Deployment, at this address, and waits for the first process. Errors: it does not become ready. */
  async start(address: string): Promise<void> {
    const { operator } = this.#installed
    await operator.api('POST', '/api/v1/nodes', systemNode(address))
    await operator.api('POST', podsPath, schedulerPod)
    await operator.api('POST', '/apis/apps/v1/namespaces/kube-system/deployments', deployment)
    while (this.#runs === undefined) await this.#follow()
    this.#loop = this.#followOn()
  }

  /** Follows the Deployment no more. The process ends with its cluster. */
  async stop(): Promise<void> {
    this.#ended.abort()
    await this.#loop
  }

  async #followOn(): Promise<void> {
    while (!this.#ended.signal.aborted) {
      // A server that is busy answers the next time.
      await this.#follow().catch((error: unknown) => console.error(`the Deployment karpenter: ${String(error)}`))
    }
  }

  /** Brings the process to what the Deployment's pod says. */
  async #follow(): Promise<void> {
    await sleep(500, undefined, { signal: this.#ended.signal }).catch(() => {})
    if (this.#ended.signal.aborted) return
    const { operator, cluster } = this.#installed
    const { items } = await operator.api<{ items: readonly Pod[] }>('GET', `${podsPath}?labelSelector=${selector}`)
    const pod = items.find(({ metadata }) => metadata.deletionTimestamp === undefined)
    if (pod === undefined) return
    const { uid, name } = pod.metadata
    const isAlive = cluster.supervisor.pids[processName] !== undefined
    if (uid === this.#runs && isAlive) return
    if (uid === this.#runs) await this.#countRestart(pod)
    await cluster.supervisor.stop(processName)
    const env = Object.fromEntries(
      pod.spec.containers.flatMap((one) => one.env ?? []).map((entry) => [entry.name, entry.value ?? '']),
    )
    cluster.supervisor.start(this.#controller.process(env, name))
    await this.#untilReady()
    await this.#lead(`${name}_${uid}`)
    this.#runs = uid
  }

  async #untilReady(): Promise<void> {
    const { supervisor } = this.#installed.cluster
    for (;;) {
      if (this.#ended.signal.aborted) return
      const response = await fetch(this.#controller.readyUrl).catch(() => undefined)
      if (response?.ok === true) return
      if (supervisor.pids[processName] === undefined)
        throw new Error(`${processName} ended before it was ready:\n${await supervisor.tail(processName)}`)
      await sleep(200)
    }
  }

  /** Says in the pod's status that its container was restarted, which fails the spec that runs. */
  async #countRestart({ metadata, status }: Pod): Promise<void> {
    this.#restarts += 1
    const containerStatuses = (status?.containerStatuses ?? []).map((one) => ({ ...one, restartCount: this.#restarts }))
    await this.#installed.operator.api('PATCH', `${podsPath}/${metadata.name}/status`, {
      status: { containerStatuses },
    })
  }

  /** Who leads is read from a lease that only Karpenter writes by itself. */
  async #lead(holderIdentity: string): Promise<void> {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'karpenter-leader-election', namespace: 'kube-system' },
      spec: { holderIdentity },
    }
    const apply = ['apply', '--server-side', '--force-conflicts', '-f', '-']
    await this.#installed.operator.kubectl(apply, JSON.stringify(lease))
  }
}

const nodeName = 'system-1'
const tolerations = [{ operator: 'Exists' }]

/** A node for Karpenter itself, with the taint that the suites ask for. kwok is its kubelet. */
function systemNode(address: string) {
  const capacity = { cpu: '8', memory: '32Gi', pods: '110' }
  const now = timeText(Date.now())
  const ready = {
    type: 'Ready',
    status: 'True',
    reason: 'KubeletReady',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  }
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: nodeName,
      annotations: { 'kwok.x-k8s.io/node': 'fake' },
      labels: {
        'kubernetes.io/os': 'linux',
        'kubernetes.io/hostname': nodeName,
        'kubernetes.azure.com/mode': 'system',
      },
    },
    spec: { taints: [{ key: 'CriticalAddonsOnly', effect: 'NoSchedule' }] },
    status: { capacity, allocatable: capacity, conditions: [ready], addresses: [{ type: 'InternalIP', address }] },
  }
}

/** By the arguments of this pod the suites know that kube-scheduler has their second profile. */
const schedulerPod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `kube-scheduler-${nodeName}`, namespace: 'kube-system', labels: { component: 'kube-scheduler' } },
  spec: {
    nodeName,
    tolerations,
    containers: [
      {
        name: 'kube-scheduler',
        image: 'kube-scheduler',
        args: ['--config=/etc/kubernetes/karpenter-scheduler-config/kube-scheduler-config.yaml'],
      },
    ],
  },
}

const deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'karpenter', namespace: 'kube-system', labels },
  spec: {
    replicas: 1,
    strategy: { type: 'Recreate' },
    selector: { matchLabels: labels },
    template: {
      metadata: { labels },
      spec: {
        terminationGracePeriodSeconds: 1,
        hostNetwork: true,
        nodeSelector: { 'kubernetes.azure.com/mode': 'system' },
        tolerations,
        containers: [
          {
            name: 'controller',
            image: 'joiner',
            env: [
              { name: 'FEATURE_GATES', value: gates },
              { name: 'JOINER_REPAIR_POLICIES', value: JSON.stringify(repairPolicies) },
            ],
          },
        ],
      },
    },
  },
}
