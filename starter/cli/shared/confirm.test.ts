import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { pauseText } from '../../../core/pauses/pauses.ts'
import { wholeProgram } from '../../../test/pages/flags.ts'
import { CommandError } from '../../document/reported-error.ts'
import { reasonFor } from './confirm.ts'

/** Somebody who types this when asked; `isTTY`: whether anybody can be asked. */
function person(typed: string, isTTY = true) {
  const input = Object.assign(new PassThrough(), { isTTY })
  input.end(typed)
  return { input, output: new PassThrough() }
}

/** Names of commands with `--reason`, and what they say of it. */
function reasonsOf(command: Command): readonly (readonly [name: string, description: string])[] {
  const own = command.options.filter(({ long }) => long === '--reason')
  return [
    ...own.map(({ description }) => [command.name(), description] as const),
    ...command.commands.flatMap(reasonsOf),
  ]
}

test.each([
  ['as given', 'release day', person('typed\n'), 'release day'],
  ['as typed on a terminal', undefined, person('  release day \n'), 'release day'],
  ['missing, where a person says nothing', undefined, person('\n'), 'no reason given'],
  ['missing, where nobody can be asked', undefined, person('release day\n', false), 'no reason given'],
])('a reason is %s', async (_, given, asked, expected) => {
  expect(await reasonFor('the pause', given, asked)).toBe(expected)
})

test.each([
  ['Ctrl-C', '\u0003'],
  ['Ctrl-D', '\u0004'],
])('%s at a question says that nothing was done, and blames no server', async (_, typed) => {
  const input = Object.assign(new PassThrough(), { isTTY: true })
  const output = Object.assign(new PassThrough(), { isTTY: true })
  const reason = reasonFor('the pause', undefined, { input, output })
  input.write(typed)
  await expect(reason).rejects.toEqual(new CommandError('interrupted; nothing was done'))
})

test('the question says what the reason is for', async () => {
  const asked = person('x\n')
  await reasonFor('the pause', undefined, asked)
  asked.output.end()
  expect(await text(asked.output)).toContain('Why the pause? It shows wherever it is looked at: ')
})

test('a missing reason is said where it shows', () => {
  const pause = { reason: 'no reason given', by: 'alice', sinceMs: 0 }
  expect(pauseText('disruption', pause)).toBe('all disruption is paused by alice, no reason given, until resumed')
})

test('each command that takes a reason asks for it on a terminal', async () => {
  const found = reasonsOf(await wholeProgram())
  expect(found.map(([name]) => name).toSorted()).toEqual(['force-finish', 'hold', 'pause', 'retry'])
  for (const [, description] of found) expect(description).toContain('(default: asked for on a terminal)')
})
