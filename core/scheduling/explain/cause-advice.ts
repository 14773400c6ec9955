import { describe, requirement } from '../../requirements/requirement.ts'
import type { IgnoredReason, UnschedulableCause, VolumeProblem } from '../unschedulable.ts'
import type { WaitingCause } from './waiting-classes.ts'

export interface CauseAdvice {
  readonly cause: WaitingCause
  readonly remedies: readonly string[]
}

/** Returns what helps where the cause lies with the pod or its volumes; undefined where NodePools decide. */
export function causeAdvice(cause: UnschedulableCause): CauseAdvice | undefined {
  switch (cause.kind) {
    case 'ignored': {
      const [first] = cause.reasons.map(ignoredAdvice)
      return first
    }
    case 'too-much':
      return { cause: 'other', remedies: ['make the pod smaller in what the message names'] }
    case 'volumes-not-looked-up':
      return { cause: 'volume', remedies: ['let the planner read PersistentVolumeClaims, volumes and StorageClasses'] }
    case 'volumes':
      return { cause: 'volume', remedies: volumeRemedies(cause.problem) }
    case 'resource-claims':
      return {
        cause: 'other',
        remedies: ['let the pods go without spec.resourceClaims: no nodes are created for them'],
      }
    case 'takes-too-long':
      return { cause: 'other', remedies: ['give the pods fewer affinity terms and topology spread constraints'] }
    case 'no-node-pools':
      return {
        cause: 'node-pools',
        remedies: [
          'create a NodePool, or make one ready: kubectl get nodepools,aksnodeclasses; kubectl describe nodepool NAME',
        ],
      }
    case 'min-values-cut':
      return {
        cause: 'requirements',
        remedies: [`lower minValues of ${cause.labels.join(', ')} in NodePool "${cause.nodePool}"`],
      }
    default:
      return undefined
  }
}

function ignoredAdvice(reason: IgnoredReason): CauseAdvice {
  switch (reason.kind) {
    case 'not-on-karpenter':
      return {
        cause: 'requirements',
        remedies: [
          'remove karpenter.sh/nodepool DoesNotExist from the affinity of the pods, or wait for room on nodes that Joiner does not manage',
        ],
      }
    case 'match-fields':
      return {
        cause: 'requirements',
        remedies: ['use matchExpressions in place of matchFields in the node affinity of the pods'],
      }
    case 'requirement':
      return {
        cause: 'requirements',
        remedies: [
          `change the pods' requirement ${describe(requirement(reason.requirement))}: ${reason.errors.join('; ')}`,
        ],
      }
    case 'volumes':
      return { cause: 'volume', remedies: volumeRemedies(reason.problem) }
  }
}

function volumeRemedies(problem: VolumeProblem): readonly string[] {
  switch (problem.kind) {
    case 'claim-not-found':
      return [`create PersistentVolumeClaim ${problem.claim}, or correct claimName in spec.volumes of the pods`]
    case 'claim-deleting':
      return [`create PersistentVolumeClaim ${problem.claim} again when it is gone: it is being deleted`]
    case 'claim-lost':
    case 'claim-volume-not-found':
    case 'claim-volume-deleting':
      return [
        `create PersistentVolumeClaim ${problem.claim} again: PersistentVolume ${problem.volume}, which it is bound to, is gone or going`,
      ]
    case 'claim-not-bound':
      return [`wait until PersistentVolumeClaim ${problem.claim} is bound: kubectl describe pvc tells what keeps it`]
    case 'claim-without-class':
      return [`set spec.storageClassName of PersistentVolumeClaim ${problem.claim}, or bind it to a PersistentVolume`]
    case 'claim-class-not-found':
      return [
        `create StorageClass ${problem.storageClass}, which PersistentVolumeClaim ${problem.claim} names, or name another there`,
      ]
    case 'claim-class-immediate':
      return [
        `wait until PersistentVolumeClaim ${problem.claim} is bound, or use a StorageClass with volumeBindingMode: WaitForFirstConsumer in place of ${problem.storageClass}`,
      ]
    case 'claim-in-use':
      return [
        `end pod ${problem.pod}, or give each pod a PersistentVolumeClaim of its own: the access mode ReadWriteOncePod of ${problem.claim} is for one pod at a time`,
      ]
    case 'volume-not-found':
      return [`create PersistentVolume ${problem.volume}, or name another in spec.volumes of the pods`]
    case 'class-not-found':
      return [`create StorageClass ${problem.storageClass}`]
  }
}
