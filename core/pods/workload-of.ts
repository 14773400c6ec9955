import type { Pod } from '../objects.ts'

/**
 * Returns `namespace/Kind/name` of what a pod belongs to: its controller, the Deployment of a ReplicaSet that carries its hash, the CronJob of a Job with a
 * time in its name, or the pod itself.
 */
export function workloadOf({ metadata }: Pick<Pod, 'metadata'>): string {
  const { namespace = 'default', name, labels: own, ownerReferences } = metadata
  const owner = ownerReferences.find(({ controller }) => controller === true)
  if (owner === undefined) return `${namespace}/Pod/${name}`
  const hash = own['pod-template-hash']
  if (owner.kind === 'ReplicaSet' && hash !== undefined && owner.name.endsWith(`-${hash}`))
    return `${namespace}/Deployment/${owner.name.slice(0, -hash.length - 1)}`
  const cronJob = owner.kind === 'Job' ? /^(.+)-[0-9]{8,}$/.exec(owner.name)?.[1] : undefined
  return cronJob === undefined ? `${namespace}/${owner.kind}/${owner.name}` : `${namespace}/CronJob/${cronJob}`
}
