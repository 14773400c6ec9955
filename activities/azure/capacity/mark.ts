import { createHash } from 'node:crypto'
import type { MarkScope } from '../arm/azure-error.ts'
import { imageVersion } from '../node-class/images.ts'

/** The ConfigMap that keeps marks. */
export const marksMap = 'joiner-unavailable-offerings'

/** One way to buy one size, as marks identify it. Zone `0` is regional. */
export interface OfferingId {
  readonly instanceType: string
  /** Name of the quota family; empty when it is not known. */
  readonly family: string
  readonly vCpus: number
  readonly zone: string
  readonly capacityType: string
}

interface Reported {
  /** Epoch ms at which the mark expires. */
  readonly untilMs: number
  readonly reason: string
  /** What Azure said, or what was observed. */
  readonly cause?: string
}

/** A size that was refused in a zone for a capacity type. */
interface OfferingMark extends Reported, Omit<OfferingId, 'vCpus'> {
  readonly kind: 'offering'
}

/** The sizes of a family from so many vCPUs on, in a zone for a capacity type; `minVCpus` -1: the whole family. */
export interface FamilyMark extends Reported {
  readonly kind: 'family'
  readonly family: string
  readonly minVCpus: number
  readonly zone: string
  readonly capacityType: string
}

/** Every spot offering of the region. */
interface AllSpotMark extends Reported {
  readonly kind: 'allSpot'
}

/** For what a size does not work. A size that names neither works for nobody. */
export interface SizeUse {
  /** Id of a node image. */
  readonly image?: string
  /** Name of an AKSNodeClass. */
  readonly nodeClass?: string
}

/** A size that Azure refuses, or whose nodes do not join, in every zone and for every capacity type. */
export interface SizeMark extends Reported, SizeUse {
  readonly kind: 'size'
  readonly instanceType: string
  /** How long the mark lasts from its beginning. It is remembered as long again, and a mark in that time lasts twice as long. */
  readonly lastsMs: number
  /** What the refusal had beside names, as a digest, where Azure did not name the size as its cause; and what was asked for (`stateOf`). */
  readonly refusal?: string
  readonly state?: string
  /** Set while the cause may be the class's: no VM of the class was accepted since. */
  readonly trial?: LaunchTurn & Pick<OfferingId, 'family' | 'capacityType'>
}

/** The turn of one launch of an AKSNodeClass while all others wait. */
export interface LaunchTurn {
  /** Azure's code of the refusal. */
  readonly code: string
  /** From when on the next launch may go, in epoch ms. */
  readonly nextAtMs: number
  /** The launch whose turn it is or was. */
  readonly turn: string
}

/** An AKSNodeClass whose launches Azure refuses whatever the size (`class-refusals.ts`). */
export interface ClassMark extends Reported, LaunchTurn {
  readonly kind: 'class'
  readonly nodeClass: string
  readonly refusal: string
  /** The sizes that were refused, and the families and capacity types that were tried since the last round. */
  readonly sizes: readonly string[]
  readonly families: readonly string[]
  readonly capacityTypes: readonly string[]
  /** Time until the turn after the next. */
  readonly waitMs: number
  /** States of class and settings that were refused, as digests. */
  readonly states: readonly string[]
}

/** A version of node images that is not there, or whose nodes do not join, for one AKSNodeClass. */
export interface ImageMark extends Reported {
  readonly kind: 'image'
  /** Id of the image that showed it, with the version. */
  readonly image: string
  readonly nodeClass: string
  /** As of a size. */
  readonly lastsMs: number
}

export type Mark = OfferingMark | FamilyMark | AllSpotMark | SizeMark | ImageMark | ClassMark

/** Marks by their key, which a ConfigMap accepts. At most one mark has a key. */
export type Marks = ReadonlyMap<string, Mark>

export const noMarks: Marks = new Map()

/** What a mark is known by. A family's case does not matter (reference/azure-provider.md 3.8). */
export function markKey(mark: Mark): string {
  if (mark.kind === 'allSpot') return 'spot'
  if (mark.kind === 'size') return sizeKey(mark.instanceType, mark)
  if (mark.kind === 'image') return imageKey(mark.image, mark.nodeClass)
  if (mark.kind === 'class') return classKey(mark.nodeClass)
  const place = `${escaped(mark.capacityType)}.${escaped(mark.zone)}`
  return mark.kind === 'offering'
    ? `offering.${place}.${escaped(mark.instanceType)}`
    : familyKey(mark.family, mark.zone, mark.capacityType)
}

/** A ConfigMap's key has at most 253 characters, and ids of images are longer. */
export function sizeKey(instanceType: string, { image = '', nodeClass = '' }: SizeUse): string {
  const use = image === '' && nodeClass === '' ? '' : `.${digest(`${image} ${nodeClass}`)}`
  return `size.${escaped(instanceType)}${use}`
}

/** What goes wrong with one image of a version goes wrong with those of other machines too: AKS makes them together. */
export const imageKey = (image: string, nodeClass: string) =>
  `image.${digest(`${imageVersion(image) || image.toLowerCase()} ${nodeClass}`)}`

export const classKey = (nodeClass: string) => `class.${digest(nodeClass)}`

/** Returns what a text is compared by where a mark has no room for it. */
export const digest = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16)

export const familyKey = (family: string, zone: string, capacityType: string) =>
  `family.${escaped(capacityType)}.${escaped(zone)}.${escaped(family.toLowerCase())}`

/** Escapes spaces, which some family names hold. */
function escaped(text: string): string {
  return text.replaceAll(/[^-_a-zA-Z0-9]/g, (char) => `.${char.codePointAt(0)?.toString(16)}.`)
}

/** The marks of a refusal. `zones`: all zone labels of the size, `0` included. */
export function marksFor(
  { instanceType, family, vCpus, zone, capacityType }: OfferingId,
  scope: MarkScope,
  { untilMs, reason, zones }: { readonly untilMs: number; readonly reason: string; readonly zones: readonly string[] },
): readonly Mark[] {
  const reported = { untilMs, reason }
  if (scope === 'allSpot') return [{ kind: 'allSpot', ...reported }]
  const placement = zone === '0' ? ['0'] : [...new Set([zone, ...zones.filter((other) => other !== '0')])]
  const both = ['on-demand', 'spot']
  const table: Readonly<Record<Exclude<MarkScope, 'allSpot'>, readonly [readonly string[], readonly string[]]>> = {
    allZonesOfCapacityType: [[...new Set([zone, ...zones])], [capacityType]],
    placementOfCapacityType: [placement, [capacityType]],
    zoneAllCapacityTypes: [[zone], both],
    placementAllCapacityTypes: [placement, both],
    zoneOfCapacityType: [[zone], [capacityType]],
    nothing: [[], []],
  }
  const [places, types] = table[scope]
  return places.flatMap((where) =>
    types.flatMap((which) =>
      offeringMarks({ instanceType, family, vCpus, zone: where, capacityType: which }, reported),
    ),
  )
}

/** Returns the marks of a refused size and of its family's larger ones; of a size with unknown family, only its own. */
export function offeringMarks(
  { instanceType, family, vCpus, zone, capacityType }: OfferingId,
  reported: Reported,
): Mark[] {
  const place = { zone, capacityType, ...reported }
  const own: Mark = { kind: 'offering', instanceType, family, ...place }
  return family === '' ? [own] : [own, { kind: 'family', family, minVCpus: vCpus, ...place }]
}

/**
 * Adds marks. Marking again resets the time, even when that shortens it; a family keeps the lower threshold while it
 * is marked. `news` counts what blocks more than before: a family or all spot that was not marked or not from so few vCPUs on, and a size
 * without a family (reference/azure-provider.md 3.8).
 */
export function withMarks(
  marks: Marks,
  added: readonly Mark[],
  nowMs: number,
): { readonly marks: Marks; readonly news: number } {
  const after = new Map(marks)
  let news = 0
  for (const mark of added) {
    const key = markKey(mark)
    const found = after.get(key)
    const before = found !== undefined && found.untilMs > nowMs ? found : undefined
    if (mark.kind === 'family' && before?.kind === 'family') {
      const minVCpus = Math.min(before.minVCpus, mark.minVCpus)
      if (minVCpus < before.minVCpus) news += 1
      after.set(key, { ...mark, minVCpus })
      continue
    }
    if (before === undefined && !(mark.kind === 'offering' && mark.family !== '')) news += 1
    after.set(key, mark)
  }
  return { marks: after, news }
}

/** Returns the marks that have not expired. */
export function liveMarks(marks: Marks, nowMs: number): Marks {
  return new Map([...marks].filter(([, mark]) => mark.untilMs > nowMs))
}

/** The marks that have not run out, and those of sizes and images that are remembered. */
export function keptMarks(marks: Marks, nowMs: number): Marks {
  return new Map([...marks].filter(([, mark]) => forgottenAtMs(mark) > nowMs))
}

/** When the mark is forgotten, in epoch ms. */
export const forgottenAtMs = (mark: Mark) =>
  mark.untilMs + (mark.kind === 'size' || mark.kind === 'image' ? mark.lastsMs : 0)

/** When the next mark ends or is forgotten, in epoch ms. */
export function nextEnd(marks: Marks, nowMs: number): number {
  const ends = [...marks.values()].flatMap((mark) => [mark.untilMs, forgottenAtMs(mark)])
  return ends.reduce((first, end) => (end > nowMs && end < first ? end : first), Number.POSITIVE_INFINITY)
}

/** Whether two sets of marks can block different offerings. Times do not matter: that a mark runs out is seen when it does. */
export function blockAlike(a: Marks, b: Marks): boolean {
  return a.size === b.size && [...a].every(([key, mark]) => alike(mark, b.get(key)))
}

function alike(a: Mark, b: Mark | undefined): boolean {
  return b !== undefined && (a.kind !== 'family' || (b.kind === 'family' && a.minVCpus === b.minVCpus))
}
