// The reading half begins with a picture: parts of a cluster at one moment, and what of them could not be read.
import type { KubernetesClient } from '../../activities/kubernetes/client/client.ts'
import { faultText, type NoteFaults } from '../../api/kept/document.ts'
import { note } from '../document/print.ts'
import { type Gaps, gapLines } from './gaps.ts'
import { LackingError, missingOf } from './missing.ts'

/** When a picture is taken, and of which Joiner. */
export interface Moment {
  /** Epoch ms. */
  readonly now: number
  /** That of Joiner in Kubernetes. */
  readonly namespace?: string
}

/** Where and when a picture of a cluster is taken. */
export interface Scene extends Moment {
  readonly client: KubernetesClient
  readonly namespace: string
}

/** Takes what is read and cannot be used. */
interface Notes {
  /** Of a kept document. */
  readonly note: NoteFaults
  /** Why objects of a list are left out. */
  readonly leaveOut: (why: string) => void
}

/** What parts of a cluster are read from. */
export type PartSource = Scene & Notes

/** A part of a picture, and how it is read: of a cluster, else of what `S` says. */
export interface Part<T, S = PartSource> {
  readonly what: string
  /** Longest wait in milliseconds. */
  readonly limitMs: number
  /** Errors: what the source says; a `SourceError` knows the remedy. */
  readonly read: (source: S) => Promise<T>
}

export type Parts<S = never> = Readonly<Record<string, Part<unknown, S>>>
type Value<P> = P extends Part<infer T, never> ? T : never

/** Parts that were all read. */
export type Whole<P extends Parts> = { readonly [K in keyof P]: Value<P[K]> }

/** The parts of a picture; one that is undefined could not be read, and `missing` says why. */
export type ClusterPicture<P extends Parts> = { readonly [K in keyof P]: Value<P[K]> | undefined } & Gaps

/** Entries of one document that are named. */
const mostNamed = 5

/** Reads parts side by side, and asks for nothing else: what cannot be read keeps no other part from being read. */
export async function readPicture<S extends Moment, P extends Parts<S & Notes>>(
  scene: S,
  parts: P,
): Promise<ClusterPicture<P>> {
  const damaged = new Set<string>()
  const noteFaults: NoteFaults = (map, faults) => {
    for (const fault of faults.slice(0, mostNamed)) damaged.add(faultText(map, scene.namespace ?? '', fault))
  }
  const read = Object.entries(parts).map(async ([name, { what, limitMs, read: readPart }]) => {
    const leaveOut = (why: string) => damaged.add(`${what}: ${why}`)
    try {
      return { name, value: await within(limitMs, readPart({ ...scene, note: noteFaults, leaveOut })) }
    } catch (error) {
      return { name, missing: missingOf(what, error) }
    }
  })
  const all = await Promise.all(read)
  const values = Object.fromEntries(all.map(({ name, value }) => [name, value]))
  const missing = all.flatMap((one) => one.missing ?? [])
  return { ...values, missing, damaged: [...damaged] } as ClusterPicture<P>
}

/** Returns parts that an answer cannot do without. Errors: `LackingError`. */
export function needed<P extends Parts>(
  picture: { readonly [K in keyof P]: Value<P[K]> | undefined } & Gaps,
  parts: P,
): Whole<P> {
  const names = new Set(Object.values(parts).map(({ what }) => what))
  const lost = picture.missing.filter(({ what }) => names.has(what))
  if (lost.length > 0) throw new LackingError(lost)
  return picture as unknown as Whole<P>
}

/** Reads parts that an answer cannot do without. Errors: `LackingError`. */
export async function readWhole<S extends Moment, P extends Parts<S & Notes>>(
  scene: S,
  parts: P,
): Promise<Whole<P> & Gaps> {
  const picture = await readPicture(scene, parts)
  needed(picture, parts)
  return picture as Whole<P> & Gaps
}

/** Says what a picture lacks. Returns the exit code of an answer that needs all of it: 1 where anything is missing. */
export function noteGaps(gaps: Gaps): number {
  const lines = gapLines(gaps)
  note(...lines.flatMap((line) => `not read: ${line}`.split('\n')))
  return lines.length === 0 ? 0 : 1
}

/** Errors: those of the work, and that it takes longer. */
async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer within ${limitMs / 1000} s`)), limitMs)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}
