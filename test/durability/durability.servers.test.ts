// Kills and stops of Joiner and of its servers: every node comes to its end, once. All have one world, and go on with the nodes that there are.
import { afterAll, beforeAll } from 'vitest'
import { Durable } from './durable.ts'
import { everyPhaseTests } from './every-phase.ts'
import { replicaTests } from './replicas.ts'

let durable: Durable

beforeAll(async () => {
  durable = await Durable.start()
})

afterAll(() => durable?.stop())

everyPhaseTests(() => durable)
replicaTests(() => durable)
