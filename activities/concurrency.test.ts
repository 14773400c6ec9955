import { expect, it } from 'vitest'
import { forEachOf } from './concurrency.ts'

const tick = () => new Promise<void>((resolve) => setImmediate(resolve))

it('takes each item once, and no more at a time than its limit', async () => {
  let running = 0
  let most = 0
  const done: number[] = []
  await forEachOf([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    running += 1
    most = Math.max(most, running)
    await tick()
    running -= 1
    done.push(item)
  })
  expect(done).toEqual([1, 2, 3, 4, 5, 6, 7])
  expect(most).toBe(3)
})

it('goes on after an error, and reports it in the end', async () => {
  const done: number[] = []
  const work = (bad: readonly number[]) =>
    forEachOf([1, 2, 3], 1, async (item) => {
      if (bad.includes(item)) throw new Error(`item ${item}`)
      done.push(item)
    })
  await expect(work([1])).rejects.toThrow(/^item 1$/)
  expect(done).toEqual([2, 3])
  await expect(work([2, 3])).rejects.toThrow('2 of 3 failed, the first with: item 2')
  await expect(forEachOf([], 5, async () => {})).resolves.toBeUndefined()
})
