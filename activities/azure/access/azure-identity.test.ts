import { pino } from 'pino'
import { expect, test } from 'vitest'
import { type AzureIdentity, untilIdentified } from './azure-identity.ts'

function identity(getToken: () => Promise<{ token: string; expiresOnTimestamp: number }>): AzureIdentity {
  return {
    credential: { getToken },
    kind: 'managed identity',
    because: 'it is a test',
    settings: { isInCluster: true, hasCli: false, clientId: 'client' },
    scope: 'https://management.azure.com/.default',
    namespace: 'joiner',
  }
}

function logged() {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) })
  return { log, lines }
}

test('the log says which credential is used and the owner of its token, and never the token', async () => {
  const { log, lines } = logged()
  const claims = Buffer.from(JSON.stringify({ oid: 'object', appid: 'client', tid: 'tenant' })).toString('base64url')
  const token = `e30.${claims}.c2VjcmV0`
  const come = identity(() => Promise.resolve({ token, expiresOnTimestamp: Date.now() + 1000 }))
  expect(await untilIdentified(come, log, new AbortController().signal)).toBe(true)
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { credential: 'managed identity', because: 'it is a test' },
    { credential: 'managed identity', objectId: 'object', clientId: 'client', tenantId: 'tenant' },
  ])
  expect(lines.join()).not.toContain(token)
})

test('without a token the log says what to do, and the end of the process ends the wait', async () => {
  const { log, lines } = logged()
  const stop = new AbortController()
  const waited = untilIdentified(
    identity(() => Promise.reject(new Error('no identity here'))),
    log,
    stop.signal,
  )
  await expect.poll(() => lines.length).toBe(2)
  expect(lines[1]).toContain('no identity here')
  expect(lines[1]).toContain('the machine must have the identity with client id client')
  stop.abort()
  expect(await waited).toBe(false)
})
