// A small cluster with trouble in it, and commands whose sources are missing one by one.
import type { ConnectionLike } from '@temporalio/client'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { deployment, nodeClass, nodePool } from '../applied-objects.ts'
import { azureEnvironment } from '../fakes/azure-config.ts'
import { ranCommand } from '../fast/world/commands.ts'
import type { Ran } from '../readers/command-line.ts'
import { World } from '../world.ts'

/** What a command reads: a kind of Kubernetes, a ConfigMap of Joiner's, Temporal, or Azure. */
export type Source = string

/** What may be wrong with the sources of a command. */
export type Fault =
  | { readonly kind: 'none' | 'slow' | 'away' | 'no Temporal' | 'no Azure' | 'wrong namespace' }
  | { readonly kind: 'no right'; readonly source: Source }

/** Names of objects that commands are asked about. */
export interface Names {
  readonly node: string
  readonly nodeClaim: string
  readonly waiting: string
  readonly running: string
}

const minuteMs = 60_000
/** After which the product's client gives a request up. */
const clientGivesUpMs = 10_000

/** A complete configuration of which nothing answers: neither what hands out tokens nor ARM. */
const azureAway = {
  ...azureEnvironment('00000000-0000-4000-8000-000000000001'),
  AZURE_TENANT_ID: 'tenant',
  AZURE_CLIENT_ID: 'client',
  AZURE_CLIENT_SECRET: 'secret',
  AZURE_AUTHORITY_HOST: 'https://127.0.0.1:1/',
  JOINER_ARM_ENDPOINT: 'https://127.0.0.1:1',
  JOINER_PRICES_ENDPOINT: 'http://127.0.0.1:1',
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Two nodes with a pod each that a PodDisruptionBudget holds, a pod that no size takes, an offering that Azure refused, an object in quarantine, and a
 * pause.
 */
export class SmallCluster {
  readonly world: World
  readonly names: Names

  private constructor(world: World, names: Names) {
    this.world = world
    this.names = names
  }

  static async start(): Promise<SmallCluster> {
    const world = await World.start()
    await world.startWithPool(
      nodePool({ consolidateAfter: 'Never' }),
      nodeClass(),
      deployment({ apart: true, replicas: 2 }),
      {
        apiVersion: 'policy/v1',
        kind: 'PodDisruptionBudget',
        metadata: { name: 'inflate', namespace: 'default' },
        spec: { maxUnavailable: 0, selector: { matchLabels: { app: 'inflate' } } },
      },
    )
    await world.untilRunning(2)
    await world.apply(deployment({ name: 'huge', replicas: 1, cpu: '900' }))
    await world.joiner('pause', '--reason', 'release day', '--until', '5h')
    await wait(10 * minuteMs)
    const [node] = await world.list('nodes')
    const pods = (await world.list('pods')).map(({ metadata }) => metadata.name)
    const named = (start: string) => pods.find((name) => name.startsWith(start)) ?? ''
    const name = node?.metadata.name ?? ''
    return new SmallCluster(world, {
      node: name,
      nodeClaim: name.replace(/^aks-/, ''),
      waiting: `default/${named('huge')}`,
      running: `default/${named('inflate')}`,
    })
  }

  /** Runs a command while something is wrong. Returns what it did and which sources it asked for. */
  async run(words: readonly string[], fault: Fault): Promise<Ran & { readonly asked: ReadonlySet<Source> }> {
    const { fast } = this.world.servers
    if (fast === undefined) throw new Error('commands are run in virtual time only')
    const asked = new Set<Source>()
    const kubernetes = clientWith(fast.cluster.client, async (path) => {
      const source = sourceOf(path)
      asked.add(source)
      await failing(source, path, fault)
    })
    const temporal = connectionWith(fast.client.connection, () => asked.add('Temporal'))
    const env = {
      JOINER_NAMESPACE: fault.kind === 'wrong namespace' ? 'nowhere' : 'joiner',
      // Nothing listens there.
      ...(fault.kind === 'no Temporal' && { TEMPORAL_ADDRESS: '127.0.0.1:1' }),
      ...(fault.kind === 'no Azure' && azureAway),
    }
    const ran = await ranCommand({ kubernetes, temporal }, env, words)
    return { ...ran, asked }
  }

  end(): Promise<void> {
    return this.world.stop()
  }
}

/** Returns what a path is of: `joiner-evaluations-N` for one of several ConfigMaps. */
function sourceOf(path: string): Source {
  const parts = (path.split('?')[0] ?? '').split('/')
  const at = parts.indexOf('namespaces')
  const [kind = '', name] = parts.slice(at < 0 || parts.length <= at + 2 ? (parts[1] === 'api' ? 3 : 4) : at + 2)
  return kind === 'configmaps' && name !== undefined ? name.replace(/\d+$/, 'N') : kind
}

async function failing(source: Source, path: string, fault: Fault): Promise<void> {
  if (fault.kind === 'away')
    throw Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:443'), { code: 'ECONNREFUSED' })
  if (fault.kind === 'slow') {
    await wait(clientGivesUpMs)
    throw new Error(`GET ${path}: no answer within 10 s`)
  }
  if (fault.kind === 'no right' && fault.source === source)
    throw new ApiError(403, 'Forbidden', `${source} is forbidden: User "bob" cannot read resource "${source}"`)
}

const reads = ['get', 'list', 'create'] as const

/** A client whose reads pass `before` first. */
function clientWith(client: KubernetesClient, before: (path: string) => Promise<void>): KubernetesClient {
  const made: KubernetesClient = new Proxy(client, {
    get: (target, name) => {
      const call: unknown = Reflect.get(target, name)
      if (typeof call !== 'function') return call
      if (!(reads as readonly (string | symbol)[]).includes(name))
        return (...args: unknown[]) => Reflect.apply(call, made, args) as unknown
      return async (path: string, ...more: unknown[]) => {
        await before(path)
        return Reflect.apply(call, target, [path, ...more]) as unknown
      }
    },
  })
  return made
}

function connectionWith(connection: ConnectionLike, onUse: () => void): ConnectionLike {
  return new Proxy(connection, {
    get: (target, name) => {
      if (name === 'workflowService') onUse()
      return Reflect.get(target, name) as unknown
    },
  })
}
