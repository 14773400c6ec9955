import { readFile } from 'node:fs/promises'
import { Agent, request } from 'undici'
import type { Installation } from '../../deploy/local/installation.ts'
import type { LocalCluster } from '../../deploy/local/local-cluster.ts'
import type { Operator } from '../../deploy/local/operator.ts'
import { type Installed, leaveCluster, takeCluster } from './shared-clusters.ts'

/** An answer of the API server: an object, or a status that names what is wrong with one. */
interface Body {
  readonly spec?: unknown
  readonly message?: string
  readonly metadata?: { readonly resourceVersion?: string }
  readonly details?: { readonly causes?: readonly { readonly field?: string }[] }
}

export interface ApiAnswer {
  readonly status: number
  readonly answer: Body
  /** The header `warning`. */
  readonly warning?: string | readonly string[] | undefined
}

interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A real API server with Joiner's CRDs, rights and policies, and no process of Joiner. Suites that run one after the other in a process share it. */
export class ApiServer {
  readonly cluster: LocalCluster
  readonly operator: Operator
  readonly installation: Installation
  readonly #installed: Installed
  readonly #agent: Agent

  private constructor(installed: Installed, agent: Agent) {
    this.#installed = installed
    this.#agent = agent
    this.cluster = installed.cluster
    this.operator = installed.operator
    this.installation = installed.installation
  }

  static async start(): Promise<ApiServer> {
    const installed = await takeCluster()
    const ca = await readFile(installed.cluster.pki.caFile, 'utf8')
    return new ApiServer(installed, new Agent({ connect: { ca } }))
  }

  async stop(): Promise<void> {
    await this.#agent.close()
    await leaveCluster(this.#installed)
  }

  /** A request of an administrator, whatever the answer to it is. */
  async call({ method, path, body, headers = {} }: Call): Promise<ApiAnswer> {
    const { adminToken, server } = this.cluster
    const response = await request(`${server}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const answer = (await response.body.json()) as Body
    return { status: response.statusCode, answer, warning: response.headers['warning'] }
  }
}
