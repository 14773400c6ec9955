import { createHash, randomBytes } from 'node:crypto'
import { z } from 'zod'
import {
  type DisruptionCommand,
  type DisruptionMethod,
  methodFacts,
  methodNames,
  reasonOf,
} from '../../core/disruption/command.ts'
import { isUnknownPrice } from '../azure/catalogue/pricing.ts'
import type { DisruptionProposal } from './contract.ts'

/** Most candidates of one proposal and of one answer, which is kept in a history. The next pass proposes the rest. */
const mostOfProposal = 100
const mostOfAnswer = 300

export interface ProposedBy {
  /** Epoch ms of the evaluation. */
  readonly atMs: number
  readonly isForced: boolean
  /** An operator asked for them. */
  readonly isAsked: boolean
}

/** Returns commands as proposals, in their order. Empty nodes need not go together, so many of them are several proposals. */
export function proposalsOf(
  commands: readonly DisruptionCommand[],
  by: ProposedBy,
  most = mostOfAnswer,
): readonly DisruptionProposal[] {
  const proposals: DisruptionProposal[] = []
  let left = most
  for (const command of commands.flatMap(inParts)) {
    if (command.candidates.length > left && proposals.length > 0) break
    left -= command.candidates.length
    proposals.push(proposalOf(command, by, proposals.length))
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

function proposalOf(command: DisruptionCommand, by: ProposedBy, place: number): DisruptionProposal {
  const { method, decision, candidates, replacements, repair } = command
  return {
    id: commandIdOf(command, by),
    method,
    reason: reasonOf(command),
    decision,
    forced: by.isForced,
    order: [by.atMs, place],
    candidates: candidates.map(({ nodeClaim, node, nodePool }) => ({
      name: nodeClaim.metadata.name,
      uid: nodeClaim.metadata.uid,
      nodeName: node.metadata.name,
      nodePool: nodePool.metadata.name,
    })),
    replacements: replacements.length,
    savings: knownSavings(command),
    ...(repair && { repair }),
  }
}

/**
 * Makes an id: the method, a digest of the candidates, and a part that no other proposal has. By the first two a second command for the same nodes is
 * refused while one runs (`disruptionCommandId`); one that an operator asked for does not wait for the planner's own. By the third nothing that an
 * earlier one has left behind is taken for its work.
 */
function commandIdOf({ method, candidates }: DisruptionCommand, { isAsked }: ProposedBy): string {
  const uids = candidates.map(({ nodeClaim }) => nodeClaim.metadata.uid).sort()
  const digest = createHash('sha256')
    .update([...uids, ...(isAsked ? ['asked'] : [])].join(','))
    .digest('hex')
  return `${method}-${digest.slice(0, 10)}-${randomBytes(4).toString('hex')}`
}

const shape = z.object({
  id: z.string(),
  order: z.tuple([z.number(), z.number()]),
  method: z.enum(methodNames),
  reason: z.string(),
  decision: z.enum(['delete', 'replace', 'terminate-first', 'reboot']),
  forced: z.boolean(),
  candidates: z
    .array(z.object({ name: z.string(), uid: z.string(), nodeName: z.string(), nodePool: z.string() }))
    .min(1),
  replacements: z.int().min(0),
  savings: z.number(),
})

/** Returns whether a proposal can be read: whoever may write in Temporal's namespace can send any, and others are committed beside it. */
export function isProposal(value: unknown): value is DisruptionProposal {
  const { data } = shape.safeParse(value)
  return data !== undefined && commandMethod(data.id) === data.method && methodFacts[data.method].reason === data.reason
}

/** Returns the last part of an id, which the names of replacements carry. */
export function commandDigest(id: string): string {
  return id.slice(id.lastIndexOf('-') + 1)
}

/** Returns the method of a command; undefined when it is not an id of this release. */
export function commandMethod(id: string): DisruptionMethod | undefined {
  const method = /^(.+)-[0-9a-f]{10}-[0-9a-f]{8}$/.exec(id)?.[1] ?? ''
  return Object.hasOwn(methodFacts, method) ? (method as DisruptionMethod) : undefined
}

/** Returns why a command disrupts its nodes. */
export function commandReason(id: string) {
  const method = commandMethod(id)
  return method && methodFacts[method].reason
}

/** Returns what a command saves, in USD an hour to six decimals, for people and histories: nothing where the price of a node is not known. */
export function knownSavings({
  savings,
  candidates,
  replacements,
}: Pick<DisruptionCommand, 'savings' | 'candidates' | 'replacements'>): number {
  const isUnknown = [...candidates, ...replacements].some(({ price }) => isUnknownPrice(price))
  return isUnknown ? 0 : Math.round(savings * 1e6) / 1e6
}
