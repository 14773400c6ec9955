import type { Logger } from 'pino'
import type { Node } from '../../../core/objects.ts'
import { type EventRecorder, subject } from '../event-recorder.ts'
import { type ClaimNodesDeps, nodeClaimOf } from './claim-nodes.ts'

interface StrangersDeps extends Pick<ClaimNodesDeps, 'cache'> {
  readonly events: EventRecorder
  readonly log: Logger
}

/** Reports a Node that has the provider id of a NodeClaim's VM and is not its Node: on both objects. */
export function reportStranger(deps: StrangersDeps, node: Node): void {
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
