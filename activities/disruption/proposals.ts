import { createHash } from 'node:crypto'
import { type DisruptionCommand, type DisruptionMethod, methodFacts, reasonOf } from '../../core/disruption/command.ts'
import type { DisruptionProposal } from './contract.ts'

/** Candidates of one proposal and of one answer, which is kept in a history: what is beyond them is proposed by the next pass. */
const mostOfProposal = 100
const mostOfAnswer = 300

/** Commands as proposals, in their order. Nodes that are empty need not go together, so many of them are several proposals. */
export function proposalsOf(
  commands: readonly DisruptionCommand[],
  forced: boolean,
  most = mostOfAnswer,
): readonly DisruptionProposal[] {
  const proposals: DisruptionProposal[] = []
  let left = most
  for (const command of commands.flatMap(inParts)) {
    if (command.candidates.length > left && proposals.length > 0) break
    left -= command.candidates.length
    proposals.push(proposalOf(command, forced))
  }
  return proposals
}

function inParts(command: DisruptionCommand): readonly DisruptionCommand[] {
  const { method, candidates } = command
  if (!methodFacts[method].holdsInPart || candidates.length <= mostOfProposal) return [command]
  const parts = Math.ceil(candidates.length / mostOfProposal)
  return Array.from({ length: parts }, (_, at) => {
    const own = candidates.slice(at * mostOfProposal, (at + 1) * mostOfProposal)
    return { ...command, candidates: own, savings: own.reduce((sum, { price }) => sum + price, 0) }
  })
}

function proposalOf(command: DisruptionCommand, forced: boolean): DisruptionProposal {
  const { method, decision, candidates, replacements, savings } = command
  return {
    id: commandIdOf(command),
    method,
    reason: reasonOf(command),
    decision,
    forced,
    candidates: candidates.map(({ nodeClaim, node, nodePool }) => ({
      name: nodeClaim.metadata.name,
      uid: nodeClaim.metadata.uid,
      nodeName: node.metadata.name,
      nodePool: nodePool.metadata.name,
    })),
    replacements: replacements.length,
    savings: Math.round(savings * 1e6) / 1e6,
  }
}

/**
 * The id follows from the method and from the candidates as they stand: an evaluation that is run twice proposes the same, and what failed and
 * was undone, which changed them, is proposed again.
 */
function commandIdOf({ method, candidates }: Pick<DisruptionCommand, 'method' | 'candidates'>): string {
  const stood = candidates
    .map(({ nodeClaim: { metadata } }) => `${metadata.uid} ${metadata.resourceVersion}`)
    .sort()
    .join(',')
  return `${method}-${createHash('sha256').update(stood).digest('hex').slice(0, 10)}`
}

/** The digest of an id, which the names of replacements carry. */
export function commandDigest(id: string): string {
  return id.slice(id.lastIndexOf('-') + 1)
}

/** The method of a command; undefined: it is not an id of this release. */
export function commandMethod(id: string): DisruptionMethod | undefined {
  const method = id.slice(0, Math.max(0, id.lastIndexOf('-')))
  return Object.hasOwn(methodFacts, method) ? (method as DisruptionMethod) : undefined
}

/** Why a command disrupts its nodes. */
export function commandReason(id: string) {
  const method = commandMethod(id)
  return method && methodFacts[method].reason
}
