import { stringify } from 'yaml'
import { nodePool } from '../applied-objects.ts'
import type { World } from '../world.ts'

type Json = Readonly<Record<string, unknown>>

export const zoneKey = 'topology.kubernetes.io/zone'
export const typeKey = 'node.kubernetes.io/instance-type'
const capacityKey = 'karpenter.sh/capacity-type'

/** A requirement of a NodePool. */
export const need = (key: string, ...values: readonly string[]) => ({ key, operator: 'In', values })
const onDemand = need(capacityKey, 'on-demand')

interface PoolChange {
  readonly requirements?: readonly object[]
  /** Added to `spec.template.spec`. */
  readonly template?: Json
  readonly labels?: Readonly<Record<string, string>>
  readonly spec?: Json
  readonly nodeClass?: string
  readonly consolidateAfter?: string
  readonly budget?: string
}

/** A NodePool for one situation: only pods that ask for it by name use it. */
export function pool(name: string, change: PoolChange = {}): Json {
  const { requirements = [need(typeKey, 'Standard_D2s_v5')], template = {}, labels = {}, spec = {} } = change
  const { nodeClass = 'default', consolidateAfter = 'Never', budget = '100%' } = change
  const base = nodePool({ name, nodeClass, consolidateAfter, budget })
  const own = { ...base.spec.template.spec, requirements: [onDemand, ...requirements], ...template }
  return { ...base, spec: { ...base.spec, ...spec, template: { metadata: { labels }, spec: own } } }
}

interface PodChange {
  readonly name?: string
  readonly requests?: Readonly<Record<string, string>>
  readonly selector?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly claim?: string
  readonly hostPort?: number
  /** The NodePool that it asks for; null: none. */
  readonly pool?: string | null
  readonly spec?: Json
}

/** The pod of a situation, which asks for its NodePool. */
export function pod(situation: string, change: PodChange = {}): Json {
  const { name = situation, requests = { cpu: '100m' }, selector = {}, annotations = {}, spec = {} } = change
  const asked = change.pool === null ? {} : { 'karpenter.sh/nodepool': change.pool ?? situation }
  const ports =
    change.hostPort === undefined ? {} : { ports: [{ containerPort: change.hostPort, hostPort: change.hostPort }] }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { app: situation }, annotations },
    spec: {
      terminationGracePeriodSeconds: 0,
      nodeSelector: { ...asked, ...selector },
      containers: [{ name: 'main', image: 'pause', resources: { requests, limits: extended(requests) }, ...ports }],
      ...(change.claim === undefined
        ? {}
        : { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: change.claim } }] }),
      ...spec,
    },
  }
}

/** Extended resources need a limit. */
function extended(requests: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.entries(requests).filter(([name]) => name.includes('/')))
}

/** Replaces a pod by another of its name, as a Deployment would with another template. */
export async function replacePod(world: World, ...pods: readonly Json[]): Promise<void> {
  await world.operator.kubectl(
    ['replace', '--force', '--grace-period=0', '-f', '-'],
    pods.map((one) => stringify(one)).join('---\n'),
  )
}

export function patchPool(world: World, name: string, spec: Json): Promise<unknown> {
  return world.operator.api('PATCH', `/apis/karpenter.sh/v1/nodepools/${name}`, { spec })
}

/** Gives a NodePool other requirements. */
export function requirePool(world: World, name: string, ...requirements: readonly object[]): Promise<unknown> {
  return patchPool(world, name, { template: { spec: { requirements: [onDemand, ...requirements] } } })
}

/** Runs a `kubectl ...` command that an answer contains, as it stands there. */
export async function runPrinted(world: World, command: string): Promise<void> {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? '')
  const [program, ...args] = words
  if (program === 'kubectl') await world.operator.kubectl(args)
  else if (program === 'joiner') await world.joiner(...args)
  else throw new Error(`not a command: ${command}`)
}

/** A volume with a claim of the same name that is bound to it. `zone`: where it can be attached; everywhere without. */
export function boundVolume(name: string, zone?: string): readonly Json[] {
  const affinity = {
    nodeAffinity: {
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key: zoneKey, operator: 'In', values: [zone] }] }] },
    },
  }
  const about = { accessModes: ['ReadWriteOnce'], storageClassName: '' }
  return [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name },
      spec: {
        ...about,
        capacity: { storage: '1Gi' },
        claimRef: { namespace: 'default', name },
        csi: { driver: 'disk.csi.azure.com', volumeHandle: name },
        ...(zone === undefined ? {} : affinity),
      },
    },
    claimOf(name, { ...about, volumeName: name }),
  ]
}

export function claimOf(name: string, spec: Json): Json {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
  }
}

export function untilBound(world: World, name: string): Promise<unknown> {
  return world.until(`pod ${name} has a node`, async () =>
    (await world.list('pods')).some(({ metadata, spec }) => metadata.name === name && spec.nodeName !== undefined),
  )
}
