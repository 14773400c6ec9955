import type { Pod } from '../objects.ts'
import {
  hasPreferredNodeAffinity,
  podRequirements,
  type Requirements,
  requirements,
} from '../requirements/requirements.ts'
import { emptyRecord } from '../values/records.ts'
import type { PodVolumes, VolumesByDriver } from './snapshot.ts'

/** A pod in one attempt, possibly with preferences given up, with derived facts. */
export interface Trial {
  readonly pod: Pod
  /** Requirements on its node; the heaviest preference counts until it is given up. */
  readonly requirements: Requirements
  /** Its requirements without preferences: only they limit its topology domains. */
  readonly strict: Requirements
  readonly volumes: VolumesByDriver
  /** Ways to reach its volumes; always at least one, which may be empty. */
  readonly alternatives: readonly Requirements[]
}

export function trialOf(pod: Pod, volumes: PodVolumes | undefined, ignorePreferences: boolean): Trial {
  const strict = podRequirements(pod, { strict: true })
  const isStrict = ignorePreferences || !hasPreferredNodeAffinity(pod)
  const alternatives = volumes?.alternatives ?? []
  return {
    pod,
    requirements: isStrict ? strict : podRequirements(pod, { strict: false }),
    strict,
    volumes: volumes?.byDriver ?? {},
    alternatives: alternatives.length === 0 ? [new Map()] : alternatives.map((one) => requirements(one)),
  }
}

/** Returns the distinct volumes of both. */
export function unionOfVolumes(a: VolumesByDriver, b: VolumesByDriver): VolumesByDriver {
  const result = Object.assign(emptyRecord<readonly string[]>(), a)
  for (const [driver, ids] of Object.entries(b)) result[driver] = [...new Set([...(result[driver] ?? []), ...ids])]
  return result
}
