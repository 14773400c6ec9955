import { request } from 'undici'
import { ApiServer } from '../clusters/api-server.ts'

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

const plurals: Readonly<Record<string, string>> = {
  NodePool: 'nodepools',
  NodeClaim: 'nodeclaims',
  NodeOverlay: 'nodeoverlays',
}

/** A real API server with Joiner's CRDs, which says what it would accept (vector kind `validation`). */
export class CrdServer {
  readonly #server: ApiServer
  #count = 0

  private constructor(server: ApiServer) {
    this.#server = server
  }

  static async start(): Promise<CrdServer> {
    return new CrdServer(await ApiServer.start())
  }

  stop(): Promise<void> {
    return this.#server.stop()
  }

  /** The answer to a `validation` case: accepted or not, and then the fields that the server names. Nothing is stored but old objects. */
  async validate({ object, old }: ValidationInput): Promise<{ accepted: boolean; fields?: readonly unknown[] }> {
    const { apiVersion, kind, metadata } = object
    if (!(kind in plurals)) throw new Error(`there is no CRD for kind "${kind}"`)
    const name = `case-${this.#count++}`
    const resourceVersion = old === undefined ? undefined : await this.#store(name, old)
    const named = { ...object, metadata: { ...metadata, name, ...(resourceVersion ? { resourceVersion } : {}) } }
    const collection = `/apis/${apiVersion}/${plurals[kind]}`
    const { status, answer } = await this.#server.call(
      old === undefined
        ? { method: 'POST', path: `${collection}?dryRun=All`, body: named }
        : { method: 'PUT', path: `${collection}/${name}?dryRun=All`, body: named },
    )
    if (status < 300) return { accepted: true }
    return { accepted: false, fields: (answer.details?.causes ?? []).map(({ field }) => field) }
  }

  /** Writes an object behind the server's back, since the CRDs may refuse what older ones accepted. Returns its resource version. */
  async #store(name: string, old: KubernetesObject): Promise<string> {
    const uid = `00000000-0000-4000-8000-${String(this.#count).padStart(12, '0')}`
    const creationTimestamp = '2026-01-01T00:00:00Z'
    const stored = { ...old, metadata: { ...old.metadata, name, uid, creationTimestamp, generation: 1 } }
    const path = `${plurals[old.kind]}/${name}`
    const base64 = (text: string) => Buffer.from(text).toString('base64')
    const written = await request(`http://127.0.0.1:${this.#server.cluster.ports.etcd}/v3/kv/put`, {
      method: 'POST',
      body: JSON.stringify({ key: base64(`/registry/karpenter.sh/${path}`), value: base64(JSON.stringify(stored)) }),
    })
    if (written.statusCode !== 200) throw new Error(`etcd refuses ${path}: ${await written.body.text()}`)
    await written.body.dump()
    const { status, answer } = await this.#server.call({ method: 'GET', path: `/apis/${old.apiVersion}/${path}` })
    const version = answer.metadata?.resourceVersion
    if (version === undefined)
      throw new Error(`${path} was stored and is not served: ${status} ${JSON.stringify(answer)}`)
    return version
  }
}
