import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { collectAllThreads } from './idle-memory.ts'

const littering = `
  const { parentPort } = require('node:worker_threads')
  let kept = Array.from({ length: 1_000_000 }, (_, index) => ({ index, text: 'number ' + index }))
  kept = undefined
  setInterval(() => parentPort.postMessage('alive'), 20)
`

test('what a thread left behind is collected, and the thread lives on', async () => {
  const worker = new Worker(littering, { eval: true })
  try {
    await once(worker, 'message')
    const before = (await worker.getHeapStatistics()).total_heap_size
    expect(before).toBeGreaterThan(50 * 2 ** 20)
    await collectAllThreads()
    expect((await worker.getHeapStatistics()).total_heap_size).toBeLessThan(before / 4)
    expect(await once(worker, 'message')).toEqual(['alive'])
  } finally {
    await worker.terminate()
  }
})
