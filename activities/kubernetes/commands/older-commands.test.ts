import { expect, test } from 'vitest'
import type { CommandWork } from '../contract.ts'
import { completed } from './older-commands.ts'

test('a command of the first milestone deletes empty nodes', () => {
  expect(completed({ commandId: 'empty-1', candidates: [{ name: 'a', uid: 'u' }] })).toEqual({
    commandId: 'empty-1',
    method: 'emptiness',
    decision: 'delete',
    candidates: [{ name: 'a', uid: 'u', nodePool: '', nodeName: '' }],
    replacements: [],
    savings: 0,
  })
})

test('a command of today is as it is', () => {
  const work: CommandWork = {
    commandId: 'drift-1',
    method: 'drift',
    decision: 'replace',
    candidates: [{ name: 'a', uid: 'u', nodePool: 'general', nodeName: 'aks-a' }],
    replacements: [{ name: 'b', uid: 'v' }],
    savings: 0.5,
  }
  expect(completed(work)).toEqual(work)
})
