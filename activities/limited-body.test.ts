import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { jsonIn } from '../core/values/json.ts'
import { pass, useFakeTime } from '../test/fakes/time.ts'
import { notJson, piecesOf, readAtMost, readWhole } from './limited-body.ts'

useFakeTime()

/** Reads a body; `outcome` is its text, or what was wrong. */
function reading(body: PassThrough) {
  const state = { outcome: '' }
  readWhole(body, 'GET x').then(
    (text) => {
      state.outcome = text
    },
    (error: Error) => {
      state.outcome = error.message
    },
  )
  return state
}

test('a body is read as long as its pieces come', async () => {
  const body = new PassThrough()
  const read = reading(body)
  for (const piece of ['a', 'b']) {
    await pass(14_999)
    body.write(piece)
    await pass(0)
  }
  body.end('c')
  await pass(1)
  expect(read.outcome).toBe('abc')
})

test('a body that stalls is given up, and closed', async () => {
  const body = new PassThrough()
  const read = reading(body)
  body.write('{"value":[')
  await pass(14_999)
  expect(read.outcome).toBe('')
  await pass(1)
  expect([read.outcome, body.destroyed]).toEqual(['GET x: the body of the answer stalled for 15 s', true])
})

test('a body of one byte now and then is given up as a whole', async () => {
  const body = new PassThrough()
  const read = reading(body)
  for (let ms = 0; ms < 29_500; ms += 500) {
    body.write(' ')
    await pass(500)
  }
  expect(read.outcome).toBe('')
  await pass(500)
  expect([read.outcome, body.destroyed]).toEqual(['GET x: the body of the answer did not end in 30 s', true])
})

test('no more of a body is read than is wanted', async () => {
  const body = new PassThrough()
  const read = readAtMost(piecesOf(body, 'GET x'), 10)
  body.write(Buffer.alloc(11))
  expect(await read).toBeUndefined()
  expect(body.destroyed).toBe(true)
})

test('JSON is an object or a list; whatever else says what it is', () => {
  expect(['{}', '[]', '', '1', 'null', '<html>'].map((text) => jsonIn(text) !== undefined)).toEqual([
    true,
    true,
    false,
    false,
    false,
    false,
  ])
  expect(notJson('GET x', { text: '<html>\u001b[31m', contentType: 'text/html' })).toMatch(
    /^GET x: the answer is not JSON but of content type text\/html: "<html>\\u001b\[31m"/,
  )
})
