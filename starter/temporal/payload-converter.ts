import { defaultPayloadConverter, type Payload, type PayloadConverter } from '@temporalio/common'
import { unreadable } from '../../core/values/unreadable.ts'

/**
 * The converter of workflows. It never throws while it reads: whoever may send a message could otherwise stop a workflow with a payload that nobody
 * can read, since the runtime converts before any handler runs. `workflows/unreadable.ts` says what becomes of such a payload.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value) => defaultPayloadConverter.toPayload(value),
  fromPayload: (payload) => readOrMarked(payload) as never,
}

function readOrMarked(payload: Payload): unknown {
  try {
    return defaultPayloadConverter.fromPayload(payload)
  } catch (error) {
    return unreadable(whyNot(payload, error))
  }
}

function whyNot({ metadata }: Payload, error: unknown): string {
  const keyId = metadata?.['encryption-key-id']
  if (keyId !== undefined) return `it is encrypted with the key "${textOf(keyId)}", which this process does not hold`
  return error instanceof Error ? error.message : String(error)
}

/** Bytes as text, without a decoder, which workflows don't have. */
function textOf(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes.subarray(0, 64))
}
