import { describe, expect, test } from 'vitest'
import { installedWorld, type TemporalState, temporalStates } from '../../../test/temporal-states/installed-world.ts'

/** What is said of each state: the exit code, what is printed and what else is said. */
const expected: Readonly<
  Record<TemporalState, { readonly code: number; readonly out?: RegExp; readonly err?: RegExp }>
> = {
  away: {
    code: 1,
    err: /^Temporal at 127\.0\.0\.1:1 cannot be reached: .*\n {2}check --temporal-address, else TEMPORAL_ADDRESS/,
  },
  empty: {
    code: 0,
    out: /^no nodes within the last/,
    err: /its database or the namespace was emptied, and what it knew .* is lost/,
  },
  'an attribute missing': { code: 0, out: /^c +default /m, err: /the VMs of 1 lifecycles under way are not known/ },
  'visibility down': { code: 1, err: /^Temporal at / },
  'a version apart': { code: 0, out: /^c +default /m },
}

describe('joiner history', () => {
  test.each(temporalStates)('says what it knows and what it does not while Temporal is %s', async (state) => {
    const world = await installedWorld(state)
    const { code, out = /^$/, err = /^/ } = expected[state]
    const ran = await world.joiner('history')
    expect([ran.code, ran.stdout.trim(), ran.stderr]).toEqual([
      code,
      expect.stringMatching(out),
      expect.stringMatching(err),
    ])
    expect(`${ran.stdout}${ran.stderr}`).not.toMatch(/^ +at /m)
  })
})
