import { expect, it } from 'vitest'
import { nextTurn, randomNumbers, stepping } from './virtual-clock.ts'
import { VirtualTime } from './virtual-time.ts'

/** What happens in which order, where all that happens asks for more in one way or another, and `drive` lets time pass. */
async function course(seed: number, drive: (time: VirtualTime) => Promise<void>): Promise<readonly string[]> {
  using time = new VirtualTime(0)
  const random = randomNumbers(seed)
  const seen: string[] = []
  const ways: readonly ((what: () => void) => unknown)[] = [
    (what) => Promise.resolve().then(what),
    (what) => process.nextTick(what),
    (what) => setImmediate(what),
    (what) => setTimeout(what, 1 + 4 * random()),
  ]
  const act = (name: string) => () => {
    seen.push(`${time.clock.now()} ms: ${name}`)
    if (name.length < 5) for (const own of 'abc') ways[Math.floor(4 * random())]?.(act(name + own))
  }
  for (const name of 'xyz') setTimeout(act(name), 1)
  await drive(time)
  return seen
}

it('steps without turns of the event loop take the course that they take with one for each', async () => {
  for (let seed = 1; seed <= 50; seed++) {
    const withTurns = await course(seed, async ({ clock }) => {
      do await nextTurn()
      while (clock.step())
    })
    const without = await course(seed, (time) =>
      stepping(
        () => time.clock.step(),
        () => time.immediates,
      ),
    )
    expect(withTurns.length).toBeGreaterThan(100)
    expect(without).toEqual(withTurns)
  }
})

it('a step that throws ends the steps', async () => {
  const steps = stepping(
    () => {
      throw new Error('no step')
    },
    () => 0,
  )
  await expect(steps).rejects.toThrow('no step')
})
