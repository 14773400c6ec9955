import {
  createHttpHeaders,
  type HttpClient,
  type PipelineRequest,
  type PipelineResponse,
  RestError,
} from '@azure/core-rest-pipeline'
import type { TokenCredential } from '@azure/identity'
import type { NodeObject } from '../../../deploy/local/azure/boot/node-object.ts'
import type { ArmDeps } from '../../../deploy/local/azure/server/arm-deps.ts'
import type { SimulatorConfig } from '../../../deploy/local/azure/server/config.ts'
import { createSimulator } from '../../../deploy/local/azure/simulator.ts'
import type { Machine } from '../../../deploy/local/azure/virtual-machines/machine.ts'
import { azureIds, clusterName, subnetId } from '../../../deploy/local/cluster.ts'
import type { Network } from '../network.ts'
import { SimulatedGate } from '../simulated-gate.ts'
import { SimulatedProcess } from '../simulated-process.ts'
import { randomNumbers } from '../virtual-clock.ts'
import { type Answered, ConnectionLost, InProcess } from './in-process.ts'

/** How the cluster in memory is asked for something, as its API server would be. */
export type ClusterRequest = (
  method: string,
  path: string,
  body?: unknown,
  options?: { readonly patch?: 'merge' | 'strategic-merge' | 'json' },
) => Promise<{ readonly status: number; readonly text: string }>

export interface FastAzureOptions {
  /** What the configuration of the simulator says otherwise. */
  readonly settings?: Partial<SimulatorConfig>
  /** What ids and all else that is drawn follow from. Default 1. */
  readonly seed?: number
  /** Carries requests of simulated processes. */
  readonly network?: Network
  /** The cluster whose Nodes booted VMs become; absent: they join nothing. */
  readonly cluster?: ClusterRequest
}

/** The Azure simulator in this process: its own handlers, without a connection to it, and with its state in memory. */
export class FastAzure {
  /** Where ARM, the price list and the token endpoint seem to be. */
  readonly url = 'https://azure.test'
  readonly deps: ArmDeps
  /** Carries out what SDK clients, and all else that takes one, send. */
  readonly http: HttpClient = { sendRequest: (request) => this.#sendRequest(request) }
  readonly credential: TokenCredential
  /** What stands before it. */
  readonly gate = new SimulatedGate({
    answerOf: (outcome) => {
      if (outcome.status === 'rejected') throw outcome.reason
      const { status, headers, body } = outcome.value as Answered
      return { status, headers, text: body }
    },
  })
  readonly #inProcess: InProcess
  readonly #network: Network | undefined
  readonly #stop: () => void
  readonly #refused = new Map<string, Machine>()

  private constructor({ settings = {}, seed = 1, network, cluster }: FastAzureOptions) {
    const config: SimulatorConfig = { ...azureIds, subnetId, clusterName, seed, ...settings }
    let made: ReturnType<typeof createSimulator> | undefined
    this.#inProcess = new InProcess((app) => {
      made = createSimulator(app, config, {
        newId: seededIds(seed),
        ...(cluster === undefined
          ? {}
          : {
              nodes: {
                send: async ({ method, path, body, patch = 'merge', bootstrapToken }) => {
                  if (bootstrapToken === undefined || (await isInForce(cluster, bootstrapToken)))
                    return cluster(method, path, body, { patch })
                  this.#refuse((body as NodeObject).metadata.name)
                  return { status: 401, text: 'Unauthorized' }
                },
              },
            }),
      })
    })
    const { deps, player } = made as NonNullable<typeof made>
    this.deps = deps
    this.#stop = () => player.stop()
    this.#network = network
    this.credential = {
      getToken: (scopes) =>
        Promise.resolve({
          token: deps.tokens.issue([scopes].flat()[0] ?? ''),
          expiresOnTimestamp: Date.now() + deps.tokens.lifetimeSeconds * 1000,
        }),
    }
  }

  static async start(options: FastAzureOptions = {}): Promise<FastAzure> {
    const azure = new FastAzure(options)
    await SimulatedProcess.outside(() => azure.#inProcess.app.ready())
    return azure
  }

  /** Nothing of a scenario happens from now on. */
  stop(): void {
    this.#stop()
  }

  #refuse(name: string): void {
    const machine = this.deps.machines.get(name)
    if (machine !== undefined) this.#refused.set(name, machine)
  }

  /** Names of VMs that are there and that the API server keeps out, since it does not know their bootstrap token. */
  get refused(): readonly string[] {
    return [...this.#refused].flatMap(([name, machine]) =>
      this.deps.machines.get(name) === machine && machine.joined !== true ? [name] : [],
    )
  }

  /** A request without the SDK, of somebody who is no process of Joiner. Errors: `ConnectionLost`. */
  async send(
    method: string,
    path: string,
    { headers = {}, body = '' }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
  ): Promise<{ readonly status: number; readonly text: string }> {
    const asked = { method, path, headers: { ...headers, host: new URL(this.url).host }, body }
    const answer = await SimulatedProcess.outside(() => this.#inProcess.send(asked))
    return { status: answer.status, text: answer.body }
  }

  /** A request to the simulator's admin endpoint. Errors: status and body of a refusal. */
  async simulator<T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const { status, text } = await this.send(method, `/admin${path}`, sent)
    if (status >= 300) throw new Error(`simulator ${method} ${path}: ${status} ${text}`)
    return (text === '' ? undefined : JSON.parse(text)) as T
  }

  #sendRequest(request: PipelineRequest): Promise<PipelineResponse> {
    const { abortSignal } = request
    return new Promise((resolve, reject) => {
      const abort = () => reject(aborted())
      if (abortSignal?.aborted === true) return abort()
      abortSignal?.addEventListener('abort', abort)
      this.#carry(request)
        .then(resolve, reject)
        .finally(() => abortSignal?.removeEventListener('abort', abort))
    })
  }

  async #carry(request: PipelineRequest): Promise<PipelineResponse> {
    const url = new URL(request.url)
    if (url.origin !== this.url) throw sendError(request, `getaddrinfo ENOTFOUND ${url.hostname}`, 'ENOTFOUND')
    const asked = {
      method: request.method,
      path: `${url.pathname}${url.search}`,
      headers: { ...request.headers.toJSON(), host: url.host },
      body: textOf(request),
    }
    const call = () => ({ method: asked.method, path: url.pathname, body: asked.body })
    const effect = () => this.gate.pass(call, () => this.#inProcess.send(asked))
    const name = `${request.method} ${url.pathname.split('/').slice(-2).join('/')}`
    try {
      const answer = await (this.#network?.carry(name, effect) ?? SimulatedProcess.outside(effect))
      return responseOf(request, answer)
    } catch (error) {
      throw error instanceof ConnectionLost ? sendError(request, error.message, 'ECONNRESET') : error
    }
  }
}

function responseOf(request: PipelineRequest, { status, headers, body, stalled }: Answered): PipelineResponse {
  const response = { request, status, headers: createHttpHeaders(headers) }
  return stalled === undefined ? { ...response, bodyAsText: body } : { ...response, readableStreamBody: stalled }
}

/** Errors: a body that is no text, which nothing of Joiner's sends. */
function textOf({ body, method, url }: PipelineRequest): string {
  if (body === undefined || body === null) return ''
  if (typeof body === 'string') return body
  throw new Error(`${method} ${url}: the body is no text`)
}

/** As the SDK's client says it of a request that got no answer. */
function sendError(request: PipelineRequest, message: string, code: string): RestError {
  return new RestError(message, { code, request })
}

function aborted(): Error {
  return Object.assign(new Error('The operation was aborted.'), { name: 'AbortError' })
}

/** Whether an API server knows a bootstrap token, and its time is not over: a kubelet gets no certificate with another one. */
async function isInForce(cluster: ClusterRequest, bootstrapToken: string): Promise<boolean> {
  const [id = '', secret = ''] = bootstrapToken.split('.')
  const { status, text } = await cluster('GET', `/api/v1/namespaces/kube-system/secrets/bootstrap-token-${id}`)
  if (status !== 200) return false
  const { stringData = {} } = JSON.parse(text) as { readonly stringData?: Readonly<Record<string, string>> }
  return stringData['token-secret'] === secret && Date.parse(stringData['expiration'] ?? '') > Date.now()
}

/** UUIDs that follow from a seed. */
function seededIds(seed: number): () => string {
  const random = randomNumbers(seed)
  const hex = (digits: number) =>
    Math.floor(random() * 16 ** digits)
      .toString(16)
      .padStart(digits, '0')
  return () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(6)}${hex(6)}`
}
