import type { Pod } from '../../core/objects.ts'
import { labels } from '../../core/requirements/labels.ts'
import { intersect, operatorOf, type Requirement } from '../../core/requirements/requirement.ts'
import { podRequirements, requirements } from '../../core/requirements/requirements.ts'
import type { PodVolumes, SchedulingSnapshot } from '../../core/scheduling/snapshot.ts'

/** Counts pods by the zone they can go to: its name, `flexible` where several are left, `none` where none is. */
export function podsByZone({ pods, podVolumes }: SchedulingSnapshot): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const pod of pods) {
    const zone = effectiveZone(pod, podVolumes?.get(pod))
    counts.set(zone, (counts.get(zone) ?? 0) + 1)
  }
  return counts
}

/** Returns the zone that remains after a pod's requirements and its volumes. */
function effectiveZone(pod: Pod, volumes: PodVolumes | undefined): string {
  const isFree = volumes === undefined && pod.affinity?.nodeAffinity === undefined
  if (isFree && Object.keys(pod.nodeSelector).length === 0) return 'flexible'
  const own = podRequirements(pod, { strict: true }).get(labels.zone)
  const reachable = (volumes?.alternatives ?? []).map((one) => requirements(one).get(labels.zone))
  const zones = (reachable.length === 0 ? [undefined] : reachable).map((theirs) => both(own, theirs))
  const named = new Set<string>()
  for (const one of zones) {
    if (one === undefined || (operatorOf(one) !== 'In' && operatorOf(one) !== 'DoesNotExist')) return 'flexible'
    for (const zone of one.values) named.add(zone)
  }
  const [first] = named
  return named.size > 1 ? 'flexible' : (first ?? 'none')
}

function both(a: Requirement | undefined, b: Requirement | undefined): Requirement | undefined {
  return a === undefined || b === undefined ? (a ?? b) : intersect(a, b)
}
