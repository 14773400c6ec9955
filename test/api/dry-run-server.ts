import type { Operator } from '../../deploy/local/operator.ts'
import { ApiServer } from '../clusters/api-server.ts'

interface ClusterObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly spec?: unknown
  readonly status?: unknown
}

/** What the API server makes of an object: what it would store, or the fields that it names, each once and sorted. */
export type Verdict =
  | { readonly accepted: true; readonly stored: { readonly spec?: unknown } }
  | { readonly accepted: false; readonly fields: readonly string[] }

// The server's own note that it left out rules because the schema was not met.
const noField = '<nil>'

const plurals: Readonly<Record<string, string>> = {
  NodePool: 'nodepools',
  NodeClaim: 'nodeclaims',
  NodeOverlay: 'nodeoverlays',
  AKSNodeClass: 'aksnodeclasses',
}

const namespaced: Readonly<Record<string, string>> = { CapacityBuffer: 'capacitybuffers' }

/** A real API server with Joiner's CRDs, asked what it would do with objects; those of namespaces stand in `default`. */
export class DryRunServer {
  readonly #server: ApiServer

  private constructor(server: ApiServer) {
    this.#server = server
  }

  static async start(): Promise<DryRunServer> {
    return new DryRunServer(await ApiServer.start())
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }

  /** Stores an object, to be updated in dry runs. Returns it with what an update must name. */
  async store(object: ClusterObject): Promise<ClusterObject> {
    const { status, answer } = await this.#server.call({ method: 'POST', path: collection(object), body: object })
    if (status >= 300) throw new Error(`${object.kind} is refused: ${answer.message}`)
    return { ...object, metadata: { ...object.metadata, resourceVersion: answer.metadata?.resourceVersion } }
  }

  get operator(): Operator {
    return this.#server.operator
  }

  create(object: ClusterObject): Promise<Verdict> {
    return this.#judge('POST', `${collection(object)}?dryRun=All`, object)
  }

  /** An update of a stored object of the same name, or of its subresource. */
  update(object: ClusterObject, subresource: '' | '/status' = ''): Promise<Verdict> {
    const name = String(object.metadata?.['name'])
    return this.#judge('PUT', `${collection(object)}/${name}${subresource}?dryRun=All`, object)
  }

  async #judge(method: 'POST' | 'PUT', path: string, body: ClusterObject): Promise<Verdict> {
    const { status, answer } = await this.#server.call({ method, path, body })
    if (status < 300) return { accepted: true, stored: answer }
    if (status !== 422) throw new Error(`${method} ${path}: ${status} ${answer.message}`)
    const fields = (answer.details?.causes ?? []).map(({ field }) => field ?? '')
    return { accepted: false, fields: sortedOnce(fields.filter((field) => field !== noField)) }
  }
}

export const sortedOnce = (texts: readonly string[]): readonly string[] => [...new Set(texts)].sort()

function collection({ apiVersion, kind }: ClusterObject): string {
  const inNamespace = namespaced[kind]
  if (inNamespace !== undefined) return `/apis/${apiVersion}/namespaces/default/${inNamespace}`
  const plural = plurals[kind]
  if (plural === undefined) throw new Error(`kind "${kind}" is unknown here: add its plural to ${import.meta.filename}`)
  return `/apis/${apiVersion}/${plural}`
}
