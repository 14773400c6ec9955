import { expect, test } from 'vitest'
import { type Key, pressed, type TopState } from './keys.ts'

const state: TopState = { sort: 'name', isReversed: false, filter: '', isTyping: false, offset: 10 }
const shown = { page: 10, count: 100, offset: 10, nodePools: ['', 'general', 'spot'] }
const typing = { ...state, isTyping: true, filter: 'ab' }

const letter = (sequence: string): Key => ({ name: sequence.toLowerCase(), sequence })

test.each<[string, TopState, Key, Partial<TopState> | string]>([
  ['q', state, letter('q'), 'quit'],
  ['Ctrl-C', state, { name: 'c', ctrl: true, sequence: '\u0003' }, 'interrupt'],
  ['Ctrl-C while typing', typing, { name: 'c', ctrl: true, sequence: '\u0003' }, 'interrupt'],
  ['Ctrl-Z', state, { name: 'z', ctrl: true, sequence: '\u001a' }, 'suspend'],
  ['s', state, letter('s'), { sort: 'nodepool', offset: 0 }],
  ['S', state, letter('S'), { sort: 'age', offset: 0 }],
  ['r', state, letter('r'), { isReversed: true, offset: 0 }],
  ['p', state, letter('p'), { nodePool: '', offset: 0 }],
  ['p again', { ...state, nodePool: '' }, letter('p'), { nodePool: 'general', offset: 0 }],
  ['p at a NodePool that is gone', { ...state, nodePool: 'gone' }, letter('p'), { nodePool: '', offset: 0 }],
  ['up', state, { name: 'up' }, { offset: 9 }],
  ['down', state, { name: 'down' }, { offset: 11 }],
  ['PgUp', state, { name: 'pageup' }, { offset: 0 }],
  ['PgDn', state, { name: 'pagedown' }, { offset: 20 }],
  ['Home', state, { name: 'home' }, { offset: 0 }],
  ['End', state, { name: 'end' }, { offset: 90 }],
  ['/', state, letter('/'), { isTyping: true }],
  ['a letter while typing', typing, letter('q'), { filter: 'abq', offset: 0 }],
  ['an escape sequence while typing', typing, { name: 'f1', sequence: '\u001bOP' }, {}],
  ['backspace while typing', typing, { name: 'backspace', sequence: '\u007f' }, { filter: 'a', offset: 0 }],
  ['Enter while typing', typing, { name: 'return', sequence: '\r' }, { isTyping: false }],
  ['Esc while typing', typing, { name: 'escape', sequence: '\u001b' }, { isTyping: false, filter: '', offset: 0 }],
  ['Esc', { ...state, filter: 'ab' }, { name: 'escape' }, { filter: '', offset: 0 }],
  ['another key', state, letter('x'), {}],
])('%s', (_, before, key, expected) => {
  expect(pressed(before, key, shown)).toEqual(typeof expected === 'string' ? expected : { ...before, ...expected })
})

test('p after the last NodePool shows all', () => {
  expect(pressed({ ...state, nodePool: 'spot' }, letter('p'), shown)).toEqual({ ...state, offset: 0 })
})

test('a list shorter than a page does not scroll', () => {
  expect(pressed(state, { name: 'end' }, { ...shown, count: 3 })).toMatchObject({ offset: 0 })
})
