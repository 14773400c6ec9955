import type { Candidate } from '../../core/disruption/candidates.ts'
import type { DisruptionCommand } from '../../core/disruption/command.ts'
import type { Evaluation } from '../../core/disruption/evaluate.ts'
import type { Validation } from '../../core/disruption/validate.ts'
import type { Pod } from '../../core/objects.ts'
import { podName } from '../../core/pods/pod-rules.ts'
import type { PlannedNodeClaim, SchedulingPlan } from '../../core/scheduling/snapshot.ts'

/** A candidate by the name of its NodeClaim, with its computed price and cost. */
export type KeyedCandidate = Pick<Candidate, 'price' | 'disruptionCost'> & { readonly nodeClaim: string }

type Keyed<T extends { readonly pods: readonly Pod[] }> = Omit<T, 'pods'> & { readonly pods: readonly string[] }
type KeyedClaim = Keyed<PlannedNodeClaim>

/** New claims and places, with the pods by name. */
export interface KeyedPlacement {
  readonly newNodeClaims: readonly KeyedClaim[]
  readonly existing: readonly Keyed<SchedulingPlan['existing'][number]>[]
}

type KeyedCommand = Omit<DisruptionCommand, 'candidates' | 'replacements' | 'plan'> & {
  readonly candidates: readonly KeyedCandidate[]
  readonly replacements: readonly KeyedClaim[]
  readonly plan?: KeyedPlacement
}

type KeyedNote = Omit<Evaluation['notes'][number], 'candidate'> & { readonly candidate: KeyedCandidate }

/** An evaluation that names its objects: the other side of the thread has them. */
export type KeyedEvaluation = Omit<Evaluation, 'commands' | 'notes'> & {
  readonly commands: readonly KeyedCommand[]
  readonly notes: readonly KeyedNote[]
}

export type KeyedValidation =
  | { readonly kind: 'valid'; readonly command: KeyedCommand }
  | Extract<Validation, { readonly kind: 'invalid' }>

export function keyedEvaluation({ commands, notes, ...rest }: Evaluation): KeyedEvaluation {
  return { ...rest, commands: commands.map(keyedCommand), notes: notes.map(keyedNote) }
}

export function keyedValidation(validation: Validation): KeyedValidation {
  return validation.kind === 'valid' ? { kind: 'valid', command: keyedCommand(validation.command) } : validation
}

function keyedCandidate({ nodeClaim, price, disruptionCost }: Candidate): KeyedCandidate {
  return { nodeClaim: nodeClaim.metadata.name, price, disruptionCost }
}

function keyedNote({ candidate, ...note }: Evaluation['notes'][number]): KeyedNote {
  return { ...note, candidate: keyedCandidate(candidate) }
}

function keyedCommand({ candidates, replacements, plan, ...command }: DisruptionCommand): KeyedCommand {
  return {
    ...command,
    candidates: candidates.map(keyedCandidate),
    replacements: replacements.map(withKeys),
    ...(plan && { plan: { newNodeClaims: plan.newNodeClaims.map(withKeys), existing: plan.existing.map(withKeys) } }),
  }
}

export function withKeys<T extends { readonly pods: readonly Pod[] }>({ pods, ...rest }: T): Keyed<T> {
  return { ...rest, pods: pods.map(podName) }
}

/** Finds objects by their names; undefined when an object is gone. */
export interface Objects {
  readonly candidate: (keyed: KeyedCandidate) => Candidate | undefined
  readonly pod: (key: string) => Pod | undefined
}

/** Returns the evaluation with the current objects. Leaves out objects that are gone, and commands whose node is gone. */
export function evaluationOf({ commands, notes, ...rest }: KeyedEvaluation, objects: Objects): Evaluation {
  return {
    ...rest,
    commands: commands.flatMap((command) => commandOf(command, objects) ?? []),
    notes: notes.flatMap(({ candidate: keyed, ...note }) => {
      const candidate = objects.candidate(keyed)
      return candidate === undefined ? [] : [{ ...note, candidate }]
    }),
  }
}

export function validationOf(validation: KeyedValidation, objects: Objects): Validation {
  if (validation.kind === 'invalid') return validation
  const command = commandOf(validation.command, objects)
  return command === undefined
    ? { kind: 'invalid', reason: 'churn', change: { kind: 'gone' } }
    : { kind: 'valid', command }
}

function commandOf(
  { candidates, replacements, plan, ...command }: KeyedCommand,
  objects: Objects,
): DisruptionCommand | undefined {
  const known = candidates.flatMap((one) => objects.candidate(one) ?? [])
  if (known.length < candidates.length) return undefined
  const withPods = <T extends { readonly pods: readonly string[] }>({ pods, ...rest }: T) => ({
    ...rest,
    pods: pods.flatMap((key) => objects.pod(key) ?? []),
  })
  return {
    ...command,
    candidates: known,
    replacements: replacements.map(withPods),
    ...(plan && {
      plan: {
        newNodeClaims: plan.newNodeClaims.map(withPods),
        existing: plan.existing.map(withPods),
        unschedulable: [],
        stopped: false,
      },
    }),
  }
}
