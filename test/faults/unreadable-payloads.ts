// Payloads that no converter reads, sent as anybody may send them who may send at all: past the SDK, whose converter would write readable ones.
import proto from '@temporalio/proto'
import { loopStatusQuery } from '../../workflows/messages.ts'
import type { World } from '../world.ts'

const { UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED } =
  proto.temporal.api.enums.v1.UpdateWorkflowExecutionLifecycleStage

const bytes = (text: string) => Buffer.from(text)
const of = (encoding: string, data: string | Buffer, metadata: Readonly<Record<string, Buffer>> = {}) => ({
  metadata: { encoding: bytes(encoding), ...metadata },
  data: typeof data === 'string' ? bytes(data) : data,
})

/** One of each kind. */
export const unreadablePayloads = {
  'of an encoding that Joiner does not know': of('json/protobuf', '{}'),
  'that is no JSON': of('json/plain', '{"reason": '),
  'that is encrypted with a key that nobody has': of('binary/encrypted', '0123456789', {
    'encryption-key-id': bytes('lost'),
  }),
  'that does not say its encoding': { metadata: {}, data: bytes('x') },
  'that is empty': {},
}

/** Twenty: more of each kind. */
export const manyUnreadablePayloads = {
  ...unreadablePayloads,
  'of protobuf': of('binary/protobuf', Buffer.from([8, 150, 1]), { messageType: bytes('google.protobuf.Duration') }),
  'of protobuf without its type': of('binary/protobuf', ''),
  'in XML': of('text/xml', '<reason/>'),
  'whose encoding is empty': of('', '{}'),
  'whose encoding is no text': { metadata: { encoding: Buffer.from([0xff, 0xfe, 0]) }, data: bytes('{}') },
  'whose encoding has another case': of('JSON/Plain', '{}'),
  'whose encoding has a parameter': of('json/plain; charset=utf-8', '{}'),
  'of JSON without a byte': of('json/plain', ''),
  'of JSON that is no UTF-8': of('json/plain', Buffer.from([0x22, 0xc3, 0x28, 0xff])),
  'of JSON with NUL': of('json/plain', '{"reason":\0}'),
  'of two JSON values': of('json/plain', '{}{}'),
  'of JSON with a comment': of('json/plain', '{} // fire drill'),
  'of YAML': of('json/plain', 'reason: fire drill'),
  'of 200 KB of brackets': of('json/plain', '['.repeat(200_000)),
  'that is compressed': of('binary/gzip', Buffer.from([0x1f, 0x8b, 8, 0])),
}

export type UnreadablePayload = (typeof unreadablePayloads)[keyof typeof unreadablePayloads]

interface Message {
  readonly name: string
}

/** Sends signals, updates and queries whose payload cannot be read. */
export class UnreadableMessages {
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  get #namespace(): string {
    return this.#world.temporal.options.namespace
  }

  async signal(workflowId: string, { name }: Message, payload: UnreadablePayload): Promise<void> {
    await this.#world.temporal.workflowService.signalWorkflowExecution({
      namespace: this.#namespace,
      workflowExecution: { workflowId },
      signalName: name,
      input: { payloads: [payload] },
    })
  }

  /** Returns what an update is refused with. */
  async update(workflowId: string, { name }: Message, payload: UnreadablePayload): Promise<unknown> {
    const { outcome } = await this.#world.temporal.workflowService.updateWorkflowExecution({
      namespace: this.#namespace,
      workflowExecution: { workflowId },
      waitPolicy: { lifecycleStage: UPDATE_WORKFLOW_EXECUTION_LIFECYCLE_STAGE_COMPLETED },
      request: { meta: { updateId: crypto.randomUUID() }, input: { name, args: { payloads: [payload] } } },
    })
    return outcome?.failure?.message
  }

  /** Returns the status that a workflow answers. */
  async query(workflowId: string, payload: UnreadablePayload): Promise<unknown> {
    const { queryResult } = await this.#world.temporal.workflowService.queryWorkflow({
      namespace: this.#namespace,
      execution: { workflowId },
      query: { queryType: loopStatusQuery.name, queryArgs: { payloads: [payload] } },
    })
    return JSON.parse(Buffer.from(queryResult?.payloads?.[0]?.data ?? []).toString())
  }
}
