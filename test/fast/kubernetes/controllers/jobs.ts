import type { Json } from '../../../../activities/kubernetes/client/answers.ts'
import type { ApiServer } from '../api/api-server.ts'
import { metaOf } from '../api/objects.ts'
import { pathOf } from '../api/paths.ts'
import type { Controller } from './controller.ts'
import { createPod, setStatus } from './pods.ts'
import { byController, conditionOf, isActive, isDeleting, now, ownKey, type PodTemplate, phaseOf } from './seen.ts'

interface JobSpec {
  readonly completions?: number
  readonly parallelism?: number
  readonly template: PodTemplate
}

/** Makes pods of Jobs until as many as were wanted have succeeded. */
export function jobs(server: ApiServer): Controller {
  return {
    watches: ['jobs', 'pods'],
    afterMs: 1,
    reconcile: () => {
      const pods = byController(server.objects.of('pods'), 'Job')
      for (const job of server.objects.of('jobs'))
        if (!isDeleting(job) && conditionOf(job, 'Complete') === undefined)
          reconcile(server, job, pods.get(ownKey(job)) ?? [])
      return undefined
    },
  }
}

function reconcile(server: ApiServer, job: Json, pods: readonly Json[]): void {
  const { name, namespace = 'default' } = metaOf(job)
  const { completions = 1, parallelism = 1, template } = job['spec'] as JobSpec
  const succeeded = pods.filter((pod) => phaseOf(pod) === 'Succeeded').length
  const active = pods.filter(isActive).length
  const labels = { 'batch.kubernetes.io/job-name': name, 'job-name': name }
  const missing = Math.min(parallelism, completions - succeeded) - active
  for (let at = 0; at < missing; at++) createPod(server, { owner: job, template, labels })
  const time = now()
  const complete = { type: 'Complete', status: 'True', lastProbeTime: time, lastTransitionTime: time }
  setStatus(server, pathOf('jobs', name, namespace), {
    active: active + Math.max(0, missing),
    succeeded,
    ...(succeeded >= completions ? { conditions: [complete], completionTime: time } : {}),
  })
}
