import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { type LocalCluster, startCluster } from '../../deploy/local/cluster.ts'
import { Operator } from '../../deploy/local/operator.ts'

interface KubernetesObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** An object to create, or to put in the place of `old`. */
export interface ValidationInput {
  readonly object: KubernetesObject
  readonly old?: KubernetesObject
}

interface Served {
  readonly metadata?: { readonly resourceVersion?: string }
  readonly details?: { readonly causes?: readonly { readonly field?: string }[] }
}

const crds = fileURLToPath(new URL('../../deploy/crds', import.meta.url))
const plurals: Readonly<Record<string, string>> = {
  NodePool: 'nodepools',
  NodeClaim: 'nodeclaims',
  NodeOverlay: 'nodeoverlays',
}

/** A real API server with Joiner's CRDs, which says what it would accept (vector kind `validation`). */
export class CrdServer {
  readonly #cluster: LocalCluster
  readonly #agent: Agent
  #count = 0

  private constructor(cluster: LocalCluster, agent: Agent) {
    this.#cluster = cluster
    this.#agent = agent
  }

  static async start(): Promise<CrdServer> {
    const cluster = await startCluster({ stateDir: await mkdtemp(join(tmpdir(), 'joiner-crds-')) })
    const operator = new Operator(cluster)
    await operator.kubectl(['apply', '--server-side', '-f', crds])
    await operator.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
    const agent = new Agent({ connect: { ca: await readFile(cluster.pki.caFile, 'utf8') } })
    return new CrdServer(cluster, agent)
  }

  async stop(): Promise<void> {
    await this.#agent.close()
    await this.#cluster.stop()
    await rm(this.#cluster.stateDir, { recursive: true, force: true })
  }

  /** The answer to a `validation` case: accepted or not, and then the fields that the server names. Nothing is stored but old objects. */
  async validate({ object, old }: ValidationInput): Promise<{ accepted: boolean; fields?: readonly unknown[] }> {
    const { apiVersion, kind, metadata } = object
    if (!(kind in plurals)) throw new Error(`there is no CRD for kind "${kind}"`)
    const name = `case-${this.#count++}`
    const resourceVersion = old === undefined ? undefined : await this.#store(name, old)
    const named = { ...object, metadata: { ...metadata, name, ...(resourceVersion ? { resourceVersion } : {}) } }
    const { status, served } = await (old === undefined
      ? this.#call('POST', `${apiVersion}/${plurals[kind]}?dryRun=All`, named)
      : this.#call('PUT', `${apiVersion}/${plurals[kind]}/${name}?dryRun=All`, named))
    if (status < 300) return { accepted: true }
    return { accepted: false, fields: (served.details?.causes ?? []).map(({ field }) => field) }
  }

  /** Writes an object behind the server's back, since the CRDs may refuse what older ones accepted. Returns its resource version. */
  async #store(name: string, old: KubernetesObject): Promise<string> {
    const uid = `00000000-0000-4000-8000-${String(this.#count).padStart(12, '0')}`
    const creationTimestamp = '2026-01-01T00:00:00Z'
    const stored = { ...old, metadata: { ...old.metadata, name, uid, creationTimestamp, generation: 1 } }
    const path = `${plurals[old.kind]}/${name}`
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const written = await request(`http://127.0.0.1:${this.#cluster.ports.etcd}/v3/kv/put`, {
      method: 'POST',
      body: JSON.stringify({ key: base64(`/registry/karpenter.sh/${path}`), value: base64(JSON.stringify(stored)) }),
    })
    if (written.statusCode !== 200) throw new Error(`etcd refuses ${path}: ${await written.body.text()}`)
    await written.body.dump()
    const { status, served } = await this.#call('GET', `${old.apiVersion}/${path}`)
    const version = served.metadata?.resourceVersion
    if (version === undefined)
      throw new Error(`${path} was stored and is not served: ${status} ${JSON.stringify(served)}`)
    return version
  }

  async #call(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: unknown,
  ): Promise<{ status: number; served: Served }> {
    const response = await request(`${this.#cluster.server}/apis/${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#cluster.adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.statusCode, served: (await response.body.json()) as Served }
  }
}
