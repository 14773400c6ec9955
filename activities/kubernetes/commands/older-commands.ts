import type { CandidateRef, CommandWork } from '../contract.ts'

/** A command as any kept version hands it over: those of 0.1.0-alpha.1 delete empty nodes and say no more than which. */
export type AnyCommandWork = Pick<CommandWork, 'commandId'> &
  Partial<Omit<CommandWork, 'commandId' | 'candidates'>> & {
    readonly candidates: readonly (Pick<CandidateRef, 'name' | 'uid'> & Partial<CandidateRef>)[]
  }

/** The command with what an older version left unsaid. */
export function completed({ candidates, ...work }: AnyCommandWork): CommandWork {
  return {
    method: 'emptiness',
    decision: 'delete',
    replacements: [],
    savings: 0,
    ...work,
    candidates: candidates.map((ref) => ({ nodePool: '', nodeName: '', ...ref })),
  }
}
