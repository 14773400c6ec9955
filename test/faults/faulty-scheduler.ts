import type { Pod } from '../../core/objects.ts'
import { explainedPlan } from '../../core/scheduling/schedule.ts'

const faultOf = (pod: Pod | undefined) => pod?.metadata.labels['fault']

/** Joiner's scheduler, which fails for pods with the label `fault`. */
export const faultyScheduler: typeof explainedPlan = (snapshot, options, memory) => {
  if (snapshot.namespaceLabels?.get('broken') !== undefined) throw new Error('the cluster cannot be planned for')
  // Nobody knows which pod it is.
  if (snapshot.pods.some((pod) => faultOf(pod) === 'quiet')) throw new Error('a pod cannot be planned')
  const inHand = (pod: Pod | undefined) => {
    options?.inHand?.(pod)
    fail(faultOf(pod))
  }
  return explainedPlan(snapshot, { ...options, inHand }, memory)
}

function fail(fault: string | undefined): void {
  if (fault === 'exception') throw new Error('this pod cannot be planned')
  if (fault === 'hang') for (;;);
  if (fault === 'heap') for (const all: unknown[] = []; ; ) all.push(Array.from({ length: 1000 }, (_, at) => `${at}`))
}
