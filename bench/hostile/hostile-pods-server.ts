import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { HostileShape } from '../workloads/hostile-pods.ts'
import { type ObjectJson, podJson, type Scenario } from '../workloads/scenario.ts'

export interface Hostile {
  readonly shape: HostileShape
  /** How many parts each of the pods has. */
  readonly size: number
  readonly count: number
  /** Whether they run on the cluster's nodes; else they wait for one. */
  readonly isRunning: boolean
}

/** Serves the objects of a cluster as the API server does: lists by pages, and watches. */
export class ClusterServer {
  readonly #byPath: ReadonlyMap<string, readonly (() => string)[]>
  readonly #hostile: readonly ((version: number) => string)[]
  readonly #server: Server

  constructor(scenario: Scenario, hostile: Hostile | undefined) {
    this.#hostile = hostile === undefined ? [] : hostileTexts(scenario, hostile)
    const kinds = Map.groupBy(scenario.objects, ({ kind }) => paths[kind] ?? '')
    const texts = [...kinds].map(
      ([path, objects]) => [path, objects.map((one) => memo(() => served(one, scenario)))] as const,
    )
    this.#byPath = new Map(texts)
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://server')
      response.on('error', () => {})
      if (url.searchParams.get('watch') === 'true') {
        response.writeHead(200)
        if (url.pathname === paths['Pod']) this.#sendChanges(response)
      } else response.end(this.#list(url))
    })
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  stop(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #list({ pathname, searchParams }: URL): string {
    const own = this.#byPath.get(pathname) ?? []
    const unwanted = new Set((searchParams.get('fieldSelector') ?? '').match(/(?<=metadata\.name!=)[^,]+/g))
    const hostile = this.#hostile.filter((_, pod) => !unwanted.has(hostileName(pod)))
    const all = pathname === paths['Pod'] ? [...own, ...hostile.map((one) => () => one(1))] : own
    const from = Number(searchParams.get('continue') ?? 0)
    const items = all.slice(from, from + Number(searchParams.get('limit') ?? all.length)).map((text) => text())
    const next = from + items.length
    // Versions go on, as in a cluster in which something is written all the time: a cache never has the newest.
    const metadata = { resourceVersion: String(Date.now()), ...(next < all.length ? { continue: String(next) } : {}) }
    return `{"metadata":${JSON.stringify(metadata)},"items":[${items.join()}]}`
  }

  /** Every hostile pod changes once, as its status does. */
  #sendChanges(response: { write(text: string): void }): void {
    for (const text of this.#hostile) response.write(`{"type":"MODIFIED","object":${text(2)}}\n`)
  }
}

const paths: Readonly<Record<string, string>> = {
  Pod: '/api/v1/pods',
  Node: '/api/v1/nodes',
  NodeClaim: '/apis/karpenter.sh/v1/nodeclaims',
  NodePool: '/apis/karpenter.sh/v1/nodepools',
}

const hostileName = (pod: number) => `hostile-${String(pod).padStart(3, '0')}`

function hostileTexts(scenario: Scenario, { shape, size, count, isRunning }: Hostile): ((version: number) => string)[] {
  const nodes = scenario.objects.filter(({ kind }) => kind === 'Node').map(({ metadata }) => String(metadata['name']))
  return Array.from({ length: count }, (_, pod) => {
    const { labels = {}, annotations = {}, ownerReferences = [], spec } = shape.make(size, pod)
    const name = hostileName(pod)
    const requests = { cpu: '2', memory: '1Gi' }
    const made = podJson({ name, uid: name, labels, requests, ...(spec && { spec: withRequests(spec, requests) }) })
    const nodeName = isRunning ? { nodeName: nodes[(pod * 3) % nodes.length] } : {}
    const object = {
      ...made,
      metadata: { ...made.metadata, annotations, ownerReferences },
      spec: { ...made.spec, ...nodeName },
    }
    const text = served(object, scenario)
    return (version) => text.replace('"resourceVersion":"1"', `"resourceVersion":"${version}"`)
  })
}

/** Hostile pods ask for much, so that they are taken first. */
function withRequests(spec: Readonly<Record<string, unknown>>, requests: object): Readonly<Record<string, unknown>> {
  const { containers } = spec as { readonly containers?: readonly object[] }
  return containers === undefined
    ? spec
    : { ...spec, containers: [...containers, { name: 'main', image: 'pause', resources: { requests } }] }
}

/** As the API server serves it; uid and status are what the scenario leaves out. */
function served({ kind, metadata, spec, status, ...rest }: ObjectJson, { now }: Scenario): string {
  const waiting = { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] }
  const pod = spec['nodeName'] === undefined ? waiting : { phase: 'Running' }
  const own: Readonly<Record<string, object>> = {
    Pod: pod,
    NodePool: { conditions: [{ type: 'Ready', status: 'True' }] },
  }
  const named = { uid: `${kind}/${String(metadata['name'])}`, creationTimestamp: now, ...metadata }
  return JSON.stringify({
    ...rest,
    kind,
    metadata: { resourceVersion: '1', ...named },
    spec,
    status: status ?? own[kind] ?? {},
  })
}

function memo<T>(make: () => T): () => T {
  let made: T | undefined
  return () => (made ??= make())
}
