// What an error of a VM's PUT says, wherever it ends up: the request's body holds the node's bootstrap token.
import { inspect } from 'node:util'
import { ApplicationFailure } from '@temporalio/common'
import { describe, expect, it } from 'vitest'
import { scrubbedMessage } from '../../activities/azure/arm/azure-error.ts'
import { translatingFailures } from '../../activities/failure.ts'
import { fakeArm } from '../../test/fake-arm.ts'
import { createLogger } from '../run-worker.ts'

const secret = Buffer.from('tls_bootstrapping_token: abcdef.0123456789abcdef').toString('base64')

const refusals: readonly (readonly [string, { readonly status: number; readonly body?: unknown }])[] = [
  ['a refusal', { status: 409, body: { error: { code: 'AllocationFailed', message: 'no room' } } }],
  ['a refusal without a body', { status: 500 }],
  ['throttling', { status: 429, body: { error: { code: 'TooManyRequests', message: 'slow down' } } }],
]

/** What the SDK throws for the PUT of a VM. */
async function failure(answer: { readonly status: number; readonly body?: unknown } | Error): Promise<unknown> {
  const { compute } = fakeArm((request) => {
    expect(JSON.stringify(request.body)).toContain(secret)
    if (answer instanceof Error) throw answer
    return answer
  })
  const body = { location: 'westus2', osProfile: { customData: secret } }
  try {
    return await compute.virtualMachines.createOrUpdate('group', 'aks-a', body).submitted()
  } catch (error) {
    return error
  }
}

function logged(error: unknown): string {
  let text = ''
  const log = createLogger('info', { write: (line) => void (text += line) })
  log.warn({ err: error, nested: { err: error } }, 'failed')
  log.error(error)
  log.child({ component: 'azure' }).info({ error }, 'failed')
  return text
}

async function thrown(error: unknown): Promise<unknown> {
  const launch = async (): Promise<void> => {
    throw error as Error
  }
  try {
    return await translatingFailures({ launch }).launch()
  } catch (failed) {
    return failed
  }
}

describe.each([...refusals, ['a connection that breaks', new Error('socket hang up')] as const])('%s', (_, answer) => {
  it('is reported without the body of its request', async () => {
    const error = await failure(answer)
    expect(error).toBeInstanceOf(Error)
    const failed = (await thrown(error)) as ApplicationFailure
    expect(failed).toBeInstanceOf(ApplicationFailure)
    const reported = {
      log: logged(error),
      console: inspect(error, { depth: 10, showHidden: false }),
      json: JSON.stringify(error),
      message: scrubbedMessage(error),
      history: `${failed.message} ${failed.stack} ${JSON.stringify(failed)} ${inspect(failed, { depth: 10 })}`,
    }
    for (const [where, text] of Object.entries(reported)) {
      expect(text.length, where).toBeGreaterThan(0)
      expect(text, where).not.toContain(secret.slice(0, 24))
    }
  })
})

it('what a terminal would obey is escaped in a log line, and the line means the same', () => {
  let text = ''
  const log = createLogger('info', { write: (line) => void (text += line) })
  const pod = 'a\u001b[31m\u009b\u202e\n'
  log.child({ component: 'x' }).info({ pod }, 'said')
  expect(text).toMatch(/^[\x20-\x7e]+\n$/)
  expect(JSON.parse(text)).toMatchObject({ pod, msg: 'said' })
})
