import type { Node, Taint } from '../../../../core/objects.ts'

/** Domains whose labels and taints Kubernetes, AKS, Karpenter and Cluster Autoscaler set by themselves. */
const systemDomain = /(^|\.)(kubernetes\.io|k8s\.io|azure\.com|karpenter\.sh|cilium\.io)$/
const systemLabels: ReadonlySet<string> = new Set(['agentpool', 'storageprofile', 'storagetier', 'accelerator'])
const autoscalerTaint = /^(ToBeDeletedBy|DeletionCandidateOf)ClusterAutoscaler$/
/** What AKS puts on spot nodes, and their pods tolerate. */
const spotKey = 'kubernetes.azure.com/scalesetpriority'

/** Returns the labels that somebody gave a pool, without those that its nodes have by themselves. */
export function ownLabels(all: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(all).filter(([key]) => !systemLabels.has(key) && !systemDomain.test(domainOf(key))),
  )
}

/** Returns the taints that all nodes of a pool have, and keep. */
export function ownTaints(nodes: readonly Node[]): readonly Taint[] {
  const [first, ...others] = nodes
  return (first?.taints ?? [])
    .filter(({ key }) => key === spotKey || (!systemDomain.test(domainOf(key)) && !autoscalerTaint.test(key)))
    .filter((taint) => others.every(({ taints }) => taints.some((other) => isSame(taint, other))))
    .map(({ key, value, effect }) => ({ key, effect, ...(value ? { value } : {}) }))
}

/** Reads a taint as ARM has it, `key=value:Effect`; undefined for anything else. */
export function parsedTaint(text: string): Taint | undefined {
  const { key = '', value, effect } = /^(?<key>[^=:]+)(=(?<value>[^:]*))?:(?<effect>\w+)$/.exec(text)?.groups ?? {}
  if (effect !== 'NoSchedule' && effect !== 'PreferNoSchedule' && effect !== 'NoExecute') return undefined
  return { key, effect, ...(value ? { value } : {}) }
}

const isSame = (a: Taint, b: Taint) => a.key === b.key && a.effect === b.effect && (a.value ?? '') === (b.value ?? '')

function domainOf(key: string): string {
  return key.includes('/') ? key.slice(0, key.indexOf('/')) : ''
}
