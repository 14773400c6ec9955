import { globSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { costTable, overBudget } from './group-costs.ts'
import { filesOf, groupOf, groups, mostWorlds } from './groups.ts'
import { worldSuites } from './world-suites.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const files = globSync('**/*.test.{ts,tsx}', { cwd: root, exclude: ['**/node_modules/**', '**/node_modules'] })

describe('groups', () => {
  test('each file of tests belongs to one', () => {
    expect(files.length).toBeGreaterThan(100)
    expect(files.filter((path) => groupOf(path) === undefined)).toEqual([])
  })

  test.each([
    ['core/a.test.ts', 'unit'],
    ['test/fast/lifecycle-crash.test.ts', 'matrix'],
    ['test/fast/matrix/same-seeds.test.ts', 'matrix'],
    ['test/scenarios/pools/pool.scenario.ts', 'scenarios'],
    ['test/fast/temporal/core.test.ts', 'unit'],
    ['deploy/local/azure/simulator.servers.test.ts', 'servers'],
    ['test/soak.all.test.ts', 'all'],
    ['core/a.server.test.ts', undefined],
    ['core/a.spec.ts', undefined],
  ])('%s is of the group %s', (path, name) => {
    expect(groupOf(path)?.name).toBe(name)
  })

  test('at most so many suites of npm test start a world', () => {
    const worlds = worldSuites()
    expect(worlds.length).toBeGreaterThan(0)
    expect(worlds.length, `${worlds.length} suites start a world`).toBeLessThanOrEqual(mostWorlds)
  })

  test('a group has no file of another', () => {
    for (const { name } of groups)
      expect(filesOf(name).include.filter((pattern) => filesOf(name).exclude.includes(pattern))).toEqual([])
  })
})

describe('what groups cost', () => {
  const cost = (seconds: number) => ({ suites: 2, tests: 30, seconds, cpuSeconds: seconds * 2 })

  test('is printed beside the budget, where the system counts it', () => {
    expect(
      costTable({ unit: cost(90), all: { ...cost(60), cpuSeconds: Number.NaN } })
        .split('\n')
        .slice(2),
    ).toEqual(['| unit | 2 | 30 | 1.5 | 3.0 | 2.5 |', '| all | 2 | 30 | 1.0 | - |  |'])
  })

  test('is warned of when it is more than the budget', () => {
    const costs = { unit: cost(150), servers: cost(361), all: cost(9999) }
    expect(overBudget(costs)).toEqual([
      'warning: the group servers took 6.0 minutes; its budget is 6 (test/runner/groups.ts)',
    ])
  })
})
