import { computed, signal } from '@preact/signals'
import type { Session } from '../../contract.ts'
import { getJson } from './api.ts'
import { connection } from './stream.ts'

export const session = signal<Session | undefined>(undefined)

/** Whether the page offers actions: it knows that it may. */
export const canAct = computed(() => session.value?.isReadOnly === false)

/** Asks who this is, and what may be done. Without a first answer there is nothing to show but the reason. */
export async function readSession(): Promise<boolean> {
  try {
    session.value = await getJson<Session>('api/session')
    return true
  } catch (error) {
    if (session.value !== undefined) return true
    connection.value = { kind: 'ended', message: error instanceof Error ? error.message : String(error) }
    return false
  }
}
