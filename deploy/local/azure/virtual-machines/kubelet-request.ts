import { readFileSync } from 'node:fs'
import { Agent, type Dispatcher, request } from 'undici'
import type { LaterId, NodeObject } from '../boot/node-object.ts'
import type { SimulatorConfig } from '../server/config.ts'

/** A request about a VM's Node. */
interface NodeRequest {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly body?: unknown
  /** How a PATCH is applied. Default `merge`. */
  readonly patch?: 'merge' | 'strategic-merge'
  /** The bootstrap token of a node without a certificate, for an API that stands in for the authentication of its kubelet. */
  readonly bootstrapToken?: string
}

/** An answer of the API server. */
export interface NodeAnswer {
  readonly status: number
  readonly text: string
}

/** The API server, as far as VMs' Nodes are concerned. */
export interface NodeApi {
  send(request: NodeRequest): Promise<NodeAnswer>
}

/** How the API server is reached about a VM's Node: by the certificate of its kubelet, or by the operator's token. */
export class Connection implements NodeApi {
  readonly #server: string
  readonly #agent: Agent
  readonly #token: string | undefined

  constructor(server: string, agent: Agent, token?: string) {
    this.#server = server
    this.#agent = agent
    this.#token = token
  }

  send({ path, ...rest }: NodeRequest): Promise<NodeAnswer> {
    const token = this.#token
    return send(this.#agent, { ...rest, url: `${this.#server}${path}`, ...(token === undefined ? {} : { token }) })
  }

  close(): Promise<void> {
    return this.#agent.destroy()
  }
}

/** The operator's connection, which all VMs share. Undefined: their kubelets have their own. */
export function operatorConnection({ kubernetes }: Pick<SimulatorConfig, 'kubernetes'>): Connection | undefined {
  return kubernetes && tokenConnection(kubernetes, kubernetes.operatorTokenFile)
}

/** The connection of AKS, which registers the Nodes of its machines. Undefined: it has none. */
export function aksConnection({ kubernetes }: Pick<SimulatorConfig, 'kubernetes'>): Connection | undefined {
  return kubernetes && tokenConnection(kubernetes, kubernetes.aksTokenFile)
}

function tokenConnection(
  { server, caFile }: NonNullable<SimulatorConfig['kubernetes']>,
  tokenFile: string | undefined,
): Connection | undefined {
  if (tokenFile === undefined) return undefined
  const agent = new Agent({ connect: { ca: readFileSync(caFile, 'utf8') }, connections: 32 })
  return new Connection(server, agent, readFileSync(tokenFile, 'utf8').trim())
}

interface KubeletRequest extends Omit<NodeRequest, 'path'> {
  readonly url: string
  /** Bearer token; unset where the connection shows a certificate. */
  readonly token?: string
}

/** Sends a request of a kubelet to the API server. */
export async function send(
  dispatcher: Agent,
  { method, url, body, token, patch = 'merge' }: KubeletRequest,
): Promise<NodeAnswer> {
  const response = await request(url, {
    method,
    dispatcher,
    headers: {
      'content-type': method === 'PATCH' ? `application/${patch}-patch+json` : 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.statusCode, text: await response.body.text() }
}

/** As a node does: tries again until it works or the boot time is over. */
export async function retrying<T>(deadline: number, work: () => Promise<T>): Promise<T> {
  for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, 2000)) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() + delayMs > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}

/** The request for a client certificate of a kubelet, of this PEM text. */
export function csrObject(pem: string): Record<string, unknown> {
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { generateName: 'node-csr-' },
    spec: {
      request: Buffer.from(`${pem}\n`).toString('base64'),
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      usages: ['digital signature', 'client auth'],
    },
  }
}

/** Gives a Node its provider id after a while, as cloud-node-manager does, which is no node. A Node that is gone by then gets none. */
export function setProviderIdLater(api: NodeApi, { metadata }: NodeObject, { providerID, afterMs }: LaterId) {
  const patch = { method: 'PATCH', path: `/api/v1/nodes/${metadata.name}`, body: { spec: { providerID } } } as const
  const refused = (why: unknown) => console.error(`${metadata.name}: provider id was refused: ${String(why)}`)
  setTimeout(() => {
    api.send(patch).then(({ status, text }) => status >= 300 && refused(`${status} ${text}`), refused)
  }, afterMs).unref()
}
