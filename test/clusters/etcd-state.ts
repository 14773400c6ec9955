import { request } from 'undici'
import { patient } from '../runner/patience.ts'

/** Values by key, both in base64. */
type State = ReadonlyMap<string, string>

interface Range {
  readonly kvs?: readonly { readonly key: string; readonly value?: string }[]
}

/** What the API server and its controllers keep up by themselves, and write again when it is gone. */
const kept = [
  /^\/registry\/(masterleases|ranges|flowschemas|prioritylevelconfigurations|apiregistration\.k8s\.io)\//,
  /^\/registry\/leases\/kube-system\//,
]

/** Every namespace has these. They go with the namespace. */
const ofEachNamespace = /^\/registry\/(?:configmaps\/([^/]+)\/kube-root-ca\.crt|serviceaccounts\/([^/]+)\/default)$/

/** How many writes are under way at a time. */
const atOnce = 8

/**
 * All objects of an API server at one moment, which it can be brought back to. Keys are written in etcd itself: the API server and who watches it see
 * plain changes, for which no finalizer has to go.
 */
export class EtcdState {
  readonly #address: string
  readonly #state: State

  private constructor(address: string, state: State) {
    this.#address = address
    this.#state = state
  }

  /** Remembers what is in etcd at this port of the loopback interface. */
  static async remember(port: number): Promise<EtcdState> {
    const address = `http://127.0.0.1:${port}`
    return new EtcdState(address, await readAll(address))
  }

  /** Brings everything back. Errors: as of `settle`. */
  async restore(ms = patient(15_000)): Promise<void> {
    await this.#putBack()
    await this.settle(ms)
  }

  /**
   * Waits until there are the same objects as in the beginning. Controllers may still write for objects that went, so deletes are repeated until
   * nothing is too much. Errors: objects are still made after `ms`, or some are missing.
   */
  async settle(ms = patient(15_000)): Promise<void> {
    const deadline = Date.now() + ms
    for (let quiet = 0; quiet < 2; ) {
      const changed = await this.#deleteOthers()
      quiet = changed.length === 0 ? quiet + 1 : 0
      if (Date.now() > deadline) throw new Error(`objects are still made after ${ms / 1000} s: ${changed.join(', ')}`)
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
    const now = await readAll(this.#address)
    const missing = [...this.#state.keys()].filter((key) => !now.has(key) && !this.#comesAgain(key))
    if (missing.length > 0) throw new Error(`objects are missing: ${missing.map(textOf).join(', ')}`)
  }

  /** Only once: what the servers write into objects of their own later, such as a status, is their affair. */
  async #putBack(): Promise<void> {
    const now = await readAll(this.#address)
    const changed = [...this.#state].filter(([key, value]) => now.get(key) !== value)
    await this.#callAll(changed.map(([key, value]) => ['put', { key, value }]))
  }

  /** Returns the keys of what was deleted. */
  async #deleteOthers(): Promise<readonly string[]> {
    const now = await readAll(this.#address)
    const others = [...now.keys()].filter((key) => !this.#state.has(key) && !this.#comesAgain(key))
    // Owners first, or their controllers would replace what they own.
    others.sort((one, other) => rank(one) - rank(other))
    await this.#callAll(others.map((key) => ['deleterange', { key }]))
    return others.map(textOf)
  }

  async #callAll(calls: readonly (readonly [verb: 'put' | 'deleterange', body: object])[]): Promise<void> {
    const next = calls.values()
    const work = async () => {
      for (const [verb, body] of next) await call(this.#address, verb, body)
    }
    await Promise.all(Array.from({ length: atOnce }, work))
  }

  #comesAgain(key: string): boolean {
    const [, ofConfigMap, ofAccount] = ofEachNamespace.exec(textOf(key)) ?? []
    const namespace = ofConfigMap ?? ofAccount
    return namespace !== undefined && this.#state.has(base64(`/registry/namespaces/${namespace}`))
  }
}

async function readAll(address: string): Promise<State> {
  const range = { key: base64('/registry/'), range_end: base64('/registry0') }
  const { kvs = [] } = await call<Range>(address, 'range', range)
  const known = kvs.filter(({ key }) => !kept.some((pattern) => pattern.test(textOf(key))))
  return new Map(known.map(({ key, value = '' }) => [key, value]))
}

async function call<T>(address: string, verb: 'range' | 'put' | 'deleterange', body: object): Promise<T> {
  const answer = await request(`${address}/v3/kv/${verb}`, { method: 'POST', body: JSON.stringify(body) })
  const text = await answer.body.text()
  if (answer.statusCode !== 200) throw new Error(`etcd ${verb}: ${answer.statusCode} ${text.slice(0, 300)}`)
  return JSON.parse(text) as T
}

const owners = [/\/(namespaces|deployments|daemonsets|statefulsets|jobs|cronjobs)\//, /\/replicasets\//]

function rank(key: string): number {
  const at = owners.findIndex((pattern) => pattern.test(textOf(key)))
  return at < 0 ? owners.length : at
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const textOf = (key: string) => Buffer.from(key, 'base64').toString()
