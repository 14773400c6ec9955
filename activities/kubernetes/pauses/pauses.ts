import { z } from 'zod'
import { type Entries, type KeptFault, readEntries, readJson, words } from '../../../api/kept/document.ts'
import {
  formatPause,
  type LoopName,
  type Pause,
  Pauses,
  pauseKey,
  type StoredPauses,
  scopeOf,
  storedPauses,
  wholeLoop,
} from '../../../core/pauses/pauses.ts'
import { expecting, isGoneOrOther } from '../client/api-error.ts'
import { findConfigMap, type KeptSource, putConfigMap, readConfigMap, writeConfigMap } from '../client/config-map.ts'
import type { PauseChange, PausesWritten } from '../contract.ts'

const configMapName = 'joiner-pauses'
const loops = ['provisioning', 'disruption'] as const

export type PauseDeps = KeptSource

/** A pause as Joiner writes it; one that a person has written may lack anything. */
const keptPause = z.object({
  reason: words(10_000).exactOptional(),
  since: z.iso.datetime({ offset: true }).exactOptional(),
  until: z.iso.datetime({ offset: true }).exactOptional(),
  by: words(1000).exactOptional(),
})

/** Returns what cannot be read of the entries. They count as pauses all the same, since a pause is a brake. */
export function pauseFaults(data: Entries): readonly KeptFault[] {
  const { faults } = readEntries(data, (_, text) => readJson(keptPause, text))
  const odd = loops.flatMap((loop) => storedPauses(data, loop, 0).unreadable)
  return [...faults, ...odd.map((key) => ({ key, why: 'it is the key of no scope' }))]
}

/**
 * Returns the pause of a whole loop, read from the API server and not from a cache: it decides whether the next write may happen.
 * An unreadable entry counts as a pause without end, since a pause is a brake.
 */
export async function readPause(deps: PauseDeps, loop: LoopName, now: number): Promise<Pause | undefined> {
  return new Pauses(await readLoopPauses(deps, loop, now)).wholeLoop
}

/** Returns all pauses of disruption in force, read live by one request. Planners apply them before each pass and before each commit. */
export async function readPauses(deps: PauseDeps, now: number): Promise<Pauses> {
  return new Pauses(await readLoopPauses(deps, 'disruption', now))
}

/** Returns the pauses of a loop that are in force, of all scopes, read live. */
export async function readLoopPauses(
  { client, namespace, note }: PauseDeps,
  loop: LoopName,
  now: number,
): Promise<readonly Pause[]> {
  const data = (await readConfigMap(client, { name: configMapName, namespace })) ?? {}
  note?.(configMapName, pauseFaults(data))
  return storedPauses(data, loop, now).inForce
}

/**
 * Writes a pause, or clears those that a resume names. Running it twice changes nothing. A pause is one request, since it is a brake. Lifting
 * the pause of a whole loop also removes the unreadable entries that counted as one. Errors: a conflict, where somebody wrote while pauses were lifted.
 */
export async function writePause(deps: PauseDeps, change: PauseChange, now: number): Promise<PausesWritten> {
  const { loop, pause } = change
  const ref = { name: configMapName, namespace: deps.namespace }
  if (pause !== undefined) {
    const after = await writeConfigMap(deps.client, ref, { [pauseKey(loop, scopeOf(pause))]: formatPause(pause) })
    return { lifted: [], inForce: storedPauses(after, loop, now).inForce }
  }
  const map = await findConfigMap(deps.client, ref)
  const data = map?.data ?? {}
  const cleared = clearedKeys(change, storedPauses(data, loop, now)).filter((key) => Object.hasOwn(data, key))
  // An attempt that stood still since it read, and was made again by another process, must not lift what was paused since.
  if (map !== undefined && cleared.length > 0)
    await putConfigMap(
      deps.client,
      { ...ref, version: map.metadata.resourceVersion },
      { data: Object.fromEntries(cleared.map((key) => [key, null])) },
    )
  const part = (isCleared: boolean) =>
    Object.fromEntries(Object.entries(data).filter(([key]) => cleared.includes(key) === isCleared))
  return { lifted: storedPauses(part(true), loop, now).inForce, inForce: storedPauses(part(false), loop, now).inForce }
}

function clearedKeys({ loop, lift }: PauseChange, { keys, unreadable }: StoredPauses): readonly string[] {
  if (lift?.all === true) return keys
  const scope = lift?.scope ?? wholeLoop
  const key = pauseKey(loop, scope)
  // A pause that only expired lifts nothing else.
  return scope.kind === 'cluster' && lift !== undefined ? [key, ...unreadable] : [key]
}

/**
 * Removes expired entries, unless another process wrote since they were read, and returns the pauses of disruption in force. Planners do not
 * wait for it: they check the times.
 */
export async function removeOverPauses(
  { client, namespace }: PauseDeps,
  now: number,
): Promise<{ readonly pauses: Pauses; readonly removed: number }> {
  const ref = { name: configMapName, namespace }
  const map = await findConfigMap(client, ref)
  if (map === undefined) return { pauses: new Pauses([]), removed: 0 }
  const { inForce, over: ofDisruption } = storedPauses(map.data ?? {}, 'disruption', now)
  const over = [...ofDisruption, ...storedPauses(map.data ?? {}, 'provisioning', now).over]
  const place = { ...ref, version: map.metadata.resourceVersion }
  const data = Object.fromEntries(over.map((key) => [key, null]))
  const written =
    over.length > 0 && (await putConfigMap(client, place, { data }).catch(expecting(isGoneOrOther, undefined)))
  return { pauses: new Pauses(inForce), removed: written ? over.length : 0 }
}
