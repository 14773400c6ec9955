import { Command } from 'commander'
import { expect, test } from 'vitest'
import { sinceOption } from './since.ts'

const now = Date.UTC(2026, 0, 10)

function parsed(...options: readonly string[]): string {
  const command = sinceOption(new Command(), '24h', () => now)
    .exitOverride()
    .configureOutput({ writeErr: () => {} })
  command.parse(options, { from: 'user' })
  return new Date(command.opts<{ since: number }>().since).toISOString()
}

test.each([
  ['7d', '2026-01-03T00:00:00.000Z'],
  ['1w', '2026-01-03T00:00:00.000Z'],
  ['12h', '2026-01-09T12:00:00.000Z'],
  ['1d12h', '2026-01-08T12:00:00.000Z'],
  ['90m', '2026-01-09T22:30:00.000Z'],
  ['2026-01-02T06:00:00Z', '2026-01-02T06:00:00.000Z'],
  ['2026-01-02T06:00:00+02:00', '2026-01-02T04:00:00.000Z'],
])('%s is %s', (text, expected) => {
  expect(parsed('--since', text)).toBe(expected)
})

test('a day alone is the midnight of this machine', () => {
  expect(parsed('--since', '2026-01-02')).toBe(new Date('2026-01-02T00:00').toISOString())
})

test('without it the time is the default', () => {
  expect(parsed()).toBe('2026-01-09T00:00:00.000Z')
})

test.each(['', 'yesterday', '7', '7y', '24:00', '0d', '-3h', '99999d', '2026-13-01', '2027-01-01', '\u001b[2J'])(
  '%j is refused with an example',
  (text) => {
    expect(() => parsed(`--since=${text}`)).toThrow(/12h|future/)
  },
)
