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
