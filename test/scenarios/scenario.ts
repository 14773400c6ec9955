// What a scenario imports in place of vitest: in virtual time each of its functions runs while time passes.
import { basename } from 'node:path'
import * as vitest from 'vitest'
import { passing } from '../fast/world/passing.ts'
import { World } from '../world.ts'
import { writeVerdict } from './verdict.ts'

export { describe, expect } from 'vitest'

/** A real world takes minutes, and virtual minutes take moments. */
export const isFast = process.env['JOINER_TEST_WORLD'] === 'fast'

/** Whether servers answer as soon as they usually do: what Joiner promises in seconds is kept in this world alone. */
export const keepsTime = isFast && (process.env['JOINER_TEST_SLOWNESS'] ?? '1') === '1'

/** What it returns is waited for. */
type Body = () => unknown

const inTime = (body: Body) => async (): Promise<void> => void (await (isFast ? passing(async () => body()) : body()))

export const beforeAll = (body: Body) => vitest.beforeAll(inTime(body))
export const afterAll = (body: Body) => vitest.afterAll(inTime(body))
export const beforeEach = (body: Body) => vitest.beforeEach(inTime(body))
export const afterEach = (body: Body) => vitest.afterEach(inTime(body))

const verdictsFile = process.env['JOINER_TEST_VERDICTS']

/** As `inTime`; where verdicts are asked for, one is written after the test. */
const inBothWorlds = (body: Body) =>
  inTime(async () => {
    await body()
    if (verdictsFile === undefined || World.latest === undefined) return
    const { testPath = '', currentTestName = '' } = vitest.expect.getState()
    await writeVerdict(verdictsFile, World.latest, { suite: basename(testPath, '.scenario.ts'), test: currentTestName })
  })

/** A test that runs in both worlds. */
export function test(name: string, body: Body): void {
  vitest.test(name, inBothWorlds(body))
}

interface Each {
  /** Rows that are arguments of the body. */
  <T extends unknown[] | [unknown]>(rows: readonly T[]): (name: string, body: (...row: T) => unknown) => void
  /** Rows whose fields the name takes. */
  <T>(rows: readonly T[]): (name: string, body: (row: T) => unknown) => void
}

/** As vitest's `test.each`. */
test.each = ((rows: readonly unknown[]) => (name: string, body: (...row: unknown[]) => unknown) => {
  vitest.test.each(rows)(name, (...row: unknown[]) => inBothWorlds(() => body(...row))())
}) as Each

/** A test of what can be done to no real machine, such as setting its clock. */
export function fastTest(name: string, body: Body): void {
  vitest.test.skipIf(!isFast)(name, inTime(body))
}

/** A test of what only real servers have. In virtual time it is skipped, so a suite has few of them. */
export function realTest(name: string, body: Body): void {
  vitest.test.skipIf(isFast)(name, inTime(body))
}
