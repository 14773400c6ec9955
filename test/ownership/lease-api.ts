import { pauseOf } from '../../activities/abortable-wait.ts'
import type { Json } from '../../activities/kubernetes/client/answers.ts'
import { ApiError } from '../../activities/kubernetes/client/api-error.ts'

/** One Lease object behind an API server with optimistic locks. Time in the cluster advances by `passMs`. */
export class LeaseApi {
  nowMs = 0
  object: Json | undefined
  writes = 0
  reads = 0
  heldUp: { limit: number; waiting: number } | undefined

  get = async (): Promise<Json> => {
    this.reads += 1
    if (this.object === undefined) throw new ApiError(404, 'NotFound', 'no lease')
    return structuredClone(this.object)
  }

  create = async (_path: string, body: Json): Promise<Json> => {
    if (this.object !== undefined) throw new ApiError(409, 'AlreadyExists', 'there is one')
    return this.#store(body)
  }

  mergePatch = async (_path: string, body: Json): Promise<Json> => {
    if (this.object === undefined) throw new ApiError(404, 'NotFound', 'no lease')
    const version = (body['metadata'] as { resourceVersion: string }).resourceVersion
    if ((this.object as { metadata: { resourceVersion: string } }).metadata.resourceVersion !== version)
      throw new ApiError(409, 'Conflict', 'changed')
    return this.#store(body)
  }

  #store(body: Json): Json {
    this.writes += 1
    const { annotations = {} } = body['metadata'] as { annotations?: Json }
    const set = Object.fromEntries(Object.entries(annotations).filter(([, value]) => value !== null))
    this.object = { spec: body['spec'], metadata: { resourceVersion: String(this.writes), annotations: set } }
    return this.object
  }
}

const never = new AbortController().signal

/** Requests take effect, and are answered, after times that are drawn, in milliseconds. */
export class SlowLeaseApi extends LeaseApi {
  readonly #waitMs: () => number
  constructor(waitMs: () => number) {
    super()
    this.#waitMs = waitMs
    const [get, mergePatch, create] = [this.get, this.mergePatch, this.create]
    this.get = () => this.#slowly(get)
    this.mergePatch = (...args) => this.#slowly(() => mergePatch(...args))
    this.create = (...args) => this.#slowly(() => create(...args))
  }

  async #slowly<T>(request: () => Promise<T>): Promise<T> {
    const [sendMs, answerMs] = [this.#waitMs(), this.#waitMs()]
    await pauseOf(sendMs, never)
    try {
      return await request()
    } finally {
      await pauseOf(answerMs, never)
    }
  }
}
