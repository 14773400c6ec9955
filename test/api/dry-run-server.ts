import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { type LocalCluster, startCluster } from '../../deploy/local/cluster.ts'
import { Operator } from '../../deploy/local/operator.ts'

interface ClusterObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly spec?: unknown
}

/** What the API server makes of an object: what it would store, or the fields that it names, each once and sorted. */
export type Verdict =
  | { readonly accepted: true; readonly stored: { readonly spec?: unknown } }
  | { readonly accepted: false; readonly fields: readonly string[] }

interface Answer {
  readonly spec?: unknown
  readonly message?: string
  readonly metadata?: { readonly resourceVersion?: string }
  readonly details?: { readonly causes?: readonly { readonly field?: string }[] }
}

// The server's own note that it left out rules because the schema was not met.
const noField = '<nil>'

const crds = fileURLToPath(new URL('../../deploy/crds', import.meta.url))
const plurals: Readonly<Record<string, string>> = {
  NodePool: 'nodepools',
  NodeClaim: 'nodeclaims',
  NodeOverlay: 'nodeoverlays',
  AKSNodeClass: 'aksnodeclasses',
}

/** A real API server with Joiner's CRDs, asked what it would do with cluster-wide objects. */
export class DryRunServer {
  readonly #cluster: LocalCluster
  readonly #agent: Agent

  private constructor(cluster: LocalCluster, agent: Agent) {
    this.#cluster = cluster
    this.#agent = agent
  }

  static async start(): Promise<DryRunServer> {
    const cluster = await startCluster({ stateDir: await mkdtemp(join(tmpdir(), 'joiner-dry-run-')) })
    const operator = new Operator(cluster)
    await operator.kubectl(['apply', '--server-side', '-f', crds])
    await operator.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
    const agent = new Agent({ connect: { ca: await readFile(cluster.pki.caFile, 'utf8') } })
    return new DryRunServer(cluster, agent)
  }

  async stop(): Promise<void> {
    await this.#agent.close()
    await this.#cluster.stop()
    await rm(this.#cluster.stateDir, { recursive: true, force: true })
  }

  /** Stores an object, to be updated in dry runs. Returns it with what an update must name. */
  async store(object: ClusterObject): Promise<ClusterObject> {
    const { status, answer } = await this.#call('POST', collection(object), object)
    if (status >= 300) throw new Error(`${object.kind} is refused: ${answer.message}`)
    return { ...object, metadata: { ...object.metadata, resourceVersion: answer.metadata?.resourceVersion } }
  }

  create(object: ClusterObject): Promise<Verdict> {
    return this.#judge('POST', `${collection(object)}?dryRun=All`, object)
  }

  /** An update of a stored object of the same name. */
  update(object: ClusterObject): Promise<Verdict> {
    return this.#judge('PUT', `${collection(object)}/${String(object.metadata?.['name'])}?dryRun=All`, object)
  }

  async #judge(method: 'POST' | 'PUT', path: string, object: ClusterObject): Promise<Verdict> {
    const { status, answer } = await this.#call(method, path, object)
    if (status < 300) return { accepted: true, stored: answer }
    if (status !== 422) throw new Error(`${method} ${path}: ${status} ${answer.message}`)
    const fields = (answer.details?.causes ?? []).map(({ field }) => field ?? '')
    return { accepted: false, fields: sortedOnce(fields.filter((field) => field !== noField)) }
  }

  async #call(method: 'POST' | 'PUT', path: string, body: unknown): Promise<{ status: number; answer: Answer }> {
    const response = await request(`${this.#cluster.server}/apis/${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.#cluster.adminToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: response.statusCode, answer: (await response.body.json()) as Answer }
  }
}

export const sortedOnce = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort()

function collection({ apiVersion, kind }: ClusterObject): string {
  const plural = plurals[kind]
  if (plural === undefined) throw new Error(`kind "${kind}" is unknown here: add its plural to ${import.meta.filename}`)
  return `${apiVersion}/${plural}`
}
