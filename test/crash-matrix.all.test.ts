import { afterAll, beforeAll, expect, test } from 'vitest'
import { objectId } from '../deploy/local/azure/access/principals.ts'
import { actionsTaken, shippedActions } from './arm/joiner-roles.ts'
import { problemsOf } from './crash-matrix/report.ts'
import { sample } from './crash-matrix/rows.ts'
import { runMatrix } from './crash-matrix/run.ts'
import { FaultyWorld } from './faulty-world.ts'

let faulty: FaultyWorld

beforeAll(async () => {
  faulty = await FaultyWorld.startServers()
})

afterAll(() => faulty?.stop())

// All of it is `npm run crash-matrix`, with its own limit of a minute; here other work may be on the machine.
test('kill -9 before and after creates and deletes of every kind: each comes to its end, once, and nothing leaks', async () => {
  const select = (rows: Parameters<typeof sample>[0]) => sample(rows, 10, 1)
  const report = await runMatrix(faulty, { select, phases: false, slots: 8, limitMs: 150_000, say: console.log })
  expect(report.results).toHaveLength(10)
  expect(problemsOf(report)).toEqual([])
  // Refused ones are among them; deploy/azure holds the roles that Joiner had.
  const taken = await actionsTaken(faulty.world, objectId)
  expect(taken).toContain('Microsoft.Compute/virtualMachines/delete')
  expect(taken).toContain('Microsoft.Network/virtualNetworks/subnets/join/action')
  expect(taken.filter((action) => !shippedActions.includes(action))).toEqual([])
})
