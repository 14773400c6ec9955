import { expect, it } from 'vitest'
import { describeVm, withoutSecrets } from './join-evidence.ts'

const running = [{ displayStatus: 'Provisioning succeeded' }, { displayStatus: 'VM running' }]

it('shows power, agent, extensions that failed and the end of the log', () => {
  const text = describeVm(
    {
      instanceView: {
        statuses: running,
        vmAgent: { statuses: [{ displayStatus: 'Ready', message: 'GuestAgent is\nrunning' }] },
        extensions: [
          { name: 'billing', statuses: [{ level: 'Info', displayStatus: 'Provisioning succeeded' }] },
          { name: 'custom', statuses: [{ level: 'Error', displayStatus: 'Provisioning failed', message: 'exit 50' }] },
        ],
      },
    },
    'one\n\ntwo\nthree\nfour\nfive\nsix\nseven\n',
  )
  expect(text).toBe(
    'VM: Provisioning succeeded, VM running; agent: Ready (GuestAgent is running); extension custom: Provisioning failed (exit 50); serial log ends: two | three | four | five | six | seven',
  )
})

it('says so when the agent has not reported, and is silent about a log that cannot be read', () => {
  expect(describeVm({ instanceView: { statuses: running } }, undefined)).toBe(
    'VM: Provisioning succeeded, VM running; agent: has not reported',
  )
  expect(describeVm({}, undefined)).toBe('VM: no status; agent: has not reported')
})

it('is bounded', () => {
  const log = Array.from({ length: 100 }, () => 'word '.repeat(1000)).join('\n')
  expect(describeVm({ instanceView: { statuses: running } }, log).length).toBeLessThanOrEqual(900)
})

it.each([
  ['kubelet: --bootstrap-token abc123.0123456789abcdef ends', 'kubelet: --bootstrap-token *** ends'],
  ['TLS_BOOTSTRAP_TOKEN="abc123.0123456789abcdef"', 'TLS_BOOTSTRAP_TOKEN=***'],
  ['Authorization: Bearer short', 'Authorization: ***'],
  ['jwt eyJhbGciOi.eyJzdWIi.c2ln end', 'jwt *** end'],
  ['https://x.blob/log?se=2026&sig=ab%2Fc= 403', 'https://x.blob/log?se=2026&sig=*** 403'],
  ['-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY----- after', '*** after'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIE', '***'],
  [`data ${'QUJD'.repeat(20)}== end`, 'data *** end'],
  ["password: 'two words' stays", 'password: *** stays'],
  ['kubelet.service: never started', 'kubelet.service: never started'],
])('%s', (text, expected) => {
  expect(withoutSecrets(text)).toBe(expected)
})
