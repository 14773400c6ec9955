import type { NodeClaim } from '../objects.ts'
import { annotations } from '../requirements/labels.ts'

/** Returns replacements whose command has not ended: not all of their pods have arrived, and the nodes that they replace still exist. */
export function replacementsInUse(claims: Iterable<NodeClaim>): ReadonlySet<NodeClaim> {
  const commands = new Set<string>()
  const replacements: (readonly [string, NodeClaim])[] = []
  for (const claim of claims) {
    const { [annotations.disruptionCommand]: stamp, [annotations.replacementFor]: replaced } =
      claim.metadata.annotations
    if (stamp !== undefined) commands.add(stamp)
    if (replaced !== undefined) replacements.push([replaced, claim])
  }
  return new Set(replacements.filter(([command]) => commands.has(command)).map(([, claim]) => claim))
}
