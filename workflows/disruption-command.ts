import { CancellationScope, setCurrentDetails, setHandler } from '@temporalio/workflow'
import type { ClaimRef } from '../activities/azure/contract.ts'
import { kubernetes, waits } from './activities.ts'
import { commandStatusQuery } from './messages.ts'

export interface DisruptionCommandInput {
  readonly cluster: string
  readonly id: string
  readonly reason: string
  readonly candidates: readonly ClaimRef[]
}

/**
 * One committed disruption: delete the candidates and wait until they are gone. Their lifecycles drain them.
 * When it ends without having deleted a candidate, that candidate is set free again.
 */
export async function disruptionCommand(input: DisruptionCommandInput): Promise<void> {
  const names = input.candidates.map((candidate) => candidate.name)
  const doing = `deleting ${names.join(', ')}`
  setHandler(commandStatusQuery, () => ({ doing, candidates: names }))
  setCurrentDetails(`${input.reason}: ${doing}`)
  const work = { commandId: input.id, candidates: input.candidates }
  try {
    await waits().deleteCandidates.executeWithOptions({ summary: `delete ${names.length} NodeClaims` }, [work])
  } catch (error) {
    await CancellationScope.nonCancellable(() =>
      kubernetes().releaseCandidates.executeWithOptions({ summary: 'undo' }, [work]),
    )
    throw error
  }
}
