import { azureZones } from './azure-types.ts'
import { created, daemonSpec, daemons, type Host, pools } from './disruption-hosts.ts'
import type { Random } from './random.ts'
import { apartBy, hostnameKey, type Labels, type ObjectJson, podJson, spreadOver, zoneKey } from './scenario.ts'

interface Rule {
  readonly share: number
  readonly spec: (labels: Labels) => Readonly<Record<string, unknown>>
  /** At most so many pods of the service on one node. */
  readonly perHost: number
  readonly zonesEven?: true
  readonly replicas: readonly [number, number]
}

const loosely = (key: string, labels: Labels) => {
  const [constraint] = spreadOver(key, labels).topologySpreadConstraints
  return { topologySpreadConstraints: [{ ...constraint, whenUnsatisfiable: 'ScheduleAnyway' }] }
}

const plain: Rule = { share: 0.5, spec: () => ({}), perHost: 5, replicas: [2, 100] }

/** What services ask for, as in a real cluster: half of them nothing. */
const rules: readonly Rule[] = [
  plain,
  { share: 0.2, spec: (own) => spreadOver(zoneKey, own), perHost: 3, zonesEven: true, replicas: [3, 60] },
  { share: 0.1, spec: (own) => loosely(zoneKey, own), perHost: 3, replicas: [3, 60] },
  { share: 0.1, spec: (own) => loosely(hostnameKey, own), perHost: 2, replicas: [3, 60] },
  { share: 0.05, spec: (own) => spreadOver(hostnameKey, own), perHost: 1, replicas: [3, 30] },
  { share: 0.05, spec: (own) => apartBy(hostnameKey, own), perHost: 1, replicas: [2, 6] },
]

const oneOnEach = { 'one-on': 'each-node' }
const onEach: Rule = { share: 0, spec: () => apartBy(hostnameKey, oneOnEach), perHost: 1, replicas: [1, 1] }

export const usualMillicores = [50, 100, 100, 250, 250, 250, 500, 500, 500, 1000, 1000] as const
export const smallMillicores = [50, 50, 100, 100, 100, 250] as const
const mebibytesPerCore = 2560

export interface ServiceOptions {
  /** Which share of the pods must stay where they are. */
  readonly pinned: number
  /** The memory of a service, as shares of what goes with its CPU. */
  readonly memory: readonly number[]
}

interface Service {
  readonly name: string
  readonly labels: Labels
  readonly rule: Rule
  readonly cpu: number
  readonly memory: number
  readonly zones: Map<string, number>
  left: number
  placed: number
}

/** Services and their pods. One in two has a PodDisruptionBudget that lets one pod go. */
export class Services {
  readonly pods: ObjectJson[] = []
  readonly #services: Service[] = []
  readonly #random: Random
  readonly #options: ServiceOptions

  constructor(random: Random, options: ServiceOptions) {
    this.#random = random
    this.#options = options
  }

  open(cpu: number, rule = this.#rule(), memory = this.#memoryFor(cpu)): Service {
    const name = `svc-${String(this.#services.length).padStart(4, '0')}`
    const service: Service = {
      name,
      labels: { app: name, ...(rule === onEach ? oneOnEach : {}) },
      rule,
      cpu,
      memory,
      zones: new Map(azureZones.map((zone) => [zone, 0])),
      left: this.#random.between(...rule.replicas),
      placed: 0,
    }
    this.#services.push(service)
    return service
  }

  #memoryFor(cpu: number): number {
    return Math.round((cpu * mebibytesPerCore * this.#random.pick(this.#options.memory)) / 1000)
  }

  #rule(): Rule {
    let at = this.#random.below(1000) / 1000
    return rules.find(({ share }) => (at -= share) < 0) ?? plain
  }

  fits(service: Service, host: Host): boolean {
    if (host.freeCpu < service.cpu || host.freeMemory < service.memory) return false
    if ((host.services.get(service.name) ?? 0) >= service.rule.perHost) return false
    if (service.rule.zonesEven === undefined) return true
    return (service.zones.get(host.zone) ?? 0) <= Math.min(...service.zones.values())
  }

  place(service: Service, host: Host): void {
    host.freeCpu -= service.cpu
    host.freeMemory -= service.memory
    host.services.set(service.name, (host.services.get(service.name) ?? 0) + 1)
    service.zones.set(host.zone, (service.zones.get(host.zone) ?? 0) + 1)
    service.left -= 1
    this.pods.push(this.#pod(service, host))
    service.placed += 1
  }

  #pod(service: Service, host: Host): ObjectJson {
    const annotations = {
      ...(this.#random.chance(this.#options.pinned) ? { 'karpenter.sh/do-not-disrupt': 'true' } : {}),
      // One pod of each node makes its cost its own: among nodes of equal cost upstream chooses by chance.
      ...(host.services.size === 1 && host.services.get(service.name) === 1
        ? { 'controller.kubernetes.io/pod-deletion-cost': String(this.#random.between(-10_000_000, 10_000_000)) }
        : {}),
    }
    const { podSpec } = host.pool
    const pod = podJson({
      name: `${service.name}-${String(service.placed).padStart(3, '0')}`,
      uid: this.#random.uid(),
      labels: service.labels,
      requests: { cpu: `${service.cpu}m`, memory: `${service.memory}Mi` },
      spec: { ...podSpec, ...service.rule.spec(service.labels), nodeName: host.name },
    })
    return running(pod, { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: service.name }, annotations)
  }

  budgets(): readonly ObjectJson[] {
    return this.#services
      .filter((_, index) => index % 2 === 0)
      .map(({ name, labels, placed }) => ({
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name, namespace: 'default', uid: `pdb-${name}`, creationTimestamp: created },
        spec: { maxUnavailable: 1, selector: { matchLabels: labels } },
        status: { disruptionsAllowed: 1, currentHealthy: placed, desiredHealthy: placed - 1, expectedPods: placed },
      }))
  }
}

type Owner = Readonly<Record<'apiVersion' | 'kind' | 'name', string>>

function running(pod: ObjectJson, owner: Owner, annotations: Labels = {}): ObjectJson {
  const ownerReferences = [{ ...owner, uid: `${owner.kind}-${owner.name}`, controller: true, blockOwnerDeletion: true }]
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      creationTimestamp: created,
      ownerReferences,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    status: {
      phase: 'Running',
      conditions: [
        { type: 'PodScheduled', status: 'True' },
        { type: 'Ready', status: 'True' },
      ],
    },
  }
}

/** The pods of DaemonSets on a node. */
export function daemonPods(host: Host): readonly ObjectJson[] {
  return daemons.map(({ name, requests }) => {
    const pod = podJson({
      name: `${name}-${host.name}`,
      uid: `${name}-${host.name}`,
      labels: { daemon: name },
      requests,
      spec: { ...daemonSpec, nodeName: host.name },
    })
    const owned = running(pod, { apiVersion: 'apps/v1', kind: 'DaemonSet', name })
    return { ...owned, metadata: { ...owned.metadata, namespace: 'kube-system' } }
  })
}

const probes = 8

/**
 * Gives each node one pod that takes more than half of it, and that no other node can take as all of them keep apart: what replaces the
 * node would be of the same size.
 */
export function occupyEach(services: Services, hosts: readonly Host[]): void {
  const groups = Map.groupBy(hosts, ({ pool, type }) => `${pool.name}/${type.name}`)
  for (const group of groups.values()) {
    const [{ cpu, memory } = { cpu: 0, memory: 0 }] = group
    const service = services.open(Math.round(cpu * 0.52), onEach, Math.round(memory * 0.6))
    for (const host of group) services.place(service, host)
  }
}

/** Places pods until there are so many, on nodes that are the furthest below what is to be used of them. */
export function spreadOut(
  random: Random,
  services: Services,
  hosts: readonly Host[],
  { count, millicores }: { readonly count: number; readonly millicores: readonly number[] },
): void {
  const byPool = new Map(pools.map(({ name }) => [name, hosts.filter(({ pool }) => pool.name === name)]))
  let refusals = 0
  while (services.pods.length < count) {
    const own = byPool.get(random.pick(hosts).pool.name) ?? []
    const service = services.open(random.pick(millicores))
    while (service.left > 0 && services.pods.length < count) {
      const best = Array.from({ length: probes }, () => random.pick(own))
        .filter((host) => services.fits(service, host))
        .toSorted((a, b) => fill(a) - fill(b))[0]
      if (best === undefined) {
        refusals += 1
        if (refusals > 100 * count) throw new Error(`${count} pods do not fit the nodes`)
        break
      }
      services.place(service, best)
    }
  }
}

const fill = ({ cpu, freeCpu, target }: Host) => (cpu - freeCpu) / (cpu * target)

const sizes = [50, 100, 250, 500, 1000, 2000] as const

/** Fills each node to its last 50 millicores, with about so many pods over all. */
export function pack(random: Random, services: Services, hosts: readonly Host[], count: number): void {
  const open = new Map<string, Service[]>()
  const cpuPerPod = hosts.reduce((sum, { freeCpu }) => sum + freeCpu, 0) / count
  for (const host of hosts) {
    while (host.freeCpu >= sizes[0]) {
      const wanted = cpuPerPod * (0.3 + (random.below(1000) / 1000) * 2.5)
      const cpu = sizes.findLast((one) => one <= wanted && one <= host.freeCpu) ?? sizes[0]
      const key = `${host.pool.name}/${cpu}`
      const known = (open.get(key) ?? []).filter(({ left }) => left > 0)
      const service = known.find((one) => services.fits(one, host)) ?? services.open(cpu)
      if (!known.includes(service)) known.push(service)
      open.set(key, known)
      if (!services.fits(service, host)) throw new Error(`${host.name} has CPU left but no memory`)
      services.place(service, host)
    }
  }
}
