import { gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { SharedScrape } from './health-server.ts'

it('is the same for as long as it took to compute, and then computed again', async () => {
  let [now, computed] = [1000, 0]
  const shared = new SharedScrape(
    async function* () {
      computed += 1
      now += 100
      yield `${computed}`
    },
    () => now,
  )
  const text = async () => gunzipSync(await shared.gzipped()).toString()
  expect(await Promise.all([text(), text()])).toEqual(['1', '1'])
  now += 100
  expect(await text()).toBe('1')
  now += 1
  expect(await text()).toBe('2')
})
