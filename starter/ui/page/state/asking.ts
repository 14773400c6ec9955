import { signal } from '@preact/signals'
import type { ActionAnswer, ActionRequest } from '../../contract.ts'
import { messageOf, postJson } from './api.ts'

/** What a person fills in before an action. */
export interface Answers {
  readonly reason: string
  /** Absent: until somebody ends it. */
  readonly forMs?: number
  readonly loop: 'provisioning' | 'disruption'
  /** '': all. */
  readonly nodePool: string
}

/** An action that waits for a person's word. */
export interface Asking {
  readonly title: string
  readonly text: readonly string[]
  readonly button: string
  /** Which of the answers it needs. */
  readonly fields: readonly ('scope' | 'reason' | 'time')[]
  readonly request: (answers: Answers) => ActionRequest
  readonly whenDone: () => void
}

/** The open question; at most one. */
export const asking = signal<Asking | undefined>(undefined)

/** What the last action came to. */
export const outcome = signal<ActionAnswer | undefined>(undefined)

/** Does what was asked and agreed to. */
export async function act({ request, whenDone }: Asking, answers: Answers): Promise<void> {
  try {
    outcome.value = await postJson<ActionAnswer>('api/actions', request(answers))
  } catch (error) {
    outcome.value = { isDone: false, message: messageOf(error) }
  }
  asking.value = undefined
  whenDone()
}
