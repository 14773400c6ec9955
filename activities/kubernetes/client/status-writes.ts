import type { NodeClass } from '../../../api/objects.ts'
import {
  applyConditions,
  type ConditionChange,
  type ConditionedKind,
  conditionOwner,
} from '../../../core/conditions.ts'
import type { Condition, NodeClaim, NodeOverlay, NodePool } from '../../../core/objects.ts'
import { decodeNodeClaim, decodeNodeClass, decodeNodeOverlay, decodeNodePool } from '../cache/decode.ts'
import { subject } from '../event-recorder.ts'
import type { WriteDeps } from '../parts.ts'
import { getIfAny, type Json } from './answers.ts'
import { lockedPatch, type Patch, writeOptimistically } from './optimistic-write.ts'
import { type ResourceName, resourcePath } from './resources.ts'

interface Objects {
  readonly NodeClaim: NodeClaim
  readonly NodePool: NodePool
  readonly AKSNodeClass: NodeClass
  readonly NodeOverlay: NodeOverlay
}

/** The kinds whose status Joiner writes. */
export type StatusKind = ConditionedKind & keyof Objects

/** Identifies one object by UID: a new one of the same name is another. */
export interface ObjectRef {
  readonly name: string
  readonly uid: string
}

/** The object that a write concerns. */
interface Written<K extends StatusKind> {
  readonly kind: K
  readonly ref: ObjectRef
}

interface Access<T> {
  readonly resource: ResourceName
  readonly decode: (json: Json) => T
  readonly cached: (cache: WriteDeps['cache'], name: string) => T | undefined
  readonly conditions: (object: T) => readonly Condition[]
}

const accesses: { readonly [K in StatusKind]: Access<Objects[K]> } = {
  NodeClaim: {
    resource: 'nodeclaims',
    decode: decodeNodeClaim,
    cached: (cache, name) => cache.nodeClaims.get(name),
    conditions: ({ status }) => status.conditions,
  },
  NodePool: {
    resource: 'nodepools',
    decode: decodeNodePool,
    cached: (cache, name) => cache.nodePools.get(name),
    conditions: ({ conditions }) => conditions,
  },
  AKSNodeClass: {
    resource: 'aksnodeclasses',
    decode: decodeNodeClass,
    cached: (cache, name) => cache.nodeClasses.get(name),
    conditions: ({ status }) => status.conditions,
  },
  NodeOverlay: {
    resource: 'nodeoverlays',
    decode: decodeNodeOverlay,
    cached: (cache, name) => cache.nodeOverlays.get(name),
    conditions: ({ conditions }) => conditions,
  },
}

/** Returns the object as the cache has it; undefined when it is gone or its name belongs to another. */
export function cachedObject<K extends StatusKind>(deps: WriteDeps, kind: K, ref: ObjectRef): Objects[K] | undefined {
  const object = accesses[kind].cached(deps.cache, ref.name)
  return object?.metadata.uid === ref.uid ? object : undefined
}

/** Reads the object from the API server. It enters the cache at once. */
export async function liveObject<K extends StatusKind>(
  deps: WriteDeps,
  kind: K,
  ref: ObjectRef,
): Promise<Objects[K] | undefined> {
  const { resource, decode } = accesses[kind]
  const json = await getIfAny(deps.client, resourcePath(resource, ref.name))
  if (json === undefined) return undefined
  deps.cache.upsert(kind, json)
  const object = decode(json)
  return object.metadata.uid === ref.uid && !deps.cache.hides(object) ? object : undefined
}

/**
 * Changes an object by a patch that `request` sends. `decide` gets the object in the cache. After a conflict it is called again, with the live
 * object. Returns the object as it is afterwards; undefined when it is gone.
 */
export function updateObject<K extends StatusKind>(
  deps: WriteDeps,
  { kind, ref }: Written<K>,
  request: (object: Objects[K], path: string) => Promise<Json> | undefined,
): Promise<Objects[K] | undefined> {
  const { resource, decode, conditions } = accesses[kind]
  const path = resourcePath(resource, ref.name)
  return writeOptimistically({
    inTurn: (section) => deps.client.inTurn(path, section),
    cached: () => cachedObject(deps, kind, ref),
    live: () => liveObject(deps, kind, ref),
    write: (object) =>
      request(object, path)?.then((json) => {
        deps.cache.upsert(kind, json)
        const after = decode(json)
        deps.events.recordTransitions(subject(object), conditions(object), conditions(after))
        return after
      }),
  })
}

/**
 * Writes an object's status, which has several writers. A decision applies only to the object that it was made from, so no writer
 * undoes another's. `decide` returns the fields of `status` to merge; undefined for nothing.
 */
export function updateStatus<K extends StatusKind>(
  deps: WriteDeps,
  written: Written<K>,
  decide: (object: Objects[K]) => Patch,
): Promise<Objects[K] | undefined> {
  return updateObject(deps, written, (object, path) => {
    const status = decide(object)
    return status === undefined ? undefined : deps.client.patchStatus(path, lockedPatch({ status }, object.metadata))
  })
}

/** Conditions to set and to clear, and other fields of the status that are written with them. */
export interface StatusChange {
  readonly conditions?: readonly ConditionChange[]
  readonly clear?: readonly string[]
  readonly status?: Readonly<Record<string, unknown>>
}

/** Sets conditions of an object, and Ready, which follows from them. `decide` returns nothing when nothing has to change. */
export function setConditions<K extends StatusKind>(
  deps: WriteDeps,
  written: Written<K>,
  decide: (object: Objects[K]) => StatusChange | undefined,
): Promise<Objects[K] | undefined> {
  const { kind } = written
  return updateStatus(deps, written, (object) => {
    const wanted = decide(object)
    if (wanted === undefined) return undefined
    const before = accesses[kind].conditions(object)
    const { conditions: set = [], clear = [], status } = wanted
    const owner = { kind, ...conditionOwner(object.metadata, deps.now()) }
    const conditions = applyConditions(before, { set, clear }, owner)
    return status === undefined && conditions === before ? undefined : { ...status, conditions }
  })
}
