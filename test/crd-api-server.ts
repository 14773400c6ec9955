import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { startCluster } from '../deploy/local/cluster.ts'
import type { LocalCluster } from '../deploy/local/local-cluster.ts'
import { Operator } from '../deploy/local/operator.ts'

const crds = fileURLToPath(new URL('../deploy/crds', import.meta.url))

/** What the API server answers: an object, or a status that names what is wrong with one. */
interface Answer {
  readonly spec?: unknown
  readonly message?: string
  readonly metadata?: { readonly resourceVersion?: string }
  readonly details?: { readonly causes?: readonly { readonly field?: string }[] }
}

/** A real API server with Joiner's CRDs and nothing else of Joiner. */
export class CrdApiServer {
  readonly cluster: LocalCluster
  readonly #agent: Agent

  private constructor(cluster: LocalCluster, agent: Agent) {
    this.cluster = cluster
    this.#agent = agent
  }

  static async start(): Promise<CrdApiServer> {
    const cluster = await startCluster({ stateDir: await mkdtemp(join(tmpdir(), 'joiner-crds-')) })
    const operator = new Operator(cluster)
    await operator.kubectl(['apply', '--server-side', '-f', crds])
    await operator.kubectl(['wait', '--for=condition=Established', 'crd', '--all', '--timeout=30s'])
    const agent = new Agent({ connect: { ca: await readFile(cluster.pki.caFile, 'utf8') } })
    return new CrdApiServer(cluster, agent)
  }

  async stop(): Promise<void> {
    await this.#agent.close()
    await this.cluster.stop()
    await rm(this.cluster.stateDir, { recursive: true, force: true })
  }

  /** `path` stands below `/apis/`. */
  async call(
    method: 'GET' | 'POST' | 'PUT',
    path: string,
    body?: unknown,
  ): Promise<{ status: number; answer: Answer }> {
    const response = await request(`${this.cluster.server}/apis/${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${this.cluster.adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.statusCode, answer: (await response.body.json()) as Answer }
  }
}
