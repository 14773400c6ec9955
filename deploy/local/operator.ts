import { execFile, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { Agent, type Dispatcher, interceptors, request } from 'undici'
import type { LocalCluster } from './local-cluster.ts'

const run = promisify(execFile)

interface OperatorRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  readonly headers: Record<string, string>
  /** Sent as JSON. */
  readonly body: unknown
}

/** What the person who runs a local cluster can do with it: as its administrator, and behind the simulator's back. */
export class Operator {
  readonly #cluster: LocalCluster
  #agent: Dispatcher | undefined

  constructor(cluster: LocalCluster) {
    this.#cluster = cluster
  }

  /** Runs kubectl as administrator; `input` is its standard input. Errors: what kubectl says. */
  async kubectl(args: readonly string[], input?: string): Promise<string> {
    const command = this.#cluster.binaries.kubectl
    const env = { ...process.env, KUBECONFIG: this.#cluster.adminKubeconfig }
    if (input === undefined) return (await run(command, [...args], { env, maxBuffer: 64 * 1024 * 1024 })).stdout
    return new Promise((resolve, reject) => {
      const child = spawn(command, [...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
      let output = ''
      let errors = ''
      child.stdout.on('data', (chunk) => {
        output += String(chunk)
      })
      child.stderr.on('data', (chunk) => {
        errors += String(chunk)
      })
      child.once('error', reject)
      child.once('exit', (code) =>
        code === 0 ? resolve(output) : reject(new Error(`kubectl ${args.join(' ')}: ${errors.trim()}`)),
      )
      child.stdin.end(input)
    })
  }

  /** A request to the API server as administrator. */
  async api<T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const headers = {
      authorization: `Bearer ${this.#cluster.adminToken}`,
      'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
    }
    const response = await this.#request(`${this.#cluster.server}${path}`, { method, headers, body })
    if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status} ${response.text.slice(0, 300)}`)
    return JSON.parse(response.text) as T
  }

  /** A request to the simulator's admin endpoint. */
  async simulator<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const headers: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' }
    const response = await this.#request(`${this.#cluster.azureEndpoint}/admin${path}`, { method, headers, body })
    if (response.status >= 300) throw new Error(`simulator ${method} ${path}: ${response.status} ${response.text}`)
    return (response.text === '' ? undefined : JSON.parse(response.text)) as T
  }

  async close(): Promise<void> {
    await this.#agent?.destroy()
  }

  async #request(url: string, { method, headers, body }: OperatorRequest) {
    // While the API server prepares the storage of a CRD it asks its readers to come back in a second.
    this.#agent ??= new Agent({ connect: { ca: await readFile(this.#cluster.pki.caFile, 'utf8') } }).compose(
      interceptors.retry({ methods: ['GET'], statusCodes: [429], errorCodes: [], throwOnError: false }),
    )
    const response = await request(url, {
      method,
      headers,
      dispatcher: this.#agent,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return { status: response.statusCode, text: await response.body.text() }
  }
}
