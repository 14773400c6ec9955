import { standaloneClaim } from '../world.ts'
import type { HostileMachine, HostileObject, Json } from './hostile-object.ts'
import { container } from './pod-parts.ts'
import { hostileNamespace } from './pods.ts'

const taints = [{ key: 'hostile.example/claim', effect: 'NoSchedule' }]

/** Returns what makes Joiner use a NodePool or an AKSNodeClass: a pod that selects it, a NodeClaim that refers to it. */
export function companionOf({ kind, what, body }: HostileObject): HostileObject | undefined {
  const { name } = body['metadata'] as { readonly name: string }
  if (kind === 'NodePool') return { kind: 'Pod', what: `selects the NodePool that ${what}`, body: podOf(name) }
  if (kind !== 'AKSNodeClass') return undefined
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name }
  const claim = standaloneClaim(`of-${name}`.slice(0, 59), { nodeClassRef, taints })
  return { kind: 'NodeClaim', what: `refers to the AKSNodeClass that ${what}`, body: claim }
}

function podOf(pool: string): Json {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `of-${pool}`, namespace: hostileNamespace, labels: { app: 'hostile' } },
    spec: {
      terminationGracePeriodSeconds: 0,
      nodeSelector: { 'karpenter.sh/nodepool': pool },
      tolerations: [{ operator: 'Exists' }],
      containers: [container()],
    },
  }
}

/** Returns the NodeClaim whose VM would have the name of this one. Every other of them expires soon, the rest is deleted in the end. */
export function homonymOf({ name, what }: HostileMachine, index: number): HostileObject {
  const expireAfter = index % 2 === 0 ? '5s' : 'Never'
  const body = standaloneClaim(name.replace(/^aks-/, ''), { taints, expireAfter })
  return { kind: 'NodeClaim', what: `has the name of a VM ${what}`, body }
}
