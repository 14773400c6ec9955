import type { Node } from '../../../core/objects.ts'
import { subject } from '../event-recorder.ts'
import type { Parts } from '../parts.ts'
import { type ClaimNodesDeps, nodeClaimOf } from './claim-nodes.ts'

/** Reports a Node that has the provider id of a NodeClaim's VM and is not its Node: on both objects. */
export function reportStranger(deps: Pick<ClaimNodesDeps, 'cache'> & Pick<Parts, 'events' | 'log'>, node: Node): void {
  const { name, uid } = node.metadata
  const id = node.providerId?.toLowerCase() ?? ''
  const claims = id === '' || nodeClaimOf(deps, node) !== undefined ? [] : deps.cache.nodeClaims.by('byProviderId', id)
  for (const claim of claims) {
    const message = `Node ${name}: spec.providerID names the VM of NodeClaim ${claim.metadata.name}, whose Node it is not. It is neither planned with nor disrupted; find out who registered it, then: kubectl delete node ${name}`
    deps.log.warn({ node: name, nodeClaim: claim.metadata.name }, 'node has the provider id of another VM')
    for (const about of [node, claim])
      deps.events.record({
        about: subject(about),
        reason: 'ForeignProviderId',
        message,
        values: [about.metadata.uid, uid],
      })
  }
}
