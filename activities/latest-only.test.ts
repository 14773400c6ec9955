import { expect, test } from 'vitest'
import { ended, pass, useFakeTime } from '../test/fakes/time.ts'
import { pauseFor } from './activity-context.ts'
import { LatestOnly } from './latest-only.ts'

useFakeTime()

const never = new AbortController().signal

function noting() {
  const latest = new LatestOnly()
  const noted: string[] = []
  const run = (name: string, key = 'a', signal = never) =>
    latest.run(key, signal, async (both) => {
      noted.push(`${name} begins`)
      await pauseFor(60_000, both).finally(() => noted.push(`${name} ends`))
      return name
    })
  return { noted, run }
}

test('a later piece of work ends the one before, and begins then; others go on', async () => {
  const { noted, run } = noting()
  const [other, first] = [run('other', 'b'), run('first')]
  await pass(1000)
  const second = run('second')
  await expect(first).rejects.toThrow('a later attempt goes on with it')
  expect(await Promise.all([ended(second, 120_000), other])).toEqual(['second', 'other'])
  expect(noted).toEqual(['other begins', 'first begins', 'first ends', 'second begins', 'other ends', 'second ends'])
})

test('of three, the one in the middle does nothing', async () => {
  const { noted, run } = noting()
  const all = Promise.allSettled([run('first'), run('second'), run('third')])
  expect((await ended(all, 120_000)).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
  expect(noted).toEqual(['first begins', 'first ends', 'third begins', 'third ends'])
})

test('one that does not hear of it is waited for no longer than 10 s', async () => {
  const latest = new LatestOnly()
  void latest.run('a', never, () => new Promise(() => {}))
  const begun: number[] = []
  const startMs = Date.now()
  await ended(latest.run('a', never, async () => void begun.push(Date.now() - startMs)))
  expect(begun).toEqual([10_000])
})
