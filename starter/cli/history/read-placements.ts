import { decodePod } from '../../../activities/kubernetes/cache/decode-pod.ts'
import { workloadOf } from '../../../core/pods/pod-rules.ts'
import { bindingsIn } from '../../picture/events.ts'
import { listed } from '../../picture/from-cluster.ts'
import type { Missing } from '../../picture/missing.ts'
import { needed, pictureOf } from '../../picture/picture.ts'
import type { ConnectionOptions } from '../shared/options.ts'
import { isNamedAfter, isWorkload, type Placement, type WorkloadName } from './workload.ts'

export interface Placements {
  readonly placements: readonly Placement[]
  /** The events of the scheduler, where they could not be read: pods that are gone are missing. */
  readonly missing: readonly Missing[]
}

/** Where pods of a workload run, and where the scheduler's events say that others ran. Errors: `CommandError` where pods cannot be read. */
export async function readPlacements(options: ConnectionOptions, workload: WorkloadName): Promise<Placements> {
  const { namespace } = workload
  const pods = listed('pods', decodePod, { namespace })
  const picture = await pictureOf(options, { pods, bindings: bindingsIn(namespace) }, Date.now())
  const { pods: existing } = needed(picture, { pods })
  const scheduled = new Map(
    (picture.bindings ?? []).filter(({ pod }) => isNamedAfter(pod, workload)).map((each) => [each.pod, each]),
  )
  const present = existing
    .filter((pod) => pod.nodeName !== undefined && isWorkload(workloadOf(pod), workload))
    .map(({ metadata: { name }, nodeName: node = '' }): Placement => {
      const atMs = scheduled.get(name)?.atMs
      return { pod: name, node, exists: true, ...(atMs !== undefined && { atMs }) }
    })
  const known = new Set(existing.map(({ metadata }) => metadata.name))
  const gone = [...scheduled.values()].filter(({ pod }) => !known.has(pod))
  const placements = [...present, ...gone.map((binding) => ({ ...binding, exists: false }))]
  return { placements, missing: picture.missing }
}
