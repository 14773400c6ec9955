import { expect, test } from 'vitest'
import { Hold } from '../faults/gate.ts'

const call = { method: 'PATCH', path: '/api/v1/nodes/one', body: '{}' }

test('what never comes is not waited for without end', async () => {
  await expect(new Hold(() => true).carryOut(50)).rejects.toThrow('no request to carry out within 0.05 s, after 0')
})

test('a refused optimistic lock is answered, and the retry carried out', async () => {
  const hold = new Hold(() => true)
  const replies: number[] = []
  const ask = (status: number) =>
    hold.take({
      call,
      send: async () => ({ status, headers: {}, text: '' }),
      reply: async (answer) => {
        replies.push(answer.status)
        if (answer.status === 409) ask(200)
      },
      pass: () => {},
      isAwaited: () => true,
    })
  ask(409)
  const relay = await hold.carryOut(1000)
  expect(replies).toEqual([409])
  await relay()
  expect(replies).toEqual([409, 200])
})
